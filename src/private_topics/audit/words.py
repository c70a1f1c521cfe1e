"""The vocabulary that a fit of text releases first, repeated on counts: every column has a name.

What a unit's words are is read off its row; joining a user's documents, limiting a unit's words, the release and the
choice of the columns are those of `fit_texts`. Only reading and tokenising text are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from private_topics.errors import InputError
from private_topics.estimators.vocabularies import CandidateVocabulary, Selection, vocabulary_share, words_of_units
from private_topics.fits.private import PrivateFit
from private_topics.knowledge.sources import KnowledgeSource

LONG = 1_000
MOST_LONELY = 1_000
"""Columns that no document of the corpus uses, for units that are alone with their words."""


@dataclass(frozen=True)
class NamedColumns:
    """The names of the columns of an audited corpus, and the vocabulary that the fit releases among them.

    With candidates, they are the first columns, in their order; other columns are words that cannot be chosen.
    `source`: public knowledge, opened, which is aligned to the released words.
    """

    names: tuple[str, ...]
    vocabulary: Selection
    source: KnowledgeSource | None = None

    def __post_init__(self) -> None:
        if len(set(self.names)) != len(self.names):
            raise InputError("The names of the columns of an audited corpus must be different.")
        if self.names[: self.n_listed] != self._listed:
            raise InputError("The candidates of an audited vocabulary must be the first columns, in their order.")

    @property
    def _listed(self) -> tuple[str, ...]:
        return self.vocabulary.candidates.words if isinstance(self.vocabulary, CandidateVocabulary) else ()

    @property
    def n_listed(self) -> int:
        return len(self._listed)

    @cached_property
    def columns(self) -> dict[str, int]:
        return {name: column for column, name in enumerate(self.names)}

    def released(self, fit: PrivateFit, counts: sp.csr_array, groups: Any) -> tuple[np.ndarray, PrivateFit]:
        """The columns whose words the fit's first release names, and the rest of the fit."""
        share = vocabulary_share(fit.settings)
        listed = list(self._listed) or None
        documents = self._documents(counts, groups)
        words, n_units = words_of_units(
            fit.run,
            share,
            documents,
            self.vocabulary,
            listed,
            fit.account,
            fit.release_number,
            self.source,
            fit.settings.texts_share,
        )
        columns = np.array([self.columns[word] for word in words], dtype=np.int64)
        return columns, fit.with_words(words, n_units, share, self.source)

    def _documents(self, counts: sp.csr_array, groups: Any) -> Iterator[tuple[list[str], Any]]:
        names = np.array(self.names, dtype=object)
        for row in range(counts.shape[0]):
            used = counts.indices[counts.indptr[row] : counts.indptr[row + 1]]
            yield names[used].tolist(), None if groups is None else int(groups[row])

    def extreme_documents(self, counts: sp.csr_array) -> dict[str, dict[int, int]]:
        """Documents that move the choice of words: words of nobody else, and more than a unit may have."""
        free = np.flatnonzero(np.bincount(counts.indices, minlength=len(self.names)) == 0)
        listed, others = free[free < self.n_listed], free[free >= self.n_listed]
        lonely = (listed if self.n_listed else others)[: min(self.vocabulary.most_words_per_unit, MOST_LONELY)]
        found: dict[str, dict[int, int]] = {"every name once": dict.fromkeys(range(len(self.names)), 1)}
        if len(lonely):
            found["a word of nobody else, often"] = {int(lonely[0]): LONG}
            found["words of nobody else"] = dict.fromkeys(map(int, lonely), 1)
        if self.n_listed and len(others):
            found["words that cannot be chosen"] = dict.fromkeys(map(int, others), 1)
        return found

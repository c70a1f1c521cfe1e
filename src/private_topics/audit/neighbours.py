"""Neighbouring corpora: one unit, or several alike, replaced by units designed to move releases far, or by none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from private_topics.audit.recording import Fitted
from private_topics.audit.words import LONG, NamedColumns
from private_topics.corpus.counts.blocks import as_blocks
from private_topics.corpus.counts.matrix import stack_rows
from private_topics.engines.local import LocalCorpus
from private_topics.errors import InputError
from private_topics.knowledge.public import PublicKnowledge
from private_topics.privacy.neighbours import ADD_REMOVE, REPLACE, ZERO_OUT, Neighbours

LARGEST_COUNT = 2**31 - 1
TOLD_TOPICS = 4
DIRECTIONS = 2
DOCUMENTS_OF_A_USER = 50
FEWEST_UNITS = 10


@dataclass(frozen=True)
class Base:
    """The corpus that is audited, in memory: counts, and the unit of each document (None: a document is a unit)."""

    counts: sp.csr_array
    unit: np.ndarray | None
    n_units: int

    @classmethod
    def of(cls, X: Any, groups: Any = None) -> Base:
        corpus = LocalCorpus.of(as_blocks(X, caller="audit"), groups)
        if corpus.n_units < FEWEST_UNITS:
            raise InputError(f"audit needs a corpus of at least {FEWEST_UNITS} units.")
        return cls(stack_rows(list(corpus.blocks)), corpus.unit, corpus.n_units)

    @property
    def n_words(self) -> int:
        return int(self.counts.shape[1])

    def first_unit(self) -> sp.csr_array:
        return self.counts[:1] if self.unit is None else self.counts[np.flatnonzero(self.unit == 0)]

    def first(self, n_units: int) -> Base:
        """The corpus of the first units alone."""
        if n_units >= self.n_units:
            return self
        if self.unit is None:
            return Base(self.counts[:n_units], None, n_units)
        kept = np.flatnonzero(self.unit < n_units)
        return Base(self.counts[kept], self.unit[kept], n_units)

    def replaced(self, units: Sequence[sp.csr_array]) -> tuple[sp.csr_array, np.ndarray | None]:
        """Counts and groups of the corpus whose first units are these ones. The new documents come last."""
        kept = np.arange(self.counts.shape[0]) >= len(units) if self.unit is None else self.unit >= len(units)
        counts = sp.csr_array(sp.vstack([self.counts[np.flatnonzero(kept)], *units], format="csr"))
        if self.unit is None:
            return counts, None
        labels = [np.full(rows.shape[0], label) for label, rows in enumerate(units)]
        return counts, np.concatenate([self.unit[kept], *labels])


def rows_of(documents: Sequence[Mapping[int, int]], n_words: int) -> sp.csr_array:
    """Documents given as {word: count}."""
    rows = [row for row, document in enumerate(documents) for _ in document]
    words = [word for document in documents for word in document]
    values = [count for document in documents for count in document.values()]
    place = np.array(rows, np.int64), np.array(words, np.int64)
    return sp.csr_array((np.array(values, np.int64), place), shape=(len(documents), n_words))


EMPTIED, REMOVED = "empty", "removed"
CENTRES: dict[Neighbours, str | None] = {REPLACE: None, ZERO_OUT: EMPTIED, ADD_REMOVE: REMOVED}
"""The unit that one of two neighbours must have in the place where they differ; None where any two units do."""


def absent(neighbours: Neighbours, n_words: int) -> sp.csr_array:
    """In the place of a unit that is emptied, a document without words; of one that is removed, none at all."""
    return rows_of([] if neighbours == ADD_REMOVE else [{}], n_words)


def extreme_units(
    base: Base, fitted: Fitted, words: NamedColumns | None = None, neighbours: Neighbours = REPLACE
) -> dict[str, sp.csr_array]:
    """Extreme units of every kind; the words are chosen by the released topics.

    Any two of them make neighbours where units are replaced, else any of them and the one that `CENTRES` names.
    """
    prior = fitted.model.alpha / fitted.model.alpha.sum()
    found = extreme_documents(fitted.model.topics, prior) | informed_documents(fitted.knowledge)
    columns = fitted.columns.tolist()
    documents = {name: {columns[word]: count for word, count in one.items()} for name, one in found.items()}
    documents |= {} if words is None else words.extreme_documents(base.counts)
    units = {name: rows_of([document], base.n_words) for name, document in documents.items()}
    if base.unit is not None:
        many = {name: [document] * DOCUMENTS_OF_A_USER for name, document in documents.items() if document}
        units |= {f"user: {name}": rows_of(texts, base.n_words) for name, texts in many.items()}
        units["user: all of these"] = rows_of(list(documents.values()), base.n_words)
        lonely = [*list(documents.values())[1:2], *([{}] * (DOCUMENTS_OF_A_USER - 1))]
        units["user: empty but for one"] = rows_of(lonely, base.n_words)
    if neighbours == ADD_REMOVE:
        units[REMOVED] = absent(neighbours, base.n_words)
    return {"as it was": base.first_unit(), **units}


def informed_documents(knowledge: PublicKnowledge | None) -> dict[str, dict[int, int]]:
    """The words whose public vectors are farthest apart along the directions in which all of them differ most."""
    if knowledge is None:
        return {}
    known = np.asarray(np.any(knowledge.vectors != 0.0, axis=1))
    deviations = np.where(known[:, None], knowledge.vectors - knowledge.vectors[known].mean(axis=0), 0.0)
    places = deviations @ np.linalg.svd(deviations, full_matrices=False)[2][:DIRECTIONS].T
    longest = int(np.argmax((deviations**2).sum(axis=1)))
    found = {"the word with the longest public vector, often": {longest: LONG}}
    for axis, place in enumerate(places.T):
        top, bottom = int(np.argmax(place)), int(np.argmin(place))
        found[f"the top of public direction {axis}, often"] = {top: LONG}
        found[f"the bottom of public direction {axis}, often"] = {bottom: LONG}
        found[f"both ends of public direction {axis}"] = {top: 2, bottom: 2}
    return found


def extreme_documents(topics: np.ndarray, prior: np.ndarray) -> dict[str, dict[int, int]]:
    """Empty, one word, many different words, rare words, the words that tell topics apart, the largest counts."""
    marginal = prior @ topics
    order = [int(word) for word in np.argsort(-marginal, kind="stable")]
    frequent, second, rare = order[0], order[1 % len(order)], order[-1]
    telling = [int(np.argmax(row / np.maximum(marginal, 1e-300))) for row in topics[:TOLD_TOPICS]]
    found: dict[str, dict[int, int]] = {
        EMPTIED: {},
        "a frequent word, often": {frequent: LONG},
        "another frequent word, often": {second: LONG},
        "a rare word, often": {rare: LONG},
        "a frequent word, once": {frequent: 1},
        "a frequent word, three times": {frequent: 3},
        "three words, once": dict.fromkeys(order[:3], 1),
        "every word once": dict.fromkeys(order, 1),
        "every word, often": dict.fromkeys(order, 100),
        "two words, often": {frequent: LONG // 2, second: LONG // 2},
        "the largest count": {second: LARGEST_COUNT},
    }
    told = {f"a word of topic {topic}, often": {word: LONG} for topic, word in enumerate(telling)}
    told["words of two topics"] = dict.fromkeys(telling[:2], 2)
    return found | (told if len(topics) > 1 else {})

"""Public texts, or public counts, as a source of vectors and frequencies."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from private_topics.corpus.counts.block_source import CountBlocks
from private_topics.corpus.counts.counting import count_texts
from private_topics.corpus.counts.matrix import stack_rows, validate_counts
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.errors import InputError
from private_topics.knowledge.cooccurrence import document_vectors, log_frequencies
from private_topics.knowledge.table import Found, unit_rows


@dataclass(frozen=True, eq=False)
class PublicTexts:
    """Texts that anyone may read, held until the words are known that are to be counted in them."""

    texts: tuple[str, ...] = field(repr=False)
    digest: str
    tokeniser: Tokeniser

    @property
    def name(self) -> str:
        return f"{len(self.texts):,} public texts"

    @property
    def what(self) -> str:
        return f"word vectors from {self.name}"

    def look_up(self, words: Sequence[str]) -> Found:
        """Vectors and frequencies of the words that the tokeniser can make of these."""
        forms = [made[0] if len(made := self.tokeniser.words(word)) == 1 else None for word in words]
        different = dict.fromkeys(form for form in forms if form is not None)
        columns = {form: column for column, form in enumerate(different)}
        if not columns:
            return Found(np.zeros((len(words), 1)), np.full(len(words), np.nan))
        found = of_counts(count_texts(self.texts, list(columns), self.tokeniser))
        assert found.documents is not None
        known = np.array([form is not None for form in forms])
        places = [columns[form] for form in forms if form is not None]
        vectors, frequencies = np.zeros((len(words), found.vectors.shape[1])), np.full(len(words), np.nan)
        vectors[known], frequencies[known] = found.vectors[places], found.log_frequencies[places]
        return Found(vectors, frequencies, _placed(found.documents, np.flatnonzero(known), places, len(words)))


def public_texts(texts: Any, tokeniser: Tokeniser | None = None) -> PublicTexts:
    """Read and digest texts: strings, or pairs of a string and a unit's label, which is ignored."""
    if isinstance(texts, str | bytes | dict) or not isinstance(texts, Iterable):
        raise _no_texts()
    listed = tuple(item[0] if isinstance(item, tuple) and len(item) == 2 else item for item in texts)
    if not listed or not all(isinstance(text, str) for text in listed):
        raise _no_texts()
    digest = hashlib.sha256()
    for text in listed:
        content = text.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "little") + content)
    return PublicTexts(listed, digest.hexdigest(), Tokeniser() if tokeniser is None else tokeniser)


def validated(X_public: Any) -> sp.csr_array:
    """Public counts, whole: a matrix, or the blocks that `count_texts` makes."""
    if isinstance(X_public, CountBlocks):
        return stack_rows(list(X_public))
    return validate_counts(X_public, caller="PublicKnowledge.from_counts")


def of_counts(X_public: Any) -> Found:
    """Vectors and frequencies of the columns of public counts."""
    counts = validated(X_public)
    vectors = document_vectors(counts)
    if not vectors.shape[1]:
        vectors = np.zeros((counts.shape[1], 1))
    return Found(unit_rows(vectors), log_frequencies(counts), counts)


def _placed(counts: sp.csr_array, columns: np.ndarray, places: list[int], n_columns: int) -> sp.csr_array:
    """Column `places[i]` of the counts as column `columns[i]` of a wider matrix."""
    chosen = (np.ones(len(places), dtype=counts.dtype), (places, columns))
    return sp.csr_array(counts @ sp.csr_array(chosen, shape=(counts.shape[1], n_columns)))


def counts_digest(counts: sp.csr_array) -> str:
    """SHA-256 of validated counts."""
    digest = hashlib.sha256(f"counts {counts.shape[0]} {counts.shape[1]}\n".encode())
    for array, kind in ((counts.indptr, "<i8"), (counts.indices, "<i4"), (counts.data, "<i4")):
        digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
    return digest.hexdigest()


def _no_texts() -> InputError:
    return InputError("Public texts must be a list or another iterable of strings, and not empty.")

"""Vectors by word, as a file has them, and how a column finds its row: by its word, else by that in lower case."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from private_topics.errors import InputError

MOST_VECTORS = 2**23
LARGEST_DIMENSION = 10_000
LARGEST_TABLE_BYTES = 2**32


class Found(NamedTuple):
    """For each column a vector, zero where there is none, and a log-frequency, NaN where there is none.

    `documents`: the counts that they come from; None where there are none.
    """

    vectors: np.ndarray
    log_frequencies: np.ndarray
    documents: sp.csr_array | None = None


@dataclass(frozen=True, eq=False)
class VectorTable:
    """A row for each word. `vectors` are floats, or small integers to be multiplied by `scale`."""

    name: str
    digest: str
    rows: Mapping[str, int]
    vectors: np.ndarray
    scale: np.ndarray | None = None
    log_frequencies: np.ndarray | None = None
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def what(self) -> str:
        return f"the public word vectors {self.name!r}"

    @property
    def words(self) -> tuple[str, ...]:
        """In the order of the file: usually the most frequent first."""
        return tuple(self.rows)

    def look_up(self, words: Sequence[str]) -> Found:
        """The vectors of these words, each of length one."""
        rows = np.array([self.row_of(word) for word in words], dtype=np.int64)
        known = rows >= 0
        vectors = np.zeros((len(rows), self.vectors.shape[1]))
        vectors[known] = self.vectors[rows[known]]
        if self.scale is not None:
            vectors *= self.scale
        log_frequencies = np.full(len(rows), np.nan)
        if self.log_frequencies is not None:
            log_frequencies[known] = self.log_frequencies[rows[known]]
        return Found(unit_rows(vectors), log_frequencies)

    def row_of(self, word: str) -> int:
        """The row of a word as it stands, in lower case, or case-folded, whichever is there first; else -1."""
        for form in (word, word.lower(), word.casefold()):
            row = self.rows.get(normal_form(form))
            if row is not None:
                return row
        return -1


def first_rows(words: Iterable[str], start: int = 0, into: dict[str, int] | None = None) -> dict[str, int]:
    """The row of each word, counted from `start`; of a word that comes twice the first."""
    rows = {} if into is None else into
    for row, word in enumerate(words, start=start):
        rows.setdefault(normal_form(word), row)
    return rows


def normal_form(word: str) -> str:
    return word if word.isascii() else unicodedata.normalize("NFC", word)


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """Rows scaled to length one; rows of zeros stay."""
    largest = np.abs(vectors).max(axis=1, initial=0.0, keepdims=True)
    scaled = vectors / np.where(largest > 0, largest, 1.0)
    lengths = np.sqrt(np.square(scaled).sum(axis=1, keepdims=True))
    return scaled / np.where(lengths > 0, lengths, 1.0)


def checked_words(words: Any, caller: str) -> list[str]:
    """The words of the columns as a list of strings."""
    listed = [] if isinstance(words, str | bytes) or not isinstance(words, Iterable) else list(words)
    if not listed or not all(isinstance(word, str) for word in listed):
        raise InputError(f"The 'words' parameter of {caller} must be a list of strings, one for each column.")
    return [str(word) for word in listed]

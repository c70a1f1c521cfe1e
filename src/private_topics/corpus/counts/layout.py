"""The two layouts of a block that the kernels read: documents by rows, and where each word's entries are.

`WordBlock` keeps a block of counts restricted to some words, without copying the counts a second time by column:
`by_word` lists the positions of each word's entries in the row layout (a stable counting sort), so a kernel that
owns one word visits its documents in order. Every output cell is then written by one thread, in document order,
and the result does not depend on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numba import njit, prange

from private_topics.errors import InputError

INTERLEAVE = 16
LARGEST_REST = 2**31 - 1


@dataclass(frozen=True)
class WordBlock:
    """Documents × selected words of one block, in row layout; the index by word is made when first asked for.

    The words of document i, in ascending order, and their counts are the entries `indptr[i]:indptr[i + 1]`.
    """

    indptr: np.ndarray
    words: np.ndarray
    counts: np.ndarray
    n_words: int

    @property
    def n_documents(self) -> int:
        return len(self.indptr) - 1

    @property
    def document_of(self) -> np.ndarray:
        """The document of each entry."""
        return self._index[0]

    @property
    def word_start(self) -> np.ndarray:
        """Where each word begins in `by_word`."""
        return self._index[1]

    @property
    def by_word(self) -> np.ndarray:
        """Positions of the entries, word by word, documents in order."""
        return self._index[2]

    @property
    def by_words(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """For a kernel whose threads own words: the order of the words, and where each one's entries are."""
        return interleaved(self.n_words), self.word_start, self.by_word, self.document_of

    @cached_property
    def _index(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        document_of, word_start, by_word = _index_by_word(self.indptr, self.words, self.n_words)
        return document_of, word_start, by_word


def select_words(
    block: sp.csr_array, rank_of_word: np.ndarray | None, n_selected: int, *, rest: bool = False
) -> WordBlock:
    """Restrict `block` to the words with `rank_of_word >= 0` (monotone in the word index, so rows stay sorted).

    With `rest`, one more word, the last, stands for all others; it is counted at most `LARGEST_REST` times.
    """
    if rank_of_word is None:
        indptr, words, counts = block.indptr, block.indices, block.data
    else:
        indptr, words, counts = _restrict(
            block.indptr, block.indices, block.data, rank_of_word, n_selected if rest else -1
        )
    return word_block(indptr, words, counts, n_selected + rest)


def ranks_of(words: np.ndarray, n_words: int) -> np.ndarray | None:
    """For each of `n_words` words its place in the ascending `words`, or -1; None where all are selected."""
    if len(words) == n_words:
        return None
    rank = np.full(n_words, -1, np.int32)
    rank[words] = np.arange(len(words), dtype=np.int32)
    return rank


def word_block(indptr: np.ndarray, words: np.ndarray, counts: np.ndarray, n_words: int) -> WordBlock:
    """Row layout plus its index by word."""
    if len(words) > np.iinfo(np.int32).max:
        raise InputError("A block of the corpus has more than 2**31 - 1 entries. Cut it into smaller blocks.")
    return WordBlock(indptr, words, counts, n_words)


def interleaved(n: int) -> np.ndarray:
    """0 … n-1 in a fixed order whose contiguous parts carry equal work for any number of threads."""
    return np.concatenate([np.arange(r, n, INTERLEAVE) for r in range(INTERLEAVE)])


@njit(cache=True, nogil=True)
def _restrict(indptr, indices, data, rank_of_word, rest_word):  # type: ignore[no-untyped-def]
    """Every entry is written, and the place moves on where it is kept: no branch for the processor to guess."""
    n = len(indptr) - 1
    new_indptr = np.zeros(n + 1, np.int64)
    words = np.empty(len(indices), np.int32)
    counts = np.empty(len(indices), data.dtype)
    at = 0
    for i in range(n):
        rest = np.int64(0)
        for p in range(indptr[i], indptr[i + 1]):
            r = rank_of_word[indices[p]]
            words[at] = r
            counts[at] = data[p]
            at += r >= 0
            rest += np.int64(data[p]) * (r < 0)
        if rest > 0 and rest_word >= 0:
            words[at] = rest_word
            counts[at] = min(rest, LARGEST_REST)
            at += 1
        new_indptr[i + 1] = at
    return new_indptr, words[:at], counts[:at]


@njit(cache=True, nogil=True)
def _index_by_word(indptr, words, n_words):  # type: ignore[no-untyped-def]
    n = len(indptr) - 1
    start = np.zeros(n_words + 1, np.int64)
    for p in range(indptr[0], indptr[n]):
        start[words[p] + 1] += 1
    for w in range(n_words):
        start[w + 1] += start[w]
    cursor = start[:-1].copy()
    document_of = np.empty(len(words), np.int32)
    by_word = np.empty(len(words), np.int32)
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            document_of[p] = i
            w = words[p]
            by_word[cursor[w]] = p
            cursor[w] += 1
    return document_of, start, by_word


@njit(cache=True, nogil=True)
def add_weighted_counts(indptr, indices, data, weights, out):  # type: ignore[no-untyped-def]
    """`out[word] += Σ_documents weight · count`."""
    for i in range(len(indptr) - 1):
        w = weights[i]
        for p in range(indptr[i], indptr[i + 1]):
            out[indices[p]] += w * data[p]


@njit(cache=True, nogil=True)
def add_whole_counts(indptr, indices, data, weights, out):  # type: ignore[no-untyped-def]
    """`out[word] += Σ_documents trunc(weight · count)`: what is added is truncated, so a small weight is not lost."""
    for i in range(len(indptr) - 1):
        w = weights[i]
        for p in range(indptr[i], indptr[i + 1]):
            out[indices[p]] += np.int64(w * data[p])


@njit(cache=True, parallel=True, nogil=True)
def times_matrix(indptr, words, counts, matrix):  # type: ignore[no-untyped-def]
    """Counts times a words × r matrix; each row is summed in word order, so it depends on its document alone."""
    n, r = len(indptr) - 1, matrix.shape[1]
    out = np.zeros((n, r), matrix.dtype)
    for i in prange(n):
        row = out[i]
        for p in range(indptr[i], indptr[i + 1]):
            c = counts[p]
            w = matrix[words[p]]
            for a in range(r):
                row[a] += c * w[a]
    return out


@njit(cache=True, parallel=True, nogil=True)
def add_whole_rows(order, word_start, by_word, document_of, counts, rows, out):  # type: ignore[no-untyped-def]
    """`out[word] += Σ_documents trunc(count · rows[document])`, integers; one thread per word."""
    r = rows.shape[1]
    for o in prange(len(order)):
        word = order[o]
        acc = out[word]
        for q in range(word_start[word], word_start[word + 1]):
            p = by_word[q]
            c = counts[p]
            y = rows[document_of[p]]
            for a in range(r):
                acc[a] += np.int64(c * y[a])

"""Counts → sums of `phi1` (all words) and `phi2` (the words of the spectral stage).

`phi2` is never formed per document: the thread that owns word `i` adds, for each document holding it, the rest of
that document's row to row `i` of the upper triangle.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numba import njit, prange

from private_topics.corpus.counts.layout import WordBlock, add_weighted_counts, interleaved


def add_first_moment(block: sp.csr_array, weights: np.ndarray, out: np.ndarray) -> None:
    """`out += Σ_n weights[n] · c_n`, exact when `weights` and `out` are integers."""
    add_weighted_counts(block.indptr, block.indices, block.data, weights, out)


def add_second_moment(block: WordBlock, weights: np.ndarray, out: np.ndarray) -> None:
    """Add the upper triangle of `Σ_n weights[n] · (c_n c_n' - diag c_n)` to `out` (words × words)."""
    _add_pairs(
        interleaved(block.n_words),
        block.word_start,
        block.by_word,
        block.document_of,
        block.indptr,
        block.words,
        block.counts,
        weights,
        out,
    )


def mirror_upper(matrix: np.ndarray) -> None:
    """Copy the upper triangle onto the lower one, in place."""
    for start in range(0, len(matrix), 512):
        stop = start + 512
        matrix[stop:, start:stop] = matrix[start:stop, stop:].T
        square = matrix[start:stop, start:stop]
        square[...] = np.triu(square) + np.triu(square, 1).T


@njit(cache=True, parallel=True, nogil=True)
def _add_pairs(order, word_start, by_word, document_of, indptr, words, counts, weights, out):  # type: ignore[no-untyped-def]
    for o in prange(len(order)):
        i = order[o]
        row = out[i]
        for q in range(word_start[i], word_start[i + 1]):
            p = by_word[q]
            n = document_of[p]
            scaled = weights[n] * counts[p]
            row[i] += scaled * (counts[p] - 1)
            for r in range(p + 1, indptr[n + 1]):
                row[words[r]] += scaled * counts[r]

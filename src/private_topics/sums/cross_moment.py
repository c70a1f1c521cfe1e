"""`phi2 F` on all words, for a public matrix `F` (words × r): what pairs of words say about each word's directions.

A document adds `c_w (y - f_w) / (l(l-1))` to row `w`, with `y = F'c` and `f_w` the row of `F`; clipped by its exact
norm and truncated entry by entry.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from private_topics.corpus.counts.layout import times_matrix
from private_topics.sums.parts import SHORTEST, DocumentWeights, Part
from private_topics.sums.unit_sums import AddedUp, Totals, clip_factors


@dataclass(frozen=True)
class ClippedCross(AddedUp):
    """`Σ s·phi2 F`, words × r."""

    frame: np.ndarray
    clip: float
    step: float

    def zeros(self) -> Totals:
        return (np.zeros(self.frame.shape, np.int64),)

    def add(self, part: Part, totals: Totals) -> None:
        block = part.on_all_words()
        projected = times_matrix(block.indptr, block.words, block.counts, self.frame)
        norms = cross_norms(block.indptr, block.words, block.counts, part.lengths, self.frame, projected)
        weights = part.share * clip_factors(norms, self.clip) * DocumentWeights.of_lengths(part.lengths).second
        _add_cross(*block.by_words, block.counts, self.frame, projected, weights / self.step, totals[0])


@njit(cache=True, parallel=True, nogil=True)
def cross_norms(indptr, words, counts, lengths, frame, projected):  # type: ignore[no-untyped-def]
    """`||phi2 F||` of each document; zero for a document that contributes nothing."""
    out = np.zeros(len(indptr) - 1)
    for n in prange(len(indptr) - 1):
        if lengths[n] >= SHORTEST:
            total = 0.0
            y = projected[n]
            for p in range(indptr[n], indptr[n + 1]):
                c = np.float64(counts[p])
                f = frame[words[p]]
                squares = 0.0
                for a in range(len(y)):
                    squares += (y[a] - f[a]) * (y[a] - f[a])
                total += c * c * squares
            length = np.float64(lengths[n])
            out[n] = np.sqrt(total) / (length * (length - 1.0))
    return out


@njit(cache=True, parallel=True, nogil=True)
def _add_cross(order, word_start, by_word, document_of, counts, frame, projected, weights, out):  # type: ignore[no-untyped-def]
    for o in prange(len(order)):
        word = order[o]
        f, row = frame[word], out[word]
        for q in range(word_start[word], word_start[word + 1]):
            p = by_word[q]
            n = document_of[p]
            if weights[n] > 0.0:
                scaled = weights[n] * counts[p]
                y = projected[n]
                for a in range(len(row)):
                    row[a] += np.int64(scaled * (y[a] - f[a]))

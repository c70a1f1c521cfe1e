"""The second moment inside a public frame alone, and how large it is for pairs of words as deviations from a centre.

The frame of deviations has a row `e_w - p` for each word and `-p` for all others. Where documents are nearly alike,
their second moment inside it is far smaller than `phi2`. It is formed for a few documents at a time: the frame may
have as many columns as words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from private_topics.corpus.counts.layout import WordBlock, add_whole_counts
from private_topics.sums.norms import pair_norms
from private_topics.sums.parts import SHORTEST, Part
from private_topics.sums.quantised import FrameNorms, QuantisedSecond, rounded, truncated
from private_topics.sums.unit_sums import Totals, TwoHistograms, on_rows
from private_topics.threads import one_order

DOCUMENTS_AT_ONCE = 8192


def deviations_from(centre: np.ndarray) -> np.ndarray:
    """The frame of deviations: a row for each word, and one for all others."""
    return np.vstack([np.eye(len(centre)), np.zeros(len(centre))]) - centre


@njit(cache=True, parallel=True, nogil=True)
def deviation_norms(indptr, words, counts, lengths, centre):  # type: ignore[no-untyped-def]
    """About the bound on the norm of a document's second moment inside the frame of deviations."""
    out = np.zeros(len(indptr) - 1)
    square = 0.0
    for w in range(len(centre)):
        square += centre[w] * centre[w]
    for n in prange(len(indptr) - 1):
        if lengths[n] >= SHORTEST:
            length = np.float64(lengths[n])
            deviation, spread = square, square
            for p in range(indptr[n], indptr[n + 1]):
                f, c = np.float64(counts[p]) / length, centre[words[p]]
                deviation += (f - c) * (f - c) - c * c
                spread += f * (1.0 - 2.0 * c)
            deviation, spread = max(0.0, deviation), spread / length
            out[n] = np.sqrt(deviation * deviation + spread * spread) * (length / (length - 1.0))
    return out


@dataclass(frozen=True)
class PairNormHistograms(TwoHistograms):
    """Units by the norm of `phi2` on the words of the spectral stage, and of deviations from a centre."""

    words: np.ndarray
    centre: np.ndarray
    step: float

    def norms(self, part: Part) -> tuple[np.ndarray, np.ndarray]:
        block = part.on(self.words)
        plain = pair_norms(block.indptr, block.counts, part.lengths)
        return plain, deviation_norms(block.indptr, block.words, block.counts, part.lengths, self.centre)


@dataclass(frozen=True)
class ClippedFrameSecond:
    """The clipped second moment inside a public frame, assembled from exact sums, and `Σ s`."""

    words: np.ndarray
    frame: np.ndarray
    n_units: int
    clip: float
    step: float
    factor_step: float

    def zeros(self) -> Totals:
        sums = self.sums()
        return sums.square, sums.mass, np.zeros(1, np.int64)

    def sums(self, totals: Totals | None = None) -> QuantisedSecond:
        return QuantisedSecond(self.frame, self.n_units, self.clip, None if totals is None else totals[:2])

    def add(self, part: Part, totals: Totals) -> None:
        sums = self.sums(totals)
        for block, rows in _slices(on_rows(part, self.words, self.frame)):
            share = part.share[rows]
            norms = FrameNorms.of(block, part.lengths[rows], self.frame)
            factor = sums.factors(norms)
            weight = share * factor / norms.pairs
            add_whole_counts(block.indptr, block.words, block.counts, weight / sums.mass_step, sums.mass)
            sums.add_squares(norms.projected, weight)
            totals[2][:] += truncated(share * factor, self.factor_step).sum()

    def aggregates(self, totals: Totals) -> Totals:
        return *self.second_alone(totals), totals[2]

    def second_alone(self, totals: Totals) -> Totals:
        with one_order():
            second = self.sums(totals).assembled()
        return (rounded(second, self.step),)


def _slices(block: WordBlock) -> Iterator[tuple[WordBlock, slice]]:
    """A few documents at a time."""
    for start in range(0, block.n_documents, DOCUMENTS_AT_ONCE):
        rows = slice(start, start + DOCUMENTS_AT_ONCE)
        indptr = block.indptr[start : start + DOCUMENTS_AT_ONCE + 1]
        yield WordBlock(indptr, block.words, block.counts, block.n_words), rows

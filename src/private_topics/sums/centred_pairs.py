"""Pairs of words as deviations from a public centre `p`: sums of `phi2 - phi1 p' - p phi1' + p p'`.

With `f = c/l`, `u = f - p` a document contributes `u u' + (f f' - diag f)/(l-1)`, of norm at most
`||u||² + ||f f' - diag f||/(l-1)`. Where documents are nearly alike that is far less than the norm of `phi2`. The sum is
assembled from three exact sums; no document's dense matrix is formed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from private_topics.corpus.counts.layout import add_whole_counts
from private_topics.sums.moments import add_whole_pairs, mirror_upper
from private_topics.sums.norms import BINS, add_norms, pair_norms
from private_topics.sums.parts import SHORTEST, DocumentWeights, Part
from private_topics.sums.quantised import finest_step, rounded, truncated
from private_topics.sums.unit_sums import Totals, clip_factors

NORM_SLACK = 2.0**-40  # far more than the rounding of a centred norm, whose terms are at most one
ASSEMBLED_ERROR = 2.0**-48  # of the number of units: docs/proofs/centred_pairs.md


@njit(cache=True, parallel=True, nogil=True)
def centred_norms(indptr, words, counts, lengths, centre):  # type: ignore[no-untyped-def]
    """A bound on the norm of each document's centred pairs; zero for a document that contributes nothing."""
    out = np.zeros(len(indptr) - 1)
    square = 0.0
    for w in range(len(centre)):
        square += centre[w] * centre[w]
    for n in prange(len(indptr) - 1):
        if lengths[n] >= SHORTEST:
            length = np.float64(lengths[n])
            absent, deviation, squares, cubes = square, 0.0, 0.0, 0.0
            for p in range(indptr[n], indptr[n + 1]):
                f = np.float64(counts[p]) / length
                c = centre[words[p]]
                absent -= c * c
                deviation += (f - c) * (f - c)
                squares += f * f
                cubes += f * f * f
            spread = np.sqrt(max(0.0, squares * squares - 2.0 * cubes + squares)) / (length - 1.0)
            out[n] = deviation + max(0.0, absent) + spread + NORM_SLACK
    return out


@dataclass(frozen=True)
class PairNormHistograms:
    """Units by the norm of `phi2`, and of its deviation from a centre, on the words of the spectral stage."""

    words: np.ndarray
    centre: np.ndarray
    step: float

    def zeros(self) -> Totals:
        return (np.zeros((2, BINS + 2), np.int64),)

    def add(self, part: Part, totals: Totals) -> None:
        block = part.on(self.words)
        plain = pair_norms(block.indptr, block.counts, part.lengths)
        centred = centred_norms(block.indptr, block.words, block.counts, part.lengths, self.centre)
        for row, norms in enumerate((plain, centred)):
            add_norms(norms, part.share, self.step, totals[0][row])

    def aggregates(self, totals: Totals) -> Totals:
        return tuple(totals[0])


@dataclass(frozen=True)
class CentredPairs:
    """The clipped sum of centred pairs, and `Σ s`."""

    words: np.ndarray
    centre: np.ndarray
    n_units: int
    clip: float
    factor_step: float
    step: float = 1.0

    @property
    def grid(self) -> float:
        """On which the parts of the sum are added up."""
        return finest_step(float(self.n_units))

    @property
    def error(self) -> float:
        """How far a unit's contribution, or the sum, may be from the exact one, in norm."""
        return 4.0 * len(self.words) * self.grid + ASSEMBLED_ERROR * self.n_units

    def zeros(self) -> Totals:
        n = len(self.words)
        return np.zeros((n, n), np.int64), np.zeros(n, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)

    def add(self, part: Part, totals: Totals) -> None:
        pairs, single, mass, factors = totals
        block = part.on(self.words)
        factor = clip_factors(
            centred_norms(block.indptr, block.words, block.counts, part.lengths, self.centre), self.clip
        )
        weights, share = DocumentWeights.of_lengths(part.lengths), part.share * factor
        add_whole_pairs(block, share * weights.second / self.grid, pairs)
        add_whole_counts(block.indptr, block.words, block.counts, share * weights.first / self.grid, single)
        mass += truncated(share, self.grid).sum()
        factors += truncated(share, self.factor_step).sum()

    def aggregates(self, totals: Totals) -> Totals:
        pairs, single, mass, factors = totals
        mirror_upper(pairs)
        mixed = np.multiply.outer(self.centre, single * self.grid)
        total = (
            pairs * self.grid - (mixed + mixed.T) + float(mass[0]) * self.grid * np.outer(self.centre, self.centre)
        )
        return rounded(total, self.step), factors

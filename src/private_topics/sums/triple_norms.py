"""Sums of `phi3` inside an orthonormal basis, clipped by the exact Frobenius norm, for configuration 1.

With counts `c` on the words present and full length `l`,

    ||phi3||² (l(l-1)(l-2))² = Σ_{i,j,k distinct} (c_i c_j c_k)² + 3 Σ_{i≠j} (c_i(c_i-1)c_j)²
                             + Σ_i (c_i(c_i-1)(c_i-2))²

The sums over different words are built up word by word from non-negative terms, so nothing cancels. A projected sum
is formed in float64 for at most `MOST_DOCUMENTS` documents at a time: its rounding depends on how the corpus is cut.
What it loses on its way into integers is so little that no number of pieces matters: where users are units, the
number of documents is private and may not decide anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from private_topics.corpus.counts.layout import WordBlock, ranks_of, select_words
from private_topics.corpus.counts.matrix import take_rows
from private_topics.errors import InputError
from private_topics.sums.moments import FrameSums
from private_topics.sums.parts import SHORTEST, DocumentWeights, Part
from private_topics.sums.quantised import rounded, truncated
from private_topics.sums.unit_sums import PairNormHistogram, Totals, clip_factors
from private_topics.threads import one_order

# The norm is at least this times ||c||³/(l(l-1)(l-2)), and is raised to it: docs/proofs/configuration_1.md.
SMALLEST_SHARE = 0.2
MOST_DOCUMENTS, MOST_PROJECTED = 1024, 1000
FINE_BITS = 40  # of a step of the grid, in a second integer
PROJECTION_ERROR = 2.0**-36  # of rank^1.5 × units × clip, within the two limits above: docs/proofs/configuration_1.md


@njit(cache=True, parallel=True, nogil=True)
def triple_norms(indptr, counts, lengths):  # type: ignore[no-untyped-def]
    """`||phi3||_F` of each document on the words present; zero where it has no three tokens among them."""
    out = np.zeros(len(indptr) - 1)
    for n in prange(len(indptr) - 1):
        if lengths[n] < SHORTEST:
            continue
        squares, pairs, triples = 0.0, 0.0, 0.0  # elementary symmetric polynomials of c²
        doubled, mixed, tripled = 0.0, 0.0, 0.0
        for p in range(indptr[n], indptr[n + 1]):
            c = np.float64(counts[p])
            square, twice = c * c, (c * (c - 1.0)) * (c * (c - 1.0))
            triples += pairs * square
            pairs += squares * square
            mixed += twice * squares + square * doubled
            squares += square
            doubled += twice
            tripled += twice * (c - 2.0) * (c - 2.0)
        norm = np.sqrt(6.0 * triples + 3.0 * mixed + tripled)
        if norm > 0.0:
            length = np.float64(lengths[n])
            norm = max(norm, SMALLEST_SHARE * squares * np.sqrt(squares))
            out[n] = norm / (length * (length - 1.0) * (length - 2.0))
    return out


class TripleNormHistogram(PairNormHistogram):
    """Units by the norm of `phi3` on the words of the spectral stage."""

    norms = staticmethod(triple_norms)


@dataclass(frozen=True)
class ClippedTriples:
    """`Σ s·phi3(U, U, U)` and `Σ s`. The first is kept in whole steps of the grid, and in 2^-40 of a step."""

    words: np.ndarray
    basis: np.ndarray
    clip: float
    grid: float
    step: float
    factor_step: float

    def zeros(self) -> Totals:
        rank = self.basis.shape[1]
        cube = rank, rank, rank
        return np.zeros(cube, np.int64), np.zeros(1, np.int64), np.zeros(cube, np.int64)

    def add(self, part: Part, totals: Totals) -> None:
        total, factors, fine = totals
        with one_order():
            for block, lengths, share in self._pieces(part):
                factor = clip_factors(triple_norms(block.indptr, block.counts, lengths), self.clip)
                weights = share * factor * DocumentWeights.of_lengths(lengths).third
                _add_finely(projected_third(block, weights, self.basis) / self.grid, total, fine)
                factors += truncated(share * factor, self.factor_step).sum()

    def aggregates(self, totals: Totals) -> Totals:
        steps = totals[0] + totals[2] * 2.0**-FINE_BITS
        return rounded(steps * self.grid, self.step), totals[1]

    def _pieces(self, part: Part) -> Iterator[tuple[WordBlock, np.ndarray, np.ndarray]]:
        """At most `MOST_DOCUMENTS` documents at a time on the spectral words, with the full document lengths."""
        rank = ranks_of(self.words, part.block.shape[1])
        for start in range(0, part.block.shape[0], MOST_DOCUMENTS):
            rows = slice(start, start + MOST_DOCUMENTS)
            block = select_words(take_rows(part.block, rows.start, rows.stop), rank, len(self.words))
            yield block, part.lengths[rows], part.share[rows]


def _add_finely(steps: np.ndarray, total: np.ndarray, fine: np.ndarray) -> None:
    """Add to whole steps and to fractions of a step, which carry over: only the fractions are rounded."""
    whole = np.floor(steps)
    fine += rounded((steps - whole) * 2.0**FINE_BITS, 1.0)
    total += whole.astype(np.int64) + (fine >> FINE_BITS)
    fine &= (1 << FINE_BITS) - 1


def projected_third(block: WordBlock, weights: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """`Σ_n weights[n] l(l-1)(l-2) phi3_n(U, U, U)` in float64, symmetric to the last bit."""
    if block.n_documents > MOST_DOCUMENTS or block.n_words > MOST_PROJECTED:
        raise InputError(
            f"projected_third takes at most {MOST_DOCUMENTS} documents and {MOST_PROJECTED} words at once."
        )
    sums = FrameSums(block.n_words, basis.shape[1])
    sums.add(block, basis, DocumentWeights(weights, np.zeros_like(weights), weights))
    total = sums.third(basis)
    result: np.ndarray = total[tuple(np.sort(np.indices(total.shape), axis=0))]
    return result

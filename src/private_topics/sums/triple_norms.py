"""Sums of `phi3` inside an orthonormal basis, clipped by the exact Frobenius norm, for configuration 1.

With counts `c` on the words present and full length `l`,

    ||phi3||² (l(l-1)(l-2))² = Σ_{i,j,k distinct} (c_i c_j c_k)² + 3 Σ_{i≠j} (c_i(c_i-1)c_j)²
                             + Σ_i (c_i(c_i-1)(c_i-2))²

The sums over different words are built up word by word from non-negative terms, so nothing cancels. A projected sum
is formed in float64 for at most `MOST_DOCUMENTS` documents at a time: its rounding depends on how the corpus is cut.
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
MOST_CHUNKS = 2**18
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

    def zeros(self) -> Totals:
        return *super().zeros(), np.zeros(1, np.int64)

    def add(self, part: Part, totals: Totals) -> None:
        _count_pieces(part, totals[1])
        super().add(part, totals[:1])

    def aggregates(self, totals: Totals) -> Totals:
        return totals[:1]


@dataclass(frozen=True)
class ClippedTriples:
    """`Σ s·phi3(U, U, U)` and `Σ s`; the number of pieces that were rounded is counted too."""

    words: np.ndarray
    basis: np.ndarray
    clip: float
    grid: float
    step: float
    factor_step: float

    def zeros(self) -> Totals:
        rank = self.basis.shape[1]
        return np.zeros((rank, rank, rank), np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)

    def add(self, part: Part, totals: Totals) -> None:
        total, factors, pieces = totals
        _count_pieces(part, pieces)
        with one_order():
            for block, lengths, share in self._pieces(part):
                factor = clip_factors(triple_norms(block.indptr, block.counts, lengths), self.clip)
                weights = share * factor * DocumentWeights.of_lengths(lengths).third
                total += rounded(projected_third(block, weights, self.basis), self.grid)
                factors += truncated(share * factor, self.factor_step).sum()

    def aggregates(self, totals: Totals) -> Totals:
        return rounded(totals[0] * self.grid, self.step), totals[1]

    def _pieces(self, part: Part) -> Iterator[tuple[WordBlock, np.ndarray, np.ndarray]]:
        """At most `MOST_DOCUMENTS` documents at a time on the spectral words, with the full document lengths."""
        rank = ranks_of(self.words, part.block.shape[1])
        for start in range(0, part.block.shape[0], MOST_DOCUMENTS):
            rows = slice(start, start + MOST_DOCUMENTS)
            block = select_words(take_rows(part.block, rows.start, rows.stop), rank, len(self.words))
            yield block, part.lengths[rows], part.share[rows]


def _count_pieces(part: Part, pieces: np.ndarray) -> None:
    """Refuse a corpus in so many pieces that their rounding adds up to more than is certified."""
    pieces += -(-part.block.shape[0] // MOST_DOCUMENTS)
    if pieces[0] > MOST_CHUNKS:
        raise InputError(f"Configuration 1 takes at most {MOST_CHUNKS:,} blocks. Use larger ones.")


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

"""Second and third moments as vectors of their different entries, each times the number of places it has.

An entry of a symmetric array stands in 1, 2, 3 or 6 places. Stored once and multiplied by that number, the L1 norm of
the vector is that of the whole array. All sums are integers, hence exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange

from private_topics.corpus.counts.layout import WordBlock, add_whole_counts
from private_topics.sums.moments import add_whole_pairs, symmetric_part
from private_topics.sums.parts import DocumentWeights, Part
from private_topics.sums.quantised import SAFETY
from private_topics.sums.unit_sums import Totals


@dataclass(frozen=True)
class PackedMoments:
    """`Σ phi1`, `Σ phi2` and `Σ phi3` over all words, the last two packed; added on one grid, rounded to three."""

    n_words: int
    grid: float
    steps: tuple[float, float, float]

    def zeros(self) -> Totals:
        shapes = self.n_words, (self.n_words, self.n_words), packed_triples(self.n_words)
        return tuple(np.zeros(shape, np.int64) for shape in shapes)

    def add(self, part: Part, totals: Totals) -> None:
        weights = DocumentWeights.of_lengths(part.lengths)
        scale = part.share * SAFETY / self.grid
        block = part.on_all_words()
        add_whole_counts(block.indptr, block.words, block.counts, scale * weights.first, totals[0])
        add_whole_pairs(block, scale * weights.second, totals[1])
        add_packed_triples(block, scale * weights.third, totals[2])

    def aggregates(self, totals: Totals) -> Totals:
        sums = totals[0], pack_pairs(totals[1]), totals[2]
        return tuple(
            _coarser(total, int(np.log2(step / self.grid))) for total, step in zip(sums, self.steps, strict=True)
        )


def _coarser(total: np.ndarray, bits: int) -> np.ndarray:
    """Steps of a finer lattice in those of a coarser one, half up."""
    result: np.ndarray = (total + ((1 << bits) >> 1)) >> bits
    return result


def packed_triples(n_words: int) -> int:
    """How many different entries a symmetric `n_words`³ array has."""
    return n_words * (n_words + 1) * (n_words + 2) // 6


def pack_pairs(upper: np.ndarray) -> np.ndarray:
    """The upper triangle of a symmetric matrix as a vector, entries off the diagonal doubled."""
    packed: np.ndarray = upper[np.triu_indices(len(upper))] * 2
    packed[diagonal_places(len(upper))] //= 2
    return packed


def unpack_pairs(packed: np.ndarray, n_words: int) -> np.ndarray:
    """The symmetric matrix back from its packed entries."""
    matrix = np.zeros((n_words, n_words))
    matrix[np.triu_indices(n_words)] = packed / 2.0
    result: np.ndarray = matrix + matrix.T
    return result


def diagonal_places(n_words: int) -> np.ndarray:
    """Where the diagonal is in a packed matrix."""
    row = np.arange(n_words)
    return row * n_words - row * (row - 1) // 2


def add_packed_triples(block: WordBlock, weights: np.ndarray, out: np.ndarray) -> None:
    """Add `Σ_n weights[n] l(l-1)(l-2) phi3_n`, packed, every entry of a document truncated towards zero first."""
    _add_packed_triples(*block.by_words, block.indptr, block.words, block.counts, weights, out)


def packed_inside(packed: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """`A(W, W, W)` of the symmetric array behind `packed`, slice by slice: no d³ array is formed."""
    n_words, rank = frame.shape
    total = np.zeros((rank, rank, rank))
    start = 0
    for word in range(n_words):
        rest = n_words - word
        stop = start + rest * (rest + 1) // 2
        piece = np.zeros((rest, rest))
        piece[np.triu_indices(rest)] = packed[start:stop]
        total += np.multiply.outer(frame[word], frame[word:].T @ piece @ frame[word:])
        start = stop
    return symmetric_part(total)


@njit(cache=True, parallel=True, nogil=True)
def _add_packed_triples(order, word_start, by_word, document_of, indptr, words, counts, weights, out):  # type: ignore[no-untyped-def]
    d = len(word_start) - 1
    for o in prange(len(order)):
        i = order[o]
        m = d - i
        start = (d * (d + 1) * (d + 2) - m * (m + 1) * (m + 2)) // 6
        for at in range(word_start[i], word_start[i + 1]):
            p = by_word[at]
            n = document_of[p]
            if not weights[n] > 0.0:
                continue
            own = np.float64(counts[p])
            scaled = weights[n] * own
            for r in range(p, indptr[n + 1]):
                a = words[r] - i
                row = start + a * m - a * (a - 1) // 2 - a
                second = np.float64(counts[r])
                if r == p:
                    out[row + a] += np.int64(scaled * (own - 1.0) * (own - 2.0))
                    pair = 3.0 * scaled * (own - 1.0)
                else:
                    out[row + a] += np.int64(3.0 * scaled * second * (second - 1.0))
                    pair = 6.0 * scaled * second
                for s in range(r + 1, indptr[n + 1]):
                    out[row + words[s] - i] += np.int64(pair * counts[s])

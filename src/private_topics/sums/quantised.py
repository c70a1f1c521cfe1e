"""Exact integer sums of clipped contributions. Sums of integers do not depend on order, threads or partitions.

A contribution is truncated towards zero on a public grid before it is summed, so its norm never grows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from numba import njit, prange

from private_topics.corpus.counts.layout import (
    WordBlock,
    add_whole_counts,
    add_whole_rows,
    times_matrix,
)
from private_topics.errors import InputError
from private_topics.spectral.symmetric import three_placements
from private_topics.sums.moments import unpack_cube
from private_topics.sums.norms import cube_roots, frame_norms

SAFETY = 1.0 - 1e-9  # weights shrink by this before truncation: far more than the rounding of a norm
LARGEST_ROUNDED = 2**61
SQUARE_BITS, CUBE_BITS = 22, 14
PRODUCT_ROWS = 512  # 512 · 2^44 = 2^53 and 512 · 2^14 · 2^28 = 2^51: partial sums of the products are exact integers
SMALLEST_ROW, SMALLEST_BOUND = 2.0**-200, 1e-300  # no step underflows, no quotient overflows, whatever the frame
ASSEMBLY_ERROR, ERROR_PER_ROW = 2.0**-40, 2.0**-51  # of units × clip: docs/proofs/frame_second.md, tensor.md
MOST_ROWS = 2**21  # within these SAFETY covers the rounding of a norm
ROWS_AT_ONCE = 8192


def truncated(values: np.ndarray, step: float) -> np.ndarray:
    """Whole steps, towards zero."""
    result: np.ndarray = np.trunc(values / step).astype(np.int64)
    return result


def rounded(values: npt.ArrayLike, step: float) -> npt.NDArray[np.int64]:
    """Whole steps, rounded half up. For an aggregate, whose sensitivity grows by `privacy.lattice.widened`.

    floor(x + 1/2) commutes with integer shifts (rounding half to even does not). It is computed without rounding
    x + 1/2, which would send the float just below 1/2 to 1.
    """
    if not step > 0 or not math.isfinite(step) or math.frexp(step)[0] != 0.5:
        raise InputError(f"The 'step' of a lattice must be a power of two. Got {step!r} instead.")
    in_steps = np.asarray(values, dtype=np.float64) / step  # exact, but for overflow and the smallest floats
    if not np.all(np.abs(in_steps) <= LARGEST_ROUNDED):  # also False for NaN
        raise InputError("A value is not finite or does not fit the lattice. Check the public bounds.")
    below = np.floor(in_steps)
    return (below + (in_steps - below >= 0.5)).astype(np.int64, order="C")


def finest_step(largest_sum: float) -> float:
    """The finest power of two in which an int64 holds sums up to `largest_sum`, with two bits to spare."""
    return math.ldexp(1.0, math.frexp(largest_sum)[1] - 60)


def assembly_error(rows: int) -> float:
    """Of units × clip: what float64 loses where a moment inside a frame of so many rows is put together."""
    return max(ASSEMBLY_ERROR, rows * ERROR_PER_ROW)


def _root_step(root: float, bits: int) -> float:
    """A power of two in which numbers up to `root` stay below 2^bits."""
    return math.ldexp(1.0, math.frexp(root)[1] - bits)


def _room(n_units: int) -> int:
    """Bits for a unit's part of a total in int64."""
    return 62 - int(n_units).bit_length()


@dataclass(frozen=True)
class FrameNorms:
    """Public-bound ingredients of one block inside a frame."""

    projected: np.ndarray
    length: np.ndarray  # ||y||
    second: np.ndarray  # r2
    third: np.ndarray  # r3
    pairs: np.ndarray  # l(l-1), one where the document is too short
    triples: np.ndarray  # l(l-1)(l-2)

    @classmethod
    def of(cls, block: WordBlock, lengths: np.ndarray, frame: np.ndarray) -> FrameNorms:
        projected = times_matrix(block.indptr, block.words, block.counts, frame)
        norms = frame_norms(block.indptr, block.words, block.counts, lengths, frame, projected)
        length = np.maximum(lengths, 3).astype(np.float64)
        pairs = length * (length - 1.0)
        return cls(projected, norms[:, 0], norms[:, 1], norms[:, 2], pairs, pairs * (length - 2.0))

    def second_bound(self) -> np.ndarray:
        """`||W'phi2 W|| <= sqrt(||y||⁴ + r2²) / (l(l-1))`."""
        square = self.length * self.length
        result: np.ndarray = np.sqrt(square * square + self.second * self.second) / self.pairs
        return result

    def third_bound(self) -> np.ndarray:
        """`||phi3(W,W,W)|| <= (||y||³ + 3||y|| r2 + 2 r3) / (l(l-1)(l-2))`."""
        total = self.length * self.length * self.length + 3.0 * self.length * self.second + 2.0 * self.third
        result: np.ndarray = total / self.triples
        return result


def _factors(norms: FrameNorms, clip: float, bound: np.ndarray) -> np.ndarray:
    used = (norms.length + norms.second) > 0
    return np.where(used, np.minimum(1.0, clip * SAFETY / np.maximum(bound, SMALLEST_BOUND)), 0.0)


@dataclass
class QuantisedSecond:
    """Integer sums from which the second moment inside the frame is assembled."""

    frame: np.ndarray
    n_units: int
    clip: float
    totals: tuple[np.ndarray, ...] | None = None  # where to continue: square, mass
    mass_step: float = field(init=False)
    square_step: float = field(init=False)

    def __post_init__(self) -> None:
        n_words, rank = self.frame.shape
        self.mass_step = finest_step(0.5 * self.n_units)
        self.square_step = _root_step(math.sqrt(self.clip), min(SQUARE_BITS, _room(self.n_units) // 2))
        if self.totals is None:
            self.totals = np.zeros((rank, rank), np.int64), np.zeros(n_words, np.int64)
        self.square, self.mass = self.totals

    def factors(self, norms: FrameNorms) -> np.ndarray:
        """Clip factors in [0, 1]; zero for a document that contributes nothing."""
        return _factors(norms, self.clip, norms.second_bound())

    def add_squares(self, projected: np.ndarray, weight: np.ndarray) -> None:
        for_square = projected * np.sqrt(weight * SAFETY)[:, None]
        for start in range(0, len(for_square), PRODUCT_ROWS):
            rows = np.trunc(for_square[start : start + PRODUCT_ROWS] / self.square_step)
            self.square += (rows.T @ rows).astype(np.int64)

    def assembled(self) -> np.ndarray:
        """`Σ W'phi2 W` (clipped), in float64 from the exact sums."""
        product = self.square * self.square_step**2
        product -= (self.frame.T * (self.mass * self.mass_step)) @ self.frame
        result: np.ndarray = (product + product.T) / 2.0
        return result


@dataclass
class QuantisedFrameSums:
    """Integer sums from which the second and third moment inside the frame are assembled."""

    frame: np.ndarray
    n_units: int
    second_clip: float
    third_clip: float
    totals: tuple[np.ndarray, ...] | None = None  # where to continue: square, cube, cross, mass
    row_step: float = field(init=False)
    cube_step: float = field(init=False)

    def __post_init__(self) -> None:
        n_words, rank = self.frame.shape
        widest = max(float(np.sqrt((self.frame**2).sum(axis=1)).max()), SMALLEST_ROW)
        self.row_step = finest_step(1.5 * self.n_units * widest)
        self.cube_step = _root_step(float(np.cbrt(self.third_clip)), min(CUBE_BITS, _room(self.n_units) // 3))
        if self.totals is None:
            shapes = (rank, rank), (rank, rank * (rank + 1) // 2), (n_words, rank), (2, n_words)
            self.totals = tuple(np.zeros(shape, np.int64) for shape in shapes)
        self.square, self.cube, self.cross, self.mass = self.totals
        self.inner = QuantisedSecond(self.frame, self.n_units, self.second_clip, (self.square, self.mass[0]))
        self.mass_step, self.square_step = self.inner.mass_step, self.inner.square_step

    def factors(self, norms: FrameNorms) -> tuple[np.ndarray, np.ndarray]:
        """Clip factors of both moments."""
        return self.inner.factors(norms), _factors(norms, self.third_clip, norms.third_bound())

    def add(self, block: WordBlock, norms: FrameNorms, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Add one block; return the clip factors."""
        second, third = self.factors(norms)
        second_weight = share * second / norms.pairs
        third_weight = share * third / norms.triples
        rows = norms.projected * third_weight[:, None] / self.row_step
        add_whole_rows(*block.by_words, block.counts, rows, self.cross)
        for index, weight in enumerate((second_weight, third_weight)):
            add_whole_counts(block.indptr, block.words, block.counts, weight / self.mass_step, self.mass[index])
        self.inner.add_squares(norms.projected, second_weight)
        self._add_cubes(norms.projected * cube_roots(third_weight * SAFETY)[:, None])
        return second, third

    def _add_cubes(self, for_cube: np.ndarray) -> None:
        first, second = np.triu_indices(self.frame.shape[1])
        for start in range(0, len(for_cube), PRODUCT_ROWS):
            rows = np.trunc(for_cube[start : start + PRODUCT_ROWS] / self.cube_step)
            self.cube += (rows.T @ (rows[:, first] * rows[:, second])).astype(np.int64)

    def second(self) -> np.ndarray:
        """`Σ W'phi2 W` (clipped), assembled in float64 from the exact sums."""
        return self.inner.assembled()

    def third(self) -> np.ndarray:
        """`Σ phi3(W,W,W)` (clipped), assembled in float64 from the exact sums."""
        n_words, rank = self.frame.shape
        mixed, triple = np.zeros((2, rank * rank, rank))
        for start in range(0, n_words, ROWS_AT_ONCE):
            some = slice(start, start + ROWS_AT_ONCE)
            rows = self.frame[some]
            flat = (rows[:, :, None] * rows[:, None, :]).reshape(-1, rank * rank)
            mixed += flat.T @ (self.cross[some] * self.row_step)
            triple += flat.T @ (rows * (self.mass[1][some] * self.mass_step)[:, None])
        mixed, triple = mixed.reshape(rank, rank, rank), triple.reshape(rank, rank, rank)
        total = unpack_cube(self.cube * self.cube_step**3) - three_placements(mixed) + 2.0 * triple
        result: np.ndarray = total[tuple(np.sort(np.indices(total.shape), axis=0))]  # equal entries, to the last bit
        return result


def add_statistic(
    block: WordBlock,
    word_topics: np.ndarray,
    word_weights: np.ndarray,
    pull: np.ndarray,
    totals: np.ndarray,
    weights: np.ndarray,
    step: float,
    out: np.ndarray,
) -> None:
    """`out[w, i] += Σ_n trunc(weights[n] g_w c_nw r_nwi / step)`, words × topics, exact.

    `totals` are those of `statistic_norms`, `g` the `word_weights`.
    """
    _add_statistic(*block.by_words, block.counts, word_topics, word_weights, pull, totals, weights / step, out)


@njit(cache=True, parallel=True, nogil=True)
def _add_statistic(  # type: ignore[no-untyped-def]
    order, word_start, by_word, document_of, counts, word_topics, word_weights, pull, totals, weights, out
):
    k = word_topics.shape[1]
    for o in prange(len(order)):
        word = order[o]
        topic = word_topics[word]
        row = out[word]
        for q in range(word_start[word], word_start[word + 1]):
            p = by_word[q]
            n = document_of[p]
            if weights[n] > 0.0 and totals[p] > 0.0:  # also keeps 0 · inf away from the integers
                scaled = weights[n] * (word_weights[word] * counts[p]) / totals[p]
                e = pull[n]
                for a in range(k):
                    row[a] += np.int64(scaled * e[a] * topic[a])

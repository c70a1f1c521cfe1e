"""What is assembled from exact sums, assembled exactly: in steps so fine that it is a whole number of them.

Integer coefficients stand for the entries of the frame, and for products of two of them where that saves work. So
what is assembled is linear in the sums to the last bit: what several sites assemble adds up to what is assembled of
all their documents. The coefficients are public and their error is within `assembly_error`. All products are of
integers with few bits, in float64: exact in every order. Proof: docs/proofs/sites.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from private_topics.sums.frame_second import ClippedFrameSecond
from private_topics.sums.quantised import SMALLEST_ROW, QuantisedSecond
from private_topics.sums.unit_sums import ClippedFrameMoments, Totals
from private_topics.threads import one_order

LIMB, ROWS = 22, 512  # 512 products of two limbs stay below 2^53
COEFFICIENT_BITS = 43
_SUM_LIMBS = 3  # of an int64


class InFineSteps(NamedTuple):
    """Entries of a symmetric array, Python ints, in lattice steps over 2^bits; `places` are their sorted indices."""

    values: np.ndarray
    bits: int
    places: tuple[np.ndarray, ...]


def in_fine_steps(derived: Callable[[Totals], Sequence[Any]]) -> Callable[[Totals], Sequence[Any]]:
    """The same as `derived`, with all that it assembles and rounds in fine steps instead."""
    assembled = _ASSEMBLED.get(getattr(derived, "__func__", None))
    if assembled is None:
        return derived
    unit_sum = derived.__self__  # type: ignore[attr-defined]
    return lambda totals: assembled(unit_sum, totals)


def _both(clipped: ClippedFrameMoments, totals: Totals) -> Sequence[Any]:
    second = clipped.sums(totals).inner
    return _second(second, clipped.second_step), _third(clipped, totals)


def _with_factors(clipped: ClippedFrameSecond, totals: Totals) -> Sequence[Any]:
    return *_alone(clipped, totals), totals[2]


def _alone(clipped: ClippedFrameSecond, totals: Totals) -> Sequence[Any]:
    return (_second(clipped.sums(totals), clipped.step),)


_ASSEMBLED: dict[Any, Callable[[Any, Totals], Sequence[Any]]] = {
    ClippedFrameMoments.moments: _both,
    ClippedFrameSecond.aggregates: _with_factors,
    ClippedFrameSecond.second_alone: _alone,
}


def _second(sums: QuantisedSecond, step: float) -> InFineSteps:
    """`g² Σ QQ' - h_m Σ m_w w w'`, with `w` in whole coefficient steps."""
    rank, widest = sums.frame.shape[1], _widest(sums.frame)
    places = np.triu_indices(rank)
    bits = _bits(min(sums.clip / widest, widest * 2.0**COEFFICIENT_BITS), math.sqrt(rank))
    rows = np.rint(np.ldexp(sums.frame, bits))
    count = _limbs_for(rows)
    digits = _sum_of_products(
        (_split(some, count), _times(_split_integers(mass[:, None]), _split(some, count)))
        for some, mass in _blocks(rows, sums.mass)
    )
    parts = [
        (_whole(sums.square[places]), 2 * _exponent(sums.square_step)),
        (-_joined(digits, places), _exponent(sums.mass_step) - 2 * bits),
    ]
    return _added(parts, step, places)


def _third(clipped: ClippedFrameMoments, totals: Totals) -> InFineSteps:
    """`g³ ΣQ⊗Q⊗Q - h_r Σ (w⊗w⊗R_w, three placements) + 2 h_m Σ m_w w⊗w⊗w`, with `w` and `w⊗w` in whole steps."""
    sums = clipped.sums(totals)
    frame, rank, widest = sums.frame, sums.frame.shape[1], _widest(sums.frame)
    first, second = np.triu_indices(rank)
    a, b, c = sorted_places(rank)
    pair = np.zeros((rank, rank), np.int64)
    pair[first, second] = np.arange(len(first))
    row_bits = _bits(min(clipped.third_clip / widest**2, widest * 2.0**COEFFICIENT_BITS), math.sqrt(rank))
    pair_bits = _bits(clipped.third_clip / widest, 4.5 * rank)
    rows = np.rint(np.ldexp(frame, row_bits))
    row_limbs, pair_limbs = _limbs_for(rows), _limbs_for(np.ldexp([widest**2], pair_bits) + 1.0)

    def pairs(some: np.ndarray) -> list[np.ndarray]:
        return _split(np.rint(np.ldexp(some[:, first] * some[:, second], pair_bits)), pair_limbs)

    mixed = _sum_of_products((pairs(some), _split_integers(cross)) for some, cross in _blocks(frame, sums.cross))
    triple = _sum_of_products(
        (pairs(some), _times(_split_integers(mass[:, None]), _split(whole, row_limbs)))
        for some, whole, mass in _blocks(frame, rows, sums.mass[1])
    )
    placed = _joined(mixed, (pair[a, b], c)) + _joined(mixed, (pair[a, c], b)) + _joined(mixed, (pair[b, c], a))
    parts = [
        (_whole(sums.cube[a, pair[b, c]]), 3 * _exponent(sums.cube_step)),
        (-placed, _exponent(sums.row_step) - pair_bits),
        (_joined(triple, (pair[a, b], c)), _exponent(sums.mass_step) - pair_bits - row_bits + 1),
    ]
    return _added(parts, clipped.third_step, (a, b, c))


def sorted_places(size: int) -> tuple[np.ndarray, ...]:
    """All indices `a <= b <= c` of a tensor."""
    upper = np.tri(size, dtype=bool).T
    return np.nonzero(upper[:, :, None] & upper[None, :, :])


def _added(parts: list[tuple[np.ndarray, int]], step: float, places: tuple[np.ndarray, ...]) -> InFineSteps:
    """The sum of integers times powers of two, in steps that are as fine as the finest of them."""
    coarse = _exponent(step)
    finest = min(coarse - 1, *(exponent for _, exponent in parts))
    total = np.zeros(len(places[0]), object)
    for values, exponent in parts:
        total += values << (exponent - finest)
    return InFineSteps(total, coarse - finest, places)


def _widest(frame: np.ndarray) -> float:
    """Not below the norm of any row."""
    return max(float(np.sqrt((frame**2).sum(axis=1)).max()) * (1.0 + 2.0**-20), SMALLEST_ROW)


def _bits(largest_error: float, entries: float) -> int:
    """So many bits after the point that `entries` times half a step is below `largest_error` over 2^43."""
    return COEFFICIENT_BITS + math.ceil(math.log2(entries / largest_error))


def _exponent(step: float) -> int:
    """Of a power of two."""
    return math.frexp(step)[1] - 1


# -- integers of few bits --------------------------------------------------------------------------------------------


def _blocks(*arrays: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    for start in range(0, len(arrays[0]), ROWS):
        yield tuple(array[start : start + ROWS] for array in arrays)


def _limbs_for(whole: np.ndarray) -> int:
    return max(1, -(-math.frexp(float(np.abs(whole).max()))[1] // LIMB))


def _split(whole: np.ndarray, count: int) -> list[np.ndarray]:
    """Whole float64 numbers as limbs of the same sign, the lowest first."""
    rest, limbs = whole.copy(), []
    for place in reversed(range(count)):
        limbs.append(np.trunc(np.ldexp(rest, -LIMB * place)))
        rest -= np.ldexp(limbs[-1], LIMB * place)
    return limbs[::-1]


def _split_integers(values: np.ndarray) -> list[np.ndarray]:
    size, sign = np.abs(values), np.sign(values)
    return [(sign * ((size >> LIMB * place) & (1 << LIMB) - 1)).astype(np.float64) for place in range(_SUM_LIMBS)]


def _times(masses: list[np.ndarray], rows: list[np.ndarray]) -> list[np.ndarray]:
    """The limbs of the products of numbers that are not negative and of others, entry by entry."""
    digits = [np.zeros_like(rows[0]) for _ in range(len(masses) + len(rows))]
    for i, mass in enumerate(masses):
        for j, row in enumerate(rows):
            digits[i + j] += mass * row
    for place in range(len(digits) - 1):
        carried = np.trunc(np.ldexp(digits[place], -LIMB))
        digits[place] -= np.ldexp(carried, LIMB)
        digits[place + 1] += carried
    return digits


def _sum_of_products(blocks: Iterator[tuple[list[np.ndarray], list[np.ndarray]]]) -> list[np.ndarray]:
    """`Σ left' right` over blocks of rows, as int64 digits of which the last has the sign."""
    digits: list[np.ndarray] = []
    with one_order():  # exact in any; but several threads have too little to do
        for left, right in blocks:
            if not digits:
                digits = [np.zeros((left[0].shape[1], right[0].shape[1]), np.int64) for _ in (*left, *right, 0)]
            for i, one in enumerate(left):
                for j, other in enumerate(right):
                    digits[i + j] += (one.T @ other).astype(np.int64)
            for place in range(len(digits) - 1):
                digits[place + 1] += digits[place] >> LIMB
                digits[place] &= (1 << LIMB) - 1
    return digits


def _joined(digits: list[np.ndarray], places: tuple[np.ndarray, ...]) -> np.ndarray:
    total = np.zeros(len(places[0]), object)
    for place, digit in enumerate(digits):
        total += _whole(digit[places]) << (LIMB * place)
    return total


def _whole(values: np.ndarray) -> np.ndarray:
    """As Python ints, which have as many bits as it takes."""
    return values.astype(object)

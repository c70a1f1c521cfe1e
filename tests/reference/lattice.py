"""Getting onto the lattice (docs/proofs/lattice.md): steps, truncation of contributions, rounding of aggregates."""

from __future__ import annotations

import math
from fractions import Fraction

from reference.interval import Interval, exact

SAFETY = Fraction(10**9 - 1, 10**9)
"""What every clip bound is multiplied by before truncation."""


def truncated(value: Interval | Fraction, step: Fraction) -> Interval:
    """Whole steps, towards zero: the integers that a number in this interval may become."""
    value = exact(value)
    return Interval(Fraction(math.trunc(value.low / step)), Fraction(math.trunc(value.high / step)))


def rounded(value: Fraction, step: Fraction) -> int:
    """Whole steps, rounded half up."""
    return math.floor(value / step + Fraction(1, 2))


def power_above(value: Fraction) -> Fraction:
    """The smallest power of two above a positive number."""
    power = Fraction(1)
    while power <= value:
        power *= 2
    while power / 2 > value:
        power /= 2
    return power


def step_for(sigma: Fraction, n_units: int, largest_sum: Fraction) -> Fraction:
    """A power of two: about `sigma / 2^20`, finer for many units, and no sum of more than 2^61 steps.

    Truncation loses up to a step for each unit, so `sigma / (1024 n)` where that is finer, down to `sigma / 2^28`.
    """
    bits = 20
    while bits < 28 and 2 ** (bits - 10) < n_units:
        bits += 1
    return max(power_above(sigma) / 2 / 2**bits, power_above(largest_sum) / 2**61)


def finest_step(largest_sum: Fraction) -> Fraction:
    """The finest power of two in which no sum reaches 2^60 steps."""
    return power_above(largest_sum) / 2**60


def root_step(largest_root: Interval, bits: int) -> Fraction:
    """The finest power of two in which numbers up to a root stay below 2^bits steps."""
    return power_above(largest_root.high) / 2**bits


def room(n_units: int, order: int) -> int:
    """Bits for a part of a product of `order` factors: the sum over `n_units` stays below 2^62."""
    return (62 - n_units.bit_length()) // order


def widened(sensitivity: float, float_error: float, step: float, entries: int) -> float:
    """The sensitivity of an aggregate that is off by `float_error` and rounded to the lattice in all its entries."""
    return sensitivity + 2 * float_error + step * math.sqrt(entries)


def assembly_error(rows: int) -> float:
    """Of units × clip: what float64 loses where a moment inside a frame of so many rows is put together."""
    return max(2.0**-40, rows * 2.0**-51)

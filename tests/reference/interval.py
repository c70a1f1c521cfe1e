"""Numbers known up to an error: intervals with rational ends.

The library computes in float64 and then truncates to whole steps. What it must get lies in an interval around the
exact number, whose width is a stated number of roundings; nearly always that leaves one integer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

ROUNDINGS = Fraction(1, 2**46)  # 128 roundings of float64, relative: more than a term of a small corpus goes through
ROOT_BITS = 160


@dataclass(frozen=True)
class Interval:
    low: Fraction
    high: Fraction

    def __add__(self, other: Interval | Fraction | int) -> Interval:
        other = exact(other)
        return Interval(self.low + other.low, self.high + other.high)

    __radd__ = __add__

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __sub__(self, other: Interval | Fraction | int) -> Interval:
        return self + -exact(other)

    def __mul__(self, other: Interval | Fraction | int) -> Interval:
        other = exact(other)
        if other.low == other.high:
            ends = sorted((self.low * other.low, self.high * other.low))
        else:
            ends = sorted(one * two for one in (self.low, self.high) for two in (other.low, other.high))
        return Interval(ends[0], ends[-1])

    __rmul__ = __mul__

    def __truediv__(self, other: Interval | Fraction | int) -> Interval:
        other = exact(other)
        assert other.low > 0, "divides by numbers above zero only"
        return self * Interval(1 / other.high, 1 / other.low)

    @property
    def width(self) -> Fraction:
        return self.high - self.low

    @property
    def middle(self) -> float:
        return float((self.low + self.high) / 2)

    def rounded_by_floats(self) -> Interval:
        """Where float64 may have put it: for numbers that no cancellation made small."""
        return self * Interval(1 - ROUNDINGS, 1 + ROUNDINGS)

    def moved_by(self, error: Fraction) -> Interval:
        return Interval(self.low - error, self.high + error)

    def holds(self, value: Fraction | int | float) -> bool:
        return self.low <= Fraction(value) <= self.high


def exact(value: Interval | Fraction | int | float) -> Interval:
    if isinstance(value, Interval):
        return value
    value = Fraction(value)
    return Interval(value, value)


def total(values: Iterable[Interval | Fraction | int]) -> Interval:
    low = high = Fraction(0)
    for value in values:
        value = exact(value)
        low, high = low + value.low, high + value.high
    return Interval(low, high)


def smaller(one: Interval, other: Interval) -> Interval:
    return Interval(min(one.low, other.low), min(one.high, other.high))


def square(value: Interval) -> Interval:
    ends = sorted((abs(value.low), abs(value.high)))
    return Interval(Fraction(0) if value.low < 0 < value.high else ends[0] ** 2, ends[1] ** 2)


def root(value: Interval | Fraction | int, order: int = 2) -> Interval:
    """Square or cube root of a number that is not negative."""
    value = exact(value)
    return Interval(_root_below(value.low, order), _root_below(value.high, order) + Fraction(1, 2**ROOT_BITS))


def _root_below(value: Fraction, order: int) -> Fraction:
    """The largest multiple of 2^-ROOT_BITS whose power does not exceed `value`."""
    scaled = (value.numerator << (order * ROOT_BITS)) // value.denominator
    if order == 2:
        return Fraction(math.isqrt(scaled), 1 << ROOT_BITS)
    guess = 1 << -(-scaled.bit_length() // order)
    while guess**order > scaled:
        guess = ((order - 1) * guess + scaled // guess ** (order - 1)) // order
    return Fraction(guess, 1 << ROOT_BITS)

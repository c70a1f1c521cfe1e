"""Bisection: how far a condition holds."""

from __future__ import annotations

import math
from collections.abc import Callable


def mean(low: float, high: float) -> float:
    return 0.5 * (low + high)


def last_that_holds(
    holds: Callable[[float], bool],
    good: float,
    bad: float,
    apart: Callable[[float, float], bool],
    middle: Callable[[float, float], float] = mean,
) -> float:
    """The last point found, from `good` towards `bad`, at which `holds`; it does at `good` and does not at `bad`.

    The interval is halved while its ends are `apart(low, high)`. What is returned was tried, so it errs on the side
    of `good`.
    """
    while apart(min(good, bad), max(good, bad)):
        point = middle(good, bad)
        good, bad = (point, bad) if holds(point) else (good, point)
    return good


def smallest(enough: Callable[[float], bool], start: float, largest: float = 1e12, precision: float = 1.02) -> float:
    """The smallest value from `start` on that is enough, to a factor; infinity where doubling it passes `largest`."""
    low = high = start
    while not enough(high):
        low, high = high, 2.0 * high
        if high > largest:
            return math.inf
    return last_that_holds(
        enough, high, low, lambda low, high: high / low > precision, lambda low, high: math.sqrt(low * high)
    )

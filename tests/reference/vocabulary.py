"""Words that many units use (docs/proofs/vocabulary.md): weights in whole steps, and how high the threshold must be.

A unit gives each of its t different words `floor(1/(h√t))` steps: `t (h w)² ≤ 1`. The threshold must hide, except
with probability δ', all the t words of a unit that nobody else uses, for every t up to the public limit.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction

import mpmath

DIGITS = 50


def weight(words: int, step: Fraction) -> int:
    """The largest whole number of steps with `words · (steps · step)² ≤ 1`, by trial."""
    if not words:
        return 0
    low, high = 0, int(1 / step) + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if words * (middle * step) ** 2 <= 1 else (low, middle)
    return low


def weights(units: Sequence[Collection[str]], step: Fraction) -> dict[str, int]:
    """The sum over units, none of which has more words than the limit."""
    found: dict[str, int] = {}
    for unit in units:
        words = set(unit)
        for word in words:
            found[word] = found.get(word, 0) + weight(len(words), step)
    return found


def threshold(most_words: int, step: Fraction, sigma: float, delta: float) -> mpmath.mpf:
    """In whole steps: `max over t of w_t + 1 + (σ/h) z_t`, `Φ(z_t)^t = 1 - δ'`."""
    with mpmath.workdps(DIGITS):
        found = []
        for words in range(1, most_words + 1):
            passing = 1 - (1 - mpmath.mpf(delta)) ** (mpmath.mpf(1) / words)
            deviation = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * passing)
            found.append(weight(words, step) + 1 + mpmath.mpf(sigma) / mpmath.mpf(float(step)) * max(deviation, 0))
        return max(found)


def named(totals: dict[str, int], noise: dict[str, int], limit: int) -> list[str]:
    """The words whose weight and noise reach the limit, sorted."""
    return sorted(word for word in totals if totals[word] + noise[word] >= limit)

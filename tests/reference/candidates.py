"""Words among public candidates (docs/proofs/candidates.md): a number for each, and which of them are kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction

import mpmath

from reference.vocabulary import weight

UNUSED_SHARE = Fraction(1, 100)
FEWEST = 20


def weights(units: Sequence[Collection[str]], candidates: Sequence[str], step: Fraction) -> list[int]:
    """Words that are not candidates do not even count against a unit's weight."""
    found = [0] * len(candidates)
    for unit in units:
        places = [place for place, word in enumerate(candidates) if word in set(unit)]
        for place in places:
            found[place] += weight(len(places), step)
    return found


def kept(noisy: Sequence[float], sigma: float, size: int) -> set[int]:
    """The k largest, for the largest k of which the smallest is at least `σ Φ⁻¹(1 - 0.01 k/n)`; at least 20 words."""
    n = len(noisy)
    order = sorted(range(n), key=lambda place: (-noisy[place], place))
    standing_out = 0
    for k in range(1, n + 1):
        part = mpmath.mpf((UNUSED_SHARE * k / n).numerator) / (UNUSED_SHARE * k / n).denominator
        if noisy[order[k - 1]] >= sigma * mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * part):
            standing_out = k
    found = set(order[: min(standing_out, size)])
    for place in range(n):
        if len(found) < min(size, n, FEWEST):
            found.add(place)
    return found

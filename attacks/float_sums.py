"""Units in [0, 1] whose float sums are much further apart than one unit, and two ways to add them.

The idea of Casacuberta, Shoemate, Vadhan and Wagaman (2022, Widespread underestimation of sensitivity in
differentially private libraries and how to fix it): rounding makes a sum depend on one unit, or on the order, by more
than declared.
"""

from __future__ import annotations

import numpy as np

from private_topics.sums.quantised import truncated


def doubling_units() -> tuple[np.ndarray, np.ndarray]:
    """Neighbours in [0, 1] whose first unit differs by 1/64, and whose float32 sums differ by 32.

    Just below a power of two 2^j floats lie twice as close as just above. A unit a little above half of the wider
    gap counts whole for the sum that has reached 2^j and half for the one below: the distance doubles. Ones lead
    on to 2^(j+1), where it doubles again.
    """
    distance, parts = 2.0**-6, [np.ones(2**10, np.float32)]
    for power in range(10, 21):
        gap = 2.0 ** (power - 24)
        parts.append(np.full(round(distance / gap), gap * (1 + 2.0**-20), np.float32))
        distance *= 2
        rest = 2.0**power - distance
        parts += [np.ones(int(rest), np.float32), np.array([rest % 1.0], np.float32)]
    units = np.concatenate(parts)
    other = units.copy()
    other[0] -= 2.0**-6
    return units, other


def reordered_units() -> tuple[np.ndarray, np.ndarray]:
    """The same units in [0, 1] in two orders: behind 2^20 ones the small ones are lost in float32."""
    ones, small = np.ones(2**20, np.float32), np.full(512, 2.0**-4, np.float32)
    return np.concatenate([small, ones]), np.concatenate([ones, small])


def float_sum(units: np.ndarray) -> float:
    return float(np.cumsum(units, dtype=np.float32)[-1])


def lattice_sum(units: np.ndarray, step: float) -> float:
    """The library's: truncated to the lattice, added as integers."""
    return float(truncated(units, step).sum()) * step

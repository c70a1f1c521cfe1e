"""Noisy sums of topic proportions → the share of each topic in each class, with intervals for the noise alone.

A share is a quotient of two noisy numbers that have noise in common: an entry over the sum of its row. Fieller's
interval is exact for such a quotient: it holds all p for which `entry - p · sum` is within its own noise, whose
variance is sigma² (1 - 2p + k p²). Everything here is computed from released values and public numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

COVERAGE = 0.9
ENOUGH = 4.0
"""A class is large enough to say something of it where its size is this many times the noise of that size: one in
30,000 classes without any document seems so."""


@dataclass(frozen=True)
class Estimates:
    """Each with the ends of its interval; shares (classes × topics) are NaN where a class is too small."""

    sizes: np.ndarray
    sizes_low: np.ndarray
    sizes_high: np.ndarray
    shares: np.ndarray
    low: np.ndarray
    high: np.ndarray
    enough: np.ndarray


def estimates(noisy: np.ndarray, sigma: float, coverage: float = COVERAGE) -> Estimates:
    """Sizes and shares of classes × topics whose entries have independent Gaussian noise `sigma`."""
    width, k = float(ndtri(0.5 + coverage / 2.0)), noisy.shape[1]
    sums = noisy.sum(axis=1)
    noise = sigma * math.sqrt(k)
    enough = sums >= ENOUGH * noise
    total = np.where(enough, sums, np.nan)[:, None]
    possible = np.clip(noisy, 0.0, total)  # below zero an interval would end there too, and seem sure of it
    low, high = _quotient_interval(possible, total, (width * sigma) ** 2)
    return Estimates(
        sizes=np.maximum(sums, 0.0),
        sizes_low=np.maximum(sums - width * noise, 0.0),
        sizes_high=np.maximum(sums + width * noise, 0.0),
        shares=possible / total,
        low=low,
        high=high,
        enough=enough,
    )


def smallest_class(sigma: float, n_topics: int) -> int:
    """The size from which something can be said of a class."""
    return math.ceil(ENOUGH * sigma * math.sqrt(n_topics))


def _quotient_interval(entries: np.ndarray, total: np.ndarray, square: float) -> tuple[np.ndarray, np.ndarray]:
    """The p in [0, 1] with `(entry - p · total)² <= square (1 - 2p + k p²)`; `total` is far above its noise."""
    k = entries.shape[1]
    scale = total * total - k * square
    middle = entries * total - square
    spread = np.sqrt(np.maximum(square * ((total - entries) ** 2 + (k - 1) * (entries * entries - square)), 0.0))
    return np.clip((middle - spread) / scale, 0.0, 1.0), np.clip((middle + spread) / scale, 0.0, 1.0)

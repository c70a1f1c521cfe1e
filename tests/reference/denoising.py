"""From noisy numbers to distributions and clips: post-processing of released values, as its docstrings describe it.

Nothing here bears on privacy; it is restated so that a fit can be replayed to its end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from reference.norms import BINS, EDGES

Vector = list[float]

CLEAR_WEIGHT = 30.0  # times its noise: such a word frequency is taken as it is
GRID = [0.0, *(0.01 ** (1 - step / 23) for step in range(24)), *(1.25 + step * 31.75 / 127 for step in range(128))]
ROUNDS = 60
CLEAR_BIN, UNCLEAR_QUANTILE = 3.0, 0.1
EDGE = [float(edge) for edge in EDGES]


def word_frequencies(noisy: Sequence[float], sigma: float) -> Vector:
    """Posterior means under the prior that the noisy weights themselves suggest (Kiefer and Wolfowitz), sum one."""
    scaled = [value / sigma for value in noisy]
    unclear = [value for value in scaled if value < CLEAR_WEIGHT]
    prior = [1 / len(GRID)] * len(GRID)
    density = {value: [math.exp(-0.5 * (value - point) ** 2) for point in GRID] for value in unclear}
    for _ in range(ROUNDS):
        gained = [0.0] * len(GRID)
        for value in unclear:
            marginal = _dot(density[value], prior)
            gained = [g + d / marginal for g, d in zip(gained, density[value], strict=True)]
        if unclear:
            prior = [p * g / len(unclear) for p, g in zip(prior, gained, strict=True)]
    means = {
        value: sum(d * p * point for d, p, point in zip(density[value], prior, GRID, strict=True))
        / _dot(density[value], prior)
        for value in unclear
    }
    found = [means.get(value, value) for value in scaled]
    floor = 1e-4 * sum(found) / len(found)
    return normalised([max(value, floor) for value in found])


def quantile(histogram: Sequence[float], part: float) -> float:
    """The upper edge of the bin where the running total, made to rise, reaches a part of it."""
    running = [sum(histogram[: place + 1]) for place in range(len(histogram))]
    rising = [(max(running[: place + 1]) + min(running[place:])) / 2 for place in range(len(running))]
    reached = sum(value < part * max(rising[-1], 0.0) for value in rising)
    return EDGE[min(max(reached, 1), BINS)]


def clear_bins(histogram: Sequence[float], sigma: float) -> list[int]:
    return [place for place in range(1, BINS + 1) if histogram[place] > CLEAR_BIN * sigma]


def best_clip(histogram: Sequence[float], sigma: float, noise: float, distortion: float) -> float:
    """The edge where the noise that a clip costs and the uneven weights of units that it makes are least together."""
    clear = clear_bins(histogram, sigma)
    if not clear:
        return quantile(histogram, UNCLEAR_QUANTILE)
    bins = range(clear[0], clear[-1] + 1)
    parts = normalised([max(histogram[place], 0.0) for place in bins])
    middles = [math.sqrt(EDGE[place - 1] * EDGE[place]) for place in bins]
    units = max(sum(histogram), sigma)
    losses = {}
    for place in bins:
        factors = [min(1.0, EDGE[place] / middle) for middle in middles]
        mean = _dot(factors, parts)
        variance = max(sum(part * factor**2 for part, factor in zip(parts, factors, strict=True)) - mean**2, 0.0)
        losses[place] = math.hypot(noise * EDGE[place] / (units * mean), distortion * math.sqrt(variance) / mean)
    return EDGE[min(losses, key=lambda place: (losses[place], place))]


def on_simplex(values: Sequence[float], variances: Sequence[float] | None = None) -> Vector:
    """The distribution x of least `Σ (x - value)²/variance`: `max(value - t·variance, 0)` for some t."""
    variances = variances or [1.0] * len(values)

    def at(t: float) -> Vector:
        return [max(value - t * variance, 0.0) for value, variance in zip(values, variances, strict=True)]

    least = min(variances)
    low, high = -(2.0 + max(map(abs, values))) / least, (2.0 + max(map(abs, values))) / least
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(at(middle)) > 1 else (low, middle)
    return normalised(at((low + high) / 2))


def normalised(values: Sequence[float]) -> Vector:
    total = sum(values)
    return [value / total for value in values]


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(x * y for x, y in zip(one, other, strict=True))

"""Units by the logarithm of a norm, and the clip threshold that such a histogram suggests once it is released."""

from __future__ import annotations

import numpy as np

BINS = 64
SMALLEST_LOG, LARGEST_LOG = -14.0, 14.0  # natural logarithm of a norm: 8e-7 to 1.2e6
# To single precision, so that the last bits of a machine's exponential move no norm to another bin.
EDGES = np.exp(np.linspace(SMALLEST_LOG, LARGEST_LOG, BINS + 1)).astype(np.float32).astype(np.float64)


def add_norms(norms: np.ndarray, share: np.ndarray, step: float, counts: np.ndarray) -> None:
    """Add units (in whole steps) to the bin of their norm; outer bins take the rest, zero norms count nowhere."""
    positive = norms > 0
    index = np.searchsorted(EDGES, norms[positive], side="right")
    np.add.at(counts, index, np.floor(share[positive] / step).astype(np.int64))


def clip_threshold(histogram: np.ndarray, quantile: float) -> float:
    """The upper edge of the bin where a noisy histogram reaches `quantile` of its total."""
    running = np.cumsum(histogram)
    rising = (np.maximum.accumulate(running) + np.minimum.accumulate(running[::-1])[::-1]) / 2.0
    reached = int(np.searchsorted(rising, quantile * max(rising[-1], 0.0)))
    return float(EDGES[np.clip(reached, 1, BINS)])

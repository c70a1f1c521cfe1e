"""Word frequencies from noisy ones and what is publicly known of the words. Post-processing of released values.

A word's expected frequency is a regression on its public frequency and features; how far the corpus departs from it
is a gamma variable whose shape the noisy values choose. Where the values say that words are told apart better by
themselves, `unigram_posterior` is used instead.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc, gammaln

from private_topics.inference.denoising import CLEAR, UNIGRAM_GRID, unigram_fit

SHAPES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
RIDGE = 30.0
ROUNDS, LARGEST_STEP, SMALL_STEP = 60, 1.0, 1e-8
SMALLEST_MEAN, LARGEST_LOG = 1e-3, 20.0
_WIDTHS = np.diff(np.concatenate([UNIGRAM_GRID[1:2] / 2, (UNIGRAM_GRID[1:-1] + UNIGRAM_GRID[2:]) / 2, [CLEAR + 4.0]]))


def informed_unigram(
    noisy: np.ndarray, sigma: float, log_frequencies: np.ndarray, features: np.ndarray
) -> np.ndarray:
    """Word probabilities (positive, sum one) from noisy non-negative weights with noise `sigma`."""
    scaled = noisy / sigma
    alone, alone_score = unigram_fit(scaled)
    mean = np.maximum(_expected(scaled, _design(log_frequencies, features)), SMALLEST_MEAN)
    unclear = scaled < CLEAR
    fits = [_posterior(scaled[unclear], mean[unclear], shape) for shape in SHAPES]
    value, score = max(fits, key=lambda fit: fit[1])
    if score <= alone_score:
        value = alone
    else:
        joined = scaled.copy()
        joined[unclear] = value
        value = joined
    value = np.maximum(value, 1e-4 * value.mean())
    result: np.ndarray = value / value.sum()
    return result


def _design(log_frequencies: np.ndarray, features: np.ndarray) -> np.ndarray:
    """A constant, the public log-frequency, whether it is known, features."""
    known = np.isfinite(log_frequencies)
    mean = float(log_frequencies[known].mean()) if known.any() else 0.0
    return np.column_stack([np.ones(len(known)), np.where(known, log_frequencies - mean, 0.0), ~known, features])


def _expected(scaled: np.ndarray, design: np.ndarray) -> np.ndarray:
    """Expected values by regression: `y = exp(design x)` with noise one and a spread as large as the mean itself."""
    ridge = np.full(design.shape[1], RIDGE / len(scaled) * design.shape[1])
    ridge[:2] = 1e-3
    x = np.zeros(design.shape[1])
    x[0], x[1] = np.log(max(float(scaled.mean()), 0.05)), 0.7
    for _ in range(ROUNDS):
        mean = np.exp(np.clip(design @ x, -LARGEST_LOG, LARGEST_LOG))
        weight = 1.0 / (1.0 + mean**2)
        gradient = design.T @ (weight * mean * (scaled - mean)) - ridge * x
        information = (design.T * (weight * mean**2)) @ design + np.diag(ridge)
        step = np.linalg.solve(information, gradient)
        step *= min(1.0, LARGEST_STEP / max(float(np.abs(step).max()), 1e-300))
        x = x + step
        if np.abs(step).max() < SMALL_STEP:
            break
    return np.exp(np.clip(design @ x, -LARGEST_LOG, LARGEST_LOG))


def _posterior(scaled: np.ndarray, mean: np.ndarray, shape: float) -> tuple[np.ndarray, float]:
    """Posterior means where word w is `mean_w` times a gamma variable of mean one, and the log-likelihood."""
    grid = UNIGRAM_GRID[1:]
    rate = shape / mean[:, None]
    logs = shape * np.log(rate) - gammaln(shape) + (shape - 1.0) * np.log(grid) - rate * grid + np.log(_WIDTHS)
    prior = np.column_stack([gammainc(shape, rate[:, 0] * grid[0] / 2), np.exp(logs)])
    prior /= prior.sum(axis=1, keepdims=True)
    likelihood = np.exp(-0.5 * (scaled[:, None] - UNIGRAM_GRID) ** 2)
    joint = prior * likelihood
    total = np.maximum(joint.sum(axis=1), 1e-300)
    return joint @ UNIGRAM_GRID / total, float(np.log(total).sum())

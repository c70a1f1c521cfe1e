"""Word frequencies from noisy ones and what is publicly known of the words. Post-processing of released values.

A word's expected frequency is a public one, or a regression on public frequencies and features; how far the corpus
departs from it is a gamma variable. The noisy values choose among them, and the shape of the gamma. Where they say
that words are told apart better by themselves, the unigram is what `unigram_posterior` makes of them.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc, gammaln

from private_topics.inference.denoising import CLEAR, UNIGRAM_GRID, unigram_fit
from private_topics.spectral.public_basis import even_features

SHAPES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0)
RIDGE, SOURCE_RIDGE = 30.0, 5.0
ROUNDS, LARGEST_STEP, SMALL_STEP = 60, 1.0, 1e-8
COMPARED = 8192  # of more words than these, every second, third, … decides between priors
SMALLEST_MEAN, LARGEST_MEAN, LARGEST_LOG = 1e-3, 1e4, 20.0
_WIDTHS = np.diff(np.concatenate([UNIGRAM_GRID[1:2] / 2, (UNIGRAM_GRID[1:-1] + UNIGRAM_GRID[2:]) / 2, [CLEAR + 4.0]]))


def informed_unigram(
    noisy: np.ndarray, sigma: float, log_frequencies: np.ndarray, features: np.ndarray
) -> np.ndarray:
    """Word probabilities (positive, sum one) from noisy non-negative weights with noise `sigma`.

    `log_frequencies` (d × sources): public ones, NaN where unknown; the last source is the nearest to the corpus.
    """
    value = informed_weights(noisy, sigma, log_frequencies, features, unigram_fit(noisy / sigma))
    value = np.maximum(value, 1e-4 * value.mean())
    result: np.ndarray = value / value.sum()
    return result


def expected_weights(noisy: np.ndarray, sigma: float, log_frequencies: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """What weights of many words are expected to be, most of which nobody may use, in units of `sigma`."""
    return informed_weights(noisy, sigma, log_frequencies, even_features(vectors))


def informed_weights(
    noisy: np.ndarray,
    sigma: float,
    log_frequencies: np.ndarray,
    features: np.ndarray,
    otherwise: tuple[np.ndarray | None, float] = (None, -np.inf),
) -> np.ndarray:
    """What the weights themselves are expected to be, in units of `sigma`.

    `otherwise`: values that know nothing of the words, and their log-likelihood, where they may be better.
    """
    scaled = noisy / sigma
    value, best = otherwise
    unclear = np.flatnonzero(scaled < CLEAR)
    compared = unclear[:: -(-len(unclear) // COMPARED)] if len(unclear) else unclear
    sources = [_filled(column) for column in log_frequencies.T]
    design = np.column_stack([np.ones(len(scaled)), *sources, np.isnan(log_frequencies), features])
    likelihood = _likelihood(scaled[compared])
    designs = [np.column_stack([np.ones(len(scaled)), source]) for source in sources] + [design]
    for columns in designs:
        mean = _expected(scaled, columns, min(len(sources), columns.shape[1] - 1))
        mean = np.clip(mean, SMALLEST_MEAN, LARGEST_MEAN)
        scores = [_log_evidence(likelihood, mean[compared], shape) for shape in SHAPES]
        score = max(scores) * len(unclear) / max(len(compared), 1)
        if score - columns.shape[1] > best:  # twice what as many useless columns would gain
            best, value = score - columns.shape[1], scaled.copy()
            shape = SHAPES[int(np.argmax(scores))]
            value[unclear] = _posterior_means(_likelihood(scaled[unclear]), mean[unclear], shape)
    return scaled if value is None else value


def _filled(log_frequencies: np.ndarray) -> np.ndarray:
    """Centred, zero where unknown."""
    known = np.isfinite(log_frequencies)
    mean = float(log_frequencies[known].mean()) if known.any() else 0.0
    return np.where(known, log_frequencies - mean, 0.0)


def _expected(scaled: np.ndarray, design: np.ndarray, n_sources: int) -> np.ndarray:
    """Expected values by regression: `y = exp(design x)` with noise one and a spread as large as the mean itself.

    One source is followed as far as the values say; of several, the last is followed unless they say otherwise.
    """
    ridge = np.full(design.shape[1], RIDGE / len(scaled) * design.shape[1])
    ridge[: 1 + n_sources] = 1e-3
    expected = np.zeros(design.shape[1])
    if n_sources > 1:
        ridge[1 : 1 + n_sources], expected[n_sources] = SOURCE_RIDGE, 1.0
    x = expected.copy()
    x[0], x[n_sources] = np.log(max(float(scaled.mean()), 0.05)), max(x[n_sources], 0.7)
    for _ in range(ROUNDS):
        mean = np.exp(np.clip(design @ x, -LARGEST_LOG, LARGEST_LOG))
        weight = 1.0 / (1.0 + mean**2)
        gradient = design.T @ (weight * mean * (scaled - mean)) - ridge * (x - expected)
        information = (design.T * (weight * mean**2)) @ design + np.diag(ridge)
        step = np.linalg.solve(information, gradient)
        step *= min(1.0, LARGEST_STEP / max(float(np.abs(step).max()), 1e-300))
        x = x + step
        if np.abs(step).max() < SMALL_STEP:
            break
    return np.exp(np.clip(design @ x, -LARGEST_LOG, LARGEST_LOG))


def _likelihood(scaled: np.ndarray) -> np.ndarray:
    """Of each word (rows), where its weight is each of the grid."""
    result: np.ndarray = np.exp(-0.5 * (scaled[:, None] - UNIGRAM_GRID) ** 2)
    return result


def _prior(mean: np.ndarray, shape: float) -> np.ndarray:
    """On the grid, where word w is `mean_w` times a gamma variable of mean one; rows sum to one."""
    grid = UNIGRAM_GRID[1:]
    rate = shape / mean
    prior = np.empty((len(mean), len(UNIGRAM_GRID)))
    prior[:, 0] = gammainc(shape, rate * grid[0] / 2)
    scale = shape * np.log(rate) - gammaln(shape)
    np.exp(scale[:, None] + ((shape - 1.0) * np.log(grid) + np.log(_WIDTHS)) - np.outer(rate, grid), out=prior[:, 1:])
    prior /= prior.sum(axis=1, keepdims=True)
    return prior


def _log_evidence(likelihood: np.ndarray, mean: np.ndarray, shape: float) -> float:
    return float(np.log(np.maximum(np.einsum("wg,wg->w", _prior(mean, shape), likelihood), 1e-300)).sum())


def _posterior_means(likelihood: np.ndarray, mean: np.ndarray, shape: float) -> np.ndarray:
    joint = _prior(mean, shape) * likelihood
    result: np.ndarray = joint @ UNIGRAM_GRID / np.maximum(joint.sum(axis=1), 1e-300)
    return result

"""Noisy non-negative arrays → distributions. Post-processing of released values: free of privacy cost.

`unigram_posterior` learns the distribution of word probabilities from the noisy values themselves and returns each
word's posterior mean (nonparametric empirical Bayes, Kiefer & Wolfowitz 1956). `denoised_topics` blends two
estimates of a noisy topics × words statistic by its noise level: the projection of each row on the simplex, best
when the noise is small, and the posterior mean under a gamma prior around topic share × word probability, best when
most entries are below the noise.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from scipy.special import gammaln

from private_topics.inference.fold_in import exp_of_minus
from private_topics.spectral.topics import project_to_simplex

SHAPES = (0.03, 0.06, 0.12, 0.25, 0.5, 1.0, 2.0)
INFORMED_SHAPES = (0.12, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 64.0)
INFORMED_FLOOR, SURE_BLEND = 0.01, 1.0
RATIOS = np.exp(np.linspace(np.log(1e-4), np.log(60.0), 48))
SHAPE_SAMPLE = 8192
CLEAR, UNIGRAM_ROUNDS = 30.0, 60
UNIGRAM_GRID = np.concatenate(([0.0], np.exp(np.linspace(np.log(0.01), 0.0, 24)), np.linspace(1.25, CLEAR + 3, 128)))
FLOOR_PER_NOISE, LARGEST_FLOOR = 0.015, 0.1
LARGEST_BLEND, HALF_BLEND = 0.5, 0.5


def unigram_posterior(noisy: np.ndarray, sigma: float) -> np.ndarray:
    """Word probabilities (positive, sum one) from noisy non-negative weights with noise `sigma`.

    A weight of more than `CLEAR` times the noise is taken as it is.
    """
    value, _ = unigram_fit(noisy / sigma)
    value = np.maximum(value, 1e-4 * value.mean())
    result: np.ndarray = value / value.sum()
    return result


def unigram_fit(scaled: np.ndarray) -> tuple[np.ndarray, float]:
    """Posterior means of weights with noise one, and the log-likelihood of those that are not clear."""
    unclear = scaled[scaled < CLEAR]
    value, score = scaled.copy(), 0.0
    if len(unclear):
        points = unclear if len(unclear) <= 2048 else np.quantile(unclear, (np.arange(2048) + 0.5) / 2048)
        likelihood = -0.5 * (points[:, None] - UNIGRAM_GRID) ** 2
        largest = likelihood.max(axis=1, keepdims=True)
        likelihood = np.exp(likelihood - largest)
        prior = np.full(len(UNIGRAM_GRID), 1.0 / len(UNIGRAM_GRID))
        for _ in range(UNIGRAM_ROUNDS):
            prior = prior * (likelihood.T @ (1.0 / (likelihood @ prior))) / len(points)
        mean = (likelihood @ (prior * UNIGRAM_GRID)) / (likelihood @ prior)
        order = np.argsort(points, kind="stable")
        value[scaled < CLEAR] = np.interp(unclear, points[order], mean[order])
        score = float((np.log(likelihood @ prior) + largest[:, 0]).mean()) * len(unclear)
    return value, score


def noise_level(statistic: np.ndarray, noise: np.ndarray) -> float:
    """One over the mean entry, in units of its noise: below 0.1 nearly exact, above one mostly noise."""
    return float(statistic.size / max(float((statistic.sum(axis=0) / noise).sum()), 1.0))


def denoised_topics(statistic: np.ndarray, unigram: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Topics (k × d, rows on the simplex) from a noisy statistic, `noise` that of the entries of each word."""
    level = noise_level(statistic, noise)
    totals = np.maximum(statistic.sum(axis=1, keepdims=True), noise.max())
    topics = project_to_simplex(statistic / totals, noise**2)
    blend = LARGEST_BLEND * level**2 / (level**2 + HALF_BLEND**2)
    if blend > 0.02:
        topics = (1.0 - blend) * topics + blend * gamma_posterior(statistic, unigram, unigram, noise)
    floor = min(LARGEST_FLOOR, FLOOR_PER_NOISE * level)
    result: np.ndarray = (1.0 - floor) * topics + floor * unigram
    return result


def informed_topics(
    statistic: np.ndarray, expected: np.ndarray, unigram: np.ndarray, noise: np.ndarray
) -> np.ndarray:
    """Topics from a noisy statistic where public knowledge says what to expect of each of them."""
    level = noise_level(statistic, noise)
    topics = gamma_posterior(statistic, expected, unigram, noise, INFORMED_SHAPES)
    blend = SURE_BLEND * HALF_BLEND**2 / (level**2 + HALF_BLEND**2)
    if blend > 0.02:
        totals = np.maximum(statistic.sum(axis=1, keepdims=True), noise.max())
        topics = (1.0 - blend) * topics + blend * project_to_simplex(statistic / totals, noise**2)
    result: np.ndarray = (1.0 - INFORMED_FLOOR) * topics + INFORMED_FLOOR * unigram
    return result


def gamma_posterior(
    statistic: np.ndarray,
    expected: np.ndarray,
    unigram: np.ndarray,
    noise: np.ndarray,
    shapes: tuple[float, ...] = SHAPES,
) -> np.ndarray:
    """Posterior mean topics when entry (i, w) is `share_i · expected_iw · total` times a gamma variable of mean one.

    `expected` topics (k × d), or the unigram for all of them; the values themselves choose the shape of the gamma.
    """
    n_topics = len(statistic)
    total = max(float(statistic.sum()), float(noise.max()))
    share = np.maximum(statistic.sum(axis=1) / total, 0.2 / n_topics)
    share /= share.sum()
    mass = np.atleast_2d(expected * total)
    ratios, log_prior = _gamma_prior(_best_shape(statistic, share, mass, noise, shapes))
    estimate = np.empty_like(statistic)
    _posterior_means(statistic, share, mass, noise, ratios, log_prior, estimate)
    estimate *= unigram / np.maximum(estimate.sum(axis=0), np.finfo(float).tiny)
    estimate /= estimate.sum(axis=1, keepdims=True)
    return estimate


def _best_shape(
    statistic: np.ndarray, share: np.ndarray, mass: np.ndarray, noise: np.ndarray, shapes: tuple[float, ...]
) -> float:
    """The gamma shape of largest marginal likelihood, on a fixed sample of the entries, in units of their noise."""
    chosen = np.linspace(0, statistic.size - 1, min(statistic.size, SHAPE_SAMPLE)).astype(np.int64)
    topics, words = np.unravel_index(chosen, statistic.shape)
    value = statistic[topics, words] / noise[words]
    mean = share[topics] * np.broadcast_to(mass, statistic.shape)[topics, words] / noise[words]
    scores = [_log_likelihoods(value, mean, *_gamma_prior(shape)).sum() for shape in shapes]
    return shapes[int(np.argmax(scores))]


def _gamma_prior(shape: float) -> tuple[np.ndarray, np.ndarray]:
    log_weight = shape * np.log(shape) - gammaln(shape) + shape * np.log(RATIOS) - shape * RATIOS
    weight = np.exp(log_weight)
    weight /= weight.sum()
    return RATIOS / (weight @ RATIOS), np.log(np.maximum(weight, 1e-300))


@njit(cache=True, parallel=True, nogil=True)
def _log_likelihoods(value, mean, ratios, log_prior):  # type: ignore[no-untyped-def]
    """Log of the density of each noisy value (noise one), the prior summed out, up to a constant."""
    out = np.empty(len(value))
    for n in prange(len(value)):
        weights = np.empty(len(ratios))
        top = _weigh(value[n], mean[n], ratios, log_prior, weights)
        total = 0.0
        for j in range(len(ratios)):
            total += weights[j]
        out[n] = top + np.log(total)
    return out


@njit(cache=True, parallel=True, nogil=True)
def _posterior_means(statistic, share, mass, noise, ratios, log_prior, out):  # type: ignore[no-untyped-def]
    """Of each entry, where its mean is share × mass (k × d, or 1 × d for all topics)."""
    n_topics, n_words = statistic.shape
    for w in prange(n_words):
        weights = np.empty(len(ratios))
        for i in range(n_topics):
            mean = share[i] * mass[min(i, len(mass) - 1), w] / noise[w]
            _weigh(statistic[i, w] / noise[w], mean, ratios, log_prior, weights)
            weight, weighted = 0.0, 0.0
            for j in range(len(ratios)):
                weight += weights[j]
                weighted += weights[j] * ratios[j]
            out[i, w] = mean * noise[w] * weighted / weight


@njit(cache=True, nogil=True)
def _weigh(value, mean, ratios, log_prior, weights):  # type: ignore[no-untyped-def]
    """Likelihood times prior of each ratio, the largest of them one; returns the logarithm of what that was."""
    top = -np.inf
    for j in range(len(ratios)):
        gap = value - mean * ratios[j]
        weights[j] = log_prior[j] - 0.5 * gap * gap
        top = max(top, weights[j])
    for j in range(len(ratios)):
        weights[j] = exp_of_minus(top - weights[j])
    return top

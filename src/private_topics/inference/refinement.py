"""Refinement statistics → topics. The statistic is words × topics: expected counts of each word in each topic."""

from __future__ import annotations

import numpy as np

SMOOTHING = 1.0
START_UNIGRAM_SHARE = 0.5
SMALLEST_BATCH, FEWEST_BATCHES = 32, 40


def topics_of_counts(expected: np.ndarray) -> np.ndarray:
    """Words × topics with columns that sum to one: the posterior mean under a symmetric Dirichlet prior."""
    smoothed = expected + SMOOTHING
    smoothed /= smoothed.sum(axis=0)
    return smoothed


def start_counts(topics: np.ndarray, unigram: np.ndarray, n_tokens: float) -> np.ndarray:
    """Pseudo-counts (words × topics) that stand for the spectral topics, all of the same size.

    Half of the unigram model keeps every word reachable, and lets the common words spread over the topics.
    """
    mixed = (1.0 - START_UNIGRAM_SHARE) * topics + START_UNIGRAM_SHARE * unigram
    return np.ascontiguousarray(mixed.T) * (n_tokens / len(topics))


def step_size(step: int) -> float:
    """Weight of the new batch in the running statistic (Hoffman, Blei & Bach 2010)."""
    return float((step + 2.0) ** -0.5)

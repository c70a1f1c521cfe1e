"""Expected counts under released topics: `Σ g_w c_w r_wi / norm`, non-negative and of norm one.

The weights `g` of the words are public. Every entry has the same noise, so divided by `g` it is small on words of
large weight: `even_weights` gives rare words, whose expected counts are small, less of it than frequent ones.

Proofs: docs/proofs/refinement.md; docs/proofs/variational.md for minibatches.
"""

from __future__ import annotations

import numpy as np

from private_topics.privacy.mechanisms import Released
from private_topics.releases.release import NON_NEGATIVE, FitContext, Release
from private_topics.sums.unit_sums import TopicStatistic

SMALLEST_FREQUENCY = 0.2  # of the mean: a rarer word has the weight of one with this frequency
WEIGHT_EXPONENT = 0.375  # research/choices.py
REFINEMENT = Release(
    "refinement", "refinement of the topics", "s1", "array", "refinement", NON_NEGATIVE, "refine", TopicStatistic,
    repeated=True, radius=1.0,
)  # fmt: skip
MINIBATCH = Release(
    "minibatch statistic", "minibatches", None, "array", "variational", NON_NEGATIVE, None, TopicStatistic,
    repeated=True,
)  # fmt: skip


def release_statistic(
    context: FitContext,
    topics: np.ndarray,
    release: Release,
    share: float,
    words: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Released:
    """The statistic over some words, or all: words × topics, each word times its weight (one)."""
    asked = context.ask(release, share)
    prior = np.full(len(topics), context.alpha0 / len(topics))
    if weights is None:
        weights = np.ones(topics.shape[1])
    statistic = TopicStatistic(words, np.ascontiguousarray(topics.T), weights, prior, asked.step)
    (released,) = context.release([asked], statistic)
    return released


def even_weights(unigram: np.ndarray) -> np.ndarray:
    """Weights of words by their released frequency, the smallest of them one.

    Where the expected square of a count is in proportion to its mean, `unigram^-1/2` is best for `Σ noise²/unigram`,
    which perplexity asks for, and `unigram^-1/4` for `Σ noise²`, the error of topics. The exponent is between them.
    """
    frequency = np.maximum(unigram, SMALLEST_FREQUENCY / len(unigram))
    result: np.ndarray = (frequency.max() / frequency) ** WEIGHT_EXPONENT
    return result

"""A private vocabulary, then a private topic model on its words: the pipeline of arXiv 2403.04451, a rival.

The paper ("Membership Inference Attacks and Privacy in Topic Modeling") and its public code choose words by a private
set union and train on them a Gibbs sampler with noise, for the sum of the two budgets.

As published (`published`): the set union is greedy (Carvalho, Wang and Gondara 2022). Each document gives weight one
to its most frequent words that are not full yet, Laplace noise of scale `1/epsilon`, threshold `1 - log(2 delta) /
epsilon`. The sampler adds Laplace noise of scale `2/epsilon` to what the draws of its *last sweep* read (Zhu et al.
2016), and prints the counts of the topics so drawn.

What is wrong with it. **The sampler has no guarantee, at any epsilon**: every token is counted once, in whatever
topic, and the counts themselves have no noise. `(n_wk + beta)/(n_k + d beta)` therefore tells the number of times
that each word occurs in the corpus, exactly (`word_totals`); corpora that differ in one word never give the same
output. The draws before the last sweep have no noise at all. The threshold of the set union counts on one new word
for each document. But a document can also make others' weights move on to words that had none, to several with a part
each, and then delta is exceeded if epsilon is small; and a document that is replaced costs twice the epsilon of one
that is added. Tested.

Made to hold (`Pipeline`): a document spreads weights of norm one evenly over at most `MOST_WORDS` of its words,
chosen at random; Gaussian noise; the threshold of `docs/proofs/vocabulary.md`, with its part of delta. Then
`PerDocument` of `rival_gibbs`, or another fit, on the words named. All adds up in Gaussian DP; theorem 4 of
`docs/proofs/composition.md` has the threshold.

Words that were not named have the same small probability in every topic: half the threshold among the weights of the
others. Noise and draws come from numpy with a fixed seed: a simulation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numba import njit
from scipy.stats import norm

from private_topics.privacy.curves import gdp_delta, mu_of_budget
from rival_gibbs import MOST_TOKENS, REPLACED, counts_of, draw_collapsed, tokens_of

MOST_WORDS = 100
THRESHOLD_PART = 0.1  # of delta

Fit = Callable[[sp.csr_array, float], np.ndarray]
"""From counts and a mu of Gaussian DP to topics."""


@dataclass(frozen=True)
class Pipeline:
    """`share` of mu² chooses the words, the rest is for the topics."""

    share: float = 0.3

    def mus(self, epsilon: float, delta: float) -> tuple[float, float]:
        """For the words and for the topics."""
        spent = THRESHOLD_PART * delta
        mu = mu_of_budget(epsilon + math.log1p(-spent), delta - spent)
        return mu * math.sqrt(self.share), mu * math.sqrt(1.0 - self.share)

    def delta(self, mus: tuple[float, float], epsilon: float, threshold_delta: float) -> float:
        """What both cost together."""
        return gdp_delta(math.hypot(*mus), epsilon + math.log1p(-threshold_delta)) + threshold_delta

    def topics(
        self, counts: sp.csr_array, scored: int, fit: Fit, epsilon: float, delta: float, seed: int
    ) -> np.ndarray:
        """Topics over the first `scored` words; the others take part in the choice of words only."""
        for_words, for_topics = self.mus(epsilon, delta)
        generator, sigma = np.random.default_rng([seed, 1]), REPLACED / for_words
        weights = word_weights(counts, generator)
        noisy = np.where(weights > 0.0, weights + sigma * generator.standard_normal(len(weights)), -np.inf)[:scored]
        limit = threshold(sigma, THRESHOLD_PART * delta)
        named = np.flatnonzero(noisy >= limit)
        if len(named) < 2:
            return np.full((1, scored), 1.0 / scored)
        found = fit(sp.csr_array(counts[:, named]), for_topics)
        return spread(found, named, scored, float(noisy[named].sum()), limit / 2.0)


def word_weights(counts: sp.csr_array, generator: np.random.Generator) -> np.ndarray:
    """What the documents give their words: each an array of norm at most one."""
    total = np.zeros(counts.shape[1])
    for start, stop in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        words = counts.indices[start:stop]
        if len(words) > MOST_WORDS:
            words = generator.choice(words, MOST_WORDS, replace=False)
        total[words] += 1.0 / math.sqrt(max(len(words), 1))
    return total


def threshold(sigma: float, delta: float) -> float:
    """The words that one document alone has stay below it, but with probability `delta`."""
    sizes = np.arange(1, MOST_WORDS + 1)
    return float(np.max(1.0 / np.sqrt(sizes) + sigma * norm.isf(-np.expm1(np.log1p(-delta) / sizes))))


def spread(topics: np.ndarray, named: np.ndarray, scored: int, weight: float, unnamed: float) -> np.ndarray:
    """Topics over all words: each word that was not named has the weight `unnamed` beside those that were."""
    found = np.full((len(topics), scored), unnamed / (weight + unnamed * (scored - len(named))))
    found[:, named] = topics * weight / (weight + unnamed * (scored - len(named)))
    return found / found.sum(axis=1, keepdims=True)


# -- as published ---------------------------------------------------------------------------------------------------

CUTOFF = 3.0  # of the greedy union, in scales of its noise above the threshold
SWEEPS = 50


def published(
    counts: sp.csr_array, scored: int, n_topics: int, epsilon: float, delta: float, seed: int
) -> np.ndarray:
    """Half of epsilon for each stage. No guarantee follows."""
    generator = np.random.default_rng(seed)
    weights = greedy_weights(counts, epsilon / 2.0, delta, generator)
    noisy = np.where(weights > 0.0, weights + generator.laplace(0.0, 2.0 / epsilon, len(weights)), -np.inf)[:scored]
    limit = greedy_threshold(epsilon / 2.0, delta)
    named = np.flatnonzero(noisy > limit)
    if len(named) < 2:
        return np.full((1, scored), 1.0 / scored)
    topics = last_sweep_topics(sp.csr_array(counts[:, named]), n_topics, epsilon / 2.0, seed)
    return spread(topics, named, scored, float(noisy[named].sum()), limit / 2.0)


def greedy_threshold(epsilon: float, delta: float) -> float:
    return 1.0 - math.log(2.0 * delta) / epsilon


def greedy_weights(
    counts: sp.csr_array, epsilon: float, delta: float, generator: np.random.Generator | None = None
) -> np.ndarray:
    """Weights of the greedy set union; in the order of the documents without a generator."""
    counts = sp.csr_array(counts)
    order = np.arange(counts.shape[0]) if generator is None else generator.permutation(counts.shape[0])
    full = greedy_threshold(epsilon, delta) + CUTOFF / epsilon
    total = np.zeros(counts.shape[1])
    _give(counts.indptr, counts.indices, counts.data.astype(np.int64), order, full, total)
    return total


@njit
def _give(indptr, words, times, order, full, total):  # pragma: no cover
    for document in order:
        first, last = indptr[document], indptr[document + 1]
        left = 1.0
        for place in np.argsort(-times[first:last], kind="mergesort"):
            word = words[first + place]
            given = min(left, full - total[word])
            if given > 0.0:
                total[word] += given
                left -= given
            if left <= 0.0:
                break


def last_sweep_topics(
    counts: sp.csr_array, n_topics: int, epsilon: float, seed: int, beta: float | None = None
) -> np.ndarray:
    """Collapsed Gibbs sampling; noise on what the last sweep reads. Priors `1/k`, as in the public code."""
    prior = 1.0 / n_topics
    beta = prior if beta is None else beta
    generator = np.random.default_rng(seed)
    tokens = tokens_of(counts, MOST_TOKENS, generator)
    topics = generator.integers(n_topics, size=len(tokens.words))
    table = counts_of(tokens, topics, n_topics)
    totals = table.sum(axis=0)
    for sweep in range(SWEEPS + 1):
        scale = 2.0 / epsilon if sweep == SWEEPS else 0.0
        draw_collapsed(tokens.starts, tokens.words, topics, table, totals, prior, beta, scale, generator)
    found: np.ndarray = ((table + beta) / (totals + tokens.n_words * beta)).T
    return found


def word_totals(topics: np.ndarray, absent: int, beta: float) -> np.ndarray:
    """How often each word occurs in the corpus, from the topics alone; the word `absent` does not occur."""
    return beta * (topics / topics[:, [absent]] - 1.0).sum(axis=0)

"""Counts and a fixed topic model → each document's topic weights, and the statistic that re-estimates the topics.

Mean-field inference of one document (Blei, Ng & Jordan 2003): `gamma = alpha + Σ_w c_w r_w`, where
`r_wi ∝ topics[w, i] · exp(digamma(gamma_i))`, for a fixed number of rounds. Every other round goes further than it
should, in the logarithm of the pull: twice as far the first time, then three times. The plain round after it takes
back what overshoots, and six such rounds come as close to the fixed point as ten plain ones. A document's result is a
function of its own counts and the model alone: no stopping rule over a batch, no warm start, and one order of adding
(`lanes`).

The statistic is summed word by word (one thread owns a word and visits its documents in order), so it needs no copy
per thread and does not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from private_topics.corpus.counts.layout import WordBlock
from private_topics.inference.lanes import fused, lane_sums

ROUNDS = 6
TINY = 1e-280
"""Added to what is divided by: 2^31 - 1 counts over it, times any number of words, stay finite."""


def fold_in(
    indptr: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
    word_topics: np.ndarray,
    prior: np.ndarray,
    rounds: int = ROUNDS,
) -> tuple[np.ndarray, np.ndarray]:
    """Return `(gamma, pull)`, both documents × topics: posterior Dirichlet parameters and `exp(digamma(gamma))`."""
    gamma = np.empty((len(indptr) - 1, len(prior)))
    pull = np.empty_like(gamma)
    _fold_in(indptr, words, counts, np.ascontiguousarray(word_topics), prior, rounds, gamma, pull)
    return gamma, pull


def topic_statistic(block: WordBlock, word_topics: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """`Σ_n c_nw r_nwi` as a words × topics array."""
    out = np.empty_like(word_topics)
    _statistic(*block.by_words, block.counts, word_topics, pull, out)
    return out


@njit(cache=True, inline="always")
def exp_digamma(x):  # type: ignore[no-untyped-def]
    """`exp(digamma(x))` to a relative 2e-6 for x >= 0.02: five steps of recurrence, then the asymptotic series."""
    x1, x2, x3, x4 = x + 1.0, x + 2.0, x + 3.0, x + 4.0
    x01, x23, x34 = x * x1, x2 * x3, x3 * x4
    product = x01 * x23 * x4
    reciprocals = (x1 * x2 * x34 + x * x2 * x34 + x01 * x34 + x01 * x2 * x4 + x01 * x23) / product
    z = 1.0 / (x + 5.0)
    series = x + 4.5 + z * (1.0 / 24.0 + z * (1.0 / 48.0 + z * (23.0 / 5760.0)))
    return series * exp_of_minus(reciprocals)


@njit(cache=True, inline="always")
def exp_of_minus(r):  # type: ignore[no-untyped-def]
    """`exp(-r)` for r >= 0, flat beyond 100: Taylor's polynomial at r/128, then seven squarings.

    Unlike a call of the library's `exp`, this is plain arithmetic, which the compiler runs on several topics at once.
    """
    t = -min(r, 100.0) * (1.0 / 128.0)
    high = 1.0 / 24.0 + t * (1.0 / 120.0 + t * (1.0 / 720.0 + t * (1.0 / 5040.0 + t * (1.0 / 40320.0))))
    p = 1.0 + t * (1.0 + t * (0.5 + t * (1.0 / 6.0 + t * high)))
    p *= p
    p *= p
    p *= p
    p *= p
    p *= p
    p *= p
    return p * p


@njit(cache=True, parallel=True, nogil=True)
def _fold_in(indptr, words, counts, word_topics, prior, rounds, gamma, pull):  # type: ignore[no-untyped-def]
    k = len(prior)
    for n in prange(len(indptr) - 1):
        g, e = gamma[n], pull[n]
        length = 0.0
        for p in range(indptr[n], indptr[n + 1]):
            length += counts[p]
        for a in range(k):
            g[a] = prior[a] + length / k
            e[a] = exp_digamma(g[a])
        for r in range(rounds):
            for a in range(k):
                g[a] = 0.0
            for p in range(indptr[n], indptr[n + 1]):
                topic = word_topics[words[p]]
                scaled = counts[p] / (lane_sums(e, topic)[0] + TINY)
                for a in range(k):
                    g[a] = fused(scaled, topic[a], g[a])
            for a in range(k):
                g[a] = fused(e[a], g[a], prior[a])
            further = r % 2 == 0 and r + 1 < rounds
            for a in range(k):
                pulled = exp_digamma(g[a])
                ratio = pulled / e[a] if further else 1.0
                e[a] = pulled * ratio * (ratio if r > 0 else 1.0)


@njit(cache=True, parallel=True, fastmath=True, nogil=True)
def _statistic(order, word_start, by_word, document_of, counts, word_topics, pull, out):  # type: ignore[no-untyped-def]
    k = word_topics.shape[1]
    for o in prange(len(order)):
        word = order[o]
        topic = word_topics[word]
        acc = np.zeros(k)
        for q in range(word_start[word], word_start[word + 1]):
            p = by_word[q]
            e = pull[document_of[p]]
            total = TINY
            for a in range(k):
                total += e[a] * topic[a]
            scaled = counts[p] / total
            for a in range(k):
                acc[a] += scaled * e[a]
        row = out[word]
        for a in range(k):
            row[a] = acc[a] * topic[a]

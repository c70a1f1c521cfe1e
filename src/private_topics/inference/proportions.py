"""Counts and a fixed topic model → each document's topic proportions: the fixed point of `fold_in`, reached sooner.

The fits take a fixed number of rounds (`fold_in.py`): what they add up must be the same on every machine. Here
nothing is added up over documents, so each goes on until its proportions no longer move. Plain rounds approach the
fixed point slowly where two topics share words; after a few of them, every second one is extrapolated along the way
that the last two took (SQUAREM: Varadhan & Roland 2008, scheme S3). A document's result is a function of its
own counts and the model alone.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from private_topics.inference.word_lanes import LANES, extrapolate, next_gamma, pulls, ratios, way_over_bend

PLAIN_ROUNDS, MOST_ROUNDS = 3, 100
STILL = 1e-5
"""A document is at rest where no proportion moves by more in a round."""
FIRST_STRIDE = 4.0
TOGETHER = 256
"""Documents of one parallel task."""


def proportions(
    indptr: np.ndarray, words: np.ndarray, counts: np.ndarray, word_topics: np.ndarray, prior: np.ndarray
) -> np.ndarray:
    """Topic proportions (documents × topics, rows sum to one), by all threads that numba has."""
    found = np.empty((len(indptr) - 1, len(prior)))
    _in_parallel(indptr, words, counts, word_topics, prior, found)
    return found


def proportions_of_some(
    indptr: np.ndarray, words: np.ndarray, counts: np.ndarray, word_topics: np.ndarray, prior: np.ndarray
) -> np.ndarray:
    """The same numbers by the calling thread, without the interpreter's lock."""
    found = np.empty((len(indptr) - 1, len(prior)))
    _of_some(indptr, words, counts, word_topics, prior, 0, len(found), found)
    return found


@njit(cache=True, parallel=True, nogil=True)
def _in_parallel(indptr, words, counts, word_topics, prior, found):  # type: ignore[no-untyped-def]
    for task in prange((len(found) + TOGETHER - 1) // TOGETHER):
        first = task * TOGETHER
        _of_some(indptr, words, counts, word_topics, prior, first, min(first + TOGETHER, len(found)), found)


@njit(cache=True, fastmath=True, nogil=True)
def _of_some(indptr, words, counts, word_topics, prior, first, last, found):  # type: ignore[no-untyped-def]
    k, most = len(prior), 0
    for n in range(first, last):
        most = max(most, indptr[n + 1] - indptr[n])
    topics, most = _whole(k), _whole(most)
    panel, row_counts, ratio = np.zeros(most * topics), np.empty(most), np.empty(most)
    states, padded = np.empty((4, topics)), np.ones(topics)
    padded[:k] = prior
    gamma, once, twice, pull = states[0], states[1], states[2], states[3]
    for n in range(first, last):
        start, different, length = indptr[n], indptr[n + 1] - indptr[n], 0.0
        rows = _whole(different)
        for w in range(different):
            base, word = (w // LANES) * topics * LANES + w % LANES, words[start + w]
            for a in range(k):
                panel[base + a * LANES] = word_topics[word, a]
            row_counts[w] = counts[start + w]
            length += row_counts[w]
        for w in range(different, rows):
            base = (w // LANES) * topics * LANES + w % LANES
            for a in range(k):
                panel[base + a * LANES] = 0.0
            row_counts[w] = 0.0
        _settle(panel, row_counts, rows, padded, k, length, gamma, once, twice, pull, ratio)
        total = 0.0
        for a in range(k):
            total += gamma[a]
        for a in range(k):
            found[n, a] = gamma[a] / total


@njit(cache=True, inline="always")
def _whole(count):  # type: ignore[no-untyped-def]
    """Rounded up to whole vectors."""
    return (count + LANES - 1) // LANES * LANES


@njit(cache=True, fastmath=True, nogil=True)
def _settle(panel, counts, rows, prior, k, length, gamma, once, twice, pull, ratio):  # type: ignore[no-untyped-def]
    """Leave the posterior Dirichlet parameters of a document in `gamma`. Topics beyond the k-th stay as they are."""
    still, stride = STILL * length, FIRST_STRIDE
    for a in range(len(prior)):
        gamma[a] = prior[a] + (length / k if a < k else 0.0)
    for _ in range(PLAIN_ROUNDS):
        moved = _round(panel, counts, rows, prior, gamma, pull, ratio, once)
        for a in range(len(prior)):
            gamma[a] = once[a]
        if moved <= still:
            return
    for _ in range((MOST_ROUNDS - PLAIN_ROUNDS) // 2):
        moved = _round(panel, counts, rows, prior, gamma, pull, ratio, once)
        if moved <= still:
            twice = once
            break
        moved = _round(panel, counts, rows, prior, once, pull, ratio, twice)
        if moved <= still:
            break
        reach = max(1.0, np.sqrt(way_over_bend(gamma, once, twice, len(prior))))
        if reach > stride:
            reach, stride = stride, 4.0 * stride
        extrapolate(gamma, once, twice, prior, len(prior), reach)
    for a in range(len(prior)):
        gamma[a] = twice[a]


@njit(cache=True, fastmath=True, nogil=True, inline="always")
def _round(panel, counts, rows, prior, gamma, pull, ratio, out):  # type: ignore[no-untyped-def]
    """One round of mean-field inference, `out` from `gamma`; how far it moved."""
    topics = len(prior)
    pulls(gamma, topics, pull)
    ratios(panel, pull, counts, rows, topics, ratio)
    return next_gamma(panel, ratio, rows, topics, prior, pull, gamma, out)

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

from private_topics.inference.fold_in import TINY, exp_digamma

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
    k, longest = len(prior), 0
    for n in range(first, last):
        longest = max(longest, indptr[n + 1] - indptr[n])
    rows, row_counts = np.empty((longest, k)), np.empty(longest)
    states = np.empty((4, k))
    for n in range(first, last):
        start, different, length = indptr[n], indptr[n + 1] - indptr[n], 0.0
        for w in range(different):
            rows[w] = word_topics[words[start + w]]
            row_counts[w] = counts[start + w]
            length += row_counts[w]
        _settle(rows[:different], row_counts[:different], prior, length, states)
        total = 0.0
        for a in range(k):
            total += states[0, a]
        for a in range(k):
            found[n, a] = states[0, a] / total


@njit(cache=True, fastmath=True, nogil=True)
def _settle(rows, counts, prior, length, states):  # type: ignore[no-untyped-def]
    """Leave the posterior Dirichlet parameters of a document in the first of the states."""
    k = len(prior)
    gamma, once, twice, pull = states[0], states[1], states[2], states[3]
    still, stride = STILL * length, FIRST_STRIDE
    for a in range(k):
        gamma[a] = prior[a] + length / k
    for _ in range(PLAIN_ROUNDS):
        moved = _round(rows, counts, prior, gamma, pull, once)
        gamma[:] = once
        if moved <= still:
            return
    for _ in range((MOST_ROUNDS - PLAIN_ROUNDS) // 2):
        _round(rows, counts, prior, gamma, pull, once)
        moved = _round(rows, counts, prior, once, pull, twice)
        if moved <= still:
            break
        way, bend = 0.0, TINY
        for a in range(k):
            step = once[a] - gamma[a]
            turn = twice[a] - once[a] - step
            way += step * step
            bend += turn * turn
        reach = max(1.0, np.sqrt(way / bend))
        if reach > stride:
            reach, stride = stride, 4.0 * stride
        for a in range(k):
            step = once[a] - gamma[a]
            turn = twice[a] - once[a] - step
            gamma[a] = max(prior[a], gamma[a] + 2.0 * reach * step + reach * reach * turn)
    gamma[:] = twice


@njit(cache=True, fastmath=True, nogil=True, inline="always")
def _round(rows, counts, prior, gamma, pull, out):  # type: ignore[no-untyped-def]
    """One round of mean-field inference, `out` from `gamma`; how far it moved."""
    k = len(prior)
    for a in range(k):
        pull[a] = exp_digamma(gamma[a])
        out[a] = 0.0
    for w in range(len(counts)):
        total = TINY
        for a in range(k):
            total += rows[w, a] * pull[a]
        scaled = counts[w] / total
        for a in range(k):
            out[a] += scaled * rows[w, a]
    moved = 0.0
    for a in range(k):
        out[a] = prior[a] + pull[a] * out[a]
        moved = max(moved, abs(out[a] - gamma[a]))
    return moved

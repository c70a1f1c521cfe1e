"""Counts and a fixed topic model → each document's topic proportions: the fixed point of `fold_in`, reached sooner.

The fits take a fixed number of rounds (`fold_in.py`): what they add up must be the same on every machine. Here
nothing is added up over documents, so each goes on until its proportions no longer move. Plain rounds approach the
fixed point slowly where two topics share words; after a few of them, every second one is extrapolated along the way
that the last two took (SQUAREM: Varadhan & Roland 2008, scheme S3). Several documents are at work side by side, the
longest first, and where one comes to rest the next takes its lane. A document's result is a function of its own
counts and the model alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, prange

from private_topics.inference.document_lanes import (
    LANES,
    TINY,
    TOPICS,
    extrapolate,
    next_gamma,
    pulls,
    ratios,
    way_over_bend,
)

PLAIN_ROUNDS, MOST_ROUNDS = 4, 100
STILL = 1e-5
"""A document is at rest where no proportion moves by more in a round."""
FIRST_STRIDE = 4.0
TOGETHER = 1024
"""Documents of one parallel task."""
NUMBER = np.float32


class Lanes(NamedTuple):
    """The documents at work: vectors of single-precision numbers, and what is known of each lane."""

    panel: np.ndarray
    counts: np.ndarray
    ratio: np.ndarray
    prior: np.ndarray
    gamma: np.ndarray
    length: np.ndarray
    stride: np.ndarray
    document: np.ndarray
    different: np.ndarray
    rounds: np.ndarray


def word_weights(word_topics: np.ndarray) -> np.ndarray:
    """What `proportions` needs of a model's words × topics: only the weights of a word beside one another matter."""
    largest = word_topics.max(axis=1, keepdims=True)
    weights: np.ndarray = np.divide(word_topics, largest, out=np.zeros_like(word_topics), where=largest > 0)
    return np.ascontiguousarray(weights, dtype=NUMBER)


def proportions(
    indptr: np.ndarray, words: np.ndarray, counts: np.ndarray, weights: np.ndarray, prior: np.ndarray
) -> np.ndarray:
    """Topic proportions (documents × topics, rows sum to one), by all threads that numba has."""
    found = np.empty((len(indptr) - 1, len(prior)))
    _in_parallel(indptr, words, counts, weights, prior, found)
    return found


def proportions_of_some(
    indptr: np.ndarray, words: np.ndarray, counts: np.ndarray, weights: np.ndarray, prior: np.ndarray
) -> np.ndarray:
    """The same numbers by the calling thread, without the interpreter's lock."""
    found = np.empty((len(indptr) - 1, len(prior)))
    _of_some(indptr, words, counts, weights, prior, 0, len(found), found)
    return found


@njit(cache=True, parallel=True, nogil=True)
def _in_parallel(indptr, words, counts, weights, prior, found):  # type: ignore[no-untyped-def]
    for task in prange((len(found) + TOGETHER - 1) // TOGETHER):
        first = task * TOGETHER
        _of_some(indptr, words, counts, weights, prior, first, min(first + TOGETHER, len(found)), found)


@njit(cache=True, nogil=True)
def _of_some(indptr, words, counts, weights, prior, first, last, found):  # type: ignore[no-untyped-def]
    if first >= last:
        return
    k, room = len(prior), (len(prior) + TOPICS - 1) // TOPICS * TOPICS
    order = first + np.argsort(indptr[first:last] - indptr[first + 1 : last + 1])  # the longest first
    lanes = _empty_lanes(indptr[order[0] + 1] - indptr[order[0]], room, prior)
    once, twice, pull = np.ones(room * LANES, NUMBER), np.ones(room * LANES, NUMBER), np.ones(room * LANES, NUMBER)
    moved, reach = np.empty(LANES, NUMBER), np.empty(LANES, NUMBER)
    upcoming = min(LANES, len(order))
    at_work = upcoming
    for lane in range(upcoming):
        _take(lanes, lane, order[lane], indptr, words, counts, weights, prior)
    while at_work:
        rows = max(lanes.different)
        _round(lanes, rows, k, room, lanes.gamma, pull, once, moved)
        _round(lanes, rows, k, room, once, pull, twice, moved)
        way_over_bend(lanes.gamma, once, twice, k, reach)
        _limit(lanes, reach)
        extrapolate(lanes.gamma, once, twice, lanes.prior, k, reach)
        for lane in range(LANES):
            n = lanes.document[lane]
            if n < 0 or (moved[lane] > STILL * lanes.length[lane] and lanes.rounds[lane] < MOST_ROUNDS):
                continue
            _normalise(twice, lane, found[n])
            if upcoming < len(order):
                _take(lanes, lane, order[upcoming], indptr, words, counts, weights, prior)
                upcoming += 1
            else:
                lanes.document[lane], lanes.different[lane] = -1, 0
                at_work -= 1


@njit(cache=True, nogil=True)
def _empty_lanes(rows, room, prior):  # type: ignore[no-untyped-def]
    padded = np.ones(room * LANES, NUMBER)
    for a in range(len(prior)):
        padded[a * LANES : (a + 1) * LANES] = max(prior[a], TINY)
    return Lanes(
        np.zeros(rows * room * LANES, NUMBER),
        np.zeros(rows * LANES, NUMBER),
        np.empty(rows * LANES, NUMBER),
        padded,
        padded.copy(),
        np.zeros(LANES, NUMBER),
        np.ones(LANES, NUMBER),
        np.full(LANES, -1, np.int64),
        np.zeros(LANES, np.int64),
        np.zeros(LANES, np.int64),
    )


@njit(cache=True, nogil=True)
def _take(lanes, lane, n, indptr, words, counts, weights, prior):  # type: ignore[no-untyped-def]
    """Let a document start in a lane."""
    k, room = len(prior), len(lanes.prior) // LANES
    start, rows = indptr[n], indptr[n + 1] - indptr[n]
    length = 0.0
    for row in range(rows):
        word, base = words[start + row], row * room * LANES + lane
        for a in range(k):
            lanes.panel[base + a * LANES] = weights[word, a]
        lanes.counts[row * LANES + lane] = counts[start + row]
        length += counts[start + row]
    for row in range(rows, lanes.different[lane]):  # a count of zero adds nothing, whatever stands in the panel
        lanes.counts[row * LANES + lane] = 0.0
    for a in range(k):
        lanes.gamma[a * LANES + lane] = lanes.prior[a * LANES + lane] + length / k
    lanes.document[lane], lanes.different[lane], lanes.rounds[lane] = n, rows, 0
    lanes.length[lane], lanes.stride[lane] = length, FIRST_STRIDE


@njit(cache=True, nogil=True, inline="always")
def _round(lanes, rows, k, room, gamma, pull, out, moved):  # type: ignore[no-untyped-def]
    """One round of mean-field inference, `out` from `gamma`; `moved` is how far that is."""
    pulls(gamma, k, pull)
    ratios(lanes.panel, pull, lanes.counts, rows, k, room, lanes.ratio)
    next_gamma(lanes.panel, lanes.ratio, rows, room, lanes.prior, pull, gamma, out, moved)


@njit(cache=True, nogil=True)
def _limit(lanes, reach):  # type: ignore[no-untyped-def]
    """How far to extrapolate, from the squared way over bend: not at all at first, then by strides that may grow."""
    for lane in range(LANES):
        lanes.rounds[lane] += 2
        wanted = max(NUMBER(1.0), np.sqrt(reach[lane]))
        if lanes.rounds[lane] <= PLAIN_ROUNDS:
            wanted = NUMBER(1.0)
        elif wanted > lanes.stride[lane]:
            wanted = lanes.stride[lane]
            lanes.stride[lane] *= NUMBER(4.0)
        reach[lane] = wanted


@njit(cache=True, nogil=True)
def _normalise(gamma, lane, row):  # type: ignore[no-untyped-def]
    total = 0.0
    for a in range(len(row)):
        total += gamma[a * LANES + lane]
    for a in range(len(row)):
        row[a] = gamma[a * LANES + lane] / total

"""Topics before any is learnt from the corpus: clusters of words by public vectors, and topics of public texts."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from private_topics.threads import allowed_threads, in_order

SHARPNESS = 6.0  # how much more a word belongs to a cluster that it points to
STARTS, ROUNDS = 10, 40
UNIGRAM_PART = 0.02  # of each topic
SMALLEST_LENGTH = 1e-9


def word_clusters(coordinates: np.ndarray, unigram: np.ndarray, n_topics: int) -> tuple[np.ndarray, np.ndarray]:
    """Topics (k × d) of words that point in the same direction, and their shares: spherical k-means, softened.

    A word counts by its part in how documents vary, its frequency times its squared length: general words are short.
    Words without coordinates belong to all clusters alike.
    """
    lengths = np.linalg.norm(coordinates, axis=1)
    pointing = coordinates / np.maximum(lengths, SMALLEST_LENGTH)[:, None]
    centres = _centres(pointing, unigram * lengths**2, n_topics)
    belongs = np.exp(SHARPNESS * (pointing @ centres.T))
    belongs /= belongs.sum(axis=1, keepdims=True)
    inside = belongs.T * unigram
    return _normalised(inside, unigram), inside.sum(axis=1) / inside.sum()


def _centres(pointing: np.ndarray, weight: np.ndarray, n_topics: int) -> np.ndarray:
    """Of several draws of first centres, those that end closest to the words."""
    random = np.random.RandomState(0)
    starts = [_spread_centres(pointing, weight, n_topics, random) for _ in range(STARTS)]
    tried = list(in_order(lambda centres: _at_rest(centres, pointing, weight), starts, allowed_threads()))
    return tried[int(np.argmax([weight @ (pointing @ centres.T).max(axis=1) for centres in tried]))]


def _at_rest(centres: np.ndarray, pointing: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Centres after rounds of k-means, until no word changes its cluster."""
    words, before = np.arange(len(weight)), np.full(len(weight), -1)
    for _ in range(ROUNDS):
        nearest = (pointing @ centres.T).argmax(axis=1)
        if np.array_equal(nearest, before):
            break
        sums = csr_array((weight, (nearest, words)), shape=(len(centres), len(weight))) @ pointing
        sizes = np.linalg.norm(sums, axis=1, keepdims=True)
        centres, before = np.where(sizes > 0, sums / np.where(sizes > 0, sizes, 1.0), centres), nearest
    return centres


def with_frequencies(topics: np.ndarray, shares: np.ndarray, unigram: np.ndarray) -> np.ndarray:
    """Topics of other documents, each word as much more frequent as it is in these: mixed they give the unigram."""
    mixed = np.maximum(shares @ topics, np.finfo(float).tiny)
    return _normalised(topics * (unigram / mixed), unigram)


def _spread_centres(
    pointing: np.ndarray, weight: np.ndarray, n_topics: int, random: np.random.RandomState
) -> np.ndarray:
    """Words that point in different directions, drawn as k-means++ draws them (Arthur & Vassilvitskii 2007)."""
    centres = [pointing[_drawn(random, weight)]]
    closest = pointing @ centres[0]
    for _ in range(n_topics - 1):
        centres.append(pointing[_drawn(random, np.maximum(1.0 - closest, 0.0) * weight)])
        closest = np.maximum(closest, pointing @ centres[-1])
    return np.array(centres)


def _drawn(random: np.random.RandomState, weight: np.ndarray) -> int:
    """A word drawn by its weight; any where all have none."""
    total = np.cumsum(weight)
    return min(int(np.searchsorted(total, random.uniform() * total[-1], side="right")), len(weight) - 1)


def _normalised(topics: np.ndarray, unigram: np.ndarray) -> np.ndarray:
    sums = topics.sum(axis=1, keepdims=True)
    topics = np.where(sums > 0, topics / np.where(sums > 0, sums, 1.0), unigram)
    result: np.ndarray = (1.0 - UNIGRAM_PART) * topics + UNIGRAM_PART * unigram
    return result

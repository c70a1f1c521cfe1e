"""Private clustering of document vectors, then noisy keywords of each cluster: a rival that people reach for.

As in Urania (arXiv 2506.04681), without its language model. Every document is the vector `c/||c||` under a public
random projection, clipped to norm one. The mean of these vectors is released; less the mean and scaled to norm
one they are clustered by rounds of noisy spherical k-means, each of which releases the size and the sum of each
cluster. Then each document adds `c/||c||` to the word histogram of its cluster. Topics are the noisy histograms,
with the post-processing of this library; a cluster whose histogram does not stand out from its noise has the word
frequencies of all.

Neighbours replace a document. The mean's sum moves by at most 2. In a round `(1, x)` leaves a cluster and `(1,
x')` arrives in another, each of norm at most √2, so it moves by at most 2. The histogram's contributions are non-
negative of norm one: √2. All is Gaussian and adds up in Gaussian DP, so the guarantee is (epsilon, delta),
exactly. The noise comes from numpy with a fixed seed: it is a simulation, and none of its results is private.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from private_topics.inference.denoising import denoised_topics, unigram_posterior

FEWEST_DIMENSIONS, CLEAR = 5, 3.0
ROUND_SENSITIVITY, KEYWORD_SENSITIVITY = 2.0, math.sqrt(2.0)


@dataclass(frozen=True)
class Clusters:
    """Settings, tuned on draws from 100 on; `keyword_share` is that of mu² for the histograms."""

    most_dimensions: int = 400
    mean_noise: float = 0.2  # norm of the noise on the mean: fewer dimensions where there are few documents
    rounds: int = 8
    keyword_share: float = 0.6

    def sigmas(self, mu: float) -> tuple[float, float]:
        """Standard deviations of the mean and the sums of a round, and of the histograms."""
        per_round = mu * math.sqrt((1.0 - self.keyword_share) / (1 + self.rounds))
        return ROUND_SENSITIVITY / per_round, KEYWORD_SENSITIVITY / (mu * math.sqrt(self.keyword_share))

    def mu(self, sigmas: tuple[float, float]) -> float:
        """What all releases cost together."""
        rounds = (1 + self.rounds) * (ROUND_SENSITIVITY / sigmas[0]) ** 2
        return math.sqrt(rounds + (KEYWORD_SENSITIVITY / sigmas[1]) ** 2)

    def dimensions(self, n_documents: int, sigma: float) -> int:
        wanted = (self.mean_noise * n_documents / sigma) ** 2
        return int(np.clip(wanted, FEWEST_DIMENSIONS, self.most_dimensions))

    def fit(self, counts: sp.csr_array, n_topics: int, mu: float, seed: int) -> np.ndarray:
        generator, (of_round, of_keywords) = np.random.default_rng(seed), self.sigmas(mu)
        units = unit_documents(counts)
        vectors = vectors_of(units, self.dimensions(units.shape[0], of_round))
        total = vectors.sum(axis=0) + of_round * generator.standard_normal(vectors.shape[1])
        vectors = unit_rows(vectors - total / len(vectors))
        centres = unit_rows(generator.standard_normal((n_topics, vectors.shape[1])))
        for _ in range(self.rounds):
            _, sums = cluster_sums(vectors, centres)
            noisy = sums + of_round * generator.standard_normal(sums.shape)
            centres = unit_rows(noisy[:, 1:])
        chosen, _ = cluster_sums(vectors, centres)
        words = keyword_sums(units, chosen, n_topics)
        words += of_keywords * generator.standard_normal(words.shape)
        unigram = unigram_posterior(words.sum(axis=0), of_keywords * math.sqrt(n_topics))
        topics = denoised_topics(words, unigram, np.full(words.shape[1], of_keywords))
        clear = words.sum(axis=1) > CLEAR * of_keywords * math.sqrt(words.shape[1])
        return np.where(clear[:, None], topics, unigram)


def unit_documents(counts: sp.csr_array) -> sp.csr_array:
    """Each row scaled to norm one, but for empty ones."""
    counts = sp.csr_array(counts, dtype=np.float64)
    norms = np.sqrt(counts.multiply(counts).sum(axis=1))
    return sp.csr_array(sp.diags_array(1.0 / np.where(norms > 0.0, norms, 1.0)) @ counts)


def unit_rows(rows: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    found: np.ndarray = rows / np.where(norms > 0.0, norms, 1.0)
    return found


def vectors_of(units: sp.csr_array, dimensions: int) -> np.ndarray:
    """A public random projection, clipped to norm one; the words themselves where there are few."""
    if units.shape[1] <= dimensions:
        return units.toarray()
    projection = np.random.default_rng(0).standard_normal((units.shape[1], dimensions)) / math.sqrt(dimensions)
    found = units @ projection
    clipped: np.ndarray = found / np.maximum(1.0, np.linalg.norm(found, axis=1, keepdims=True))
    return clipped


def cluster_sums(vectors: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each document's cluster, and for each cluster its size and the sum of its vectors."""
    chosen = (((centres**2).sum(axis=1) / 2.0) - vectors @ centres.T).argmin(axis=1)
    return chosen, members(chosen, len(centres)) @ np.column_stack([np.ones(len(vectors)), vectors])


def keyword_sums(units: sp.csr_array, chosen: np.ndarray, n_topics: int) -> np.ndarray:
    sums: np.ndarray = (members(chosen, n_topics) @ units).toarray()
    return sums


def members(chosen: np.ndarray, n_topics: int) -> sp.csr_array:
    """Clusters × documents, one where a document belongs."""
    size = len(chosen)
    return sp.csr_array((np.ones(size), (chosen, np.arange(size))), shape=(n_topics, size))

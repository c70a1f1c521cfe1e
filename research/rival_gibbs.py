"""Private Gibbs sampling, a rival: as published for neighbours of one word, and made to hold for documents.

Collapsed Gibbs sampling draws the topic of every token from `(n_wk + beta)/(n_k + d beta) · (n_mk + alpha)`. HDP-LDA
(arXiv 2010.04391) adds Laplace noise of scale `2/epsilon_L` to the topic-word counts in every round and clips them
to `C`, which bounds what a draw tells of its own word: by the ratio `C/beta + 1`, in the weight and in the sum that
it is divided by. The guarantee is the sum over rounds of `epsilon_L + 2 log(C/beta + 1)`, **for corpora that differ
in one word**.

Where it holds (`PerWord`): the counts must stand still during a round. If they are updated after each draw, as in
collapsed sampling, the words drawn before and after the replaced one see it in different places, and one noise cannot
hide both. The counts at the end are released too, so they get noise of their own, and are charged. The replaced word
keeps its topic in both corpora, so the topics' totals and those of the documents need no noise.

What it costs for documents: a document of `L` words is `L` words away from another (shorter ones are filled up with
words that count nothing), so the loss is at most `L` times as large; where all its words are the same, the noise's
part of that is attained (tested).

The variant that holds for documents (`PerDocument`): in each round every document draws its topics with the released
weights standing still, scales its counts (words × topics) to norm one, and the sum is released with Gaussian noise.
Such arrays are non-negative, so replacing a document moves the sum by at most √2. A document's topics are carried
from round to round, but not released: given the random numbers, fixed beforehand, each sum is a function of the
documents and what was released before, so the rounds add up in Gaussian DP as adaptive releases do. The word
frequencies come first, in the same way. Post-processing is that of this library.

Noise and draws come from numpy with a fixed seed: a simulation, and none of its results is private.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import njit

from private_topics.inference.denoising import denoised_topics, unigram_posterior
from private_topics.privacy.curves import mu_of_budget

REPLACED = math.sqrt(2.0)
"""How far apart two non-negative arrays of norm one can be."""
MOST_TOKENS = 100
"""Of a document, for what is stated of one word; longer ones are cut to a random part."""
START = 10.0  # shape of the gamma variables that the first topics are drawn from
SMALLEST_NOISE = 1e-9


class Tokens(NamedTuple):
    """Documents as lists of words: those of document m are `words[starts[m] : starts[m + 1]]`."""

    starts: np.ndarray
    words: np.ndarray
    n_words: int

    @property
    def n_documents(self) -> int:
        return len(self.starts) - 1


def tokens_of(counts: sp.csr_array, most: int, generator: np.random.Generator) -> Tokens:
    """At most `most` tokens of each document, chosen at random."""
    counts = sp.csr_array(counts)
    found = []
    for start, stop in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        words, times = counts.indices[start:stop], counts.data[start:stop].astype(np.int64)
        if times.sum() > most:
            times = generator.multivariate_hypergeometric(times, most, method="marginals")
        found.append(np.repeat(words, times))
    starts = np.concatenate([[0], np.cumsum([len(one) for one in found])])
    return Tokens(starts, np.concatenate(found).astype(np.int32), counts.shape[1])


@njit
def draw_topics(starts, words, topics, weights, alpha, sweeps, generator):  # pragma: no cover
    """New topics of all tokens, in place, by Gibbs sampling with fixed `weights` (words × topics)."""
    n_topics = weights.shape[1]
    chances = np.empty(n_topics)
    for document in range(len(starts) - 1):
        totals = np.full(n_topics, alpha)
        for place in range(starts[document], starts[document + 1]):
            totals[topics[place]] += 1.0
        for _ in range(sweeps):
            for place in range(starts[document], starts[document + 1]):
                totals[topics[place]] -= 1.0
                total = 0.0
                for topic in range(n_topics):
                    total += weights[words[place], topic] * totals[topic]
                    chances[topic] = total
                point, chosen = generator.random() * total, 0
                while chosen < n_topics - 1 and chances[chosen] <= point:
                    chosen += 1
                topics[place] = chosen
                totals[chosen] += 1.0


@njit
def draw_collapsed(starts, words, topics, counts, totals, alpha, beta, scale, generator):  # pragma: no cover
    """One sweep of collapsed Gibbs sampling; Laplace noise of `scale`, if any, on what a draw reads, not on `counts`.

    The same noise for all topics of a draw, as in the public code.
    """
    n_words, n_topics = counts.shape
    chances, in_document = np.empty(n_topics), np.empty(n_topics)
    for document in range(len(starts) - 1):
        in_document[:] = alpha
        for place in range(starts[document], starts[document + 1]):
            in_document[topics[place]] += 1.0
        for place in range(starts[document], starts[document + 1]):
            word, old = words[place], topics[place]
            counts[word, old] -= 1.0
            totals[old] -= 1.0
            in_document[old] -= 1.0
            noise = generator.laplace(0.0, scale) if scale > 0.0 else 0.0
            other = generator.laplace(0.0, scale) if scale > 0.0 else 0.0
            total = 0.0
            for topic in range(n_topics):
                share = max(counts[word, topic] + noise + beta, 0.0) / max(totals[topic] + n_words * beta, 1.0)
                total += share * max(in_document[topic] + other, 0.0)
                chances[topic] = total
            point, chosen = generator.random() * total, 0
            while chosen < n_topics - 1 and chances[chosen] <= point:
                chosen += 1
            topics[place] = chosen
            counts[word, chosen] += 1.0
            totals[chosen] += 1.0
            in_document[chosen] += 1.0


@njit
def add_scaled(starts, words, topics, total):  # pragma: no cover
    """Add each document's counts (words × topics), scaled to norm one, to `total`."""
    mine = np.zeros(total.shape)
    for document in range(len(starts) - 1):
        first, last = starts[document], starts[document + 1]
        for place in range(first, last):
            mine[words[place], topics[place]] += 1.0
        squares = 0.0
        for place in range(first, last):  # a cell of c tokens is met c times, and counts c each time
            squares += mine[words[place], topics[place]]
        for place in range(first, last):
            total[words[place], topics[place]] += 1.0 / math.sqrt(squares)
        for place in range(first, last):
            mine[words[place], topics[place]] = 0.0


def scaled_sum(tokens: Tokens, topics: np.ndarray, n_topics: int) -> np.ndarray:
    """What `PerDocument` releases, before its noise: words × topics."""
    total = np.zeros((tokens.n_words, n_topics))
    add_scaled(tokens.starts, tokens.words, topics, total)
    return total


def counts_of(tokens: Tokens, topics: np.ndarray, n_topics: int) -> np.ndarray:
    cells = tokens.words.astype(np.int64) * n_topics + topics
    found = np.bincount(cells, minlength=tokens.n_words * n_topics)
    return found.reshape(tokens.n_words, n_topics).astype(np.float64)


# -- documents ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PerDocument:
    """Settings, tuned on draws from 100 on: rounds, sweeps of each, share of mu² for the word frequencies."""

    rounds: int = 30
    sweeps: int = 5
    unigram_share: float = 0.04
    kept: int = 3  # rounds that are averaged for the next one
    last: int = 10  # rounds that are averaged in the end
    tokens: int = 200  # of a document

    def sigmas(self, mu: float) -> tuple[float, float]:
        """Standard deviations of the word frequencies and of a round, for Gaussian DP `mu` in all."""
        of_round = mu * math.sqrt((1.0 - self.unigram_share) / self.rounds)
        return REPLACED / (mu * math.sqrt(self.unigram_share)), REPLACED / of_round

    def mu(self, sigmas: tuple[float, float]) -> float:
        """What all releases cost together."""
        return math.sqrt((REPLACED / sigmas[0]) ** 2 + self.rounds * (REPLACED / sigmas[1]) ** 2)

    def fit(self, counts: sp.csr_array, n_topics: int, alpha0: float, mu: float, seed: int) -> np.ndarray:
        """Topics; without noise for an infinite `mu`."""
        generator = np.random.default_rng(seed)
        tokens = tokens_of(counts, self.tokens, generator)
        first, later = self.sigmas(mu)
        frequencies = scaled_sum(tokens, np.zeros(len(tokens.words), np.int64), 1)[:, 0]
        frequencies += first * generator.standard_normal(len(frequencies))
        unigram = unigram_posterior(frequencies, max(first, SMALLEST_NOISE))
        found = unigram * generator.gamma(START, size=(n_topics, tokens.n_words))
        topics = generator.integers(n_topics, size=len(tokens.words))
        released: list[np.ndarray] = []
        for _ in range(self.rounds):
            weights = np.ascontiguousarray((found / found.sum(axis=1, keepdims=True)).T)
            draw_topics(tokens.starts, tokens.words, topics, weights, alpha0 / n_topics, self.sweeps, generator)
            total = scaled_sum(tokens, topics, n_topics)
            released = [*released, total + later * generator.standard_normal(total.shape)][-self.last :]
            found = self._topics(released[-self.kept :], unigram, later)
        return self._topics(released, unigram, later)

    def _topics(self, released: list[np.ndarray], unigram: np.ndarray, sigma: float) -> np.ndarray:
        noise = np.full(len(unigram), max(sigma, SMALLEST_NOISE) / math.sqrt(len(released)))
        return denoised_topics(np.mean(released, axis=0).T, unigram, noise)


def private_gibbs(
    counts: sp.csr_array, n_topics: int, alpha0: float, epsilon: float, delta: float, seed: int
) -> np.ndarray:
    return PerDocument().fit(counts, n_topics, alpha0, mu_of_budget(epsilon, delta), seed)


# -- words ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PerWord:
    """HDP-LDA with an epsilon for one word; `inherent` is the part of a round's epsilon for its draws.

    The published bound fixes `C/beta` alone; `C` itself is set to `clip` times the mean count, which is generous.
    """

    rounds: int = 3
    inherent: float = 0.7
    clip: float = 2.0

    @classmethod
    def of_rounds(cls) -> PerWord:
        """For an epsilon that is meant for one round: more rounds are better, and their epsilons add up."""
        return cls(rounds=100)

    def shares(self, epsilon: float) -> tuple[float, float]:
        """Of epsilon: for the noise of a release, one more than there are rounds, and for the draws of a round."""
        drawn = epsilon * self.inherent / self.rounds
        return (epsilon - self.rounds * drawn) / (self.rounds + 1), drawn

    def epsilon(self, noise: float, drawn: float) -> float:
        """The published sum, and the last release."""
        return self.rounds * (noise + drawn) + noise

    def document_epsilon(self, epsilon: float, length: int = MOST_TOKENS) -> float:
        """What an epsilon for one word means for a document of `length` words: group privacy."""
        return length * epsilon

    def fit(self, counts: sp.csr_array, n_topics: int, alpha0: float, epsilon: float, seed: int) -> np.ndarray:
        generator = np.random.default_rng(seed)
        tokens = tokens_of(counts, MOST_TOKENS, generator)
        of_noise, drawn = self.shares(epsilon)
        scale = 2.0 / of_noise
        limit = self.clip * tokens.n_documents * MOST_TOKENS / (n_topics * tokens.n_words)
        beta = limit / math.expm1(drawn / 2.0)
        topics = generator.integers(n_topics, size=len(tokens.words))
        for _ in range(self.rounds):
            noisy = counts_of(tokens, topics, n_topics) + generator.laplace(0.0, scale, (tokens.n_words, n_topics))
            weights = clipped_weights(noisy, np.bincount(topics, minlength=n_topics), limit, beta)
            draw_topics(tokens.starts, tokens.words, topics, weights, alpha0 / n_topics, 1, generator)
        noisy = counts_of(tokens, topics, n_topics) + generator.laplace(0.0, scale, (tokens.n_words, n_topics))
        deviation = math.sqrt(2.0) * scale
        unigram = unigram_posterior(noisy.sum(axis=1), deviation * math.sqrt(n_topics))
        return denoised_topics(noisy.T, unigram, np.full(tokens.n_words, deviation))


def clipped_weights(noisy: np.ndarray, totals: np.ndarray, limit: float, beta: float) -> np.ndarray:
    """Words × topics: what the draws of a round read."""
    found: np.ndarray = (np.clip(noisy, 0.0, limit) + beta) / (totals + len(noisy) * beta)
    return found

"""Online variational Bayes on random minibatches, with and without privacy: a baseline for the spectral fit.

    topics → topic weights of the documents of a minibatch → their expected counts → running expected counts → topics

The learner is that of Hoffman, Blei & Bach (2010). With privacy each document's expected counts are scaled to bounded
norm and their sum is released with Gaussian noise (Park, Foulds, Chaudhuri & Welling, "Variational Bayes in private
settings"). Differs from that paper: documents are scaled to one norm instead of bounded by their length, neighbours
replace a document, and the cost is added up by privacy-loss distributions. Proof: docs/proofs/variational.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import psi

from private_topics.corpus.counts.layout import WordBlock, select_words
from private_topics.corpus.counts.matrix import take_listed
from private_topics.engines.local import LocalCorpus
from private_topics.inference.carried import check_size
from private_topics.inference.fold_in import fold_in, topic_statistic
from private_topics.privacy.lattice import step_for
from private_topics.privacy.mechanisms import Query
from private_topics.privacy.subsampling import SubsampledRun
from private_topics.progress import Progress
from private_topics.releases.statistic import MINIBATCH
from private_topics.sums.norms import statistic_norms
from private_topics.sums.quantised import SAFETY, add_statistic

USUAL_RATE, USUAL_BATCH = 0.1, 1000
PRIOR_PER_NOISE, SMALLEST_PRIOR = 0.15, 0.1
START_SHAPE = 100.0  # of the gamma variables the topics start from: all words nearly equally likely in all topics

Statistic = Callable[[np.ndarray], np.ndarray]
"""From word weights (words × topics) to the expected counts of the whole corpus, as one minibatch shows them."""


@dataclass(frozen=True)
class Schedule:
    """Public settings: step t = 0, 1, … moves the running counts by the fraction (t + offset)^-decay."""

    steps: int
    rate: float
    offset: float
    decay: float
    word_prior: float

    def weight(self, step: int) -> float:
        base = step + self.offset
        return 1.0 if base <= 1.0 else float(base**-self.decay)

    def averaging(self) -> float:
        """Noise of the running counts after all steps, over that of one minibatch."""
        variance = 0.0
        for step in range(self.steps):
            variance = (1.0 - self.weight(step)) ** 2 * variance + self.weight(step) ** 2
        return math.sqrt(variance)


def default_rate(n_units: int) -> float:
    """One unit in ten, or enough for a minibatch of about 1,000."""
    return min(1.0, max(USUAL_RATE, USUAL_BATCH / n_units))


def private_word_prior(noise: float, schedule: Schedule) -> float:
    """A part of the noise that is left on an expected count at the end: public, since the noise is."""
    return max(SMALLEST_PRIOR, PRIOR_PER_NOISE * noise * schedule.averaging())


def online_topics(
    statistic: Statistic,
    n_words: int,
    n_topics: int,
    schedule: Schedule,
    random_state: np.random.RandomState,
    progress: Progress,
) -> np.ndarray:
    """Topics (k × d, rows on the simplex) after all steps. Uses the corpus through `statistic` only."""
    expected = random_state.gamma(START_SHAPE, 1.0 / START_SHAPE, (n_words, n_topics))
    for step in range(schedule.steps):
        progress.stage(f"minibatch {step + 1} of {schedule.steps}")
        fresh = statistic(word_weights(expected, schedule.word_prior))
        expected += schedule.weight(step) * (fresh - expected)
    posterior = np.maximum(expected, 0.0) + schedule.word_prior
    return np.ascontiguousarray((posterior / posterior.sum(axis=0)).T)


def word_weights(expected: np.ndarray, word_prior: float) -> np.ndarray:
    """`exp(E log topics)` under the Dirichlet posterior of the expected counts; negative ones are taken as zero."""
    posterior = np.maximum(expected, 0.0) + word_prior
    result: np.ndarray = np.exp(psi(posterior) - psi(posterior.sum(axis=0)))
    return result


@dataclass(frozen=True)
class PrivateMinibatches:
    """Expected counts with noise: the only access of the private fit to the corpus.

    Documents are scaled to norm one, or, with a positive `clip`, only those of larger norm to that norm.
    """

    run: SubsampledRun
    corpus: LocalCorpus
    document_prior: np.ndarray
    clip: float

    def __post_init__(self) -> None:
        check_size(self.corpus.n_words, len(self.document_prior))

    def __call__(self, weights: np.ndarray) -> np.ndarray:
        """`Σ c_w r_wi / max(norm, clip)` over the minibatch: non-negative, norm at most one. variational.md"""
        query, alike = self.query(), np.ones(len(weights))
        total = np.zeros(weights.shape, np.int64)
        members = self.run.batch(query, total)
        for block, share in minibatch(self.corpus, members):
            _, pull = fold_in(block.indptr, block.words, block.counts, weights, self.document_prior)
            norms, totals = statistic_norms(block.indptr, block.words, block.counts, weights, alike, pull)
            used = norms > 0
            scale = np.where(used, share * SAFETY / np.maximum(np.where(used, norms, 1.0), self.clip), 0.0)
            add_statistic(block, weights, alike, pull, totals, scale, query.step, total)
        released = self.run.release(query, total, consume=True)
        return released.value * self.scale

    @property
    def scale(self) -> float:
        """From the sum over a minibatch to the expected counts of the corpus."""
        return (self.clip or 1.0) / self.run.rate

    @property
    def noise(self) -> float:
        """Standard deviation of the noise on an expected count."""
        return self.run.sigma(self.query(), self.run.share) * self.scale

    def query(self) -> Query:
        """On the lattice that suits its noise."""
        assert MINIBATCH.sensitivity is not None
        draft = Query(MINIBATCH.name, MINIBATCH.kind, MINIBATCH.sensitivity, 1.0, MINIBATCH.proof)
        sigma = self.run.sigma(draft, self.run.share)
        return replace(draft, step=step_for(sigma, self.corpus.n_units, float(self.corpus.n_units)))


@dataclass(frozen=True)
class PlainMinibatches:
    """Expected counts without noise, from minibatches that a seeded generator draws: no privacy."""

    corpus: LocalCorpus
    document_prior: np.ndarray
    rate: float
    random_state: np.random.RandomState

    def __call__(self, weights: np.ndarray) -> np.ndarray:
        members = self.random_state.random_sample(self.corpus.n_units) < self.rate
        total = np.zeros(weights.shape)
        for block, _ in minibatch(self.corpus, members):
            _, pull = fold_in(block.indptr, block.words, block.counts, weights, self.document_prior)
            total += topic_statistic(block, weights, pull)
        return total * (self.corpus.n_units / max(1, int(members.sum())))


def minibatch(corpus: LocalCorpus, members: np.ndarray) -> Iterator[tuple[WordBlock, np.ndarray]]:
    """The documents of the units marked in `members`, in blocks, with their shares of their units."""
    chosen = members if corpus.unit is None else members[corpus.unit]
    start = 0
    for block in corpus.blocks:
        rows = np.flatnonzero(chosen[start : start + block.shape[0]])
        if len(rows):
            share = np.ones(len(rows)) if corpus.share is None else corpus.share[start + rows]
            yield select_words(take_listed(block, rows), None, corpus.n_words), share
        start += block.shape[0]

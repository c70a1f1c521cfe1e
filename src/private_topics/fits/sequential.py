"""The sequential release: each quantity is computed from the corpus *and the values released before it*.

    unigram → norms → second moment → frame → norms → moments inside the frame → topics → refined topics

Every arrow into a released value goes through `PrivateRun.release`; every sensitivity is a public number. What the
functions below return is made of `Released` values and public settings only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from private_topics.engines.protocol import Corpus
from private_topics.inference.carried import (
    TAIL_SHARE,
    RefinedWords,
    averaged_noise,
    carried_topics,
    check_size,
    most_frequent,
    on_all_words,
    spectral_words,
    warn_if_fewer,
)
from private_topics.inference.denoising import denoised_topics, unigram_posterior
from private_topics.privacy.budget import BudgetSplit
from private_topics.privacy.lattice import quantise_nearest, step_for, widened
from private_topics.privacy.mechanisms import Kind, PrivateRun, Query, Released
from private_topics.spectral.frame import Frame, frame_of, topics_in_frame
from private_topics.sums.norm_histogram import clip_threshold
from private_topics.sums.quantised import ASSEMBLY_ERROR
from private_topics.sums.second_order import mirror_upper
from private_topics.sums.unit_sums import (
    ClippedFrameMoments,
    ClippedPairs,
    FrameNormHistograms,
    NormedCounts,
    PairNormHistogram,
    TopicStatistic,
)
from private_topics.threads import one_order

OVERSAMPLE = 10
SECOND_QUANTILE, FRAME_QUANTILE = 0.1, 0.5
LARGEST_START_SHARE, HALF_START_NOISE = 0.5, 0.1

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Spectrum:
    """Largest eigenvalues of the released second moment, in falling order, and the spectral norm of its noise."""

    eigenvalues: tuple[float, ...]
    noise_edge: float

    @classmethod
    def of(cls, frame: Frame) -> Spectrum:
        return cls(tuple(map(float, frame.eigenvalues)), float(frame.noise_edge))


@dataclass(frozen=True)
class PrivateModel:
    """Post-processing of released values: topics (k × d), prior (k,), how many directions stood above the noise."""

    topics: np.ndarray
    alpha: np.ndarray
    supported: int
    spectrum: Spectrum | None = None


@dataclass(frozen=True)
class Sequential:
    """One private fit; the methods are its arrows, in order."""

    run: PrivateRun
    split: BudgetSplit
    corpus: Corpus
    n_topics: int
    alpha0: float
    refine_steps: int
    random_state: np.random.RandomState
    progress: Progress

    def fit(self) -> PrivateModel:
        check_size(self.corpus.n_words, self.n_topics)
        self.progress("unigram")
        noisy_unigram = self.release_unigram(self.split.unigram)
        unigram = unigram_posterior(noisy_unigram.value, noisy_unigram.sigma)
        words = most_frequent(unigram, spectral_words(self.run.mu_total, self.corpus.n_units))
        self.progress("second moment")
        refined = self.refined_words(unigram, max(float(noisy_unigram.value.sum()), noisy_unigram.sigma))
        carried = min(self.n_topics, carried_topics(refined.noise) if self.refine_steps else self.n_topics)
        frame = self.frame(words, unigram, carried)
        k = min(carried, frame.supported)
        warn_if_fewer(k, self.n_topics)
        if k <= 1:
            return replace(self.unigram_model(noisy_unigram, frame.supported), spectrum=Spectrum.of(frame))
        self.progress("moments inside the frame")
        topics, alpha = self.spectral_topics(words, unigram, frame, k)
        if self.refine_steps:
            if refined.words is None:
                topics, alpha = self.refined(None, topics, unigram, refined.noise, self.split.refine)
            else:
                topics, alpha = self.refined_inside(refined.words, topics, noisy_unigram, refined.noise)
        return PrivateModel(topics, alpha, frame.supported, Spectrum.of(frame))

    # -- releases -------------------------------------------------------------------------------------------------

    def release_unigram(self, share: float, name: str = "unigram") -> Released:
        """`Σ c/||c||` over all words: non-negative, norm one. docs/proofs/unigram.md"""
        query = self.query(name, "vector", np.sqrt(2.0), "unigram", share, 1.0)
        (total,) = self.corpus.total(NormedCounts(self.corpus.n_words, query.step))
        return self.run.release(query, total, share, consume=True)

    def release_second(self, words: np.ndarray, clip: float) -> tuple[Released, Released]:
        """`Σ s·phi2` on the spectral words and `Σ s`. docs/proofs/second_moment.md, docs/proofs/clip_sums.md"""
        share = self.split.second
        query = self.query("second moment", "symmetric_matrix", np.sqrt(2.0) * clip, "second_moment", share, clip)
        factors_query = self.factors_query("second clip factors", 1)
        total, factors = self.corpus.total(ClippedPairs(words, clip, query.step, factors_query.step))
        mirror_upper(total)
        moment = self.run.release(query, total, share, consume=True)
        return moment, self.run.release(factors_query, factors, self.small_share)

    def factors_query(self, name: str, count: int) -> Query:
        """Sums of `count` clip factors, each in [0, 1] per unit. docs/proofs/clip_sums.md"""
        return self.query(name, "vector", np.sqrt(count), "clip_sums", self.small_share, 1.0)

    def histogram_query(self, name: str) -> Query:
        """Units by the logarithm of a norm. docs/proofs/histogram.md"""
        return self.query(name, "histogram", np.sqrt(2.0), "histogram", self.small_share, 1.0)

    def release_histogram(self, query: Query, counts: np.ndarray) -> Released:
        return self.run.release(query, counts, self.small_share)

    def release_inside_frame(self, words: np.ndarray, frame: Frame) -> tuple[Released, Released, Released]:
        """Both moments inside the frame and their clip factors. docs/proofs/frame_second.md, docs/proofs/tensor.md"""
        second_clip, third_clip = self.frame_clips(words, frame)
        factors_query = self.factors_query("frame clip factors", 2)
        clipped = ClippedFrameMoments(
            words, frame.matrix, self.corpus.n_units, second_clip, third_clip, factors_query.step
        )
        totals = self.corpus.total(clipped)
        sums, factors = clipped.sums(totals), totals[-1]
        with one_order():
            second_sum, third_sum = sums.second(), sums.third()
        released_second = self.release_assembled(
            "frame second moment", "symmetric_matrix", "frame_second", second_sum, second_clip, self.split.frame
        )
        released_third = self.release_assembled(
            "frame third moment", "symmetric_tensor", "tensor", third_sum, third_clip, self.split.tensor
        )
        return released_second, released_third, self.run.release(factors_query, factors, self.small_share)

    def release_assembled(
        self, name: str, kind: Kind, proof: str, total: np.ndarray, clip: float, share: float
    ) -> Released:
        """A sum put together in float64: its sensitivity carries the certified error and the rounding."""
        step = step_for(2.0 * clip / self.run.mu_total, self.corpus.n_units, 2.0 * self.corpus.n_units * clip)
        error = ASSEMBLY_ERROR * self.corpus.n_units * clip
        sensitivity = widened(2.0 * clip, float_error=error, step=step, entries=total.size)
        query = Query(name, kind, sensitivity, step, proof)
        return self.run.release(query, quantise_nearest(total, step), share)

    def release_statistic(
        self, topics: np.ndarray, name: str, share: float, words: np.ndarray | None = None
    ) -> Released:
        """`Σ c_w r_wi / norm`, over some words or all: non-negative, norm one. docs/proofs/refinement.md"""
        query = self.query(name, "array", np.sqrt(2.0), "refinement", share, 1.0)
        word_topics = np.ascontiguousarray(topics.T)
        prior = np.full(len(topics), self.alpha0 / len(topics))
        (total,) = self.corpus.total(TopicStatistic(words, word_topics, prior, query.step))
        return self.run.release(query, total, share, consume=True)

    # -- what is made of them -------------------------------------------------------------------------------------

    def frame(self, words: np.ndarray, unigram: np.ndarray, n_topics: int) -> Frame:
        """The public frame: top directions of the noisy second moment, floored at the known noise edge."""
        query = self.histogram_query("second norms")
        (counts,) = self.corpus.total(PairNormHistogram(words, query.step))
        clip = clip_threshold(self.release_histogram(query, counts).value, SECOND_QUANTILE)
        moment, factors = self.release_second(words, clip)
        scale = _positive(factors, 0)
        rank = min(n_topics + OVERSAMPLE, len(words))
        with one_order():
            return frame_of(moment.value / scale, unigram[words], self.alpha0, rank=rank, noise=moment.sigma / scale)

    def frame_clips(self, words: np.ndarray, frame: Frame) -> tuple[float, float]:
        queries = [self.histogram_query(f"frame {order} norms") for order in ("second", "third")]
        (counts,) = self.corpus.total(FrameNormHistograms(words, frame.matrix, queries[0].step))
        released = [self.release_histogram(query, row) for query, row in zip(queries, counts, strict=True)]
        second, third = (clip_threshold(histogram.value, FRAME_QUANTILE) for histogram in released)
        return second, third

    def spectral_topics(
        self, words: np.ndarray, unigram: np.ndarray, frame: Frame, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        second, third, factors = self.release_inside_frame(words, frame)
        scaled = second.value / _positive(factors, 0), third.value / _positive(factors, 1)
        with one_order():
            inside, alpha = topics_in_frame(frame, *scaled, unigram[words], self.alpha0, k, self.random_state)
        return on_all_words(inside, words, unigram), alpha

    def refined_inside(
        self, words: np.ndarray, start: np.ndarray, first: Released, noise_per_topic: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Topics refined on some words, and the prior. The others keep their unigram share, which is sharpened."""
        unigram = unigram_posterior(*self.sharpened_unigram(first, TAIL_SHARE * self.split.refine))
        inside, part = start[:, words], unigram[words]
        inside, part = inside / inside.sum(axis=1, keepdims=True), part / part.sum()
        topics, alpha = self.refined(words, inside, part, noise_per_topic, (1.0 - TAIL_SHARE) * self.split.refine)
        return on_all_words(topics, words, unigram), alpha

    def refined(
        self, words: np.ndarray | None, start: np.ndarray, unigram: np.ndarray, noise_per_topic: float, share: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Steps of variational EM on released statistics, each estimate a weighted average of all so far.

        The start leans on the unigram the more, the more noise the refinement will have.
        """
        noise = len(start) * noise_per_topic
        lean = LARGEST_START_SHARE * noise / (noise + HALF_START_NOISE)
        topics = (1.0 - lean) * start + lean * unigram
        total = np.zeros_like(topics)
        weight_sum = squares = 0.0
        for step in range(1, self.refine_steps + 1):
            self.progress(f"refinement {step} of {self.refine_steps}")
            released = self.release_statistic(topics, f"refinement {step}", share / self.refine_steps, words)
            total += step * released.value.T
            weight_sum += step
            squares += step**2
            topics = denoised_topics(total / weight_sum, unigram, released.sigma * np.sqrt(squares) / weight_sum)
        shares = np.maximum(total.sum(axis=1), 1e-3 * np.abs(total).sum() / len(total))
        return topics, self.alpha0 * shares / shares.sum()

    def unigram_model(self, first: Released, supported: int) -> PrivateModel:
        """No topics to tell apart: one topic, the unigram, sharpened with what the later releases leave."""
        unspent = self.split.refine + self.split.frame + self.split.tensor + 3.0 * self.small_share
        value, sigma = self.sharpened_unigram(first, unspent)
        return PrivateModel(unigram_posterior(value, sigma)[None, :], np.array([self.alpha0]), supported)

    def sharpened_unigram(self, first: Released, share: float) -> tuple[np.ndarray, float]:
        """The unigram released a second time, averaged with the first by their noise."""
        again = self.release_unigram(share, "unigram again")
        weight = first.sigma**2 / (first.sigma**2 + again.sigma**2)
        sigma = first.sigma * again.sigma / float(np.hypot(first.sigma, again.sigma))
        return weight * again.value + (1.0 - weight) * first.value, sigma

    def refined_words(self, unigram: np.ndarray, mass: float) -> RefinedWords:
        noise = averaged_noise(self.run.mu_total, self.split.refine, self.refine_steps) if self.refine_steps else 0.0
        return RefinedWords.of(unigram, noise / mass, self.n_topics)

    # -- helpers --------------------------------------------------------------------------------------------------

    @property
    def small_share(self) -> float:
        """Three histograms and two vectors of clip factors divide their fraction."""
        return self.split.histograms / 5.0

    def query(self, name: str, kind: Kind, sensitivity: float, proof: str, share: float, clip: float) -> Query:
        """A query on the lattice that suits its noise; `clip` bounds an entry of one unit's contribution."""
        draft = Query(name, kind, float(sensitivity), 1.0, proof)
        step = step_for(self.run.sigma(draft, share), self.corpus.n_units, self.corpus.n_units * clip)
        return replace(draft, step=step)


def _positive(factors: Released, index: int) -> float:
    """A released sum of clip factors, floored at its own noise."""
    return float(max(factors.value[index], factors.sigma))

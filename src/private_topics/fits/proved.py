"""The paper's configurations 1 and 2 with a proof: whiten and un-whiten by one released second moment.

    unigram → norms → second moment → whitening → norms → third moment → topics

Configuration 1 releases the third moment inside the orthonormal basis of the released second moment, clipped by its
norm over all words: the law of noise on every triple of words, whitened. Configuration 2 releases it inside the
whitening itself, clipped by the bounds of the sequential release. Neither whitens again nor refines. Proofs:
docs/proofs/configuration_1.md, docs/proofs/configuration_2.md. Differs from the paper: the second moment is released
once and serves both directions, so the eigenvectors are un-whitened in the frame they were found in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from private_topics.corpus.counts.layout import WordBlock, ranks_of, select_words
from private_topics.corpus.counts.matrix import take_rows
from private_topics.engines.local import PrivateCorpus
from private_topics.errors import InputError
from private_topics.fits.sequential import PrivateModel, Sequential
from private_topics.inference.carried import (
    SPECTRAL_WORDS,
    check_size,
    most_frequent,
    on_all_words,
    warn_if_fewer,
)
from private_topics.inference.denoising import unigram_posterior
from private_topics.privacy.budget import BudgetSplit
from private_topics.privacy.lattice import quantise_nearest, step_for, widened
from private_topics.privacy.mechanisms import Query, Released
from private_topics.spectral.frame import Frame
from private_topics.spectral.power_method import decompose
from private_topics.spectral.topics import lda_third_moment, simplex_rows, topic_weights
from private_topics.spectral.whitening import Whitening
from private_topics.sums.norm_histogram import BINS, add_norms, clip_threshold
from private_topics.sums.quantised import finest_step, truncated
from private_topics.sums.triple_norms import (
    MOST_DOCUMENTS,
    PROJECTION_ERROR,
    projected_third,
    triple_norms,
    triple_weights,
)
from private_topics.sums.unit_sums import ClippedFrameMoments, FrameNormHistograms, clip_factors
from private_topics.threads import one_order

THIRD_QUANTILE, FRAME_QUANTILE = 0.5, 0.5
MOST_CHUNKS = 2**18
SPLITS: dict[int | str, BudgetSplit] = {
    1: BudgetSplit(unigram=0.05, histograms=0.03, second=0.42, frame=0.0, tensor=0.5, refine=0.0),
    2: BudgetSplit(unigram=0.05, histograms=0.03, second=0.62, frame=0.0, tensor=0.3, refine=0.0),
}


@dataclass(frozen=True)
class ReleasedWhitening(Sequential, ABC):
    """What the two configurations share; `third_moment` is where they differ."""

    def fit(self) -> PrivateModel:
        check_size(self.corpus.n_words, self.n_topics)
        self.progress("unigram")
        noisy_unigram = self.release_unigram(self.split.unigram)
        unigram = unigram_posterior(noisy_unigram.value, noisy_unigram.sigma)
        words = most_frequent(unigram, SPECTRAL_WORDS)
        self.progress("second moment")
        whole = self.frame(words, unigram, self.n_topics)
        k = min(self.n_topics, whole.supported)
        warn_if_fewer(k, self.n_topics)
        if k <= 1:
            return PrivateModel(unigram[None, :], np.array([self.alpha0]), whole.supported)
        self.progress("third moment")
        frame = leading(whole, k)
        topics, alpha = self.topics(words, unigram[words], frame)
        return PrivateModel(on_all_words(topics, words, unigram), alpha, whole.supported)

    def topics(self, words: np.ndarray, first: np.ndarray, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
        """Topics on the spectral words, whose shares are `first`, and their weights."""
        return whitened_topics(frame, self.third_moment(words, frame), first, self.alpha0, self.random_state)

    @abstractmethod
    def third_moment(self, words: np.ndarray, frame: Frame) -> np.ndarray:
        """`E3(W, W, W)` from released values."""

    @property
    def small_share(self) -> float:
        """Two histograms and two sums of clip factors divide their fraction."""
        return self.split.histograms / 4.0


@dataclass(frozen=True)
class FirstConfiguration(ReleasedWhitening):
    """Noise on the third moment over all words of the spectral stage (e3), and on the second (e4 and e8)."""

    def third_moment(self, words: np.ndarray, frame: Frame) -> np.ndarray:
        basis, stretch = contraction(frame.whitening.basis)
        third, factors = self.release_third(words, basis)
        scale = np.sqrt(stretch / frame.whitening.values)
        value = third.value / max(float(factors.value[0]), factors.sigma)
        return np.einsum("abc,a,b,c->abc", value, scale, scale, scale)

    def release_third(self, words: np.ndarray, basis: np.ndarray) -> tuple[Released, Released]:
        """`Σ s·phi3(U, U, U)` and `Σ s`. docs/proofs/configuration_1.md, docs/proofs/clip_sums.md"""
        norms_query = self.histogram_query("third norms")
        counts = np.zeros(BINS + 2, np.int64)
        for block, lengths, share in self.chunks(words):
            add_norms(triple_norms(block.indptr, block.counts, lengths), share, norms_query.step, counts)
        clip = clip_threshold(self.release_histogram(norms_query, counts).value, THIRD_QUANTILE)
        n_units, rank = self.corpus.n_units, basis.shape[1]
        grid = finest_step(2.0 * n_units * clip)
        total = np.zeros((rank, rank, rank), np.int64)
        factors_query = self.factors_query("third clip factors", 1)
        factors = np.zeros(1, np.int64)
        with one_order():
            for block, lengths, share in self.chunks(words):
                factor = clip_factors(triple_norms(block.indptr, block.counts, lengths), clip)
                part = projected_third(block, share * factor * triple_weights(lengths), basis)
                total += quantise_nearest(part, grid)
                factors += truncated(share * factor, factors_query.step).sum()
        step = step_for(np.sqrt(2.0) * clip / self.run.mu_total, n_units, 2.0 * n_units * clip)
        error = PROJECTION_ERROR * rank**1.5 * n_units * clip
        sensitivity = widened(np.sqrt(2.0) * clip, float_error=error, step=step, entries=total.size)
        query = Query("third moment", "symmetric_tensor", sensitivity, step, "configuration_1")
        released = self.run.release(query, quantise_nearest(total * grid, step), self.split.tensor)
        return released, self.run.release(factors_query, factors, self.small_share)

    def chunks(self, words: np.ndarray) -> Iterator[tuple[WordBlock, np.ndarray, np.ndarray]]:
        """Blocks of at most `MOST_DOCUMENTS` documents on the spectral words, with the full document lengths."""
        assert isinstance(self.corpus, PrivateCorpus)  # the rounding of a block depends on its documents
        rank = ranks_of(words, self.corpus.n_words)
        count = 0
        for part in self.corpus:
            for start in range(0, part.block.shape[0], MOST_DOCUMENTS):
                rows = slice(start, start + MOST_DOCUMENTS)
                count += 1
                if count > MOST_CHUNKS:
                    raise InputError(f"Configuration 1 takes at most {MOST_CHUNKS:,} blocks. Use larger ones.")
                block = select_words(take_rows(part.block, rows.start, rows.stop), rank, len(words))
                yield block, part.lengths[rows], part.share[rows]


@dataclass(frozen=True)
class SecondConfiguration(ReleasedWhitening):
    """Noise on the whitened third moment (e6), and on the second moment (e8, from which W follows too)."""

    def third_moment(self, words: np.ndarray, frame: Frame) -> np.ndarray:
        third, factors = self.release_whitened(words, frame)
        return third.value / max(float(factors.value[0]), factors.sigma)

    def release_whitened(self, words: np.ndarray, frame: Frame) -> tuple[Released, Released]:
        """`Σ s·phi3(W, W, W)` and `Σ s`. docs/proofs/tensor.md, docs/proofs/clip_sums.md"""
        total, clip, factors_query, factors = self.whitened_sum(words, frame)
        released = self.release_assembled(
            "frame third moment", "symmetric_tensor", "tensor", total, clip, self.split.tensor
        )
        return released, self.run.release(factors_query, factors, self.small_share)

    def whitened_sum(self, words: np.ndarray, frame: Frame) -> tuple[np.ndarray, float, Query, np.ndarray]:
        """`Σ s·phi3(W, W, W)` without noise, its released clip, and `Σ s` without noise with its query."""
        norms_query = self.histogram_query("frame third norms")
        (counts,) = self.corpus.total(FrameNormHistograms(words, frame.matrix, norms_query.step))
        clip = clip_threshold(self.release_histogram(norms_query, counts[1]).value, FRAME_QUANTILE)
        factors_query = self.factors_query("third clip factors", 1)
        clipped = ClippedFrameMoments(words, frame.matrix, self.corpus.n_units, clip, clip, factors_query.step)
        totals = self.corpus.total(clipped)
        factors = totals[-1][1:]
        with one_order():
            total = clipped.sums(totals).third()
        return total, clip, factors_query, factors


def contraction(basis: np.ndarray) -> tuple[np.ndarray, float]:
    """`(U/√r, r)` with `r` just above one, so that the spectral norm of the first is certainly at most one.

    `||U||² <= max row sum of |U'U|`; the factor covers the rounding of the product (docs/proofs/configuration_1.md).
    """
    stretch = float(np.abs(basis.T @ basis).sum(axis=1).max()) * (1.0 + 2.0**-30)
    return basis / np.sqrt(stretch), stretch


def leading(frame: Frame, rank: int) -> Frame:
    """The first directions of a frame."""
    whitening = Whitening(frame.whitening.basis[:, :rank], frame.whitening.values[:rank])
    return Frame(whitening, frame.eigenvalues[:rank], frame.noise_edge)


def whitened_topics(
    frame: Frame, third: np.ndarray, first: np.ndarray, alpha0: float, random_state: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Topics and weights from `E3(W, W, W)`."""
    with one_order():
        pairs = decompose(whitened_tensor(frame, third, first, alpha0), random_state=random_state)
        return simplex_rows(frame.whitening.unwhiten(pairs.vectors).T), topic_weights(pairs.values, alpha0)


def whitened_tensor(frame: Frame, third: np.ndarray, first: np.ndarray, alpha0: float) -> np.ndarray:
    """`M3(W, W, W)` from `E3(W, W, W)`; `W'M2W` is diagonal, and one where no eigenvalue was floored."""
    inside = frame.matrix.T @ first
    second = np.diag(frame.eigenvalues / frame.whitening.values) + alpha0 / (alpha0 + 1.0) * np.outer(inside, inside)
    return lda_third_moment(third, second, inside, alpha0)

"""Configuration 1 without any delta: Laplace noise on the first, second and third moment over all words.

    unigram, second moment, third moment → whitening → whitened tensor → topics

Each moment is a sum of probability arrays, so replacing one unit moves it by at most two in the L1 norm. Noise goes
on every different entry, divided by the number of places it has. Proof: docs/proofs/pure_epsilon.md. Laplace noise is
not rotation invariant: unlike Gaussian noise it must be drawn for every triple of words, which limits the vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from private_topics.corpus.counts.layout import select_words
from private_topics.engines.local import PrivateCorpus
from private_topics.errors import InputError
from private_topics.fits.proved import leading, whitened_topics
from private_topics.fits.sequential import PrivateModel, Progress
from private_topics.inference.carried import warn_if_fewer
from private_topics.inference.denoising import unigram_posterior
from private_topics.privacy.lattice import step_for
from private_topics.privacy.mechanisms import Query, Released
from private_topics.privacy.simple_composition import SimpleRun
from private_topics.spectral.frame import frame_of
from private_topics.sums.features import DocumentWeights
from private_topics.sums.packed_moments import (
    add_packed_triples,
    pack_pairs,
    packed_inside,
    packed_triples,
    unpack_pairs,
)
from private_topics.sums.quantised import SAFETY, finest_step, truncated
from private_topics.sums.second_order import add_first_moment, add_second_moment

MOST_WORDS = 200
SHARES = {"unigram": 0.1, "second moment": 0.4, "third moment": 0.5}
L1_SENSITIVITY = 2.0


@dataclass(frozen=True)
class PureEpsilon:
    """One fit of pure epsilon; the sums are over units, in integers."""

    run: SimpleRun
    corpus: PrivateCorpus
    n_topics: int
    alpha0: float
    random_state: np.random.RandomState
    progress: Progress

    def fit(self) -> PrivateModel:
        if self.corpus.n_words > MOST_WORDS:
            raise InputError(
                f"delta=0 needs noise on every triple of words: at most {MOST_WORDS} words. "
                f"Got {self.corpus.n_words:,}. Restrict the vocabulary, or allow a delta."
            )
        self.progress("moments")
        first, second, third = self.release_moments()
        mass = max(float(first.value.sum()), first.sigma)
        unigram = unigram_posterior(first.value, first.sigma)
        n_words = self.corpus.n_words
        matrix = unpack_pairs(second.value, n_words) / mass
        # Off the diagonal the noise has variance scale²/2, like isometric noise of that scale: one spectral norm.
        noise = second.sigma / np.sqrt(2.0) / mass
        frame = frame_of(matrix, unigram, self.alpha0, rank=min(self.n_topics, n_words), noise=noise)
        k = min(self.n_topics, frame.supported)
        warn_if_fewer(k, self.n_topics)
        if k <= 1:
            return PrivateModel(unigram[None, :], np.array([self.alpha0]), frame.supported)
        self.progress("topics")
        inner = leading(frame, k)
        inside = packed_inside(third.value, inner.matrix) / mass
        topics, alpha = whitened_topics(inner, inside, unigram, self.alpha0, self.random_state)
        return PrivateModel(topics, alpha, frame.supported)

    def release_moments(self) -> tuple[Released, Released, Released]:
        """`Σ phi1`, `Σ phi2` and `Σ phi3`, the last two packed. docs/proofs/pure_epsilon.md"""
        n_words = self.corpus.n_words
        grid = finest_step(float(self.corpus.n_units))
        first = np.zeros(n_words, np.int64)
        second = np.zeros((n_words, n_words), np.int64)
        third = np.zeros(packed_triples(n_words), np.int64)
        for part in self.corpus:
            weights = DocumentWeights.of_lengths(part.lengths)
            block = select_words(part.block, None, n_words)
            whole = [truncated(part.share * SAFETY * weight, grid) for weight in (weights.first, weights.second)]
            add_first_moment(part.block, whole[0], first)
            add_second_moment(block, whole[1], second)
            add_packed_triples(block, truncated(part.share * SAFETY * weights.third, grid), third)
        sums = {"unigram": first, "second moment": pack_pairs(second), "third moment": third}
        released = [self._release(name, total, grid) for name, total in sums.items()]
        return released[0], released[1], released[2]

    def _release(self, name: str, total: np.ndarray, grid: float) -> Released:
        """Round the exact sum from the grid of the contributions to that of the noise, half up, and add noise."""
        draft = Query(name, "vector", L1_SENSITIVITY, 1.0, "pure_epsilon", norm="l1")
        n_units = self.corpus.n_units
        step = max(grid, step_for(self.run.laplace_scale(draft, SHARES[name]), n_units, float(n_units)))
        shift = int(np.log2(step / grid))
        rounded = (total + ((1 << shift) >> 1)) >> shift
        sensitivity = (L1_SENSITIVITY + step * total.size) * (1.0 + 2.0**-50)
        return self.run.release(replace(draft, sensitivity=sensitivity, step=step), rounded, SHARES[name])

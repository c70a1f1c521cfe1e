"""The paper's four configurations as published: its sensitivities, its Procedure 1, its composition. **Not proved.**

    corpus → M2, M3;  M2 → W, W†;  M3, W → T → eigenpairs;  eigenpairs, W† → topics

Configuration 1 puts noise on M3 and twice on M2, 2 on T and M2, 3 on the eigenpairs and M2, 4 on the topics. Each
release gets an equal part of epsilon and of delta, and the parts add up (Paper, Proposition on composition). Differs
from the paper: products of means stand for its averages over distinct documents, and its prefactor of M3 is left out,
as in its own bounds; symmetric arrays get isometric noise; `σ_{k+1}`, which its Procedure 1 does not release, counts
as zero; the noise on M3 is drawn after the projection, where its law is the same (docs/proofs/configuration_1.md).
What is wrong with the method itself: docs/errata.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from private_topics.corpus.counts.layout import select_words
from private_topics.engines.local import PrivateCorpus
from private_topics.errors import InputError
from private_topics.fits.procedure_one import PublishedRelease
from private_topics.fits.sequential import PrivateModel, Progress
from private_topics.paper.bounds import (
    gap_of_eigenvalues,
    published_eigenvector_sensitivity,
    published_second_moment_sensitivity,
    published_tensor_sensitivity,
    published_third_moment_sensitivity,
    published_topic_sensitivity,
    unwhitening_factor,
)
from private_topics.paper.noise_scales import analytic_sigma, classical_sigma
from private_topics.privacy.mechanisms import Released
from private_topics.privacy.simple_composition import Calibration, SimpleRun
from private_topics.spectral.frame import ABOVE_EDGE
from private_topics.spectral.power_method import EigenPairs, decompose
from private_topics.spectral.topics import (
    SMALLEST_EIGENVALUE,
    lda_second_moment,
    lda_third_moment,
    simplex_rows,
    topic_weights,
)
from private_topics.spectral.whitening import Whitening, whitening_of
from private_topics.sums.features import DocumentWeights
from private_topics.sums.second_order import add_first_moment, add_second_moment, mirror_upper
from private_topics.sums.third_order import FrameSums

MOST_WORDS = 5_000
FEWEST_UNITS = 3
GAUSSIAN: dict[str, Calibration] = {"published": classical_sigma, "published-analytic": analytic_sigma}
RELEASES = {
    1: ("e3 third moment", "e4 second moment", "e8 second moment"),
    2: ("sigma_k", "e6 whitened tensor", "e8 second moment"),
    3: ("sigma_k", "gamma_s", "e7 eigenpairs", "e8 second moment"),
    4: ("sigma_k", "gamma_s", "e9 topics"),
}
SMALLEST_WEIGHT = 1e-3  # of the largest Dirichlet weight, where noise made one negative


@dataclass(frozen=True)
class Published:
    """One fit by a published configuration; equal shares, in the order in which `RELEASES` needs them."""

    run: SimpleRun
    corpus: PrivateCorpus
    configuration: int
    n_topics: int
    alpha0: float
    random_state: np.random.RandomState
    progress: Progress

    def fit(self) -> PrivateModel:
        if self.corpus.n_words > MOST_WORDS:
            raise InputError(
                f"The published configurations need the second moment as a dense matrix of at most {MOST_WORDS:,} "
                f"words. Got {self.corpus.n_words:,}. Restrict the vocabulary, or use configuration='sequential'."
            )
        if self.corpus.n_units < FEWEST_UNITS:
            raise InputError(f"The published configurations need at least {FEWEST_UNITS} documents, or users.")
        self.progress("first and second moments")
        fits: tuple[Callable[[], PrivateModel], ...] = (self._first, self._second, self._third, self._fourth)
        return fits[self.configuration - 1]()

    # -- the four configurations ----------------------------------------------------------------------------------

    def _first(self) -> PrivateModel:
        """Noise on M2 for W (e4), on M3 (e3) and again on M2 for W† (e8). Paper, configuration 1."""
        whitening = whitening_of(self._noisy_second("e4 second moment").value, self.rank)
        self.progress("third moment")
        sensitivity = published_third_moment_sensitivity(n_documents=self.corpus.n_units, alpha0=self.alpha0)
        third = self.third_inside(whitening.basis)
        noisy = self.release.noisy("e3 third moment", "symmetric_tensor", third, sensitivity)
        scale = 1.0 / np.sqrt(whitening.values)
        return self._unwhitened(self._decomposed(np.einsum("abc,a,b,c->abc", noisy.value, scale, scale, scale)))

    def _second(self) -> PrivateModel:
        """Noise on the whitened tensor (e6) and on M2 for W† (e8). Paper, configuration 2."""
        sigma_k = self.release.lower_bound("sigma_k", self.whitening.values[-1])
        sensitivity = published_tensor_sensitivity(**self._public, sigma_k=sigma_k)
        noisy = self.release.noisy("e6 whitened tensor", "symmetric_tensor", self.tensor, sensitivity)
        return self._unwhitened(self._decomposed(noisy.value))

    def _third(self) -> PrivateModel:
        """Noise on eigenvectors and eigenvalues (e7) and on M2 for W† (e8). Paper, configuration 3."""
        sigma_k, gamma_s = self._lower_bounds()
        sensitivity = published_eigenvector_sensitivity(**self._public, sigma_k=sigma_k, gamma_s=gamma_s)
        stacked = np.vstack([self.pairs.vectors, self.pairs.values])
        noisy = self.release.noisy("e7 eigenpairs", "array", stacked, sensitivity).value
        return self._unwhitened(EigenPairs(noisy[-1], noisy[:-1]))

    def _fourth(self) -> PrivateModel:
        """Noise on topics and Dirichlet weights (e9). Paper, configuration 4.

        The published noise is scaled by `σ_1(M2)` and `σ_1(T)`, which are not released. So that no record of the
        fit shows them, the release is in units of that scale: sensitivity one, noise τ.
        """
        sigma_k, gamma_s = self._lower_bounds()
        scale = published_topic_sensitivity(
            **self._public,
            sigma_k=sigma_k,
            gamma_s=gamma_s,
            sigma_1=max(0.0, float(self.whitening.values[0])),
            tensor_sigma_1=float(self.pairs.values[0]),
        )
        factors = unwhitening_factor(self.alpha0) * np.maximum(self.pairs.values, SMALLEST_EIGENVALUE)
        topics = (self.whitening.unwhiten(self.pairs.vectors) * factors).T
        stacked = np.column_stack([topics, factors**-2.0]) / scale
        noisy = self.release.noisy("e9 topics", "array", stacked, 1.0).value
        weights = np.maximum(noisy[:, -1], SMALLEST_WEIGHT * np.abs(noisy[:, -1]).max())
        alpha = self.alpha0 * weights / weights.sum()
        return PrivateModel(simplex_rows(noisy[:, :-1]), alpha, self.rank)

    # -- what they share ------------------------------------------------------------------------------------------

    @cached_property
    def release(self) -> PublishedRelease:
        return PublishedRelease(self.run, self.corpus.n_units, 1.0 / len(RELEASES[self.configuration]))

    @property
    def rank(self) -> int:
        return min(self.n_topics, self.corpus.n_words)

    @property
    def _public(self) -> dict[str, Any]:
        return {"n_documents": self.corpus.n_units, "n_topics": self.rank, "alpha0": self.alpha0}

    def _lower_bounds(self) -> tuple[float, float]:
        sigma_k = self.release.lower_bound("sigma_k", self.whitening.values[-1])
        return sigma_k, self.release.lower_bound("gamma_s", gap_of_eigenvalues(self.pairs.values))

    def _noisy_second(self, name: str) -> Released:
        sensitivity = published_second_moment_sensitivity(n_documents=self.corpus.n_units, alpha0=self.alpha0)
        return self.release.noisy(name, "symmetric_matrix", self.second, sensitivity)

    def _decomposed(self, tensor: np.ndarray) -> EigenPairs:
        return decompose(tensor, random_state=self.random_state)

    def _unwhitened(self, pairs: EigenPairs) -> PrivateModel:
        """Topics by the un-whitening of a noisy M2 (e8), in whatever frame the eigenvectors are."""
        noisy = self._noisy_second("e8 second moment")
        whitening = whitening_of(noisy.value, self.rank)
        topics = simplex_rows(whitening.unwhiten(pairs.vectors * pairs.values).T)
        edge = noisy.sigma * float(np.sqrt(2.0 * len(noisy.value)))
        supported = int((whitening.values > ABOVE_EDGE * edge).sum())
        return PrivateModel(topics, topic_weights(pairs.values, self.alpha0), supported)

    # -- the moments, without noise: nothing below leaves the fit ------------------------------------------------

    @cached_property
    def means(self) -> tuple[np.ndarray, np.ndarray]:
        """Means of `phi1` and `phi2` over all units."""
        n_words = self.corpus.n_words
        first, second = np.zeros(n_words), np.zeros((n_words, n_words))
        for part in self.corpus:
            weights = DocumentWeights.of_lengths(part.lengths)
            add_first_moment(part.block, part.share * weights.first, first)
            add_second_moment(select_words(part.block, None, n_words), part.share * weights.second, second)
        mirror_upper(second)
        return first / self.corpus.n_units, second / self.corpus.n_units

    @cached_property
    def second(self) -> np.ndarray:
        """`M2`."""
        first, second = self.means
        return lda_second_moment(second, first, self.alpha0)

    @cached_property
    def whitening(self) -> Whitening:
        if not self.second.any():  # no document of three words: any basis will do
            return Whitening(np.eye(len(self.second), self.rank), np.full(self.rank, np.finfo(np.float64).tiny))
        return whitening_of(self.second, self.rank)

    @cached_property
    def tensor(self) -> np.ndarray:
        """`T = M3(W, W, W)`."""
        self.progress("third moment")
        return self.third_inside(self.whitening.frame)

    @cached_property
    def pairs(self) -> EigenPairs:
        return self._decomposed(self.tensor)

    def third_inside(self, frame: np.ndarray) -> np.ndarray:
        """`M3` inside a frame, symmetric to the last bit."""
        sums = FrameSums(self.corpus.n_words, frame.shape[1])
        for part in self.corpus:
            weights = DocumentWeights.of_lengths(part.lengths)
            shared = DocumentWeights(weights.first, part.share * weights.second, part.share * weights.third)
            sums.add(select_words(part.block, None, self.corpus.n_words), frame, shared)
        second, third = sums.second(frame) / self.corpus.n_units, sums.third(frame) / self.corpus.n_units
        tensor = lda_third_moment(third, second, frame.T @ self.means[0], self.alpha0)
        result: np.ndarray = tensor[tuple(np.sort(np.indices(tensor.shape), axis=0))]
        return result

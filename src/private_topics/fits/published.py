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

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from private_topics.corpus.counts.layout import select_words
from private_topics.engines.local import LocalCorpus
from private_topics.errors import InputError, PrivacyError
from private_topics.fits.fit import Fit, PrivateModel
from private_topics.paper.bounds import (
    analytic_sigma,
    classical_sigma,
    gap_of_eigenvalues,
    procedure_lower_bound,
    published_eigenvector_sensitivity,
    published_second_moment_sensitivity,
    published_tensor_sensitivity,
    published_third_moment_sensitivity,
    published_topic_sensitivity,
    unwhitening_factor,
)
from private_topics.privacy.lattice import LARGEST_INTEGER, step_for
from private_topics.privacy.mechanisms import Released
from private_topics.privacy.queries import Kind, Query
from private_topics.privacy.simple_composition import Calibration, SimpleRun
from private_topics.releases.release import FitContext, Release
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
from private_topics.sums.moments import FrameSums, add_first_moment, add_second_moment, mirror_upper
from private_topics.sums.parts import DocumentWeights
from private_topics.sums.quantised import rounded

MOST_DENSE_WORDS = 5_000
FEWEST_PUBLISHED_UNITS = 3
NOT_PROVED = "none: see docs/errata.md"
GAUSSIAN: dict[str, Calibration] = {"published": classical_sigma, "published-analytic": analytic_sigma}
SMALLEST_WEIGHT = 1e-3  # of the largest Dirichlet weight, where noise made one negative


def _release(name: str, kind: Kind, edge: str | None = None) -> Release:
    """A release whose noise follows the published bound; all have equal parts of epsilon and of delta."""
    named = name if edge is None else f"{edge} {name}"
    return Release(named, named, edge, kind, NOT_PROVED, None, None, norm="l1" if kind == "scalar" else "l2")


SIGMA_K, GAMMA_S = _release("sigma_k", "scalar"), _release("gamma_s", "scalar")
FOR_UNWHITENING = _release("second moment", "symmetric_matrix", "e8")
RELEASES = {
    1: (
        _release("third moment", "symmetric_tensor", "e3"),
        _release("second moment", "symmetric_matrix", "e4"),
        FOR_UNWHITENING,
    ),
    2: (SIGMA_K, _release("whitened tensor", "symmetric_tensor", "e6"), FOR_UNWHITENING),
    3: (SIGMA_K, GAMMA_S, _release("eigenpairs", "array", "e7"), FOR_UNWHITENING),
    4: (SIGMA_K, GAMMA_S, _release("topics", "array", "e9")),
}


@dataclass(frozen=True)
class Published:
    """One fit by a published configuration; equal shares, in the order in which it needs them."""

    context: FitContext

    @cached_property
    def corpus(self) -> LocalCorpus:
        assert isinstance(self.context.corpus, LocalCorpus)  # `Fit.any_engine` is False
        return self.context.corpus

    @property
    def alpha0(self) -> float:
        return self.context.alpha0

    def fit(self, configuration: int) -> PrivateModel:
        if self.corpus.n_words > MOST_DENSE_WORDS:
            raise InputError(
                "The published configurations need the second moment as a dense matrix of at most "
                f"{MOST_DENSE_WORDS:,} words. Got {self.corpus.n_words:,}. Restrict the vocabulary, or use "
                "configuration='sequential'."
            )
        if self.corpus.n_units < FEWEST_PUBLISHED_UNITS:
            raise InputError(
                f"The published configurations need at least {FEWEST_PUBLISHED_UNITS} documents, or users."
            )
        self.context.progress.stage("first and second moments")
        return (self._first, self._second, self._third, self._fourth)[configuration - 1]()

    # -- the four configurations ----------------------------------------------------------------------------------

    def _first(self) -> PrivateModel:
        """Noise on M2 for W (e4), on M3 (e3) and again on M2 for W† (e8). Paper, configuration 1."""
        for_tensor, for_whitening, _ = RELEASES[1]
        whitening = whitening_of(self._noisy_second(for_whitening).value, self.rank)
        self.context.progress.stage("third moment")
        third = self.third_inside(whitening.basis)
        noisy = self._noisy(for_tensor, third, self.third_sensitivity())
        scale = 1.0 / np.sqrt(whitening.values)
        return self._unwhitened(self._decomposed(np.einsum("abc,a,b,c->abc", noisy.value, scale, scale, scale)))

    def _second(self) -> PrivateModel:
        """Noise on the whitened tensor (e6) and on M2 for W† (e8). Paper, configuration 2."""
        sigma_k = self._lower_bound(SIGMA_K, self.whitening.values[-1])
        noisy = self._noisy(RELEASES[2][1], self.tensor, self.tensor_sensitivity(sigma_k))
        return self._unwhitened(self._decomposed(noisy.value))

    def _third(self) -> PrivateModel:
        """Noise on eigenvectors and eigenvalues (e7) and on M2 for W† (e8). Paper, configuration 3."""
        sigma_k, gamma_s = self._lower_bounds()
        stacked = np.vstack([self.pairs.vectors, self.pairs.values])
        noisy = self._noisy(RELEASES[3][2], stacked, self.pair_sensitivity(sigma_k, gamma_s)).value
        return self._unwhitened(EigenPairs(noisy[-1], noisy[:-1]))

    def _fourth(self) -> PrivateModel:
        """Noise on topics and Dirichlet weights (e9). Paper, configuration 4.

        The published noise is scaled by `σ_1(M2)` and `σ_1(T)`, which are not released. So that no record of the
        fit shows them, the release is in units of that scale: sensitivity one, noise τ.
        """
        sigma_k, gamma_s = self._lower_bounds()
        scale = self.topic_sensitivity(sigma_k, gamma_s)
        factors = unwhitening_factor(self.alpha0) * np.maximum(self.pairs.values, SMALLEST_EIGENVALUE)
        topics = (self.whitening.unwhiten(self.pairs.vectors) * factors).T
        stacked = np.column_stack([topics, factors**-2.0]) / scale
        noisy = self._noisy(RELEASES[4][2], stacked, 1.0).value
        weights = np.maximum(noisy[:, -1], SMALLEST_WEIGHT * np.abs(noisy[:, -1]).max())
        alpha = self.alpha0 * weights / weights.sum()
        return PrivateModel(simplex_rows(noisy[:, :-1]), alpha, self.rank)

    # -- its sensitivities (Paper, App. I): other readings of the paper replace these ------------------------------

    def second_sensitivity(self) -> float:
        return published_second_moment_sensitivity(n_documents=self.corpus.n_units, alpha0=self.alpha0)

    def third_sensitivity(self) -> float:
        return published_third_moment_sensitivity(n_documents=self.corpus.n_units, alpha0=self.alpha0)

    def tensor_sensitivity(self, sigma_k: float) -> float:
        return published_tensor_sensitivity(**self.public_numbers, sigma_k=sigma_k)

    def pair_sensitivity(self, sigma_k: float, gamma_s: float) -> float:
        return published_eigenvector_sensitivity(**self.public_numbers, sigma_k=sigma_k, gamma_s=gamma_s)

    def topic_sensitivity(self, sigma_k: float, gamma_s: float) -> float:
        return published_topic_sensitivity(
            **self.public_numbers,
            sigma_k=sigma_k,
            gamma_s=gamma_s,
            sigma_1=max(0.0, float(self.whitening.values[0])),
            tensor_sigma_1=float(self.pairs.values[0]),
        )

    def share_of(self, _release: Release) -> float:
        """Equal parts of the budget."""
        return 1.0 / len(self.context.releases)

    # -- what they share ------------------------------------------------------------------------------------------

    @property
    def rank(self) -> int:
        return min(self.context.n_topics, self.corpus.n_words)

    @property
    def public_numbers(self) -> dict[str, Any]:
        return {"n_documents": self.corpus.n_units, "n_topics": self.rank, "alpha0": self.alpha0}

    def _lower_bounds(self) -> tuple[float, float]:
        sigma_k = self._lower_bound(SIGMA_K, self.whitening.values[-1])
        return sigma_k, self._lower_bound(GAMMA_S, gap_of_eigenvalues(self.pairs.values))

    def _noisy_second(self, release: Release) -> Released:
        return self._noisy(release, self.second, self.second_sensitivity())

    @cached_property
    def run(self) -> SimpleRun:
        assert isinstance(self.context.run, SimpleRun)  # `Fit.adds_up` is True
        return self.context.run

    def _noisy(self, release: Release, values: np.ndarray, sensitivity: float) -> Released:
        """`values` plus Gaussian noise for this sensitivity."""
        draft = Query(release.name, release.kind, sensitivity, 1.0, release.proof)
        share = self.share_of(release)
        return self._released(draft, values, self.run.sigma(draft, share), share)

    def _lower_bound(self, release: Release, value: float) -> float:
        """A released lower bound of a spectral value. Paper, Procedure 1, lines 1, 2 and 4, 5.

        With its own constants: Laplace noise of scale `1/(N ε)`, margin `2/(N ε) ln(1/(2δ))`. There is no floor but
        zero, and at zero the published noise is infinite: the run refuses, on the released value alone.
        """
        n_units, share = self.corpus.n_units, self.share_of(release)
        draft = Query(release.name, release.kind, 1.0 / n_units, 1.0, release.proof, norm=release.norm)
        released = self._released(draft, np.asarray(value), self.run.laplace_scale(draft, share), share)
        epsilon, delta = self.run.part(share)
        bound = procedure_lower_bound(float(released.value), n_documents=n_units, epsilon=epsilon, delta=delta)
        if bound <= 0.0:
            raise PrivacyError(
                f"The released lower bound of {release.name} is zero, so the published noise would be infinite. The "
                "budget of this fit is spent. More documents, fewer topics or a larger epsilon may help; "
                "configuration='sequential' needs no such bound."
            )
        return bound

    def _released(self, draft: Query, values: np.ndarray, width: float, share: float) -> Released:
        """Mean values, rounded to a lattice far below their noise."""
        query = replace(draft, step=step_for(width, self.corpus.n_units, width))
        limit = 0.5 * LARGEST_INTEGER * query.step  # only a degenerate whitening exceeds this
        integers = rounded(np.clip(np.nan_to_num(values), -limit, limit), query.step)
        return self.run.release(query, integers, share)

    def _decomposed(self, tensor: np.ndarray) -> EigenPairs:
        return decompose(tensor, random_state=self.context.random_state)

    def _unwhitened(self, pairs: EigenPairs) -> PrivateModel:
        """Topics by the un-whitening of a noisy M2 (e8), whatever frame the eigenvectors are in."""
        noisy = self._noisy_second(FOR_UNWHITENING)
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
        self.context.progress.stage("third moment")
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


REASONS = {
    1: ("the sensitivity of the third moment counts one of three mixed terms (third-moment-l1-appendix)",),
    2: (
        "the noise on sigma_k is half of what its sensitivity asks for (singular-value)",
        "the sensitivity of the whitened tensor rests on a false identity (cross-terms)",
        "the bound on the change of the whitening is exceeded (whitening-gap)",
        "conditions on spectral gaps are assumed, not tested (gap-condition)",
    ),
    3: (
        "the sensitivity of gamma_s is exceeded (tensor-gap-1)",
        "k eigenpairs are released with the sensitivity of one (eigenvectors-together)",
    ),
    4: (
        "the noise on the topics is scaled by singular values that are not released (unreleased-scale)",
        "the sensitivity of the topics lacks a factor (unwhitening-scale)",
    ),
}
"""Why a published configuration is not proved, with the name in docs/errata.md. From 2 on they add up."""
CLASSICAL_REASON = "tau is proved where a release has an epsilon of at most 1, as the paper says in App. B"


def _reasons(configuration: int, calibration: str) -> tuple[str, ...]:
    numbers = range(2, configuration + 1) if configuration != 1 else (1,)
    own = tuple(reason for number in numbers for reason in REASONS[number])
    return (*own, CLASSICAL_REASON) if calibration == "published" else own


def _model(context: FitContext, configuration: int) -> PrivateModel:
    return Published(context).fit(configuration)


PUBLISHED = {
    (number, calibration): Fit(
        f"configuration {number} ({calibration})",
        RELEASES[number],
        partial(_model, configuration=number),
        {},
        gaussian=gaussian,
        reasons=_reasons(number, calibration),
        any_engine=False,
    )
    for number in RELEASES
    for calibration, gaussian in GAUSSIAN.items()
}

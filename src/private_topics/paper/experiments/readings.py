"""Readings of the paper's noise: the constants of its appendix, what its text prints, moments scaled without it.

"Appendix constants" is `fits/published.py`, which the library offers as `calibration="published"`; the others exist
for these experiments alone. The authors' code is a reading of its own (`authors_code`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.engines.local import LocalCorpus
from private_topics.fits.published import PUBLISHED as PUBLISHED_FITS
from private_topics.fits.published import Published
from private_topics.paper.bounds import (
    MomentWeights,
    configuration_moment_scale,
    configuration_pair_scale,
    configuration_tensor_scale,
    printed_sigma,
)
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.simple_composition import Calibration
from private_topics.releases.release import FitContext, Release


@dataclass(frozen=True, eq=False)
class Task:
    """What every method is given; equal to itself alone."""

    counts: Any
    n_topics: int
    alpha0: float
    delta: float


def published_fit(
    task: Task,
    configuration: int,
    epsilon: float,
    seed: int,
    kind: Callable[..., Published] = Published,
    gaussian: Calibration | None = None,
) -> Published:
    """A published configuration, not yet run: the spectra are read from its nodes, which have no noise."""
    fit = PUBLISHED_FITS[configuration, "published"]
    if gaussian is not None:
        fit = replace(fit, gaussian=gaussian)
    run = fit.run(PrivacyBudget(epsilon, task.delta), noise_seed=seed)
    corpus, state = LocalCorpus.of(MatrixBlocks(task.counts)), np.random.RandomState(seed)
    return kind(FitContext(run, corpus, fit.releases, fit.fractions, task.n_topics, task.alpha0, random_state=state))


def printed_fit(task: Task, configuration: int, epsilon: float, seed: int) -> Published:
    """The same as the text prints it: variance `Δ² τ`, `Δ` without its constants."""
    return published_fit(task, configuration, epsilon, seed, AsPrinted, printed_sigma)


@dataclass(frozen=True)
class AsPrinted(Published):
    """The scales of the section on the four configurations, taken at their word."""

    def second_sensitivity(self) -> float:
        return configuration_moment_scale(n_documents=self.corpus.n_units)

    def third_sensitivity(self) -> float:
        return configuration_moment_scale(n_documents=self.corpus.n_units)

    def tensor_sensitivity(self, sigma_k: float) -> float:
        return configuration_tensor_scale(**self._size, sigma_k=sigma_k)

    def pair_sensitivity(self, sigma_k: float, gamma_s: float) -> float:
        return configuration_pair_scale(**self._size, sigma_k=sigma_k, gamma_s=gamma_s)

    def topic_sensitivity(self, sigma_k: float, gamma_s: float) -> float:
        return float(np.sqrt(self.whitening.values[0])) * self.pair_sensitivity(sigma_k, gamma_s)

    @property
    def _size(self) -> dict[str, int]:
        return {"n_documents": self.corpus.n_units, "n_topics": self.rank}


@dataclass(frozen=True)
class Split(Published):
    """The appendix's constants, epsilon and delta divided unequally: `shares` by the names of the releases."""

    shares: Mapping[str, float] = field(default_factory=dict)

    def share_of(self, release: Release) -> float:
        return self.shares[release.name]


@dataclass(frozen=True)
class ScaledMoments(Published):
    """`alpha0(alpha0+1) M2` and `alpha0(alpha0+1)(alpha0+2)/2 M3`, noise as if they were `M2` and `M3`.

    The moments of the authors' code. The sensitivities grow with the moments and the noise does not: far from private
    for large `alpha0`.
    """

    @cached_property
    def second(self) -> np.ndarray:
        moment: np.ndarray = noise_shortfall(self.alpha0) * super().second
        return moment

    def third_inside(self, frame: np.ndarray) -> np.ndarray:
        moment: np.ndarray = MomentWeights.of(self.alpha0).prefactor * super().third_inside(frame)
        return moment


def noise_shortfall(alpha0: float) -> float:
    """By how much the noise on the scaled second moment is too small."""
    return alpha0 * (alpha0 + 1.0)

"""What the experiments compare, by name: the paper's configurations, ours, variational inference."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.engines.local import LocalCorpus
from private_topics.errors import PrivacyError, PrivacyWarning
from private_topics.estimators.private import PrivateSpectralLDA
from private_topics.estimators.spectral import SpectralLDA
from private_topics.estimators.variational import PrivateVariationalLDA, VariationalLDA
from private_topics.fits.published import PUBLISHED as PUBLISHED_FITS
from private_topics.fits.published import Published
from private_topics.paper.bounds import MomentWeights
from private_topics.paper.experiments.rows import MEASURED, REFUSED
from private_topics.privacy.budget import PrivacyBudget
from private_topics.releases.release import FitContext

PUBLISHED = tuple(f"config {number} published" for number in (1, 2, 3, 4))
PROVED = ("config 1 proved", "config 2 proved")
SCALED = ("config 1 scaled", "config 2 scaled")
SEQUENTIAL, VARIATIONAL = "sequential", "vi"
NOT_PRIVATE = ("vi-u", "unnoised", "unnoised refined", "unigram")
PRIVATE = (*PUBLISHED, *PROVED, SEQUENTIAL, VARIATIONAL)
VARIATIONAL_SCHEDULE = {"steps": 50}  # fixed here, so that rows stay comparable if the default moves


@dataclass(frozen=True)
class Task:
    """What every method is given."""

    counts: Any
    n_topics: int
    alpha0: float
    delta: float


@dataclass(frozen=True)
class Attempt:
    """`topics` of a measured fit; None where the method refused."""

    status: str
    topics: np.ndarray | None


def attempt(method: str, task: Task, epsilon: float, seed: int) -> Attempt:
    """Fit `method`; a published configuration whose lower bound is zero refuses.

    `seed` fixes the algorithm and, so that a run can be repeated, the noise.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        try:
            return Attempt(MEASURED, _fitted(method, task, epsilon, seed))
        except PrivacyError:
            return Attempt(REFUSED, None)


def _fitted(method: str, task: Task, epsilon: float, seed: int) -> np.ndarray:
    if method == "unigram":
        return unigram_topics(task)
    if method in SCALED:
        return scaled_topics(task, int(method.split()[1]), epsilon, seed)
    settings: dict[str, Any] = {"alpha0": task.alpha0, "random_state": seed}
    if method not in NOT_PRIVATE:
        settings |= {"epsilon": epsilon, "delta": task.delta, "noise_seed": seed}
    model = _estimator(method)(task.n_topics, **settings, **_placement(method)).fit(task.counts)
    topics: np.ndarray = model.components_
    return topics


def _estimator(method: str) -> Callable[..., Any]:
    kinds = {"vi": PrivateVariationalLDA, "vi-u": VariationalLDA}
    return kinds.get(method, SpectralLDA if method.startswith("unnoised") else PrivateSpectralLDA)


def _placement(method: str) -> dict[str, Any]:
    """The settings of a method besides the task and the budget; the paper's unnoised method has no refinement."""
    if method == "unnoised":
        return {"refine_steps": 0}
    if method in PUBLISHED:
        return {"configuration": int(method.split()[1]), "calibration": "published", "allow_unproved": True}
    if method in PROVED:
        return {"configuration": int(method.split()[1])}
    return VARIATIONAL_SCHEDULE if method == VARIATIONAL else {}


def unigram_topics(task: Task) -> np.ndarray:
    """The word frequencies of the corpus in place of every topic: what a model that knows no topics scores."""
    frequencies = np.asarray(task.counts.sum(axis=0), dtype=np.float64).ravel()
    return np.tile(frequencies / frequencies.sum(), (task.n_topics, 1))


def published_fit(
    task: Task, configuration: int, epsilon: float, seed: int, kind: Callable[..., Published] = Published
) -> Published:
    """A published configuration, not yet run: the spectra are read from its nodes, which have no noise."""
    fit = PUBLISHED_FITS[configuration, "published"]
    run = fit.run(PrivacyBudget(epsilon, task.delta), noise_seed=seed)
    corpus, state = LocalCorpus.of(MatrixBlocks(task.counts)), np.random.RandomState(seed)
    return kind(FitContext(run, corpus, fit.releases, fit.fractions, task.n_topics, task.alpha0, random_state=state))


def scaled_topics(task: Task, configuration: int, epsilon: float, seed: int) -> np.ndarray:
    """Topics of a published configuration on scaled moments, with the published noise of the moments unscaled."""
    topics: np.ndarray = published_fit(task, configuration, epsilon, seed, ScaledMoments).fit(configuration).topics
    return topics


@dataclass(frozen=True)
class ScaledMoments(Published):
    """`alpha0(alpha0+1) M2` and `alpha0(alpha0+1)(alpha0+2)/2 M3`, noise as if they were `M2` and `M3`.

    What the values of figure 3a suggest (docs/errata.md, plotted-singular-value). The sensitivities grow with the
    moments and the noise does not: far from private for large `alpha0`.
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

"""What the experiments compare, by name: the paper's configurations, ours, variational inference."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from private_topics.errors import PrivacyError, PrivacyWarning
from private_topics.estimators.private import PrivateSpectralLDA
from private_topics.estimators.spectral import SpectralLDA
from private_topics.estimators.variational import PrivateVariationalLDA, VariationalLDA
from private_topics.paper.experiments.authors_code import AuthorsCode
from private_topics.paper.experiments.readings import ScaledMoments, Task, printed_fit, published_fit
from private_topics.paper.experiments.rows import MEASURED, REFUSED

CONFIGURATIONS = (1, 2, 3, 4)
PRINTED = tuple(f"config {number} printed" for number in CONFIGURATIONS)
PUBLISHED = tuple(f"config {number} published" for number in CONFIGURATIONS)
CODE = tuple(f"config {number} code" for number in CONFIGURATIONS)
UNSCALED = tuple(f"config {number} unscaled" for number in CONFIGURATIONS)
ORACLE = tuple(f"config {number} oracle" for number in CONFIGURATIONS)
READINGS = {
    "literally printed": PRINTED,
    "appendix constants": PUBLISHED,
    "authors' code": CODE,
    "authors' code, sensitivities not scaled": UNSCALED,
}
PROVED = ("config 1 proved", "config 2 proved")
SCALED = ("config 1 scaled", "config 2 scaled")
SEQUENTIAL, VARIATIONAL = "sequential", "vi"
NOT_PRIVATE = ("vi-u", "unnoised", "unnoised refined", "unigram")
PRIVATE = (*PUBLISHED, *PROVED, SEQUENTIAL, VARIATIONAL)
METHODS = (*PRINTED, *PUBLISHED, *CODE, *UNSCALED, *ORACLE, *PROVED, SEQUENTIAL, VARIATIONAL, *SCALED, *NOT_PRIVATE)
VARIATIONAL_SCHEDULE = {"steps": 50}  # fixed here, so that rows stay comparable if the default moves


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
    if method.split()[-1] in READERS:
        return READERS[method.split()[-1]](task, int(method.split()[1]), epsilon, seed)
    settings: dict[str, Any] = {"alpha0": task.alpha0, "random_state": seed}
    if method not in NOT_PRIVATE:
        settings |= {"epsilon": epsilon, "delta": task.delta, "noise_seed": seed}
    model = _estimator(method)(task.n_topics, **settings, **_placement(method)).fit(task.counts)
    topics: np.ndarray = model.components_
    return topics


def _printed(task: Task, configuration: int, epsilon: float, seed: int) -> np.ndarray:
    topics: np.ndarray = printed_fit(task, configuration, epsilon, seed).fit(configuration).topics
    return topics


def _scaled(task: Task, configuration: int, epsilon: float, seed: int) -> np.ndarray:
    topics: np.ndarray = published_fit(task, configuration, epsilon, seed, ScaledMoments).fit(configuration).topics
    return topics


READERS: dict[str, Callable[[Task, int, float, int], np.ndarray]] = {
    "printed": _printed,
    "scaled": _scaled,
    "code": lambda task, number, epsilon, seed: AuthorsCode(task, epsilon, seed, scaled=True).topics(number),
    "unscaled": lambda task, number, epsilon, seed: AuthorsCode(task, epsilon, seed, scaled=False).topics(number),
}
"""Readings of the paper that the library itself does not offer."""


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

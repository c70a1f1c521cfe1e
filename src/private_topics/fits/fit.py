"""`Fit`: an ordered list of releases and the pure functions between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from private_topics.errors import InputError, PrivacyError
from private_topics.fits.split import BudgetSplit
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.privacy.simple_composition import Calibration, PureBudget, SimpleRun
from private_topics.releases.context import FitContext
from private_topics.releases.release import Release
from private_topics.spectral.frame import Frame


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


@dataclass(frozen=True, eq=False)
class Fit:
    """What a private fit releases, in order, and how topics come out of it.

    name : in the statement of its models.
    releases : every release that it may make, in order; which of them it makes, released values decide.
    model : the functions between the releases; None where an estimator of its own has them.
    fractions : of the budget, by the names that the releases give; empty where each release has an equal part.
    gaussian : the calibration of its noise where epsilons add up, as published; None where the proved one is used.
    pure : no delta at all.
    reasons : why its guarantee is not proved; none where it is.
    any_engine : all of its sums are exact, so that any engine can compute them.
    """

    name: str
    releases: tuple[Release, ...]
    model: Callable[[FitContext], PrivateModel] | None
    fractions: Mapping[str, float]
    gaussian: Calibration | None = None
    pure: bool = False
    reasons: tuple[str, ...] = ()
    any_engine: bool = True

    @property
    def adds_up(self) -> bool:
        """Whether the epsilons of the releases add up, and have fixed fractions."""
        return self.pure or self.gaussian is not None

    def release_of(self, line: str) -> Release | None:
        """The release behind a line of a statement."""
        return next((release for release in self.releases if release.made(line)), None)

    def split(self, refine_steps: int) -> BudgetSplit:
        """The fractions where none are given: without refinement nothing is kept for it."""
        split = BudgetSplit(**self.fractions)
        return split if refine_steps else split.without_refinement()

    def check_split(self, split: BudgetSplit, *, refined: bool) -> None:
        """Refuse a split that leaves a release of this fit without budget."""
        if self.adds_up:
            raise InputError("Where epsilon adds up it has its own fractions: 'budget_split' must be None.")
        once = {release.share for release in self.releases if not release.repeated}
        needed = [name for name in split if name in once]
        if min(split[name] for name in needed) <= 0:
            raise PrivacyError(f"BudgetSplit needs positive fractions for {', '.join(needed)}.")
        for release in self.releases:
            if release.repeated and refined and release.share is not None and split[release.share] <= 0:
                raise PrivacyError(
                    f"refine_steps > 0 needs a positive {release.share!r} fraction in the BudgetSplit."
                )

    def budget(self, epsilon: Any, delta: Any) -> PrivacyBudget:
        return PureBudget(epsilon) if self.pure else PrivacyBudget(epsilon, delta)

    def run(self, budget: PrivacyBudget, **noise: Any) -> PrivateRun:
        """A run in which it can be fitted; ``noise``: see `PrivateRun`."""
        if self.adds_up:
            return SimpleRun(budget, gaussian=self.gaussian, **noise)
        return PrivateRun(budget, **noise)

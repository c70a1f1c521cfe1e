"""Which configuration a fit runs, from public settings alone: what is proved, and what needs an opt-in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Protocol

import numpy as np

from private_topics.engines.local import PrivateCorpus
from private_topics.engines.protocol import Corpus
from private_topics.errors import InputError, PrivacyError
from private_topics.fits.certified import FourthConfiguration, ThirdConfiguration
from private_topics.fits.proved import SPLITS, FirstConfiguration, SecondConfiguration
from private_topics.fits.published import GAUSSIAN, Published
from private_topics.fits.pure import PureEpsilon
from private_topics.fits.sequential import PrivateModel, Progress, Sequential
from private_topics.privacy.budget import BudgetSplit, PrivacyBudget
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.privacy.simple_composition import PureBudget, SimpleRun

CONFIGURATIONS = (1, 2, 3, 4, "sequential", "auto")
CALIBRATIONS = ("proved", *GAUSSIAN)
ALL_SPLITS = {**SPLITS, 3: SPLITS[2], 4: SPLITS[2]}
AUTOMATIC = "sequential"
"""What "auto" picks: in all measurements so far it has the smallest error of the proved configurations."""
REASONS = {
    1: ("the sensitivity of the third moment counts one of three mixed terms (third-moment-l1-appendix)",),
    2: (
        "the noise on sigma_k is half of what its sensitivity asks for (singular-value)",
        "the sensitivity of the whitened tensor rests on a false identity (cross-terms)",
        "it takes one of many whitenings for the one that is computed (whitening-tie)",
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
CLASSICAL_REASON = "tau is proved for epsilon up to 1 only (classical-range)"


def default_split(configuration: int | str, refine_steps: int) -> BudgetSplit:
    """The fractions of a proved configuration where none are given: without refinement nothing is kept for it."""
    split = ALL_SPLITS.get(configuration, BudgetSplit())
    return split if refine_steps else split.without_refinement()


class Fit(Protocol):
    """What every configuration can do."""

    def fit(self) -> PrivateModel: ...


@dataclass(frozen=True)
class Settings:
    """Public settings of a fit, whichever configuration runs it."""

    n_topics: int
    alpha0: float
    refine_steps: int
    split: BudgetSplit | None
    random_state: np.random.RandomState
    progress: Progress


@dataclass(frozen=True)
class Choice:
    """A configuration and how its noise is calibrated."""

    configuration: int | str
    calibration: str
    pure: bool

    @classmethod
    def of(cls, configuration: Any, calibration: str, *, allow_unproved: bool, delta: Any, caller: str) -> Choice:
        """Validate; refuse what is not proved unless it is asked for by name."""
        published = isinstance(calibration, str) and calibration in GAUSSIAN
        if published and not allow_unproved:
            raise PrivacyError(
                f"calibration={calibration!r} uses the published method's sensitivities, which are not proved. "
                "Use calibration='proved', or pass allow_unproved=True for an experiment that stays in house."
            )
        if not isinstance(calibration, str) or calibration not in CALIBRATIONS:
            raise InputError(
                f"The 'calibration' parameter of {caller} must be one of {CALIBRATIONS}. Got {calibration!r} instead."
            )
        known = isinstance(configuration, str | Integral) and not isinstance(configuration, bool)
        if not known or configuration not in CONFIGURATIONS:
            raise InputError(
                f"The 'configuration' parameter of {caller} must be one of {CONFIGURATIONS}. "
                f"Got {configuration!r} instead."
            )
        named = isinstance(configuration, str)
        chosen = (AUTOMATIC if configuration == "auto" else configuration) if named else int(configuration)
        if published and chosen == "sequential":
            raise InputError(
                f"calibration={calibration!r} belongs to the configurations 1, 2, 3 and 4. "
                f"Got configuration={configuration!r}, which is proved: use calibration='proved'."
            )
        pure = chosen == 1 and not published and not isinstance(delta, bool) and delta == 0
        return cls(chosen, calibration, pure)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the guarantee is not proved; empty where it is."""
        if self.calibration == "proved":
            return ()
        numbers = range(2, int(self.configuration) + 1) if self.configuration != 1 else (1,)
        own = tuple(reason for number in numbers for reason in REASONS[number])
        return (*own, CLASSICAL_REASON) if self.calibration == "published" else own

    @property
    def name(self) -> str:
        kind = "pure epsilon" if self.pure else self.calibration
        return "sequential" if self.configuration == "sequential" else f"configuration {self.configuration} ({kind})"

    @property
    def any_engine(self) -> bool:
        """Whether all sums of the fit are exact, so that any engine can compute them."""
        return self.calibration == "proved" and self.configuration in ("sequential", 2, 3, 4)

    def budget(self, epsilon: Any, delta: Any) -> PrivacyBudget:
        return PureBudget(epsilon) if self.pure else PrivacyBudget(epsilon, delta)

    def check_split(self, split: BudgetSplit, *, refined: bool) -> None:
        """Refuse a split that leaves a release of this configuration without budget."""
        if self.pure or self.calibration in GAUSSIAN:
            raise InputError("Where epsilon adds up it has its own fractions: 'budget_split' must be None.")
        needed = {"sequential": ("unigram", "histograms", "second", "frame", "tensor")}.get(
            str(self.configuration), ("unigram", "histograms", "second", "tensor")
        )
        if min(getattr(split, name) for name in needed) <= 0:
            raise PrivacyError(f"BudgetSplit needs positive fractions for {', '.join(needed)}.")
        if self.configuration == "sequential" and refined and split.refine <= 0:
            raise PrivacyError("refine_steps > 0 needs a positive 'refine' fraction in the BudgetSplit.")

    def run(self, budget: PrivacyBudget, reserve: Callable[..., None] | None, **noise: Any) -> PrivateRun:
        """The run of the fit; ``noise`` is the sampler and the noise seed."""
        if self.pure or self.calibration in GAUSSIAN:
            return SimpleRun(budget, gaussian=GAUSSIAN.get(self.calibration), reserve=reserve, **noise)
        return PrivateRun(budget, reserve=reserve, **noise)

    def configured(self, run: PrivateRun, corpus: Corpus, settings: Settings) -> Fit:
        """The configuration, ready to fit."""
        common = settings.n_topics, settings.alpha0, settings.random_state, settings.progress
        if isinstance(run, SimpleRun):
            assert isinstance(corpus, PrivateCorpus)  # `any_engine` is False
            if self.pure:
                return PureEpsilon(run, corpus, *common)
            return Published(run, corpus, int(self.configuration), *common)
        kinds: dict[int | str, type[Sequential]] = {
            1: FirstConfiguration,
            2: SecondConfiguration,
            3: ThirdConfiguration,
            4: FourthConfiguration,
        }
        return kinds.get(self.configuration, Sequential)(
            run=run,
            split=settings.split or default_split(self.configuration, settings.refine_steps),
            corpus=corpus,
            n_topics=settings.n_topics,
            alpha0=settings.alpha0,
            refine_steps=settings.refine_steps,
            random_state=settings.random_state,
            progress=settings.progress,
        )

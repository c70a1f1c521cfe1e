"""`Fit`: an ordered list of releases and the pure functions between them; `BudgetSplit`: how they share a budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from private_topics.errors import InputError, PrivacyError
from private_topics.privacy.budget import SUM_TOLERANCE, PrivacyBudget, is_number
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.privacy.shares import SharedRun
from private_topics.privacy.simple_composition import Calibration, PureBudget, SimpleRun
from private_topics.releases.evidence import Evidence
from private_topics.releases.release import FitContext, Release
from private_topics.spectral.frame import ABOVE_EDGE, Frame

LARGEST_TENSOR = 0.2  # of the budget, where topics are hard to tell apart


@dataclass(frozen=True)
class Spectrum:
    """Largest eigenvalues of the released second moment, in falling order, and the spectral norm of its noise."""

    eigenvalues: tuple[float, ...]
    noise_edge: float

    @classmethod
    def of(cls, frame: Frame) -> Spectrum:
        return cls(tuple(map(float, frame.eigenvalues)), float(frame.noise_edge))

    @property
    def level(self) -> float:
        """The edge of the noise, with a margin: directions above it count."""
        return ABOVE_EDGE * self.noise_edge

    @property
    def above(self) -> int:
        """Directions whose eigenvalue exceeds the level."""
        return sum(value > self.level for value in self.eigenvalues)


@dataclass(frozen=True)
class PrivateModel:
    """Post-processing of released values: topics (k × d), prior (k,), and how many topics the noise lets tell apart.

    `supported` are the directions above the noise; where they are directions around the mean, one more.
    """

    topics: np.ndarray
    alpha: np.ndarray
    supported: int
    spectrum: Spectrum | None = None
    evidence: Evidence | None = None

    @property
    def above(self) -> int:
        """Directions that stand out from the noise."""
        return self.supported if self.spectrum is None else self.spectrum.above


@dataclass(frozen=True, eq=False)
class Fit:
    """What a private fit releases, in order, and how topics come out of it.

    name : in the statement of its models.
    releases : every release that it may make, in order; released values decide which of them it makes.
    model : the functions between the releases; None where a separate estimator has them.
    fractions : the parts of the budget, named as the releases name them; empty where all have equal parts.
    fractions_for : the same by public numbers: mu times the units, topics, words; None where they do not matter.
    gaussian : the calibration of its noise where epsilons add up, as published; None where the proved one is used.
    pure : whether there is no delta at all.
    reasons : why its guarantee is not proved; empty where it is.
    any_engine : whether all of its sums are exact, so that any engine can compute them.
    any_neighbours : whether its proofs hold for every kind of neighbours, and not for replaced units alone.
    any_sites : whether every value that it releases is a sum of what several sites can compute on their own.
    tested : whether its topics are tested, in the end, on words that it has not learnt from.
    """

    name: str
    releases: tuple[Release, ...]
    model: Callable[[FitContext], PrivateModel] | None
    fractions: Mapping[str, float]
    fractions_for: Callable[[float, int, int], Mapping[str, float]] | None = None
    gaussian: Calibration | None = None
    pure: bool = False
    reasons: tuple[str, ...] = ()
    any_engine: bool = True
    any_neighbours: bool = False
    any_sites: bool = False
    tested: bool = False

    @property
    def adds_up(self) -> bool:
        """Whether the epsilons of the releases add up, and have fixed fractions."""
        return self.pure or self.gaussian is not None

    def release_of(self, line: str) -> Release | None:
        """The release behind a line of a statement."""
        return next((release for release in self.releases if release.made(line)), None)

    def split(
        self,
        refine_steps: int,
        eigenvalue: float = 1.0,
        fractions: Mapping[str, float] | None = None,
        **before: float,
    ) -> BudgetSplit:
        """The default `fractions`: without refinement nothing is kept for it. `before`: see `after`.

        The smaller the `eigenvalue` of the whitened tensor, the more of the refinement's fraction goes to the tensor.
        """
        split = BudgetSplit(**after(fractions or self.fractions, **before))
        if not refine_steps:
            return split.without_refinement()
        if not split["refine"]:
            return split
        tensor = min(max(split["tensor"], LARGEST_TENSOR), split["tensor"] / min(1.0, eigenvalue))
        tensor = min(tensor, split["tensor"] + split["refine"] / 2.0)
        return split.replace(tensor=tensor, refine=split["refine"] - (tensor - split["tensor"]))

    def check_split(self, split: BudgetSplit, *, refined: bool) -> None:
        """Refuse a split that leaves a release of this fit without budget."""
        if self.adds_up:
            raise InputError("Where epsilon adds up it has its own fractions: 'budget_split' must be None.")
        once = {release.share for release in self.releases if not release.repeated}
        needed = [name for name in split if name in once and self.fractions.get(name, 1.0)]
        if min(split[name] for name in needed) <= 0:
            raise PrivacyError(f"BudgetSplit needs positive fractions for {', '.join(needed)}.")
        repeated = [r.share for r in self.releases if r.repeated and r.share is not None and r.share not in once]
        if refined and repeated and not any(split[share] > 0 for share in repeated):
            raise PrivacyError(
                f"refine_steps > 0 needs a positive {' or '.join(map(repr, repeated))} fraction in the BudgetSplit."
            )

    def budget(self, epsilon: Any, delta: Any) -> PrivacyBudget:
        return PureBudget(epsilon) if self.pure else PrivacyBudget(epsilon, delta)

    def run(self, budget: PrivacyBudget, **noise: Any) -> PrivateRun:
        """A run in which it can be fitted; ``noise``: see `PrivateRun`."""
        if self.adds_up:
            return SimpleRun(budget, gaussian=self.gaussian, **noise)
        if "exchange" in noise:
            return SharedRun(budget, **noise)
        return PrivateRun(budget, **noise)


AROUND = ("units", "texts", "vocabulary", "evidence")
"""The fractions of releases that may come before those of a fit's own list, or after them."""


def after(fractions: Mapping[str, float], **before: float) -> Mapping[str, float]:
    """Return the fractions of a fit with those of the releases around it, such as its vocabulary.

    The larger of refinement and features pays for them; where it is too small, all fractions do.
    """
    taken = math.fsum(before.values())
    if not taken:
        return fractions
    payer = max(("refine", "features"), key=lambda name: fractions.get(name, 0.0))
    if fractions.get(payer, 0.0) > taken:
        own = {**fractions, payer: fractions[payer] - taken}
    else:
        own = {name: (1.0 - taken) * part for name, part in fractions.items()}
    return own | {name: share for name, share in before.items() if share}


class BudgetSplit(Mapping[str, float]):
    """Fractions of mu^2 (of rho with the exact sampler) named as the releases name them. They sum to one.

    Fractions that are not given are those of the sequential fit. Releases that name the same fraction divide it
    equally; a fraction of zero skips its releases.
    """

    def __init__(self, **fractions: float) -> None:
        found = _defaults()
        for name, fraction in fractions.items():
            if name not in found:
                raise PrivacyError(f"BudgetSplit has no fraction {name!r}; it has {list(found)}.")
            if not is_number(fraction) or not 0 <= float(fraction) <= 1 + SUM_TOLERANCE:
                raise PrivacyError(
                    f"The {name!r} parameter of BudgetSplit must be a number from 0 to 1. Got {fraction!r} instead."
                )
            found[name] = float(fraction)
        total = math.fsum(found.values())
        if abs(total - 1.0) > SUM_TOLERANCE:
            raise PrivacyError(
                f"The fractions of BudgetSplit must sum to 1. They sum to {total!r}: "
                "change the others too when you change one."
            )
        object.__setattr__(self, "_fractions", MappingProxyType(found))

    def __getitem__(self, name: str) -> float:
        return self._fractions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fractions)

    def __len__(self) -> int:
        return len(self._fractions)

    def __getattr__(self, name: str) -> Any:
        if name != "_fractions" and name in self._fractions:
            return self._fractions[name]
        raise AttributeError(f"BudgetSplit has no fraction {name!r}.")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("A BudgetSplit does not change: use replace.")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("A BudgetSplit does not change: use replace.")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __hash__(self) -> int:
        return hash(tuple(self.items()))

    def __repr__(self) -> str:
        return f"BudgetSplit({', '.join(f'{name}={fraction!r}' for name, fraction in self.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.as_dict(),)

    def as_dict(self) -> dict[str, float]:
        """The fractions by name, in the order of the run."""
        return dict(self._fractions)

    def replace(self, **fractions: float) -> BudgetSplit:
        """The split with some fractions changed; the result is validated, so the changes must balance."""
        return BudgetSplit(**self.as_dict() | fractions)

    def without_refinement(self) -> BudgetSplit:
        """The fraction of the refinement given to features; else to second moment, frame, tensor in proportion."""
        if self["features"]:
            return self.replace(features=self["features"] + self["refine"], refine=0.0)
        spectral = self["second"] + self["frame"] + self["tensor"]
        if not self["refine"] or not spectral:
            return self
        grown = 1.0 + self["refine"] / spectral
        changed = {name: grown * self[name] for name in ("second", "frame", "tensor")}
        return self.replace(**changed, refine=0.0)


def _rebuilt(fractions: dict[str, float]) -> BudgetSplit:
    return BudgetSplit(**fractions)


def _defaults() -> dict[str, float]:
    """The fractions of the sequential fit; zero for those that releases of other fits name."""
    from private_topics.fits.choice import AROUND, FITS  # whose fits make splits of their own

    listed = [*(release for fit in FITS.values() for release in fit.releases), *AROUND]
    named = [release.share for release in listed if release.share is not None]
    return dict.fromkeys([*FITS["sequential"].fractions, *named], 0.0) | dict(FITS["sequential"].fractions)

"""What happened: one frozen record per release. What it costs is the accountant's business.

An event carries public numbers only: the declared sensitivity, the noise, the size of the array.
Sensitivities are for the neighbours of the run (`neighbours.py`). ``sensitivity`` and the noise
share one unit.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from private_topics.errors import PrivacyError


@dataclass(frozen=True, kw_only=True)
class Event:
    """A release: its name, its declared sensitivity, its size, and the page under docs/proofs behind it."""

    name: str
    sensitivity: float
    coordinates: int
    proof: str

    def __post_init__(self) -> None:
        if not self.name or not isinstance(self.name, str):
            raise PrivacyError("The 'name' of a privacy event must be a non-empty str.")
        if isinstance(self.coordinates, bool) or not isinstance(self.coordinates, int) or self.coordinates < 1:
            raise PrivacyError(f"The 'coordinates' of event {self.name!r} must be an int of at least 1.")
        for field in dataclasses.fields(self):
            if field.type == "float":
                self._require_positive(field.name)

    def _require_positive(self, field: str) -> None:
        value = getattr(self, field)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise PrivacyError(f"The {field!r} of event {self.name!r} must be a float. Got {value!r} instead.")
        if not (math.isfinite(value) and value > 0):
            raise PrivacyError(
                f"The {field!r} of event {self.name!r} must be finite and positive. Got {value!r} instead."
            )


@dataclass(frozen=True, kw_only=True)
class GaussianEvent(Event):
    """Gaussian noise ``sigma`` in every isometric coordinate: mu-GDP (Dong, Roth and Su 2022)."""

    sigma: float

    @property
    def mu(self) -> float:
        """The parameter of Gaussian differential privacy, sensitivity / sigma."""
        return self.sensitivity / self.sigma


@dataclass(frozen=True, kw_only=True)
class DiscreteGaussianEvent(GaussianEvent):
    """Discrete Gaussian noise: rho-zCDP with rho = mu^2 / 2 (Canonne, Kamath and Steinke 2020), not GDP."""


@dataclass(frozen=True, kw_only=True)
class SharedGaussianEvent(DiscreteGaussianEvent):
    """Discrete Gaussian noise in equal shares, one from each of several sites, priced by some of them (sites.md).

    ``sigma`` is the deviation of the sum of all ``shares``; only ``honest`` of them count, the others may be known.
    """

    shares: int
    honest: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.honest <= self.shares:
            raise PrivacyError(f"The 'honest' of event {self.name!r} must be at least 1 and at most its 'shares'.")

    @property
    def mu(self) -> float:
        """The sensitivity over the deviation of the shares that count, rounded up by more than sites.md asks for."""
        return self.sensitivity / self.sigma * math.sqrt(self.shares / self.honest) * (1 + 2.0**-40)


@dataclass(frozen=True, kw_only=True)
class ThresholdEvent(GaussianEvent):
    """A Gaussian release of the coordinates above a threshold, as in a private set union.

    Outside an event of probability ``threshold_delta`` no coordinate that only one of the neighbours has is
    shown. Since the number of candidate coordinates depends on the data, ``coordinates`` is the public cap
    per unit.
    """

    threshold_delta: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold_delta >= 1:
            raise PrivacyError(f"The 'threshold_delta' of event {self.name!r} must lie in (0, 1).")


@dataclass(frozen=True, kw_only=True)
class DiscreteThresholdEvent(ThresholdEvent, DiscreteGaussianEvent):
    """The same with discrete Gaussian noise."""


@dataclass(frozen=True, kw_only=True)
class SubsampledGaussianEvent(GaussianEvent):
    """A Gaussian release of the units that independent secret coins of probability ``rate`` picked (subsampling.md).

    ``norm_bound`` bounds the norm of one unit's contribution, ``sensitivity`` the distance of two of them. A
    mixture of Gaussian releases: pricing it as the Gaussian release of its sensitivity overcharges.
    """

    rate: float
    norm_bound: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rate > 1:
            raise PrivacyError(f"The 'rate' of event {self.name!r} must lie in (0, 1].")
        if not self.norm_bound <= self.sensitivity <= 2 * self.norm_bound:
            raise PrivacyError(f"The 'sensitivity' of event {self.name!r} must be once to twice its 'norm_bound'.")


@dataclass(frozen=True, kw_only=True)
class LaplaceEvent(Event):
    """Laplace noise; ``sensitivity`` is the L1 sensitivity: pure (sensitivity / scale)-DP (pure_epsilon.md)."""

    scale: float

    @property
    def sigma(self) -> float:
        """The standard deviation of the noise."""
        return math.sqrt(2.0) * self.scale

"""A run of equal Gaussian releases, each on the units that secret coins picked for it.

A step is `batch`, which charges it and then tosses one coin per unit, followed by `release` on the sum over the units
picked. Nobody may see the coins, not even how many fell heads: the price (subsampling.py) counts on it. The number of
steps and the rate are public and fixed beforehand, and the noise is the smallest that lets all steps fit the budget.
Proof: docs/proofs/subsampling.md.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from private_topics.errors import PrivacyError
from private_topics.privacy.accountant import Accountant
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.curves import gdp_delta
from private_topics.privacy.events import Event, SubsampledGaussianEvent
from private_topics.privacy.mechanisms import NoiseEvent, PrivateRun, Query, Released
from private_topics.privacy.subsampling import largest_step_mu, subsampled_delta

_COIN_BITS = 53
NON_NEGATIVE = math.sqrt(0.5)
"""Norm over distance for non-negative contributions: two of norm C are at most C√2 apart."""


class SubsampledAccountant(Accountant):
    """Equal steps only: the same noise, the same rate, the same bounds."""

    def record(self, event: Event) -> None:
        if not isinstance(event, SubsampledGaussianEvent):
            raise PrivacyError(f"The accountant of subsampled steps cannot price {type(event).__name__}.")
        if self._events and _price(event) != _price(self._events[0]):
            raise PrivacyError("The subsampled steps of one run must have the same noise, rate and bounds.")
        super().record(event)

    def _base_delta(self, epsilon: float) -> float:
        if not self._events:
            return 0.0
        mu, ratio, rate = _price(self._events[0])
        if rate == 1.0:
            return gdp_delta(mu * math.sqrt(len(self._events)), epsilon)
        return subsampled_delta(mu, ratio, rate, len(self._events), epsilon)


class SubsampledRun(PrivateRun):
    """`steps` releases at sampling `rate`; ``ratio`` is the norm bound of a contribution over the sensitivity.

    A ``rate`` is rounded down to a multiple of 2^-53, so that a coin has exactly that probability.
    """

    def __init__(
        self,
        budget: PrivacyBudget,
        *,
        steps: int,
        rate: float,
        n_units: int,
        ratio: float = NON_NEGATIVE,
        noise_seed: int | None = None,
        reserve: Callable[..., None] | None = None,
    ) -> None:
        if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
            raise PrivacyError(f"The 'steps' of SubsampledRun must be an int of at least 1. Got {steps!r} instead.")
        if not 2.0**-_COIN_BITS <= rate <= 1.0:
            raise PrivacyError(f"The 'rate' of SubsampledRun must lie in (0, 1]. Got {rate!r} instead.")
        self.steps, self.n_units, self.ratio = steps, n_units, float(ratio)
        self._heads = math.floor(math.ldexp(rate, _COIN_BITS))
        self.rate = math.ldexp(self._heads, -_COIN_BITS)
        self._open: NoiseEvent | None = None
        super().__init__(budget, sampler="fast", noise_seed=noise_seed, reserve=reserve)
        self.accountant = SubsampledAccountant()

    @property
    def accounting(self) -> str:
        return super().accounting if self.rate == 1.0 else "privacy loss distributions of subsampled releases"

    @property
    def share(self) -> float:
        """Of the budget, for one step."""
        return 1.0 / self.steps

    def batch(self, query: Query, total: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Open a step: charge it, then toss a coin for each unit. `total` is what the sum will be written to."""
        if os.getpid() != self._process:
            raise PrivacyError("A SubsampledRun works only in the process that made it. Draw the batch there.")
        event = self._event(query, self.share, total)
        with self._lock:
            if self._open is not None:
                raise PrivacyError("A step of a SubsampledRun is still open: release its sum before the next batch.")
            super()._charge(event, self.share)
            self._open = event
            return self._stream.coins(self.n_units, self._heads)

    def release(
        self, query: Query, aggregate: npt.ArrayLike, share: float | None = None, *, consume: bool = False
    ) -> Released:
        """Close the step: the sum over the units of its batch, plus noise."""
        return super().release(query, aggregate, self.share, consume=consume)

    def _calibrate(self) -> None:
        super()._calibrate()
        if self.rate < 1.0:
            step_mu = largest_step_mu(self.budget.epsilon, self.budget.delta, self.ratio, self.rate, self.steps)
            self.mu_total = step_mu * math.sqrt(self.steps) * (1.0 - 1e-9)

    def _event(self, query: Query, share: float, integers: npt.NDArray[np.int64]) -> NoiseEvent:
        plain = super()._event(query, share, integers)
        return SubsampledGaussianEvent(
            name=plain.name,
            sensitivity=plain.sensitivity,
            sigma=plain.sigma,
            coordinates=plain.coordinates,
            proof=plain.proof,
            rate=self.rate,
            norm_bound=self.ratio * plain.sensitivity,
        )

    def _charge(self, event: NoiseEvent, share: float) -> None:
        """The step was charged when it was opened; what is released must be what was charged."""
        if self._open != event:
            raise PrivacyError(f"Release {event.name!r} has no open step: call batch with its query first.")
        self._open = None

    def _afford(self, event: NoiseEvent, share: float) -> None:
        """The noise was calibrated for all steps together, and fewer cost less."""
        if len(self.accountant.events) >= self.steps:
            raise PrivacyError(f"Release {event.name!r} would exceed the {self.steps} steps this run was made for.")

    def _ask(self, reserve: Callable[..., None]) -> None:
        """Subsampled releases are not Gaussian-DP: of the whole run no more is known than its (epsilon, delta)."""
        if self.rate == 1.0:
            reserve(self.budget)
        else:
            reserve(self.budget, guarantee="approximate")


def _price(event: Event) -> tuple[float, float, float]:
    """mu, ratio, rate."""
    assert isinstance(event, SubsampledGaussianEvent)
    return event.mu, event.norm_bound / event.sensitivity, event.rate

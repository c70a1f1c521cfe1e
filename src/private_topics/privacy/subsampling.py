"""A run of equal Gaussian releases, each on units picked by secret coins.

A step is `batch`, which charges it and then tosses one coin per unit, followed by `release` on the sum over the units
picked. Nobody may see the coins, not even how many came up heads: the price relies on it. The number of
steps and the rate are public and fixed beforehand, and the noise is the smallest that lets all steps fit the budget.
Proof: docs/proofs/subsampling.md.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from private_topics.bisection import last_that_holds
from private_topics.errors import PrivacyError, require
from private_topics.privacy.accountant import Accountant
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.curves import gdp_delta, mu_of_budget
from private_topics.privacy.events import Event, SubsampledGaussianEvent
from private_topics.privacy.mechanisms import NoiseEvent, PrivateRun, Query, Released

Floats = npt.NDArray[np.float64]

_TAIL = 10.0  # standard deviations beyond which the loss counts as infinite: 1e-23 of the probability
_BINS_PER_DEVIATION, _FEWEST_BINS, _MOST_BINS = 50, 200, 2**15
_GRID, _NEWTON_STEPS = 8001, 12
# Rounding, per step: of a Fourier coefficient, of the bins' probabilities, of a loss (docs/proofs/subsampling.md).
_COEFFICIENT_ERROR, _MASS_ERROR, _LOSS_ERROR = 1e-14, 2e-12, 1e-13
_PRECISION = 1e-4  # of the largest affordable mu


def subsampled_delta(mu: float, ratio: float, rate: float, steps: int, epsilon: float) -> float:
    """A delta at which ``steps`` adaptive steps are (epsilon, delta)-differentially private, for replaced units."""
    composed, largest_loss = _composed(mu, ratio, rate, steps)
    at = epsilon - steps * _LOSS_ERROR * (1.0 + largest_loss)
    rounding = steps * (_COEFFICIENT_ERROR * math.sqrt(composed.size) + _MASS_ERROR)
    return min(1.0, float(composed.get_delta_for_epsilon(at)) + rounding)


@lru_cache(maxsize=64)
def largest_step_mu(epsilon: float, delta: float, ratio: float, rate: float, steps: int) -> float:
    """The largest mu found at which ``steps`` steps satisfy (epsilon, delta), rounded down."""

    def affordable(mu: float) -> bool:
        return subsampled_delta(mu, ratio, rate, steps, epsilon) <= delta

    low = mu_of_budget(epsilon, delta) / math.sqrt(steps)  # affordable without amplification, up to rounding
    halvings = 0
    while not affordable(low):
        low, halvings = low / 2.0, halvings + 1
        if halvings > 20:
            raise PrivacyError(
                "The 'delta' is below the rounding error of the steps. Choose a larger one, or fewer steps."
            )
    high = 2.0 * low
    while affordable(high):
        low, high = high, 2.0 * high
    return last_that_holds(affordable, low, high, lambda low, high: high - low > _PRECISION * low)


def dominating_losses(mu: float, ratio: float, rate: float) -> Any:
    """The privacy-loss distribution that dominates one step, as dp-accounting's probability mass function.

    The losses L > 0 of the pair (P, Q) on the line carry their mass under P, the losses -L their mass under Q, zero
    carries the rest. Each bin's mass is divided between its ends such that both measures keep it: the discrete pair
    dominates the continuous one (Doroshenko et al. 2022).
    """
    from dp_accounting.pld import pld_pmf

    _check(mu, ratio, rate)
    unit = mu * ratio
    places, losses, width = _places(unit, mu - unit, rate)
    upper = (1.0 - rate) * _above(places) + rate * _above(places - unit)
    lower = (1.0 - rate) * _above(places) + rate * _above(places + mu - unit)
    in_upper, in_lower = -np.diff(upper), -np.diff(lower)
    bins = len(in_upper)
    mass = np.zeros(2 * bins + 1)
    raised = _raised(in_upper, in_lower, losses[:-1], width)
    mass[bins + 1 :] += raised
    mass[bins:-1] += in_upper - raised
    raised = _raised(in_lower, in_upper, -losses[1:], width)
    mass[bins:0:-1] += raised
    mass[bins - 1 :: -1] += in_lower - raised
    mass[0] += lower[-1]
    mass[bins] += max(0.0, 1.0 - upper[0] - lower[0])
    return pld_pmf.DensePLDPmf(width, -bins, mass, float(upper[-1]), True)


@lru_cache(maxsize=8)
def _composed(mu: float, ratio: float, rate: float, steps: int) -> tuple[Any, float]:
    unit = mu * ratio
    with np.errstate(all="ignore"):  # the bounds of the tails overflow where they are void
        composed = dominating_losses(mu, ratio, rate).self_compose(steps)
    return composed, _loss(unit + _TAIL, unit, mu - unit, rate).item()


def _places(unit: float, other: float, rate: float) -> tuple[Floats, Floats, float]:
    """Where the loss is 0, w, 2w, …: the places on the line, these losses, and the width w of a bin."""
    first, last = (unit - other) / 2.0, unit + _TAIL
    largest = _loss(last, unit, other, rate).item()
    wanted = largest / _deviation(unit, other, rate) * _BINS_PER_DEVIATION
    width = largest / min(max(wanted, _FEWEST_BINS), _MOST_BINS)
    losses: Floats = width * np.arange(math.ceil(largest / width) + 1, dtype=np.float64)
    grid = np.linspace(first, last, _GRID)
    place = np.interp(losses, _loss(grid, unit, other, rate), grid)
    for _ in range(_NEWTON_STEPS):
        place += (losses - _loss(place, unit, other, rate)) / _slope(place, unit, other, rate)
    if not np.abs(_loss(place, unit, other, rate) - losses).max() <= 0.5 * _LOSS_ERROR * (1.0 + largest):
        raise PrivacyError("These subsampled steps cannot be priced precisely enough. Choose another rate or budget.")
    return place, losses, width


def _loss(place: Any, unit: float, other: float, rate: float) -> Floats:
    """log of the density at ``place`` if the unit sits at ``unit``, over that if it sits at -``other``."""
    return _log_mixture(unit * place - unit**2 / 2.0, rate) - _log_mixture(-other * place - other**2 / 2.0, rate)


def _slope(place: Floats, unit: float, other: float, rate: float) -> Floats:
    """The derivative of `_loss`."""
    slope = np.zeros_like(place)
    for end in (unit, -other):
        x = end * place - end**2 / 2.0
        slope += abs(end) * rate * np.exp(x - _log_mixture(x, rate))
    return slope


def _log_mixture(x: Any, rate: float) -> Floats:
    """log(1 - rate + rate e^x), without overflow or cancellation."""
    x = np.asarray(x, dtype=np.float64)
    if rate == 1.0:
        return x
    small = np.log1p(rate * np.expm1(np.minimum(x, 1.0)))
    return np.where(x < 1.0, small, x + np.log(rate + (1.0 - rate) * np.exp(-np.maximum(x, 1.0))))


def _deviation(unit: float, other: float, rate: float) -> float:
    """Root mean square of the loss, roughly: a bin has a fiftieth of it. Accuracy, and a bound on rounding."""
    place = np.linspace(-_TAIL - other, unit + _TAIL, 4001)
    density = (1.0 - rate) * np.exp(-(place**2) / 2.0) + rate * np.exp(-((place - unit) ** 2) / 2.0)
    return math.sqrt(float(np.average(_loss(place, unit, other, rate) ** 2, weights=density)))


def _above(place: Floats) -> Floats:
    """The standard normal probability above ``place``."""
    result: Floats = ndtr(-place)
    return result


def _raised(mass: Floats, other: Floats, lower_end: Floats, width: float) -> Floats:
    """The part of a bin's mass that goes to its upper end, so that its mass under the other law is kept too."""
    with np.errstate(divide="ignore"):  # log 0: all of the mass goes up
        kept = np.exp(lower_end + np.log(np.maximum(other, 0.0)))
    return np.clip((mass - kept) / -math.expm1(-width), 0.0, mass)


def _check(mu: float, ratio: float, rate: float) -> None:
    if not (math.isfinite(mu) and mu > 0):
        raise PrivacyError(f"The 'mu' of a subsampled step must be finite and positive. Got {mu!r} instead.")
    if not 0.5 <= ratio <= 1.0:
        raise PrivacyError(f"The 'ratio' of norm to distance must lie in [1/2, 1]. Got {ratio!r} instead.")
    if not 0.0 < rate <= 1.0:
        raise PrivacyError(f"The 'rate' of a subsampled step must lie in (0, 1]. Got {rate!r} instead.")


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
        if rate < 1.0:
            require("dp_accounting", "A private fit on minibatches needs dp-accounting", "subsampling")
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
        """The part of the budget for one step."""
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
        self,
        query: Query,
        aggregate: npt.ArrayLike,
        share: float | None = None,  # noqa: ARG002 (every step has that of the run)
        *,
        consume: bool = False,
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

    def _charge(self, event: NoiseEvent, _share: float) -> None:
        """The step was charged when it was opened; what is released must be what was charged."""
        if self._open != event:
            raise PrivacyError(f"Release {event.name!r} has no open step: call batch with its query first.")
        self._open = None

    def _afford(self, event: NoiseEvent, _share: float) -> None:
        """The noise was calibrated for all steps together, and fewer cost less."""
        if len(self.accountant.events) >= self.steps:
            raise PrivacyError(f"Release {event.name!r} would exceed the {self.steps} steps this run was made for.")

    def _ask(self, reserve: Callable[..., None]) -> None:
        """Subsampled releases are not Gaussian-DP: all that is known of the whole run is its (epsilon, delta)."""
        if self.rate == 1.0:
            reserve(self.budget)
        else:
            reserve(self.budget, guarantee="approximate")


def _price(event: Event) -> tuple[float, float, float]:
    """mu, ratio, rate."""
    assert isinstance(event, SubsampledGaussianEvent)
    return event.mu, event.norm_bound / event.sensitivity, event.rate

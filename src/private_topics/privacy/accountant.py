"""What it costs: the (epsilon, delta) of a list of events, composed adaptively.

Gaussian runs have a closed form (Gaussian DP), runs with the discrete Gaussian add up in zCDP, mixtures
with Laplace noise go through the privacy-loss distributions of dp-accounting. Proof:
docs/proofs/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from private_topics.errors import PrivacyError
from private_topics.privacy.curves import (
    gdp_delta,
    gdp_epsilon,
    mu_of_budget,
    rho_of_budget,
    smallest_epsilon,
    zcdp_delta,
)
from private_topics.privacy.events import (
    DiscreteGaussianEvent,
    Event,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
)

__all__ = ["Accountant", "gdp_delta", "gdp_epsilon", "mu_of_budget", "rho_of_budget", "zcdp_delta"]

# Bound on the rounding of one FFT convolution of privacy-loss distributions; added to the delta they give.
_PLD_ROUNDING = 1e-12


class Accountant:
    """The events of a run, or of several runs on the same units, and what they cost together.

    ``sampler_delta`` is what the samplers' imprecision adds to delta (docs/proofs/lattice.md).
    """

    def __init__(self, events: Iterable[Event] = (), *, sampler_delta: float = 0.0) -> None:
        if not 0.0 <= sampler_delta < 1.0:
            raise PrivacyError(
                f"The 'sampler_delta' of Accountant must lie in [0, 1). Got {sampler_delta!r} instead."
            )
        self.sampler_delta = float(sampler_delta)
        self._events: list[Event] = []
        for event in events:
            self.record(event)

    @classmethod
    def of_runs(cls, runs: Iterable[Accountant]) -> Accountant:
        """Several runs on the same units: their events together, their sampler deltas added."""
        runs = list(runs)
        return cls(
            (event for run in runs for event in run.events),
            sampler_delta=math.fsum(run.sampler_delta for run in runs),
        )

    def record(self, event: Event) -> None:
        """Charge one event. Only events with a known cost are accepted."""
        if not isinstance(event, GaussianEvent | LaplaceEvent):
            raise PrivacyError(f"The accountant cannot price {type(event).__name__}.")
        self._events.append(event)

    @property
    def events(self) -> tuple[Event, ...]:
        """What was recorded, in order."""
        return tuple(self._events)

    @property
    def mu(self) -> float:
        """sqrt(sum (sensitivity/sigma)^2) over the Gaussian and discrete Gaussian events."""
        return math.sqrt(math.fsum(event.mu**2 for event in self._events if isinstance(event, GaussianEvent)))

    @property
    def method(self) -> str:
        """How this list is priced: 'gdp' (closed form), 'zcdp' or 'pld'."""
        if any(isinstance(event, DiscreteGaussianEvent) for event in self._events):
            return "zcdp"
        return "pld" if any(isinstance(event, LaplaceEvent) for event in self._events) else "gdp"

    def delta(self, epsilon: float) -> float:
        """A delta such that everything recorded is (epsilon, delta)-differentially private."""
        if not math.isfinite(epsilon) or epsilon < 0:
            raise PrivacyError(f"The 'epsilon' parameter must be finite and at least 0. Got {epsilon!r} instead.")
        log_kept = math.fsum(
            math.log1p(-event.threshold_delta) for event in self._events if isinstance(event, ThresholdEvent)
        )
        return min(1.0, self._base_delta(epsilon + log_kept) - math.expm1(log_kept) + self.sampler_delta)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon such that everything recorded is (epsilon, delta)-differentially private."""
        return smallest_epsilon(self.delta, delta)

    def _base_delta(self, epsilon: float) -> float:
        """The curve without the thresholds' delta; epsilon may be slightly negative because of them."""
        if epsilon < 0:
            return min(1.0, -math.expm1(epsilon) + math.exp(epsilon) * self._base_delta(-epsilon))
        method = self.method
        if method == "gdp":
            return gdp_delta(self.mu, epsilon)
        laplace = tuple(event for event in self._events if isinstance(event, LaplaceEvent))
        pure = math.fsum(event.epsilon for event in laplace)
        # A pure epsilon0-DP event is (epsilon0^2 / 2)-zCDP (Bun and Steinke 2016, proposition 1.4).
        rho = 0.5 * self.mu**2 + math.fsum(0.5 * event.epsilon**2 for event in laplace)
        bounds = [zcdp_delta(rho, epsilon)]
        if laplace and epsilon >= pure:  # pure composition: the rest has epsilon - pure to itself
            rest = epsilon - pure
            bounds.append(zcdp_delta(0.5 * self.mu**2, rest) if method == "zcdp" else gdp_delta(self.mu, rest))
        if method == "pld":
            noises = tuple((event.epsilon, event.coordinates) for event in laplace)
            bounds.append(_mixture(self.mu, noises).get_delta_for_epsilon(epsilon))
            bounds[-1] += _PLD_ROUNDING * len(self._events)
        return float(min(bounds))

    def table(self) -> str:
        """The releases as a text table: name, mechanism, size, sensitivity, noise, fraction of the cost."""
        total = math.fsum(_cost(event) for event in self._events)
        head = ("release", "mechanism", "coordinates", "sensitivity", "noise", "share")
        rows = [head] + [
            (
                event.name,
                event.mechanism,
                f"{event.coordinates}",
                f"{event.sensitivity:.6g}",
                f"{_noise(event):.6g}",
                f"{_cost(event) / total:.2%}",
            )
            for event in self._events
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
        return "\n".join(line.rstrip() for line in lines)


def _cost(event: Event) -> float:
    """The event's weight in the table: mu^2, or epsilon^2 for Laplace noise (twice its rho either way)."""
    if isinstance(event, GaussianEvent):
        return event.mu**2
    return event.epsilon**2 if isinstance(event, LaplaceEvent) else 0.0


def _noise(event: Event) -> float:
    if isinstance(event, GaussianEvent):
        return event.sigma
    return event.scale if isinstance(event, LaplaceEvent) else 0.0


@lru_cache(maxsize=16)
def _mixture(mu: float, laplace: tuple[tuple[float, int], ...]) -> Any:
    """The privacy-loss distribution of one mu-GDP event and Laplace events given as (epsilon, coordinates).

    Laplace noise on several coordinates is priced as a worst-case pure-DP event: that the one-dimensional
    pair dominates it is plausible but not proved here. Pessimistic rounding throughout, no truncation in
    compositions.
    """
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    scale = mu + math.sqrt(math.fsum(epsilon**2 for epsilon, _ in laplace))
    interval = min(1e-4, 1e-3 * scale) if scale < 10 else 1e-5 * scale
    total = pld.identity(value_discretization_interval=interval)
    if mu > 0:
        gaussian = pld.from_gaussian_mechanism(
            1.0 / mu, value_discretization_interval=interval, log_mass_truncation_bound=-60
        )
        total = total.compose(gaussian, tail_mass_truncation=0)
    for epsilon, coordinates in laplace:
        if coordinates == 1:
            noise = pld.from_laplace_mechanism(1.0 / epsilon, value_discretization_interval=interval)
        else:
            noise = pld.from_privacy_parameters(
                common.DifferentialPrivacyParameters(epsilon, 0.0), value_discretization_interval=interval
            )
        total = total.compose(noise, tail_mass_truncation=0)
    return total

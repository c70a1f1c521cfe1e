"""What it costs: the (epsilon, delta) of a list of Gaussian events, composed adaptively.

Gaussian runs have a closed form (Gaussian DP), runs with the discrete Gaussian add up in zCDP. Laplace events have no
price here: their epsilons add up (`simple_composition`). Proof: docs/proofs/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from private_topics.errors import PrivacyError
from private_topics.privacy.curves import gdp_delta, smallest_epsilon, zcdp_delta
from private_topics.privacy.events import (
    DiscreteGaussianEvent,
    Event,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
)


class Accountant:
    """The events of a run, or of several runs on the same units, and what they cost together."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._events: list[Event] = []
        for event in events:
            self.record(event)

    def record(self, event: Event) -> None:
        """Charge one event of a known kind."""
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

    def delta(self, epsilon: float) -> float:
        """A delta such that everything recorded is (epsilon, delta)-differentially private."""
        if not math.isfinite(epsilon) or epsilon < 0:
            raise PrivacyError(f"The 'epsilon' parameter must be finite and at least 0. Got {epsilon!r} instead.")
        if any(isinstance(event, LaplaceEvent) for event in self._events):
            raise PrivacyError("The accountant cannot price LaplaceEvent: in a SimpleRun the epsilons add up.")
        log_kept = math.fsum(
            math.log1p(-event.threshold_delta) for event in self._events if isinstance(event, ThresholdEvent)
        )
        return min(1.0, self._base_delta(epsilon + log_kept) - math.expm1(log_kept))

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon such that everything recorded is (epsilon, delta)-differentially private."""
        return smallest_epsilon(self.delta, delta)

    def _base_delta(self, epsilon: float) -> float:
        """The curve without the thresholds' delta; epsilon may be slightly negative because of them."""
        if epsilon < 0:
            return -math.expm1(epsilon) + math.exp(epsilon) * self._base_delta(-epsilon)
        if any(isinstance(event, DiscreteGaussianEvent) for event in self._events):
            return zcdp_delta(0.5 * self.mu**2, epsilon)
        return gdp_delta(self.mu, epsilon)

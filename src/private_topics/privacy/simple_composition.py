"""A run whose releases each have their own (epsilon, delta), which add up: simple composition.

The published configurations compose this way, Laplace releases among Gaussian ones, and so does the run of pure
epsilon, where all noise is Laplace noise and delta is zero (docs/proofs/pure_epsilon.md). A release with fraction
`share` of the budget has epsilon_i = share · epsilon and delta_i = share · delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from private_topics.errors import PrivacyError
from private_topics.privacy.budget import SUM_TOLERANCE, PrivacyBudget
from private_topics.privacy.mechanisms import NoiseEvent, PrivateRun, Query

# Delta of a reservation of pure epsilon: a ledger that knows the guarantee "pure" does not count it.
_SMALLEST_DELTA = 2.0**-1000

Calibration = Callable[[float, float, float], float]
"""From sensitivity, epsilon and delta to the standard deviation of Gaussian noise."""


@dataclass(frozen=True)
class PureBudget(PrivacyBudget):
    """An epsilon to be spent without any delta."""

    delta: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.delta, bool) or self.delta != 0.0:
            raise PrivacyError(f"The 'delta' parameter of PureBudget must be 0. Got {self.delta!r} instead.")
        checked = PrivacyBudget(self.epsilon, 0.5)
        object.__setattr__(self, "epsilon", checked.epsilon)
        object.__setattr__(self, "delta", 0.0)


class SimpleRun(PrivateRun):
    """Simple composition: the shares of a run sum to at most one. Gaussian noise needs a ``gaussian`` calibration."""

    def __init__(
        self,
        budget: PrivacyBudget,
        *,
        gaussian: Calibration | None = None,
        sampler: str = "fast",
        noise_seed: int | None = None,
        reserve: Callable[..., None] | None = None,
    ) -> None:
        super().__init__(budget, sampler=sampler, noise_seed=noise_seed, reserve=reserve)
        self._gaussian = gaussian
        self._shares: list[float] = []

    @property
    def pure(self) -> bool:
        """Whether the run has no delta at all."""
        return isinstance(self.budget, PureBudget)

    @property
    def accounting(self) -> str:
        return "simple composition: the epsilons add up" + ("" if self.pure else ", and so do the deltas")

    @property
    def epsilon_spent(self) -> float:
        return min(1.0, math.fsum(self._shares)) * self.budget.epsilon

    @property
    def shares_spent(self) -> tuple[float, ...]:
        return tuple(self._shares)

    def part(self, share: float) -> tuple[float, float]:
        """The (epsilon, delta) of a release with this share."""
        if not 0 < share <= 1 + SUM_TOLERANCE:
            raise PrivacyError(f"The 'share' of a release must lie in (0, 1]. Got {share!r} instead.")
        return share * self.budget.epsilon, share * self.budget.delta

    def sigma(self, query: Query, share: float) -> float:
        """Gaussian noise for the (epsilon, delta) of this share."""
        if self._gaussian is None or self.pure:
            raise PrivacyError(f"Query {query.name!r} asks for Gaussian noise, which has no pure epsilon.")
        return self._gaussian(query.sensitivity, *self.part(share))

    def laplace_scale(self, query: Query, share: float) -> float:
        """sensitivity / epsilon_i, rounded up so that shares which sum to one up to rounding fit."""
        return query.sensitivity / self.part(share)[0] * (1.0 + 2.0 * SUM_TOLERANCE)

    def _calibrate(self) -> None:
        """Nothing to invert: every release has its own epsilon and delta."""

    def _afford(self, event: NoiseEvent, share: float) -> None:
        if math.fsum((*self._shares, share)) > 1.0 + SUM_TOLERANCE:
            raise PrivacyError(
                f"Release {event.name!r} would exceed the privacy budget of this run. "
                "Give it a smaller share: the shares of a run must sum to at most 1."
            )

    def _charge(self, event: NoiseEvent, share: float) -> None:
        super()._charge(event, share)
        self._shares.append(share)

    def _ask(self, reserve: Callable[..., None]) -> None:
        if not self.pure:
            reserve(self.budget, guarantee="approximate")
        else:
            reserve(PrivacyBudget(self.budget.epsilon, _SMALLEST_DELTA), guarantee="pure")

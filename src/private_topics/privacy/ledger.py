"""The budget of a corpus across fits, in memory: every fit reserves its cost before its first noise is drawn.

Costs compose by the accountant (mu² adds, epsilon does not). A reservation is never given back: a fit that fails
half-way has already released values.
"""

from __future__ import annotations

import math
import threading
from dataclasses import astuple, dataclass
from typing import Any

from private_topics.errors import PrivacyError
from private_topics.privacy.accountant import gdp_delta, gdp_epsilon, mu_of_budget, rho_of_budget, zcdp_delta
from private_topics.privacy.budget import PrivacyBudget


@dataclass(frozen=True)
class Reservation:
    """What one fit may spend: `rho` is mu²/2 of its releases, `exact` whether they compose in zCDP only."""

    budget: PrivacyBudget
    rho: float
    exact: bool


class BudgetLedger:
    """A total (epsilon, delta) for one corpus. Pass the same object to every fit on that corpus."""

    def __init__(self, epsilon: float, delta: float) -> None:
        self.total = PrivacyBudget(epsilon, delta)
        self._reservations: list[Reservation] = []
        self._lock = threading.Lock()

    @property
    def spent(self) -> tuple[PrivacyBudget, ...]:
        """The budgets reserved so far."""
        return tuple(reservation.budget for reservation in self._reservations)

    @property
    def epsilon_spent(self) -> float:
        """Epsilon of all reservations together, at the ledger's delta."""
        return _epsilon(self._reservations, self.total.delta)

    def reserve(self, budget: PrivacyBudget, *, exact: bool = False) -> None:
        """Charge a fit, or refuse it. `exact`: its noise is the discrete Gaussian, which is zCDP and not GDP."""
        limit = rho_of_budget(budget.epsilon, budget.delta) if exact else mu_of_budget(*astuple(budget)) ** 2 / 2.0
        reservation = Reservation(budget, limit, exact)
        with self._lock:
            if _delta([*self._reservations, reservation], self.total.epsilon) > self.total.delta:
                raise PrivacyError(
                    f"This fit at epsilon={budget.epsilon:g}, delta={budget.delta:g} would exceed the corpus's total "
                    f"budget of epsilon={self.total.epsilon:g}, delta={self.total.delta:g}. Nothing was released. "
                    "Lower epsilon, or register a larger total with whoever answers for the corpus."
                )
            self._reservations.append(reservation)

    def __deepcopy__(self, memo: Any) -> BudgetLedger:
        return self  # a copy would be a second purse

    def __copy__(self) -> BudgetLedger:
        return self

    def __sklearn_clone__(self) -> BudgetLedger:
        return self


def _delta(reservations: list[Reservation], epsilon: float) -> float:
    """Delta of all reservations at `epsilon`: Gaussian releases are mu²/2-zCDP too, so a mixture adds up in zCDP."""
    rho = math.fsum(reservation.rho for reservation in reservations)
    if any(reservation.exact for reservation in reservations):
        return zcdp_delta(rho, epsilon)
    return gdp_delta(math.sqrt(2.0 * rho), epsilon)


def _epsilon(reservations: list[Reservation], delta: float) -> float:
    """The smallest epsilon, to a millionth, at which the reservations have this delta."""
    if not reservations:
        return 0.0
    if not any(reservation.exact for reservation in reservations):
        return gdp_epsilon(math.sqrt(2.0 * math.fsum(reservation.rho for reservation in reservations)), delta)
    low, high = 0.0, 1.0
    while _delta(reservations, high) > delta:
        low, high = high, 2.0 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if _delta(reservations, middle) > delta else (low, middle)
    return high

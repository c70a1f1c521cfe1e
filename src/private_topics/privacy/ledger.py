"""The budget of a corpus across fits, in memory: every fit reserves its cost before its first noise is drawn.

Costs compose by the accountant (mu² adds, epsilon does not). A reservation is never given back: a fit that fails
half-way has already released values.
"""

from __future__ import annotations

import math
import threading
from typing import Any

from private_topics.errors import PrivacyError
from private_topics.privacy.accountant import gdp_epsilon, mu_of_budget
from private_topics.privacy.budget import PrivacyBudget


class BudgetLedger:
    """A total (epsilon, delta) for one corpus. Pass the same object to every fit on that corpus."""

    def __init__(self, epsilon: float, delta: float) -> None:
        self.total = PrivacyBudget(epsilon, delta)
        self._spent: list[PrivacyBudget] = []
        self._lock = threading.Lock()

    @property
    def spent(self) -> tuple[PrivacyBudget, ...]:
        """The budgets reserved so far."""
        return tuple(self._spent)

    @property
    def epsilon_spent(self) -> float:
        """Epsilon of all reservations together, at the ledger's delta."""
        mu = _composed(self._spent)
        return gdp_epsilon(mu, self.total.delta) if mu > 0 else 0.0

    def reserve(self, budget: PrivacyBudget) -> None:
        """Charge a fit, or refuse it."""
        with self._lock:
            limit = mu_of_budget(self.total.epsilon, self.total.delta)
            if _composed([*self._spent, budget]) > limit * (1.0 + 1e-9):
                raise PrivacyError(
                    f"This fit at epsilon={budget.epsilon:g}, delta={budget.delta:g} would exceed the corpus's total "
                    f"budget of epsilon={self.total.epsilon:g}, delta={self.total.delta:g}. Nothing was released. "
                    "Lower epsilon, or register a larger total with whoever answers for the corpus."
                )
            self._spent.append(budget)

    def __deepcopy__(self, memo: Any) -> BudgetLedger:
        return self  # a copy would be a second purse

    def __copy__(self) -> BudgetLedger:
        return self

    def __sklearn_clone__(self) -> BudgetLedger:
        return self


def _composed(budgets: list[PrivacyBudget]) -> float:
    """A fit at (epsilon, delta) is charged as Gaussian DP with the mu that exhausts it."""
    return math.sqrt(math.fsum(mu_of_budget(budget.epsilon, budget.delta) ** 2 for budget in budgets))

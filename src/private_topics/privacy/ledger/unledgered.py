"""Fits that no ledger sees, added up for as long as a process runs: a search over settings spends more than it shows.

Which corpus a fit was on is not known here, so this refuses nothing: it warns once, at the second such fit.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from private_topics.errors import warn_user
from private_topics.privacy.budget import PrivacyBudget


class Tally:
    """The budgets of the fits without a ledger, and whether a warning was given."""

    def __init__(self) -> None:
        self.budgets: list[PrivacyBudget] = []
        self.warned = False
        self._lock = threading.Lock()

    def add(self, budget: PrivacyBudget) -> None:
        """Count a fit that is about to draw its first noise."""
        with self._lock:
            self.budgets.append(budget)
            due = len(self.budgets) > 1 and not self.warned
            self.warned |= due
        if due:
            epsilon, delta = (sum(getattr(one, name) for one in self.budgets) for name in ("epsilon", "delta"))
            warn_user(
                f"{len(self.budgets)} private fits of this process had no ledger. If they were on the same corpus, "
                f"they have spent epsilon {epsilon:g} and delta {delta:g} of it in total (simple composition), and "
                "every further fit adds its own: grid searches and cross-validation fit many times. Pass one ledger "
                "to all of them, such as BudgetLedger(epsilon, delta). This is said once."
            )


UNLEDGERED = Tally()


def count(budget: PrivacyBudget, settings: Mapping[str, Any]) -> None:
    """Count a fit without a ledger, where it has a cost to count: known noise and unproved calibrations have none."""
    if settings.get("private", True) and settings.get("calibration", "proved") == "proved":
        UNLEDGERED.add(budget)

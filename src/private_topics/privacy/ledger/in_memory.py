"""The budget of a corpus across fits, in memory: every fit reserves its cost before its first noise is drawn.

Costs compose by the accountant (mu² adds, epsilon does not; `reservations.py`). A reservation is never given back: a
fit that fails half-way has already released values. `DurableLedger` keeps the same books in a file.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from private_topics.errors import PrivacyError
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.ledger.reservations import (
    SET_ASIDE,
    Guarantee,
    Reservation,
    admits,
    composed_epsilon,
    refusal,
    remaining_epsilon,
    reservation_of,
)


class Ledger(ABC):
    """What has been reserved of a corpus's total. Copying returns the ledger itself: two would spend it twice."""

    @abstractmethod
    def _books(self) -> tuple[PrivacyBudget, Sequence[Reservation], float]:
        """The total, the reservations in order, and the fraction of delta that is set aside."""

    @property
    def total(self) -> PrivacyBudget:
        """What all fits together may spend."""
        return self._books()[0]

    @property
    def spent(self) -> tuple[PrivacyBudget, ...]:
        """The budgets reserved so far."""
        return tuple(reservation.budget for reservation in self._books()[1])

    @property
    def epsilon_spent(self) -> float:
        """Epsilon of all reservations together, at the total's delta, had they been planned together."""
        total, reservations, _ = self._books()
        return composed_epsilon(reservations, total.delta)

    def remaining(self, delta: float | None = None, **kind: Any) -> float:
        """The largest epsilon of a further fit at `delta` (the total's if not given); `kind` as in `reserve`."""
        books = self._books()
        return remaining_epsilon(*books, delta=books[0].delta if delta is None else delta, **kind)

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def __sklearn_clone__(self) -> Self:
        return self


class BudgetLedger(Ledger):
    """A total (epsilon, delta) for one corpus. Pass the same object to every fit on that corpus.

    ``set_aside`` is the fraction of delta kept for fits of another kind than the first one (another sampler, a
    private vocabulary): set it larger if more of them are planned.
    """

    def __init__(self, epsilon: float, delta: float, *, set_aside: float = SET_ASIDE) -> None:
        self._total = PrivacyBudget(epsilon, delta)
        self.set_aside = checked_set_aside(set_aside)
        self._reservations: list[Reservation] = []
        self._lock = threading.Lock()

    def _books(self) -> tuple[PrivacyBudget, Sequence[Reservation], float]:
        return self._total, self._reservations, self.set_aside

    def reserve(
        self,
        budget: PrivacyBudget,
        *,
        exact: bool = False,
        guarantee: Guarantee | None = None,
        threshold_delta: float = 0.0,
    ) -> None:
        """Charge a fit, or refuse it. `exact`: its noise is the discrete Gaussian, which is zCDP and not GDP.

        `guarantee` and `threshold_delta`: see `Reservation`.
        """
        reservation = reservation_of(budget, exact=exact, guarantee=guarantee, threshold_delta=threshold_delta)
        with self._lock:
            if not admits(self._total, [*self._reservations, reservation], self.set_aside):
                raise refusal(self._total, reservation)
            self._reservations.append(reservation)


class FitAccount:
    """One fit's dealings with a ledger: it reserves, and where rows are kept notes its public settings and its end.

    A ledger is any object with `reserve(budget, **kind)`; one that keeps rows has `finish` too (`DurableLedger`).
    What is not public before the first release (the size of a private vocabulary) is noted at the end.
    """

    def __init__(self, ledger: Any, settings: Mapping[str, Any]) -> None:
        if ledger is not None and not callable(getattr(ledger, "reserve", None)):
            raise PrivacyError("The 'ledger' parameter must be None, a ledger, or an object with a 'reserve' method.")
        self._ledger = ledger
        self._settings = _plain(settings)
        self._results: dict[str, Any] = {}
        self._row: Any = None

    @property
    def reserve(self) -> Callable[..., None] | None:
        """What a run calls before its first draw; None without a ledger."""
        return None if self._ledger is None else self._reserve

    def _reserve(self, budget: PrivacyBudget, **kind: Any) -> None:
        noted = {"settings": self._settings} if hasattr(self._ledger, "finish") else {}
        self._row = self._ledger.reserve(budget, **kind, **noted)

    def note(self, **public: Any) -> None:
        """Add public values to the row: to its settings until it is written, to its results after that."""
        (self._settings if self._row is None else self._results).update(_plain(public))

    def finish(self) -> None:
        if self._row is not None and hasattr(self._ledger, "finish"):
            self._ledger.finish(self._row, **({"results": self._results} if self._results else {}))


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: getattr(value, "item", lambda v=value: v)() for name, value in values.items()}


def checked_set_aside(set_aside: float) -> float:
    if isinstance(set_aside, bool) or not isinstance(set_aside, int | float) or not 0.0 <= set_aside < 1.0:
        raise PrivacyError(f"The 'set_aside' of a ledger must be a number in [0, 1). Got {set_aside!r} instead.")
    return float(set_aside)

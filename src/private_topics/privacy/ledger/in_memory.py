"""The budget of a corpus across fits, in memory: every fit reserves its cost before its first noise is drawn.

Costs compose by the accountant (mu² adds, epsilon does not; `reservations.py`). A reservation is not given back: a
fit that fails half-way has already released values. One that stops by its own first release is charged that alone.
`DurableLedger` keeps the same books in a file.

A ledger in memory belongs to one process: a forked copy would admit what the others have spent, and refuses.
"""

from __future__ import annotations

import math
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, Self

from private_topics._version import __version__
from private_topics.errors import PrivacyError
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.ledger import unledgered
from private_topics.privacy.ledger.binding import Binding, checked_neighbours, checked_unit, today
from private_topics.privacy.ledger.request import Request
from private_topics.privacy.ledger.reservations import (
    SET_ASIDE,
    Guarantee,
    Reservation,
    admits,
    composed_epsilon,
    refusal,
    remaining_epsilon,
    repeats_left,
    reservation_of,
)
from private_topics.privacy.neighbours import REPLACE

if TYPE_CHECKING:
    from private_topics.privacy.mechanisms import PrivateRun


class Ledger(ABC):
    """What has been reserved of a corpus's total. Copying returns the ledger itself: two would spend it twice."""

    @abstractmethod
    def _books(self) -> tuple[PrivacyBudget, Sequence[Reservation], float]:
        """The total, the reservations in order, and the fraction of delta that is set aside."""

    @abstractmethod
    def _bound(self) -> tuple[Binding, Sequence[str]]:
        """What the corpus was registered for, and the unit of each reservation, empty where it does not say."""

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

    def repeats(self) -> int | None:
        """How many more fits like the last one are admitted, up to 10,000; None before the first."""
        books = self._books()
        return repeats_left(*books) if books[1] else None

    @property
    def unit(self) -> str | None:
        """What all fits protect, "document" or "user"; None where neither the registration nor a fit has said."""
        binding, rows = self._bound()
        return binding.unit_given(rows) or None

    @property
    def neighbours(self) -> str:
        """How two neighbouring corpora differ in a unit: "replace", "zero-out" or "add-remove"."""
        return self._bound()[0].neighbours

    def require(self, unit: str | None = None, neighbours: str | None = None) -> None:
        """Refuse fits of another kind than the corpus was registered for. `reserve` does so too."""
        binding, rows = self._bound()
        binding.require(rows, checked_unit(unit), checked_neighbours(neighbours))

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def __sklearn_clone__(self) -> Self:
        return self


class BudgetLedger(Ledger):
    """A total (epsilon, delta) for one corpus. Pass the same object to every fit on that corpus.

    ``set_aside`` is the fraction of delta kept for fits of another kind than the first one (another sampler, a
    private vocabulary): set it larger if more of them are planned. ``unit`` ("document" or "user") and
    ``neighbours`` ("replace", "zero-out" or "add-remove") are what the total is a promise about, and fits of another
    kind are refused; None leaves the unit to the first fit. It works in the process that made it.
    """

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        set_aside: float = SET_ASIDE,
        unit: str | None = None,
        neighbours: str = REPLACE,
    ) -> None:
        self._total = PrivacyBudget(epsilon, delta)
        self.set_aside = checked_set_aside(set_aside)
        self._binding = Binding(checked_unit(unit), checked_neighbours(neighbours) or REPLACE)
        self._reservations: list[Reservation] = []
        self._units: list[str] = []
        self._lock = threading.Lock()
        self._process = os.getpid()

    def _books(self) -> tuple[PrivacyBudget, Sequence[Reservation], float]:
        return self._total, self._reservations, self.set_aside

    def _bound(self) -> tuple[Binding, Sequence[str]]:
        return self._binding, self._units

    def reserve(
        self,
        budget: PrivacyBudget,
        *,
        exact: bool = False,
        guarantee: Guarantee | None = None,
        threshold_delta: float = 0.0,
        unit: str | None = None,
        neighbours: str | None = None,
    ) -> int:
        """Charge a fit and return its number, or refuse it.

        `exact`: its noise is the discrete Gaussian, which is zCDP and not GDP.
        `guarantee` and `threshold_delta`: see `Reservation`. `unit` and `neighbours`: what the fit protects; if not
        given, what the corpus was registered for.
        """
        if os.getpid() != self._process:  # before the lock: a fork may have copied it locked
            raise PrivacyError(
                "A BudgetLedger works only in the process that made it: a copy does not know what the others spend. "
                "Nothing was released. Share a DurableLedger among processes."
            )
        reservation = reservation_of(budget, exact=exact, guarantee=guarantee, threshold_delta=threshold_delta)
        unit, neighbours = checked_unit(unit), checked_neighbours(neighbours)
        with self._lock:
            unit, _ = self._binding.require(self._units, unit, neighbours)
            if not admits(self._total, [*self._reservations, reservation], self.set_aside):
                raise refusal(self._total, reservation)
            self._reservations.append(reservation)
            self._units.append(unit)
            return len(self._reservations) - 1

    def give_up(self, entry: int, spent: float) -> None:
        """Charge a fit that stopped, before any threshold, the fraction of its cost that it released."""
        with self._lock:
            self._reservations[entry] = replace(self._reservations[entry], spent=spent)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise PrivacyError(
            "A BudgetLedger cannot be pickled: each copy would spend the same budget. Share a DurableLedger."
        )


class FitAccount:
    """One fit's dealings with a ledger: it reserves, and where rows are kept notes its public settings and its end.

    A ledger is any object with `reserve(budget, **kind)`; one that keeps rows has `finish` too (`DurableLedger`).
    What is not public before the first release (the size of a private vocabulary) is noted at the end. The day is
    that on which the fit began: the day of the reservation would depend on how long the corpus takes to read.
    """

    def __init__(
        self, ledger: Any, settings: Mapping[str, Any], *, what: str = "fit", neighbours: str = REPLACE
    ) -> None:
        if ledger is not None and not callable(getattr(ledger, "reserve", None)):
            raise PrivacyError("The 'ledger' parameter must be None, a ledger, or an object with a 'reserve' method.")
        self._ledger = ledger
        self._settings = {"what": what, "library": __version__} | _plain(settings)
        self._kind: dict[str, Any] = {"neighbours": neighbours}
        self._ids: Iterable[Any] | None = None
        self._results: dict[str, Any] = {}
        self._row: Any = None
        self._day = today()
        if isinstance(ledger, Ledger):
            ledger.require(neighbours=neighbours)

    @property
    def request(self) -> Request:
        """Who asked for the fit, who approved it and why, as far as the ledger was told."""
        found = getattr(self._ledger, "request", None)
        return found if isinstance(found, Request) else Request()

    def reserve(self, budget: PrivacyBudget, **kind: Any) -> None:
        """What a run calls before its first draw; without a ledger the fit is only counted (`unledgered.py`)."""
        if self._ledger is None:
            unledgered.count(budget, self._settings)
            return
        known = kind | self._kind | {"settings": self._settings, "ids": self._ids, "day": self._day}
        self._row = self._ledger.reserve(budget, **told_to(self._ledger, known))

    def protects(self, unit: str, ids: Iterable[Any] | None = None) -> None:
        """Say what the units are, and their ids where they have any: confidential, read when the fit reserves."""
        self._kind["unit"], self._ids = unit, ids

    def note(self, **public: Any) -> None:
        """Add public values to the row: to its settings until it is written, to its results after that."""
        (self._settings if self._row is None else self._results).update(_plain(public))

    @contextmanager
    def stopped_by(self, error: type[Exception], run: PrivateRun) -> Iterator[None]:
        """Charge only what `run` has released where `error` ends it. No threshold may have been used by then."""
        try:
            yield
        except error:
            if self._row is not None and hasattr(self._ledger, "give_up"):
                self._ledger.give_up(self._row, min(1.0, math.fsum(run.shares_spent) * (1.0 + 2.0**-30)))
            raise

    def finish(self, digest: Callable[[], str]) -> None:
        """Note the end; `digest` gives the SHA-256 of the file of what the fit made."""
        if self._row is not None and keeps_rows(self._ledger):
            self._ledger.finish(self._row, results=self._results, digest=digest())


def keeps_rows(ledger: Any) -> bool:
    return hasattr(ledger, "finish")


def told_to(ledger: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    """What `reserve` is told of all that is known of a fit: rows want everything, any other object the cost alone."""
    for_rows, for_ledgers = {"settings", "ids", "day"}, {"unit", "neighbours"}
    left_out = set() if keeps_rows(ledger) else for_rows if isinstance(ledger, Ledger) else for_rows | for_ledgers
    return {name: value for name, value in known.items() if name not in left_out}


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: getattr(value, "item", lambda v=value: v)() for name, value in values.items()}


def checked_set_aside(set_aside: float) -> float:
    if isinstance(set_aside, bool) or not isinstance(set_aside, int | float) or not 0.0 <= set_aside < 1.0:
        raise PrivacyError(f"The 'set_aside' of a ledger must be a number in [0, 1). Got {set_aside!r} instead.")
    return float(set_aside)

"""The budgets of corpora in a file: reservations that survive a crash, shared by any number of processes.

One SQLite file holds named corpora with their totals, and one row per fit (`file.py`). A row is committed, and
on the disk, before `reserve` returns, and noise is drawn only after that. Every call opens its own connection, so
threads, forks and pickled copies share nothing but the file. Proof: docs/proofs/ledger.md.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from private_topics.errors import LedgerError, PrivacyWarning
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.ledger.binding import (
    Binding,
    checked_key,
    checked_neighbours,
    checked_unit,
    fingerprint,
    today,
    who_runs,
)
from private_topics.privacy.ledger.file import (
    FINISHED,
    LONGEST_NAME,
    LONGEST_SETTINGS,
    RESULTS_WIDTH,
    Books,
    LedgerEntry,
    bind,
    bring_up_to_date,
    check,
    digest,
    opened,
    prepare,
)
from private_topics.privacy.ledger.in_memory import Ledger, checked_set_aside
from private_topics.privacy.ledger.request import Request
from private_topics.privacy.ledger.reservations import SET_ASIDE, Reservation, admits, refusal, reservation_of
from private_topics.privacy.neighbours import ADD_REMOVE, REPLACE

__all__ = ["DurableLedger", "LedgerEntry"]


class DurableLedger(Ledger):
    """The budget of one registered corpus in the file `path`. Pass it, or another one on that file, to every fit.

    `label` is written with each of this ledger's reservations, and so is `who`: if not given, the environment
    variable PRIVATE_TOPICS_WHO, else the login name. `key`: the secret under which ids were registered, if they were.
    `requested_by`, `approved_by`, `reason`: who asked for the fits of this ledger object, who approved them and why;
    written with each reservation, and kept in the model (`sign_off_`).
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        corpus: str,
        *,
        label: str = "",
        who: str | None = None,
        key: bytes | None = None,
        requested_by: str = "",
        approved_by: str = "",
        reason: str = "",
    ) -> None:
        self.path = os.path.abspath(os.fspath(path))
        self.corpus = _checked_name("corpus", corpus)
        self.label = _checked_name("label", label, empty=True)
        self.who = None if who is None else _checked_name("who", who, empty=True)
        self.request = Request(requested_by, approved_by, reason)
        self._key = checked_key(key)
        self._read()

    @classmethod
    def register(
        cls,
        path: str | os.PathLike[str],
        name: str,
        epsilon: float,
        delta: float,
        *,
        set_aside: float = SET_ASIDE,
        unit: str | None = None,
        neighbours: str = REPLACE,
        ids: Iterable[Any] | None = None,
        key: bytes | None = None,
        renew_ids: bool = False,
    ) -> DurableLedger:
        """Give a corpus its total, for good; registering it again with the same total changes nothing.

        Parameters
        ----------
        path : the file, made where there is none.
        epsilon, delta : of all fits together, ever.
        set_aside : see `BudgetLedger`.
        unit : what fits on this corpus protect, "document" or "user"; others are refused. None leaves it to the
            first fit. A corpus of an earlier version, whose rows do not say, needs it once.
        neighbours : "replace", "zero-out" or "add-remove"; fits under another relation are refused.
        ids : the labels of the users, in any order: only fits on the same users are then admitted. What is stored is
            a digest of all of them that says nothing without the `key`, at least 16 secret bytes.
        renew_ids : replace the ids registered before, where the corpus has grown.
        """
        budget, set_aside = PrivacyBudget(epsilon, delta), checked_set_aside(set_aside)
        row = _checked_name("name", name), budget.epsilon, budget.delta, set_aside
        ids = None if ids is None else list(ids)
        wanted = _wanted(unit, neighbours, ids, checked_key(key))
        path = os.path.abspath(os.fspath(path))
        with opened(path, create=True) as connection:
            connection.execute("BEGIN IMMEDIATE")
            prepare(connection, path)
            bring_up_to_date(connection)
            found = connection.execute(
                "SELECT name, epsilon, delta, set_aside FROM corpus WHERE name = ?", (name,)
            ).fetchone()
            if found is None:
                day = today()
                connection.execute("INSERT INTO corpus VALUES (?, ?, ?, ?, ?, ?)", (*row, day, digest(*row, day)))
                bind(connection, name, wanted)
            elif found != row:
                raise LedgerError(
                    f"The corpus {name!r} is registered in {path} with epsilon={found[1]!r}, delta={found[2]!r}, "
                    f"set_aside={found[3]!r}. The total of a corpus is fixed: what was released under it cannot be "
                    "taken back."
                )
            else:
                books = Books.read(connection, path, name)
                bind(connection, name, _rebound(books, wanted, ids, key, renew_ids))
            connection.execute("COMMIT")
        return cls(path, name, key=key)

    @classmethod
    def registered(cls, path: str | os.PathLike[str]) -> dict[str, PrivacyBudget]:
        """The corpora of a file, by name, with their totals."""
        path = os.path.abspath(os.fspath(path))
        with opened(path) as connection:
            check(connection, path)
            names = [name for (name,) in connection.execute("SELECT name FROM corpus ORDER BY name")]
            return {name: Books.read(connection, path, name).total for name in names}

    def entries(self) -> tuple[LedgerEntry, ...]:
        """Every reservation, in order."""
        return self._read().entries

    def reserve(
        self,
        budget: PrivacyBudget,
        *,
        settings: Mapping[str, Any] | None = None,
        unit: str | None = None,
        neighbours: str | None = None,
        ids: Iterable[Any] | None = None,
        day: str | None = None,
        **kind: Any,
    ) -> int:
        """Charge a fit and return the number of its row, or refuse it. When it returns, the row is on the disk.

        `settings`: public settings to note. `unit`, `neighbours`: what the fit protects; if not given, what the
        corpus was registered for. `ids`: of its units, which are compared and not kept. `day`: when it began; today
        if not given. `kind`: the other parameters of `BudgetLedger.reserve`.
        """
        reservation, unit, neighbours = (
            reservation_of(budget, **kind),
            checked_unit(unit),
            checked_neighbours(neighbours),
        )
        day = today() if day is None else _checked_name("day", day)
        with opened(self.path) as connection:
            connection.execute("BEGIN IMMEDIATE")  # the only writer from here to the commit
            check(connection, self.path)
            bring_up_to_date(connection)
            books = Books.read(connection, self.path, self.corpus)
            unit, neighbours = books.binding.require(books.units, unit, neighbours)
            books.binding.require_ids(ids, self._key)
            if not admits(books.total, [*books.reservations, reservation], books.set_aside):
                raise refusal(books.total, reservation)
            origin = {"who": who_runs() if self.who is None else self.who, "unit": unit, "neighbours": neighbours}
            origin["ids"] = books.binding.ids.partition(":")[0]
            said = {name: value for name, value in origin.items() if value} | self.request.said
            number = books.append(connection, reservation, day, self.label, _noted_text("settings", settings, said))
            connection.execute("COMMIT")
            return number

    def finish(self, entry: int, *, results: Mapping[str, Any] | None = None, digest: str = "") -> None:
        """Note that a fit finished. This is for the reader only, so a failure warns: the cost was written before.

        `results`: public values that were not known at the reservation, such as the size of a private vocabulary.
        `digest`: the SHA-256 of the file of what the fit made. No time is noted: it would say how long the fit took.
        """
        try:
            made = {"digest": _checked_name("digest", digest)} if digest else {}
            noted = _noted_text("results", results, made).ljust(RESULTS_WIDTH)
            with opened(self.path) as connection:
                connection.execute("BEGIN IMMEDIATE")
                check(connection, self.path)
                row = FINISHED, noted, entry, self.corpus
                connection.execute("UPDATE reservation SET state = ?, results = ? WHERE id = ? AND corpus = ?", row)
                connection.execute("COMMIT")
        except LedgerError as error:
            warnings.warn(f"The fit is finished, but the ledger could not note it. {error}", PrivacyWarning, 2)

    def give_up(self, entry: int, spent: float) -> None:
        """Charge a fit that stopped, before any threshold, the fraction of its cost that it released.

        A failure warns: the row then stays as it was reserved.
        """
        try:
            with opened(self.path) as connection:
                connection.execute("BEGIN IMMEDIATE")
                check(connection, self.path)
                books = Books.read(connection, self.path, self.corpus)
                books.give_up(connection, entry, spent)
                connection.execute("COMMIT")
        except LedgerError as error:
            warnings.warn(
                f"The fit stopped, but the ledger could not note it: all of it stays charged. {error}",
                PrivacyWarning,
                2,
            )

    def _books(self) -> tuple[PrivacyBudget, Sequence[Reservation], float]:
        books = self._read()
        return books.total, books.reservations, books.set_aside

    def _bound(self) -> tuple[Binding, Sequence[str]]:
        books = self._read()
        return books.binding, books.units

    def _read(self) -> Books:
        with opened(self.path) as connection:
            connection.execute("BEGIN")
            check(connection, self.path)
            return Books.read(connection, self.path, self.corpus)

    def __repr__(self) -> str:
        return f"DurableLedger({self.path!r}, corpus={self.corpus!r})"


def _wanted(unit: str | None, neighbours: str, ids: Iterable[Any] | None, key: bytes | None) -> Binding:
    """What a corpus is to be registered for."""
    unit, neighbours = checked_unit(unit), checked_neighbours(neighbours) or REPLACE
    if ids is None:
        return Binding(unit, neighbours)
    if key is None:
        raise LedgerError("The ids of a corpus are registered under a secret key: pass 'key' too.")
    if unit == "document":
        raise LedgerError("Documents have no ids: only those of users can be registered.")
    if neighbours == ADD_REMOVE:
        raise LedgerError(
            "With neighbours='add-remove' nobody may learn who is in the corpus, and a run that is refused because "
            "somebody is not tells it: ids cannot be registered."
        )
    return Binding("user", neighbours, fingerprint(ids, key))


def _rebound(books: Books, wanted: Binding, ids: Iterable[Any] | None, key: bytes | None, renew_ids: bool) -> Binding:
    """What a corpus is registered for from now on: what it was, where it was open now named."""
    found, fixed = books.binding, books.binding.unit_given(books.units)
    if (wanted.unit and fixed and wanted.unit != fixed) or wanted.neighbours != found.neighbours:
        raise LedgerError(
            f"The corpus {books.corpus!r} is registered for {fixed or 'unit'}s and neighbours={found.neighbours!r}. "
            "That is fixed: what was released under it cannot be taken back."
        )
    if ids is not None and found.ids and not renew_ids:
        found.require_ids(ids, key)
        return found
    return replace(found, unit=wanted.unit or found.unit, ids=wanted.ids or found.ids)


def _noted_text(parameter: str, values: Mapping[str, Any] | None, more: Mapping[str, str]) -> str:
    noted = {} if values is None else values
    if not isinstance(noted, Mapping):
        raise LedgerError(f"The {parameter!r} noted in a ledger must be a mapping.")
    noted = {**noted, **more}
    if not all(isinstance(value, str | int | float | bool | None) for value in noted.values()):
        raise LedgerError(f"The {parameter!r} noted in a ledger must be plain: strings, numbers, booleans or None.")
    text = json.dumps(noted, sort_keys=True)
    if len(text) > LONGEST_SETTINGS:
        raise LedgerError(f"The {parameter!r} noted in a ledger must fit into {LONGEST_SETTINGS} characters.")
    return text


def _checked_name(parameter: str, text: str, *, empty: bool = False) -> str:
    if not isinstance(text, str) or not (text or empty) or len(text) > LONGEST_NAME or not text.isprintable():
        raise LedgerError(f"The {parameter!r} of a ledger must be printable, of at most {LONGEST_NAME} characters.")
    return text

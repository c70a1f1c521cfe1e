"""The budgets of corpora in a file: reservations that survive a crash, shared by any number of processes.

One SQLite file holds named corpora with their totals, and one row per fit (`file.py`). A row is committed, and
on the disk, before `reserve` returns, and noise is drawn only after that. Every call opens its own connection, so
threads, forks and pickled copies share nothing but the file. Proof: docs/proofs/ledger.md.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from private_topics.errors import LedgerError, PrivacyWarning
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.ledger.file import (
    LONGEST_NAME,
    LONGEST_SETTINGS,
    STATES,
    Books,
    LedgerEntry,
    check,
    digest,
    now,
    opened,
    prepare,
)
from private_topics.privacy.ledger.in_memory import Ledger, checked_set_aside
from private_topics.privacy.ledger.reservations import SET_ASIDE, Reservation, admits, refusal, reservation_of

__all__ = ["DurableLedger", "LedgerEntry"]


class DurableLedger(Ledger):
    """The budget of one registered corpus in the file `path`. Pass it, or another one on that file, to every fit.

    `label` is written with each of this ledger's reservations.
    """

    def __init__(self, path: str | os.PathLike[str], corpus: str, *, label: str = "") -> None:
        self.path = os.path.abspath(os.fspath(path))
        self.corpus = _checked_name("corpus", corpus)
        self.label = _checked_name("label", label, empty=True)
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
    ) -> DurableLedger:
        """Give a corpus its total, for good; registering it again with the same total changes nothing.

        The file is made where there is none. `set_aside`: see `BudgetLedger`.
        """
        budget, set_aside = PrivacyBudget(epsilon, delta), checked_set_aside(set_aside)
        row = _checked_name("name", name), budget.epsilon, budget.delta, set_aside
        path = os.path.abspath(os.fspath(path))
        with opened(path, create=True) as connection:
            connection.execute("BEGIN IMMEDIATE")
            prepare(connection, path)
            found = connection.execute(
                "SELECT name, epsilon, delta, set_aside FROM corpus WHERE name = ?", (name,)
            ).fetchone()
            if found is None:
                time = now()
                connection.execute("INSERT INTO corpus VALUES (?, ?, ?, ?, ?, ?)", (*row, time, digest(*row, time)))
            elif found != row:
                raise LedgerError(
                    f"The corpus {name!r} is registered in {path} with epsilon={found[1]!r}, delta={found[2]!r}, "
                    f"set_aside={found[3]!r}. The total of a corpus is fixed: what was released under it cannot be "
                    "taken back."
                )
            connection.execute("COMMIT")
        return cls(path, name)

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

    def reserve(self, budget: PrivacyBudget, *, settings: Mapping[str, Any] | None = None, **kind: Any) -> int:
        """Charge a fit and return the number of its row, or refuse it. When it returns, the row is on the disk.

        `settings`: public settings to note. `kind`: the other parameters of `BudgetLedger.reserve`.
        """
        reservation = reservation_of(budget, **kind)
        with opened(self.path) as connection:
            connection.execute("BEGIN IMMEDIATE")  # the only writer from here to the commit
            check(connection, self.path)
            books = Books.read(connection, self.path, self.corpus)
            if not admits(books.total, [*books.reservations, reservation], books.set_aside):
                raise refusal(books.total, reservation)
            number = books.append(connection, reservation, self.label, _noted_text("settings", settings))
            connection.execute("COMMIT")
            return number

    def finish(self, entry: int, *, results: Mapping[str, Any] | None = None) -> None:
        """Note that a fit finished. This is for the reader only, so a failure warns: the cost was written before.

        `results`: public values that were not known at the reservation, such as the size of a private vocabulary.
        """
        try:
            with opened(self.path) as connection:
                connection.execute("BEGIN IMMEDIATE")
                check(connection, self.path)
                row = STATES[1], _noted_text("results", results), entry, self.corpus
                connection.execute("UPDATE reservation SET state = ?, results = ? WHERE id = ? AND corpus = ?", row)
                connection.execute("COMMIT")
        except LedgerError as error:
            warnings.warn(f"The fit is finished, but the ledger could not note it. {error}", PrivacyWarning, 2)

    def _books(self) -> tuple[PrivacyBudget, Sequence[Reservation], float]:
        books = self._read()
        return books.total, books.reservations, books.set_aside

    def _read(self) -> Books:
        with opened(self.path) as connection:
            connection.execute("BEGIN")
            check(connection, self.path)
            return Books.read(connection, self.path, self.corpus)

    def __repr__(self) -> str:
        return f"DurableLedger({self.path!r}, corpus={self.corpus!r})"


def _noted_text(parameter: str, values: Mapping[str, Any] | None) -> str:
    noted = {} if values is None else values
    if not isinstance(noted, Mapping):
        raise LedgerError(f"The {parameter!r} noted in a ledger must be a mapping.")
    noted = dict(noted)
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

"""The file of a ledger: its tables, how it is opened, and how its rows are checked.

The rollback journal with `synchronous=EXTRA` syncs file and folder at every commit: after a power failure a committed
row is there, and in the one file (no `-wal` file to forget when it is copied). Rows are never deleted; each carries
a digest of itself and of the row before it, and the corpus that of the last, so that damage cannot lose one. A row
has room for what is noted at the end of its fit, so that the bytes of the file depend on the order of reservations
alone, not on which fit finished first. Proof: docs/proofs/ledger.md.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from private_topics.errors import LedgerError
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.ledger.binding import UNITS, Binding
from private_topics.privacy.ledger.in_memory import checked_set_aside
from private_topics.privacy.ledger.request import LONGEST as LONGEST_ENTRIES
from private_topics.privacy.ledger.request import Request, is_entry
from private_topics.privacy.ledger.reservations import Reservation

APPLICATION_ID = 0x70744C67
VERSION, VERSION_WITHOUT_BINDING = 3, 2  # of the tables and of the rule that admits reservations
SCHEMA = {
    "binding": "CREATE TABLE binding (corpus TEXT PRIMARY KEY NOT NULL REFERENCES corpus (name), unit TEXT NOT NULL, "
    "neighbours TEXT NOT NULL, ids TEXT NOT NULL, digest TEXT NOT NULL) WITHOUT ROWID",
    "corpus": "CREATE TABLE corpus (name TEXT PRIMARY KEY NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL, "
    "set_aside REAL NOT NULL, time TEXT NOT NULL, last TEXT NOT NULL) WITHOUT ROWID",
    "reservation": "CREATE TABLE reservation (id INTEGER PRIMARY KEY, corpus TEXT NOT NULL REFERENCES corpus (name), "
    "time TEXT NOT NULL, label TEXT NOT NULL, guarantee TEXT NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL, "
    "threshold_delta REAL NOT NULL, rho REAL NOT NULL, settings TEXT NOT NULL, digest TEXT NOT NULL, "
    "state TEXT NOT NULL, results TEXT NOT NULL)",
}
STATES = RESERVED, FINISHED, GIVEN_UP = "reserved", "finished", "given up"
"""All of one length: a row stays where it is."""
DIGESTED = "time, label, guarantee, epsilon, delta, threshold_delta, rho, settings"
WAIT_SECONDS = 60.0
LONGEST_NAME, LONGEST_SETTINGS, LONGEST_ROW = 200, 10_000, 2**18
RESULTS_WIDTH = 256
"""Characters, blanks included, of what a fit notes at its end: its row then stays where it is."""
ORIGIN = ("who", "what", "library", "unit", "neighbours", "ids", *LONGEST_ENTRIES)
"""What a row says of its fit among the settings, and an entry by name."""
# Nothing in an untrusted file is executed: no functions from its schema, no mapped memory, cells checked as read.
SAFETY = (
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA mmap_size = 0",
    "PRAGMA synchronous = EXTRA",
    "PRAGMA fullfsync = ON",
    "PRAGMA secure_delete = ON",
)


@dataclass(frozen=True)
class LedgerEntry:
    """One fit: when, what it may spend, its public settings, whether it finished, and what it noted then.

    `time` is the day (UTC) on which the fit began; rows of earlier versions have the time of their reservation.
    `who` ran it; `what` it was ("fit", "vocabulary") and the version of the `library`; the `unit` and the relation of
    `neighbours` that it protects; `ids`: under which registration of ids, if any. `digest`: the SHA-256 of the file
    of what it made. `requested_by`, `approved_by`, `reason`: who asked for it, who approved it and why, where that
    was given. Rows of earlier versions say nothing of this.
    """

    id: int
    time: str
    label: str
    reservation: Reservation
    rho: float
    settings: dict[str, Any]
    state: str
    results: dict[str, Any]
    who: str = ""
    what: str = ""
    library: str = ""
    unit: str = ""
    neighbours: str = ""
    ids: str = ""
    digest: str = ""
    requested_by: str = ""
    approved_by: str = ""
    reason: str = ""

    @property
    def request(self) -> Request:
        """Who asked for it, who approved it and why."""
        return Request(self.requested_by, self.approved_by, self.reason)


@contextmanager
def opened(path: str, *, create: bool = False) -> Iterator[sqlite3.Connection]:
    """A new connection; what is not committed when it closes never happened."""
    connection = None
    try:
        uri = f"{Path(path).as_uri()}?mode={'rwc' if create else 'rw'}"
        connection = sqlite3.connect(uri, uri=True, timeout=WAIT_SECONDS, isolation_level=None)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_ROW)
        for pragma in SAFETY:
            connection.execute(pragma)
        laid_out = connection.execute("SELECT name FROM sqlite_master").fetchone() is not None
        if laid_out and connection.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
            raise LedgerError(f"The file {path} is not a budget ledger.")  # and is left as it is
        if connection.execute("PRAGMA journal_mode = DELETE").fetchone() != ("delete",):
            raise LedgerError(f"The ledger {path} is held open in another journal mode. Close what uses it.")
        yield connection
    except sqlite3.Error as error:
        raise _explained(error, path, create) from None
    finally:
        if connection is not None:
            connection.close()


def prepare(connection: sqlite3.Connection, path: str) -> None:
    """Lay out an empty file, or check one that is not; inside the transaction of the caller."""
    marks = [connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")]
    if marks != [(0,), (0,)] or connection.execute("SELECT name FROM sqlite_master").fetchone() is not None:
        return check(connection, path)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    for statement in SCHEMA.values():
        connection.execute(statement)
    return None


def check(connection: sqlite3.Connection, path: str) -> None:
    """Refuse what is not, table by table, a ledger of this version or the one before, or is damaged."""
    if connection.execute("PRAGMA application_id").fetchone() != (APPLICATION_ID,):
        raise LedgerError(f"The file {path} is not a budget ledger.")
    if _version(connection) not in (VERSION, VERSION_WITHOUT_BINDING):
        raise LedgerError(f"The ledger {path} is of another version. Use the version of private-topics that made it.")
    tables = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name").fetchall()
    names = [name for name in SCHEMA if name != "binding" or _version(connection) == VERSION]
    if tables != [("table", name, name, SCHEMA[name]) for name in names]:
        raise LedgerError(f"The tables of the ledger {path} were altered.")
    if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise _damaged(path)


def bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Give a ledger of the version before its bindings; rows stay as they are. Inside the caller's transaction."""
    if _version(connection) == VERSION:
        return
    connection.execute(SCHEMA["binding"])
    connection.execute(f"PRAGMA user_version = {VERSION}")
    for (name,) in connection.execute("SELECT name FROM corpus").fetchall():
        bind(connection, name, Binding())


def bind(connection: sqlite3.Connection, name: str, binding: Binding) -> None:
    """Write what a corpus is registered for, in place of what was written before."""
    row = name, binding.unit, binding.neighbours, binding.ids
    connection.execute("REPLACE INTO binding VALUES (?, ?, ?, ?, ?)", (*row, digest(*row)))


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


@dataclass(frozen=True)
class Books:
    """Everything in the file about one corpus, checked for types, ranges and digests."""

    corpus: str
    total: PrivacyBudget
    set_aside: float
    entries: tuple[LedgerEntry, ...]
    last: str
    binding: Binding

    @property
    def reservations(self) -> list[Reservation]:
        return [entry.reservation for entry in self.entries]

    @property
    def units(self) -> list[str]:
        return [entry.unit for entry in self.entries]

    @classmethod
    def read(cls, connection: sqlite3.Connection, path: str, name: str) -> Books:
        row = connection.execute("SELECT * FROM corpus WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise LedgerError(f"No corpus {name!r} is registered in {path}. Register it: DurableLedger.register.")
        try:
            return cls._checked(connection, *row)
        except (ValueError, TypeError, RecursionError):
            raise _damaged(path) from None

    @classmethod
    def _checked(cls, connection: sqlite3.Connection, name: str, *row: Any) -> Books:
        epsilon, delta, set_aside, time, last = row
        entries, reached = [], digest(name, epsilon, delta, set_aside, time)
        query = f"SELECT id, {DIGESTED}, digest, state, results FROM reservation WHERE corpus = ? ORDER BY id"
        for number, *fields, noted, state, results in connection.execute(query, (name,)):
            reached = digest(reached, *fields)
            if reached != noted or state not in STATES:
                raise ValueError("a row was altered")
            entries.append(_entry(number, *fields, noted, state, results))
        if reached != last:
            raise ValueError("rows are missing")
        binding = _binding(connection, name)
        _require_one_kind(binding, entries)
        total = PrivacyBudget(epsilon, delta)
        return cls(name, total, checked_set_aside(set_aside), tuple(entries), last, binding)

    def append(
        self, connection: sqlite3.Connection, reservation: Reservation, day: str, label: str, settings: str
    ) -> int:
        """Write a row and return its number."""
        budget, threshold_delta = reservation.budget, reservation.threshold_delta
        costs = reservation.guarantee, budget.epsilon, budget.delta, threshold_delta, reservation.rho
        fields = day, label, *costs, settings
        last = digest(self.last, *fields)
        cursor = connection.execute(
            f"INSERT INTO reservation (corpus, {DIGESTED}, digest, state, results) "
            f"VALUES (?{', ?' * (len(fields) + 3)})",
            (self.corpus, *fields, last, RESERVED, "{}".ljust(RESULTS_WIDTH)),
        )
        connection.execute("UPDATE corpus SET last = ? WHERE name = ?", (last, self.corpus))
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def give_up(self, connection: sqlite3.Connection, entry: int, spent: float) -> None:
        """Note in a reserved row which fraction of its cost was spent, with a digest of that and of the row."""
        query = "SELECT digest FROM reservation WHERE id = ? AND corpus = ? AND state = ?"
        found = connection.execute(query, (entry, self.corpus, RESERVED)).fetchone()
        if found is None:
            raise LedgerError("There is no reservation of this number that is under way.")
        noted = json.dumps({"spent": spent, "spent_digest": digest(found[0], spent)}).ljust(RESULTS_WIDTH)
        connection.execute("UPDATE reservation SET state = ?, results = ? WHERE id = ?", (GIVEN_UP, noted, entry))


def _entry(number: int, time: str, label: str, *row: Any) -> LedgerEntry:
    guarantee, epsilon, delta, threshold_delta, rho, settings, row_digest, state, results = row
    reservation = Reservation(PrivacyBudget(epsilon, delta), guarantee, threshold_delta)
    if not abs(rho - reservation.rho) <= 1e-6 * reservation.rho:
        raise ValueError("the cost is not that of the budget")
    if len(label) > LONGEST_NAME or len(time) > LONGEST_NAME:
        raise ValueError("a text is too long")
    noted, ended = _noted(settings), _noted(results)
    origin = {name: noted.pop(name) for name in ORIGIN if _says(name, noted.get(name))}
    if state == GIVEN_UP:
        spent, written = ended["spent"], ended.pop("spent_digest")
        if digest(row_digest, spent) != written:
            raise ValueError("what a fit spent was altered")
        reservation = replace(reservation, spent=spent)
    made = ended.pop("digest") if _says("digest", ended.get("digest")) else ""
    return LedgerEntry(number, time, label, reservation, rho, noted, state, ended, **origin, digest=made)


def _says(name: str, value: Any) -> bool:
    """Whether a setting of this name is what this version writes; earlier rows may hold anything."""
    if name in LONGEST_ENTRIES:
        return is_entry(name, value)
    return isinstance(value, str) and len(value) <= LONGEST_NAME and (name != "unit" or value in UNITS)


def _binding(connection: sqlite3.Connection, name: str) -> Binding:
    if _version(connection) == VERSION_WITHOUT_BINDING:
        return Binding()
    row = connection.execute("SELECT unit, neighbours, ids, digest FROM binding WHERE corpus = ?", (name,)).fetchone()
    if row is None or digest(name, *row[:3]) != row[3]:
        raise ValueError("what the corpus is registered for was altered")
    return Binding(*row[:3])


def _require_one_kind(binding: Binding, entries: list[LedgerEntry]) -> None:
    """No ledger of ours holds rows of two kinds: one that does was put together."""
    units = {entry.unit for entry in entries} | {binding.unit}
    relations = {entry.neighbours for entry in entries} | {binding.neighbours}
    if len(units - {""}) > 1 or len(relations - {""}) > 1:
        raise ValueError("rows of another kind")


def _noted(text: str) -> dict[str, Any]:
    """Plain values by name, as they were written; a row of an untrusted file may hold anything."""
    if len(text) > LONGEST_SETTINGS:
        raise ValueError("a text is too long")
    values = dict(json.loads(text))
    if not all(isinstance(value, str | int | float | None) for value in values.values()):
        raise ValueError("a value of another type")
    return values


def digest(*fields: str | float) -> str:
    """A digest of texts and numbers; anything else is not a row of a ledger."""
    if not all(isinstance(field, str | float) for field in fields):
        raise TypeError("a field of another type")
    text = json.dumps([field.hex() if isinstance(field, float) else field for field in fields])
    return hashlib.sha256(text.encode()).hexdigest()


def _explained(error: sqlite3.Error, path: str, create: bool) -> LedgerError:
    """SQLite's error, in words that name the remedy. Nothing was reserved."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_TOOBIG")) or not name:
        return _damaged(path)
    if name.startswith("SQLITE_CANTOPEN") and not create and not os.path.exists(path):
        return LedgerError(f"There is no ledger {path}. Register the corpus: DurableLedger.register.")
    reason = {
        "SQLITE_FULL": "the disk is full",
        "SQLITE_IOERR": "the disk failed or is full",
        "SQLITE_READONLY": "the file or its folder is read-only",
        "SQLITE_CANTOPEN": "the file or its folder cannot be opened or written",
        "SQLITE_BUSY": "another process holds it",
        "SQLITE_PERM": "permission is denied",
    }.get("_".join(name.split("_")[:2]), name)
    return LedgerError(f"The ledger {path} cannot be used: {reason}. Nothing was reserved and nothing released.")


def _damaged(path: str) -> LedgerError:
    return LedgerError(f"The ledger {path} is damaged or not a ledger. Restore it from a copy; nothing was released.")

"""The ledger in a file: its rows, its writers, files from strangers. What it shares with others: test_ledgers.py."""

from __future__ import annotations

import datetime
import pickle
import random
import re
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from ledger_support import MARK, SMALL

from private_topics.errors import LedgerError, PrivacyWarning
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.curves import mu_of_budget
from private_topics.privacy.ledger import file as ledger_file
from private_topics.privacy.ledger import in_memory
from private_topics.privacy.ledger.durable import DurableLedger
from private_topics.privacy.ledger.file import SCHEMA, VERSION
from private_topics.privacy.ledger.in_memory import FitAccount


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.db"


@pytest.fixture
def ledger(path: Path) -> DurableLedger:
    return DurableLedger.register(path, "notes", 3.0, 1e-6)


def test_rows_say_who_spent_what(path: Path) -> None:
    DurableLedger.register(path, "notes", 3.0, 1e-6)
    ledger = DurableLedger(path, "notes", label="first night")
    number = ledger.reserve(PrivacyBudget(0.5, 1e-7), settings={"n_components": 5, "sampler": "fast", "seed": None})
    ledger.reserve(PrivacyBudget(0.25, 1e-8), exact=True)
    first, second = ledger.entries()
    assert (first.id, first.label, first.state) == (number, "first night", "reserved")
    assert first.reservation.budget == PrivacyBudget(0.5, 1e-7)
    assert first.rho == pytest.approx(mu_of_budget(0.5, 1e-7) ** 2 / 2)
    assert first.settings == {"n_components": 5, "sampler": "fast", "seed": None}
    assert datetime.date.fromisoformat(first.time).isoformat() == first.time, "a day, and nothing finer"
    assert second.reservation.guarantee == "concentrated"
    ledger.finish(number, results={"n_words": 289})
    assert [entry.state for entry in ledger.entries()] == ["finished", "reserved"]
    assert [entry.results for entry in ledger.entries()] == [{"n_words": 289}, {}]
    assert ledger.spent == (PrivacyBudget(0.5, 1e-7), PrivacyBudget(0.25, 1e-8))
    with pytest.raises(LedgerError, match="plain"):
        ledger.reserve(SMALL, settings={"counts": np.zeros(3)})
    for listed in (["n_components"], "n_components", 5):
        with pytest.raises(LedgerError, match="must be a mapping"):
            ledger.reserve(SMALL, settings=listed)  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="characters"):
        ledger.reserve(SMALL, settings={"text": "x" * 20_000})
    assert len(ledger.entries()) == 2


ORDERS = {  # of three fits: whether each begins or ends; the reservations are in one order in all of them
    "one after the other": "abcdef",
    "all at once": "acebdf",
    "the first ends last": "acefdb",
    "the second ends first": "acdebf",
}


def test_the_bytes_of_a_file_do_not_say_which_fit_was_quicker(tmp_path: Path) -> None:
    """What a fit notes at its end goes into room that its row has had from the beginning; deleted bytes are zero."""
    found = {}
    for order, steps in ORDERS.items():
        ledger = DurableLedger.register(tmp_path / f"{order}.db", "notes", 3.0, 1e-6)
        for step in steps:
            fit, ends = divmod("abcdef".index(step), 2)
            if ends:
                ledger.finish(fit + 1, results={"n_words": 10**fit}, digest=f"{fit}" * 64)
            else:
                assert ledger.reserve(SMALL, settings={"n_units": 7**fit}) == fit + 1
        assert [entry.digest[:1] for entry in ledger.entries()] == ["0", "1", "2"]
        found[order] = Path(ledger.path).read_bytes()
    for order, content in found.items():
        assert content == found["one after the other"], order


def test_no_file_of_a_ledger_holds_a_time(path: Path) -> None:
    ledger = DurableLedger.register(path, "notes", 3.0, 1e-6)
    ledger.finish(ledger.reserve(SMALL))
    assert re.search(rb"\d\d:\d\d|\d{4}-\d\d-\d\dT", path.read_bytes()) is None


def test_the_day_is_that_on_which_a_fit_begins(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The day of the reservation would depend on how long the corpus took to read, where that was around midnight."""
    ledger = DurableLedger.register(path, "notes", 3.0, 1e-6)
    monkeypatch.setattr(in_memory, "today", lambda: "2031-12-31")
    account = FitAccount(ledger, {})
    monkeypatch.setattr(in_memory, "today", lambda: "2032-01-01")
    account.protects("document")
    assert account.reserve is not None
    account.reserve(SMALL)
    assert ledger.entries()[0].time == "2031-12-31"


def test_the_total_is_fixed(path: Path) -> None:
    DurableLedger.register(path, "notes", 3.0, 1e-6).reserve(SMALL)
    DurableLedger.register(path, "letters", 1.0, 1e-7)
    assert len(DurableLedger.register(path, "notes", 3.0, 1e-6).entries()) == 1
    for change in ({"epsilon": 4.0}, {"epsilon": 2.0}, {"delta": 1e-5}, {"set_aside": 0.5}):
        with pytest.raises(LedgerError, match="fixed"):
            DurableLedger.register(**{"path": path, "name": "notes", "epsilon": 3.0, "delta": 1e-6, **change})
    assert DurableLedger.registered(path) == {"letters": PrivacyBudget(1.0, 1e-7), "notes": PrivacyBudget(3.0, 1e-6)}
    assert DurableLedger(path, "notes").total == PrivacyBudget(3.0, 1e-6)
    assert DurableLedger(path, "letters").entries() == ()


def test_a_full_file_system_is_refused_before_noise(ledger: DurableLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's own quota stands in for a full disk: no further page may be allocated."""
    quota = (*ledger_file.SAFETY, "PRAGMA max_page_count = 1")
    monkeypatch.setattr(ledger_file, "SAFETY", quota)
    reserved, problem = 0, ""
    while not problem:
        try:
            ledger.reserve(SMALL, settings={"padding": "x" * 2000})
            reserved += 1
        except LedgerError as error:
            problem = str(error)
    monkeypatch.undo()
    assert "full" in problem
    assert len(ledger.entries()) == reserved


def test_a_writer_waits_for_another(ledger: DurableLedger, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(ledger_file, "WAIT_SECONDS", 0.05)
    with pytest.raises(LedgerError, match="another process holds it"):
        ledger.reserve(SMALL)
    holder.execute("ROLLBACK")
    holder.close()
    ledger.reserve(SMALL)


# -- files from strangers --------------------------------------------------------------------------------------------


def altered(path: Path, *statements: str) -> None:
    with sqlite3.connect(path, isolation_level=None) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


@pytest.fixture(scope="module")
def forty_rows(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("ledger") / "budget.db"
    ledger = DurableLedger.register(path, "notes", 3.0, 1e-6)
    for _ in range(40):
        ledger.reserve(SMALL, settings={"note": "y" * 300})
    return path.read_bytes()


@pytest.fixture
def used(path: Path, forty_rows: bytes) -> DurableLedger:
    path.write_bytes(forty_rows)
    return DurableLedger(path, "notes")


ALTERATIONS = {
    "not a budget ledger": ("PRAGMA application_id = 7",),
    "another version": (f"PRAGMA user_version = {VERSION + 1}",),
    "altered": (
        "CREATE TRIGGER forget AFTER INSERT ON reservation BEGIN DELETE FROM reservation; END",
        "CREATE VIEW more AS SELECT * FROM corpus",
        "CREATE INDEX quick ON reservation (corpus)",
        "ALTER TABLE reservation ADD COLUMN extra TEXT",
        "DROP TABLE reservation",
    ),
    "damaged": (
        "UPDATE reservation SET epsilon = -1.0 WHERE id = 3",
        "UPDATE reservation SET epsilon = 'free' WHERE id = 3",
        "UPDATE reservation SET epsilon = 1e-30 WHERE id = 3",
        "UPDATE reservation SET rho = 0.0 WHERE id = 3",
        "UPDATE reservation SET threshold_delta = 9e999 WHERE id = 3",
        "UPDATE reservation SET delta = 1e-7 WHERE id = 3",
        "UPDATE reservation SET guarantee = 'none' WHERE id = 3",
        "UPDATE reservation SET guarantee = x'00ff' WHERE id = 3",
        "UPDATE reservation SET state = 'undone' WHERE id = 3",
        "UPDATE reservation SET settings = '[[' WHERE id = 3",
        f"UPDATE reservation SET settings = '{'[' * 100_000}' WHERE id = 3",
        "UPDATE reservation SET results = '[[' WHERE id = 3",
        "UPDATE reservation SET results = '7' WHERE id = 3",
        "UPDATE reservation SET label = cast(x'fffe80' AS TEXT) WHERE id = 3",
        "UPDATE corpus SET epsilon = 0.0",
        "UPDATE corpus SET set_aside = 2.0",
    ),
    "No corpus 'notes'": ("DELETE FROM corpus",),
}


@pytest.mark.parametrize(
    ("statement", "reason"),
    [(statement, reason) for reason, statements in ALTERATIONS.items() for statement in statements],
    ids=lambda text: text[:60],
)
def test_altered_ledgers_are_refused(used: DurableLedger, path: Path, statement: str, reason: str) -> None:
    altered(path, statement)
    with pytest.raises(LedgerError, match=reason):
        used.reserve(SMALL)
    with pytest.raises(LedgerError, match=reason):
        DurableLedger(path, "notes")


@pytest.mark.parametrize("content", [b"", b"not a database at all\n" * 100, bytes(8192)])
def test_files_of_another_kind_are_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(LedgerError):
        DurableLedger(path, "notes")
    if content:  # an empty file is where a ledger may be laid out
        with pytest.raises(LedgerError):
            DurableLedger.register(path, "notes", 1.0, 1e-6)
        assert path.read_bytes() == content


def test_another_programs_database_is_left_alone(path: Path) -> None:
    altered(path, "CREATE TABLE corpus (name TEXT)", "INSERT INTO corpus VALUES ('mine')")
    before = path.read_bytes()
    for attempt in (lambda: DurableLedger(path, "notes"), lambda: DurableLedger.register(path, "notes", 1.0, 1e-6)):
        with pytest.raises(LedgerError, match="not a budget ledger"):
            attempt()
    assert path.read_bytes() == before


def test_a_damaged_file_is_refused_or_read_right(used: DurableLedger, path: Path) -> None:
    """Random damage: either an error, or the books as they were; never fewer reservations. Seeded."""
    whole, entries = path.read_bytes(), used.entries()
    damage, refusals = random.Random(1), 0
    for _ in range(60):
        broken = bytearray(whole)
        start = damage.randrange(len(broken))
        for position in range(start, min(len(broken), start + damage.choice([1, 16, 600]))):
            broken[position] = damage.randrange(256)
        path.write_bytes(broken)
        try:
            assert tuple(e.reservation for e in used.entries()) == tuple(e.reservation for e in entries)
        except LedgerError:
            refusals += 1
    assert refusals > 25
    for length in (0, 50, 100, 4096, len(whole) - 4096, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(LedgerError):
            used.reserve(SMALL)
    path.write_bytes(whole)
    assert used.entries() == entries


def test_no_ledger_no_fit(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="There is no ledger"):
        DurableLedger(tmp_path / "missing.db", "notes")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(LedgerError, match="cannot be opened"):
        DurableLedger.register(tmp_path / "no" / "folder" / "b.db", "notes", 1.0, 1e-6)
    with pytest.raises(LedgerError, match="cannot be opened"):
        DurableLedger.register(tmp_path, "notes", 1.0, 1e-6)
    for name in ("", "a\nb", "x" * 300, None):
        with pytest.raises(LedgerError, match="printable"):
            DurableLedger.register(tmp_path / "b.db", name, 1.0, 1e-6)  # type: ignore[arg-type]
    odd = tmp_path / "what? #1 %41.db"
    DurableLedger.register(odd, "notes'; DROP TABLE corpus; --", 1.0, 1e-6).reserve(SMALL)
    assert odd.exists()
    assert [*DurableLedger.registered(odd)] == ["notes'; DROP TABLE corpus; --"]


def test_the_file_is_what_it_says(used: DurableLedger, path: Path) -> None:
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (MARK,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert {name for (name,) in connection.execute("SELECT name FROM sqlite_master")} == set(SCHEMA)
    connection.close()
    assert [file.name for file in path.parent.iterdir()] == ["budget.db"]


def test_a_commit_waits_for_the_disk(used: DurableLedger, path: Path) -> None:
    with ledger_file.opened(str(path)) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA: the folder too
        assert connection.execute("PRAGMA fullfsync").fetchone() == (1,)


def test_a_note_that_cannot_be_written_only_warns(ledger: DurableLedger, path: Path) -> None:
    number = ledger.reserve(SMALL)
    whole = path.read_bytes()
    path.write_bytes(b"garbage" * 1000)
    with pytest.warns(PrivacyWarning, match="could not note it"):
        ledger.finish(number)
    path.write_bytes(whole)
    with pytest.warns(PrivacyWarning, match="must be plain"):
        ledger.finish(number, results={"counts": np.zeros(3)})
    assert ledger.entries()[0].state == "reserved"


def test_nothing_is_noted_in_an_altered_file(ledger: DurableLedger, path: Path) -> None:
    """A trigger of a stranger would run with the note, and delete what was reserved."""
    number = ledger.reserve(SMALL)
    altered(path, "CREATE TRIGGER forget AFTER UPDATE ON reservation BEGIN DELETE FROM reservation; END")
    with pytest.warns(PrivacyWarning, match="tables of the ledger .* were altered"):
        ledger.finish(number)
    altered(path, "DROP TRIGGER forget")
    assert [entry.state for entry in ledger.entries()] == ["reserved"]


def test_a_row_with_the_cost_of_another_budget_is_refused(ledger: DurableLedger, path: Path) -> None:
    """Its digest is right: whoever made the row computed that too."""
    ledger.reserve(SMALL, unit="document")
    with sqlite3.connect(path, isolation_level=None) as connection:
        total = connection.execute("SELECT name, epsilon, delta, set_aside, time FROM corpus").fetchone()
        row = connection.execute(f"SELECT {ledger_file.DIGESTED} FROM reservation").fetchone()
        for times, refused in ((1.0, False), (0.5, True), (2.0, True)):
            fields = [*row[:6], row[6] * times, row[7]]
            last = ledger_file.digest(ledger_file.digest(*total), *fields)
            connection.execute("UPDATE reservation SET rho = ?, digest = ?", (fields[6], last))
            connection.execute("UPDATE corpus SET last = ?", (last,))
            if refused:
                with pytest.raises(LedgerError, match="damaged"):
                    ledger.entries()
            else:
                assert len(ledger.entries()) == 1
    connection.close()


def test_names_of_the_greatest_length_come_back(path: Path) -> None:
    DurableLedger.register(path, "notes", 3.0, 1e-6)
    longest = "x" * ledger_file.LONGEST_NAME
    ledger = DurableLedger(path, "notes", label=longest, who=longest)
    ledger.finish(ledger.reserve(SMALL), digest=longest)
    (entry,) = ledger.entries()
    assert (entry.label, entry.who, entry.digest) == (longest, longest, longest)
    for name in ("label", "who"):
        with pytest.raises(LedgerError, match="printable"):
            DurableLedger(path, "notes", **{name: longest + "x"})


def test_a_lock_is_waited_for_a_minute_as_the_proof_says(path: Path, ledger: DurableLedger) -> None:
    with ledger_file.opened(str(path)) as connection:
        assert connection.execute("PRAGMA busy_timeout").fetchone() == (60_000,)


def test_pickled_copies_share_the_file(ledger: DurableLedger) -> None:
    pickle.loads(pickle.dumps(ledger)).reserve(SMALL)
    assert len(ledger.entries()) == 1

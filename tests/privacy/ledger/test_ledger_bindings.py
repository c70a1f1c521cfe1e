"""What a total is a promise about: one kind of unit, one relation of neighbours, these people; and who ran what."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ledger_support import SMALL, old_ledger

from private_topics import (
    BudgetLedger,
    CandidateVocabulary,
    DurableLedger,
    PrivateSpectralLDA,
    PrivateVariationalLDA,
    PrivateVocabulary,
    WordList,
    fit_texts,
    make_lda_corpus,
    make_vocabulary,
)
from private_topics._version import __version__
from private_topics.errors import LedgerError, PrivacyError
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.ledger.binding import NEIGHBOURS, UNITS, fingerprint
from private_topics.privacy.ledger.file import VERSION, digest
from private_topics.privacy.ledger.in_memory import FitAccount
from private_topics.privacy.randomness import NoiseStream

pytestmark = pytest.mark.filterwarnings("ignore::private_topics.errors.PrivacyWarning")

X = make_lda_corpus(120, 20, 2, random_state=0)[0]
PATIENTS = [f"P{number // 3}" for number in range(120)]
TEXTS = ["fever cough night", "knee pain walking", "letter doctor thanks"] * 40
LETTERS = list(zip(TEXTS, PATIENTS, strict=True))
LISTED = WordList("mine", ("cough", "fever", "knee", "letter", "pain", "walking"))
KEY = bytes(range(32))


def spectral(ledger: Any, **more: Any) -> PrivateSpectralLDA:
    return PrivateSpectralLDA(2, epsilon=20.0, delta=1e-5, refine_steps=0, n_jobs=1, ledger=ledger, **more)


def variational(ledger: Any) -> PrivateVariationalLDA:
    return PrivateVariationalLDA(2, epsilon=20.0, delta=1e-5, steps=2, sampling_rate=0.5, n_jobs=1, ledger=ledger)


def texts_of(users: bool) -> list[Any]:
    return LETTERS if users else TEXTS


RUNS = {  # every way to spend a budget: `run(ledger, users)`
    "spectral": lambda ledger, users: spectral(ledger).fit(X, groups=PATIENTS if users else None),
    "variational": lambda ledger, users: variational(ledger).fit(X, groups=PATIENTS if users else None),
    "texts, public list": lambda ledger, users: fit_texts(spectral(ledger), texts_of(users), LISTED),
    "texts, private vocabulary": lambda ledger, users: fit_texts(
        spectral(ledger), texts_of(users), PrivateVocabulary()
    ),
    "texts, candidates": lambda ledger, users: fit_texts(
        spectral(ledger), texts_of(users), CandidateVocabulary(LISTED)
    ),
    "vocabulary alone": lambda ledger, users: make_vocabulary(
        texts_of(users), PrivacyBudget(20.0, 1e-5), PrivateVocabulary(), ledger=ledger
    ),
}
every_run = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.db"


@pytest.fixture(params=["in memory", "in a file"])
def opened(request: pytest.FixtureRequest, path: Path) -> Any:
    """`opened(unit=..., neighbours=...)`: a ledger with room for many fits."""
    if request.param == "in memory":
        return lambda **kind: BudgetLedger(1000.0, 1e-2, **kind)
    return lambda **kind: DurableLedger.register(path, "notes", 1000.0, 1e-2, **kind)


# -- units and neighbours --------------------------------------------------------------------------------------------


@every_run
@pytest.mark.parametrize("users", [True, False])
def test_a_fit_that_protects_something_else_is_refused(
    opened: Any, run: Any, users: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = opened(unit="user" if users else "document")
    run(ledger, users)
    monkeypatch.setattr(NoiseStream, "_rounded", lambda *arguments: pytest.fail("noise was drawn"))
    monkeypatch.setattr(NoiseStream, "coins", lambda *arguments: pytest.fail("coins were tossed"))
    with pytest.raises(PrivacyError, match=f"for {'user' if users else 'document'}s, and this fit protects"):
        run(ledger, not users)
    assert len(ledger.spent) == 1


@every_run
def test_the_first_fit_fixes_the_unit_where_nobody_has(opened: Any, run: Any) -> None:
    ledger = opened()
    assert ledger.unit is None
    run(ledger, True)
    assert ledger.unit == "user"
    with pytest.raises(PrivacyError, match="do not add up"):
        run(ledger, False)
    assert len(ledger.spent) == 1


@every_run
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_a_total_for_other_neighbours_refuses_fits_for_replaced_units(opened: Any, run: Any, neighbours: str) -> None:
    ledger = opened(neighbours=neighbours)
    assert ledger.neighbours == neighbours
    if neighbours == "replace":
        run(ledger, True)
        assert len(ledger.spent) == 1
        return
    with pytest.raises(PrivacyError, match=f"neighbours='{neighbours}', and this fit is private for"):
        run(ledger, True)
    assert ledger.spent == ()


RELATED = {  # every way to spend a budget under another relation
    "counts": lambda ledger, relation: spectral(ledger, neighbours=relation).fit(X),
    "texts, public list": lambda ledger, relation: fit_texts(spectral(ledger, neighbours=relation), TEXTS, LISTED),
    "texts, private vocabulary": lambda ledger, relation: fit_texts(
        spectral(ledger, neighbours=relation), TEXTS, PrivateVocabulary()
    ),
    "texts, candidates": lambda ledger, relation: fit_texts(
        spectral(ledger, neighbours=relation), TEXTS, CandidateVocabulary(LISTED)
    ),
    "vocabulary alone": lambda ledger, relation: make_vocabulary(
        TEXTS, PrivacyBudget(20.0, 1e-5), CandidateVocabulary(LISTED), ledger=ledger, neighbours=relation
    ),
}


@pytest.mark.parametrize("run", RELATED.values(), ids=RELATED)
@pytest.mark.parametrize("neighbours", ["zero-out", "add-remove"])
def test_a_total_for_replaced_units_refuses_fits_for_others_before_noise(
    opened: Any, run: Any, neighbours: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = opened()
    with monkeypatch.context() as patch:
        patch.setattr(NoiseStream, "_rounded", lambda *arguments: pytest.fail("noise was drawn"))
        with pytest.raises(PrivacyError, match=f"'replace', and this fit is private for neighbours='{neighbours}'"):
            run(ledger, neighbours)
    assert ledger.spent == ()
    run(ledger, "replace")
    assert len(ledger.spent) == 1


@pytest.mark.parametrize("neighbours", ["zero-out", "add-remove"])
@pytest.mark.parametrize("run", RELATED.values(), ids=RELATED)
def test_the_row_of_a_fit_says_its_relation(path: Path, run: Any, neighbours: str) -> None:
    """Where the number of units is not public, the row has the released one alone, noted after its noise."""
    ledger = DurableLedger.register(path, "notes", 1000.0, 1e-2, neighbours=neighbours)
    run(ledger, neighbours)
    (entry,) = ledger.entries()
    assert entry.neighbours == neighbours
    assert ("n_units" in entry.settings) == (neighbours == "zero-out")


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_the_relation_of_a_fit_is_what_it_says(opened: Any, neighbours: str) -> None:
    ledger = opened(neighbours="zero-out")
    if neighbours != "zero-out":
        with pytest.raises(PrivacyError, match="do not add up"):
            FitAccount(ledger, {}, neighbours=neighbours)
        with pytest.raises(PrivacyError, match="do not add up"):
            ledger.reserve(SMALL, unit="user", neighbours=neighbours)
        return
    account = FitAccount(ledger, {}, neighbours=neighbours)
    account.protects("user")
    assert account.reserve is not None
    account.reserve(SMALL)
    assert len(ledger.spent) == 1


def test_a_reservation_that_does_not_say_is_of_the_registered_kind(path: Path) -> None:
    ledger = DurableLedger.register(path, "notes", 3.0, 1e-6, unit="user", neighbours="add-remove")
    ledger.reserve(SMALL)
    (entry,) = ledger.entries()
    assert (entry.unit, entry.neighbours) == ("user", "add-remove")


def test_what_is_registered_is_fixed(path: Path) -> None:
    DurableLedger.register(path, "notes", 3.0, 1e-6).reserve(SMALL, unit="user")
    again = DurableLedger.register(path, "notes", 3.0, 1e-6)
    assert (again.unit, again.neighbours, len(again.entries())) == ("user", "replace", 1)
    assert DurableLedger.register(path, "notes", 3.0, 1e-6, unit="user").unit == "user"
    for change in ({"unit": "document"}, {"neighbours": "zero-out"}):
        with pytest.raises(LedgerError, match="fixed"):
            DurableLedger.register(path, "notes", 3.0, 1e-6, **change)
    for change in ({"unit": "person"}, {"neighbours": "swap"}, {"unit": 3}, {"neighbours": ["replace"]}):
        with pytest.raises(PrivacyError, match="of a ledger must be"):
            DurableLedger.register(path, "more", 3.0, 1e-6, **change)  # type: ignore[arg-type]
    assert list(DurableLedger.registered(path)) == ["notes"]


# -- who, what, and what came of it ----------------------------------------------------------------------------------


@every_run
@pytest.mark.parametrize("users", [True, False])
def test_an_entry_says_who_ran_what_on_whom(
    path: Path, run: Any, users: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRIVATE_TOPICS_WHO", "ana, statistics")
    ledger = DurableLedger.register(path, "notes", 1000.0, 1e-2)
    made = run(ledger, users)
    (entry,) = ledger.entries()
    assert (entry.who, entry.library, entry.neighbours) == ("ana, statistics", __version__, "replace")
    assert entry.what == ("vocabulary" if isinstance(made, tuple) else "fit")
    assert entry.unit == ("user" if users else "document")
    assert entry.settings["n_units"] == (40 if users else 120)
    assert entry.state == "finished"
    assert not {"who", "what", "unit", "digest"} & {*entry.settings, *entry.results}


def test_who_it_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PRIVATE_TOPICS_WHO", raising=False)
    monkeypatch.setenv("LOGNAME", "b\x1born")
    DurableLedger.register(path, "notes", 3.0, 1e-6).reserve(SMALL)
    DurableLedger(path, "notes", who="somebody").reserve(SMALL)
    DurableLedger(path, "notes", who="").reserve(SMALL)
    assert [entry.who for entry in DurableLedger(path, "notes").entries()] == ["b?orn", "somebody", ""]


# -- ids -------------------------------------------------------------------------------------------------------------


def registered(path: Path, ids: Any = PATIENTS, **more: Any) -> DurableLedger:
    return DurableLedger.register(path, "notes", 1000.0, 1e-2, ids=ids, key=KEY, **more)


@every_run
def test_a_corpus_of_other_people_is_refused(path: Path, run: Any) -> None:
    ledger = registered(path, [*PATIENTS[:-1], "somebody else"])
    with pytest.raises(LedgerError, match="not the ids") as refused:
        run(ledger, True)
    assert "P3" not in str(refused.value)
    assert ledger.spent == ()
    registered(path, reversed(PATIENTS), renew_ids=True)
    run(ledger, True)
    assert len(ledger.spent) == 1


def test_ids_are_a_set_of_labels_whatever_their_type(path: Path) -> None:
    numbers = np.repeat(np.arange(40), 3)
    ledger = registered(path, (str(number) for number in range(39, -1, -1)))
    for groups in (numbers, numbers.astype(str), numbers.astype(object), list(map(int, numbers))):
        spectral(ledger).fit(X, groups=groups)
    assert len(ledger.spent) == 4


def test_ids_need_the_key_and_users(path: Path) -> None:
    ledger = registered(path)
    assert ledger.unit == "user"
    without = DurableLedger(path, "notes")
    with pytest.raises(LedgerError, match="needs the key"):
        spectral(without).fit(X, groups=PATIENTS)
    with pytest.raises(LedgerError, match="not the ids"):
        spectral(DurableLedger(path, "notes", key=KEY[::-1])).fit(X, groups=PATIENTS)
    with pytest.raises(LedgerError, match="does not know the ids"):
        ledger.reserve(SMALL)
    for wrong in ({"key": None}, {"key": b"short"}, {"unit": "document"}):
        with pytest.raises(LedgerError):
            DurableLedger.register(path, "more", 3.0, 1e-6, **{"ids": PATIENTS, "key": KEY, **wrong})
    assert ledger.spent == ()


def test_ids_are_not_compared_where_membership_is_protected(path: Path) -> None:
    """A refused run would tell that somebody is in the corpus, or is not."""
    with pytest.raises(LedgerError, match="nobody may learn who is in the corpus"):
        registered(path, PATIENTS, neighbours="add-remove")
    DurableLedger.register(path, "notes", 1000.0, 1e-2, unit="user", neighbours="add-remove")
    with pytest.raises(LedgerError, match="nobody may learn who is in the corpus"):
        registered(path, PATIENTS, neighbours="add-remove")
    registered(path.with_name("other.db"), PATIENTS, neighbours="zero-out")


def test_new_ids_are_registered_by_name_only(path: Path) -> None:
    ledger = registered(path)
    registered(path)  # the same: changes nothing
    grown = [*PATIENTS, "P99"]
    with pytest.raises(LedgerError, match="renew"):
        registered(path, grown)
    spectral(ledger).fit(X, groups=PATIENTS)
    registered(path, grown, renew_ids=True)
    with pytest.raises(LedgerError, match="not the ids"):
        spectral(ledger).fit(X, groups=PATIENTS)
    first, *_ = ledger.entries()
    assert len(first.ids) == 16


def test_without_the_key_nothing_is_said_about_the_ids(path: Path) -> None:
    """Two registrations of the same people differ, and no id stands in the file."""
    registered(path)
    first = path.read_bytes()
    stored = {fingerprint(PATIENTS, KEY) for _ in range(10)}
    assert len(stored) == 10
    assert all(id.encode() not in first.replace(b"PRAGMA", b"") for id in ("P17", "P23", "P39"))
    assert KEY not in first
    (salt, _), *_ = (text.split(":") for text in stored)
    assert fingerprint(PATIENTS, KEY, bytes.fromhex(salt)) in stored
    assert fingerprint(PATIENTS, KEY[1:], bytes.fromhex(salt)) not in stored
    assert fingerprint(["ab", "c"], KEY, b"salt") != fingerprint(["a", "bc"], KEY, b"salt")


# -- ledgers of an earlier version -----------------------------------------------------------------------------------


def rows_of(path: Path) -> list[Any]:
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT * FROM reservation WHERE label = 'then'").fetchall()
    connection.close()
    return rows


def test_an_older_ledger_is_read_as_it_is(path: Path) -> None:
    old_ledger(path, {"estimator": "PrivateSpectralLDA", "n_units": 5}, {"who": 3})
    before = path.read_bytes()
    ledger = DurableLedger(path, "notes")
    assert (ledger.unit, ledger.neighbours, len(ledger.entries())) == (None, "replace", 2)
    assert ledger.entries()[0].time == "2025-02-03T04:05:06.789+00:00"
    assert ledger.entries()[1].settings == {"who": 3}
    assert 0 < ledger.remaining() < 3.0
    assert path.read_bytes() == before


def test_an_older_ledger_that_does_not_say_its_unit_must_be_told(path: Path) -> None:
    old_ledger(path, {"estimator": "PrivateSpectralLDA", "n_units": 5}, {}, corpora=("letters", "notes"))
    ledger, rows = DurableLedger(path, "notes"), rows_of(path)
    for unit in UNITS:
        with pytest.raises(LedgerError, match="--unit user"):
            ledger.reserve(SMALL, unit=unit)
    DurableLedger.register(path, "notes", 3.0, 1e-6, unit="user")
    ledger.reserve(SMALL, unit="user")
    with pytest.raises(PrivacyError, match="for users"):
        ledger.reserve(SMALL, unit="document")
    assert rows_of(path) == rows, "an old row was touched"
    assert [entry.unit for entry in ledger.entries()] == ["", "", "user"]
    other = DurableLedger(path, "letters")
    assert (other.unit, other.neighbours) == (None, "replace")
    with pytest.raises(LedgerError, match="--unit user"):
        other.reserve(SMALL, unit="user")


def test_an_older_ledger_has_the_unit_of_its_rows(path: Path) -> None:
    old_ledger(path, {"unit": "user"}, {"unit": "user"})
    ledger, rows = DurableLedger(path, "notes"), rows_of(path)
    assert ledger.unit == "user"
    with pytest.raises(PrivacyError, match="for users"):
        ledger.reserve(SMALL, unit="document")
    with pytest.raises(PrivacyError, match="neighbours='replace'"):
        ledger.reserve(SMALL, unit="user", neighbours="zero-out")
    with pytest.raises(LedgerError, match="fixed"):
        DurableLedger.register(path, "notes", 3.0, 1e-6, unit="document")
    ledger.reserve(SMALL, unit="user")
    assert rows_of(path) == rows
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
    connection.close()


def test_an_older_ledger_without_rows_takes_the_unit_of_its_first_fit(path: Path) -> None:
    old_ledger(path)
    ledger = DurableLedger(path, "notes")
    ledger.reserve(SMALL, unit="document")
    assert ledger.unit == "document"


# -- altered bindings ------------------------------------------------------------------------------------------------


def signed(**change: str) -> str:
    binding = {"unit": "user", "neighbours": "replace", "ids": "", **change}
    cells = ", ".join(f"{name} = '{value}'" for name, value in binding.items())
    return f"UPDATE binding SET {cells}, digest = '{digest('notes', *binding.values())}'"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE binding SET unit = 'document'",
        "UPDATE binding SET neighbours = 'zero-out'",
        "UPDATE binding SET ids = ''",
        "UPDATE binding SET digest = ''",
        "UPDATE binding SET unit = x'00'",
        "DELETE FROM binding",
        signed(unit="document"),  # the rows say users
        signed(neighbours="zero-out"),
        signed(neighbours="swap"),
        signed(unit="person"),
        signed(ids="0:0"),
    ],
    ids=lambda text: text[:50],
)
def test_altered_bindings_are_refused(path: Path, statement: str) -> None:
    ledger = registered(path)
    ledger.reserve(SMALL, ids=PATIENTS)
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.execute(statement)
    connection.close()
    with pytest.raises(LedgerError, match="damaged"):
        ledger.reserve(SMALL, ids=PATIENTS)
    with pytest.raises(LedgerError, match="damaged"):
        DurableLedger.register(path, "notes", 1000.0, 1e-2)

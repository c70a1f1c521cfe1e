"""Who asked for a fit, who approved it and why: in the ledger, in the model, in old ledgers nothing."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ledger_support import SMALL, old_ledger

from private_topics import LedgerError, PrivateSpectralLDA, Request, load
from private_topics.errors import ModelFileError
from private_topics.estimators import saving
from private_topics.privacy.ledger.durable import DurableLedger

ASKED = {"requested_by": "Dr. Müller", "approved_by": "privacy board", "reason": "which complaints are frequent?"}


def new(tmp_path: Path, **request: str) -> DurableLedger:
    DurableLedger.register(tmp_path / "budget.db", "notes", 1e4, 1e-3)
    return DurableLedger(tmp_path / "budget.db", "notes", **request)


def fitted(ledger: Any) -> PrivateSpectralLDA:
    counts = np.random.default_rng(0).integers(0, 3, size=(200, 12))
    return PrivateSpectralLDA(2, epsilon=50.0, refine_steps=0, ledger=ledger).fit(counts)


def test_a_row_says_who_asked_and_who_approved(tmp_path: Path) -> None:
    new(tmp_path, **ASKED).reserve(SMALL)
    new(tmp_path).reserve(SMALL)
    first, second = DurableLedger(tmp_path / "budget.db", "notes").entries()
    assert first.request == Request(**ASKED)
    assert (first.requested_by, first.approved_by, first.reason) == tuple(ASKED.values())
    assert second.request == Request()
    assert not second.request
    assert not set(ASKED) & (set(first.settings) | set(second.settings))


def test_a_row_cannot_be_altered_unnoticed(tmp_path: Path) -> None:
    ledger = new(tmp_path, **ASKED)
    ledger.reserve(SMALL)
    with sqlite3.connect(tmp_path / "budget.db") as connection:
        connection.execute("UPDATE reservation SET settings = replace(settings, 'privacy board', 'somebody else')")
    with pytest.raises(LedgerError, match="damaged"):
        ledger.entries()


def test_old_ledgers_are_read_and_written(tmp_path: Path) -> None:
    old_ledger(tmp_path / "old.db", {"reason": 5, "estimator": "X"}, {"requested_by": "x" * 300})
    entries = DurableLedger(tmp_path / "old.db", "notes").entries()
    assert [entry.request for entry in entries] == [Request(), Request()]
    assert entries[0].settings == {"reason": 5, "estimator": "X"}
    DurableLedger(tmp_path / "old.db", "notes", **ASKED).reserve(SMALL)
    assert DurableLedger(tmp_path / "old.db", "notes").entries()[-1].request == Request(**ASKED)


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("bad", ["two\nlines", "bell\a", "\x1b[31mred", "x" * 1_001, 5, None, "\u202eback"])
def test_entries_are_short_and_printable(name: str, bad: Any, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=name):
        Request(**{name: bad})
    with pytest.raises(LedgerError, match=name):
        new(tmp_path, **{name: bad})


def test_a_request_in_words() -> None:
    assert Request(**ASKED).text == (
        "Requested by Dr. Müller, approved by privacy board. Reason: which complaints are frequent?"
    )
    assert Request(approved_by="board").text == "Approved by board"
    assert Request(reason="why").text == "Reason: why"
    assert Request().text == ""


def test_the_model_keeps_it_and_its_digest_covers_it(tmp_path: Path) -> None:
    ledger = new(tmp_path, **ASKED)
    model = fitted(ledger)
    assert model.sign_off_ == Request(**ASKED)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").sign_off_ == Request(**ASKED)
    header, arrays = saving.read_model(tmp_path / "model")
    assert (
        saving.file_digest_of(
            {name: value for name, value in header.items() if name not in ("sha256", "format", "version", "arrays")},
            arrays,
        )
        == ledger.entries()[0].digest
    )
    header["sign_off"]["approved_by"] = "somebody else"
    assert saving.model_digest(header, arrays) != header["sha256"]


def test_a_model_without_a_request_has_an_empty_one(tmp_path: Path) -> None:
    model = fitted(None)
    assert model.sign_off_ == Request()
    model.save(tmp_path / "model")
    assert "sign_off" not in saving.read_model(tmp_path / "model")[0]
    assert load(tmp_path / "model").sign_off_ == Request()


@pytest.mark.parametrize("stored", [5, {"by": "x"}, {"reason": 5}, {"reason": "a\nb"}, ["x"]])
def test_a_strangers_request_is_checked(stored: Any, tmp_path: Path) -> None:
    fitted(None).save(tmp_path / "model")
    header, arrays = saving.read_model(tmp_path / "model")
    del header["sha256"], header["arrays"]
    saving.write_model(tmp_path / "model", json.loads(json.dumps(header | {"sign_off": stored})), arrays)
    with pytest.raises(ModelFileError):
        load(tmp_path / "model")

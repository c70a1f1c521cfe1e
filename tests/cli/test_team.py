"""A team: request and approval from the command line, and a report that anyone can check against model and ledger."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from command_support import ran, run

from private_topics import DurableLedger, Request, load, rename_topics, verify_model
from private_topics.audit.model_seal import UNSEALED, is_sealed, seal_page

ASKED = ("--requested-by", "Dr. Müller", "--approved-by", "board <b>", "--reason", "which complaints are frequent?")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("team")
    sp.save_npz(folder / "counts.npz", sp.csr_array(np.random.default_rng(0).integers(0, 3, size=(300, 12))))
    DurableLedger.register(folder / "budget.db", "notes", 1e5, 1e-2)
    for name, asked in (("other", ()), ("model", ASKED)):
        fit(folder, name, *asked)
    return folder


def fit(folder: Path, name: str, *more: Any) -> Any:
    charged = "--ledger", folder / "budget.db", "--corpus", "notes", "-o", folder / name
    few = "--epsilon", 50, "-k", 2, "--refine-steps", 0, "--report", folder / f"{name}.html"
    return ran("fit", folder / "counts.npz", *charged, *few, *more)


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(made, tmp_path / "copy"))


def verify(folder: Path, *more: Any) -> Any:
    where = "--report", folder / "model.html", "--ledger", folder / "budget.db", "--corpus", "notes"
    return run("verify", folder / "model", *where, *more)


def failed(result: Any) -> list[str]:
    return [line.split("\t")[1] for line in result.stdout.splitlines() if line.startswith("NO\t")]


def test_what_belongs_together_is_verified(folder: Path) -> None:
    result = verify(folder)
    assert (result.exit_code, failed(result)) == (0, [])
    assert "proves no author" in result.stderr
    facts = json.loads(verify(folder, "--json").stdout)
    assert facts["genuine"]
    assert verify(folder, "--seal", facts["sha256"].upper()).exit_code == 0
    assert failed(verify(folder, "--seal", "0" * 64)) == ["the model has the seal that was noted"]
    assert facts["sha256"] == DurableLedger(folder / "budget.db", "notes").entries()[1].digest
    assert run("verify", folder / "model").stdout.splitlines()[-1] == f"seal\t{facts['sha256']}"


def test_an_altered_model_is_found(folder: Path) -> None:
    content = bytearray((folder / "model").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "model").write_bytes(content)
    assert verify(folder).exit_code == 1


def test_another_model_is_found(folder: Path) -> None:
    """Genuine by itself, but not the one of the report and, with its own row, not the one that was approved."""
    shutil.copy(folder / "other", folder / "model")
    result = verify(folder)
    assert result.exit_code == 1
    assert "the report is on this model file" in failed(result)


@pytest.mark.parametrize(
    ("old", "new"),
    [("<dd>50<small>", "<dd>0.5<small>"), ("board &lt;b&gt;", "somebody"), ("(50, ", "(0.5, "), ("</h1>", " </h1>")],
)
def test_an_altered_report_is_found(old: str, new: str, folder: Path) -> None:
    page = (folder / "model.html").read_text(encoding="utf-8")
    assert old in page
    (folder / "model.html").write_text(page.replace(old, new), encoding="utf-8")
    result = verify(folder)
    assert result.exit_code == 1
    assert "the report is as it was written" in failed(result)


def test_a_report_sealed_anew_still_has_to_be_of_this_model(folder: Path) -> None:
    """There is no key: a forger can seal the page again. Its statement and its digest are then compared."""
    page = (folder / "model.html").read_text(encoding="utf-8")
    digest = json.loads(verify(folder, "--json").stdout)["sha256"]
    blank = re.sub(r"Page seal, SHA-256: [0-9a-f]{64}", UNSEALED, page)
    for old, new in (("(50, ", "(0.5, "), (digest, "0" * 64)):
        forged = seal_page(blank.replace(old, new))
        assert is_sealed(forged)
        (folder / "model.html").write_text(forged, encoding="utf-8")
        result = verify(folder)
        assert result.exit_code == 1
        assert len(failed(result)) == 1


@pytest.mark.parametrize(
    "change",
    [
        'results = replace(results, \'"digest": "\', \'"digest": "0\')',
        "epsilon = 5.0",
        "settings = replace(settings, 'board <b>', 'nobody')",
        "results = '{}'",
    ],
)
def test_an_altered_ledger_is_found(change: str, folder: Path) -> None:
    with sqlite3.connect(folder / "budget.db") as connection:
        connection.execute(f"UPDATE reservation SET {change} WHERE id = 2")
    assert verify(folder).exit_code == 1


def test_a_row_of_another_cost_is_found(folder: Path) -> None:
    """A row put there by somebody who has the library: it names this file, and another budget or approval."""
    from private_topics.privacy.budget import PrivacyBudget

    digest = json.loads(verify(folder, "--json").stdout)["sha256"]
    with sqlite3.connect(folder / "budget.db") as connection:
        connection.execute("UPDATE reservation SET results = '{}' WHERE id = 2")
    ledger = DurableLedger(folder / "budget.db", "notes", approved_by="nobody")
    ledger.finish(ledger.reserve(PrivacyBudget(1.0, 1e-6)), digest=digest)
    assert failed(verify(folder)) == [
        "that run was charged what the model states",
        "request and approval are those of that run",
    ]


def test_verification_from_python(folder: Path) -> None:
    checks = verify_model(
        folder / "model", report=folder / "model.html", ledger=DurableLedger(folder / "budget.db", "notes")
    )
    assert len(checks) == 7
    assert all(check.holds for check in checks)


def test_an_edited_model_is_traced_to_its_run(folder: Path) -> None:
    rename_topics(load(folder / "model"), {0: "all of it"}).save(folder / "edited")
    ledger = DurableLedger(folder / "budget.db", "notes")
    checks = verify_model(folder / "edited", ledger=ledger)
    assert all(check.holds for check in checks)
    assert "says it was edited from" in checks[1].what
    stranger = load(folder / "edited")
    stranger.edits_ = replace(stranger.edits_, released="0" * 64)
    stranger.save(folder / "stranger")
    assert [check.holds for check in verify_model(folder / "stranger", ledger=ledger)] == [True, False]


def test_seals_of_pages() -> None:
    page = f"<h1>{UNSEALED}</h1><footer>{UNSEALED}</footer>"
    sealed = seal_page(page)
    assert sealed.count(UNSEALED) == 1
    assert is_sealed(sealed)
    assert not is_sealed(sealed.replace("h1", "h2"))
    assert not is_sealed(page)
    assert seal_page("no mark") == "no mark"
    assert not is_sealed("no mark")


def test_request_and_approval_are_shown_and_filtered(folder: Path) -> None:
    assert load(folder / "model").sign_off_ == Request("Dr. Müller", "board <b>", "which complaints are frequent?")
    page = (folder / "model.html").read_text(encoding="utf-8")
    assert "Requested by Dr. Müller, approved by board &lt;b&gt;. Reason: which complaints are frequent?" in page
    assert page.count("Requested by Dr. Müller") == 2  # in the sign-off, and in the row of the ledger
    assert "Requested by" not in (folder / "other.html").read_text(encoding="utf-8")
    shown = " ".join(ran("budget", "show", folder / "budget.db").stdout.split())
    for said in ("requested by Dr. Müller", "approved by board <b>", "reason: which complaints are frequent?"):
        assert said in shown

    def listed(*options: str) -> list[int]:
        book = json.loads(ran("budget", "show", folder / "budget.db", "--json", *options).stdout)[0]
        assert book["epsilon_spent"] > 50  # of all runs, whichever are listed
        return [entry["id"] for entry in book["runs"]]

    assert listed() == [1, 2]
    assert listed("--requested-by", "Dr. Müller") == [2]
    assert listed("--approved-by", "board <b>", "--requested-by", "Dr. Müller") == [2]
    assert listed("--approved-by", "nobody") == []
    assert "1 other run" in ran("budget", "show", folder / "budget.db", "--approved-by", "board <b>").stdout


def test_a_request_needs_a_ledger_and_is_one_line(folder: Path) -> None:
    counts = folder / "counts.npz"
    without = run("fit", counts, "--approved-by", "board", "-o", folder / "x")
    assert without.exit_code == 2
    assert "--approved-by" in without.stderr
    charged = "--ledger", folder / "budget.db", "--corpus", "notes", "-o", folder / "x"
    assert "printable" in run("fit", counts, *charged, "--reason", "two\nlines").stderr
    assert len(DurableLedger(folder / "budget.db", "notes").entries()) == 2

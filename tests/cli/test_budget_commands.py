"""`budget`, and what the other commands leave in a ledger: kinds of runs, ids, digests, and a page of 80 columns."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from command_support import ran, run
from typer.testing import CliRunner

from private_topics import DurableLedger, PrivacyBudget
from private_topics.cli.app import app
from private_topics.privacy.curves import gdp_epsilon, mu_of_budget
from private_topics.privacy.ledger.file import SCHEMA

USERS, WORDS = 40, ("fever", "cough", "night", "knee", "pain", "walking")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Letters of forty patients, the same as counts with labels, and a list of words."""
    letters = [{"patient": f"P{i % USERS}", "text": " ".join(WORDS[i % 3 :: 2])} for i in range(120)]
    (tmp_path / "letters.jsonl").write_text("".join(json.dumps(letter) + "\n" for letter in letters))
    (tmp_path / "labels.txt").write_text("".join(f"{letter['patient']}\n" for letter in letters))
    (tmp_path / "words.txt").write_text("".join(f"{word}\n" for word in WORDS))
    rows = [[letter["text"].split().count(word) for word in WORDS] for letter in letters]
    sp.save_npz(tmp_path / "counts.npz", sp.csr_array(np.array(rows)))
    return tmp_path


def register(folder: Path, *more: Any) -> Any:
    total = "--corpus", "letters", "--epsilon", 1000, "--delta", 1e-2
    return run("budget", "register", folder / "budget.db", *total, *more)


def runs(folder: Path) -> dict[str, tuple[Any, ...]]:
    """Every command that spends, with the file it makes."""
    charged = "--ledger", folder / "budget.db", "--corpus", "letters", "--force", "-o"
    fit = "--epsilon", 20, "--delta", 1e-5, "-k", 2, "--refine-steps", 0, *charged, folder / "made"
    listed = "--vocabulary", folder / "words.txt", "--knowledge", "none"
    return {
        "texts": ("fit", folder / "letters.jsonl", "--unit", "patient", *listed, *fit),
        "counts": ("fit", folder / "counts.npz", "--unit-labels", folder / "labels.txt", *fit),
        "named counts": ("fit", folder / "counts.npz", "--unit-labels", folder / "labels.txt", *listed, *fit),
        "vocabulary": ("vocabulary", "private", folder / "letters.jsonl", "--unit", "patient", "--epsilon", 20,
                       "--delta", 1e-5, *charged, folder / "made"),
    }  # fmt: skip


KINDS = ("texts", "counts", "named counts", "vocabulary")


def entries(folder: Path) -> tuple[Any, ...]:
    return DurableLedger(folder / "budget.db", "letters").entries()


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_names_the_file_that_was_made(folder: Path, kind: str) -> None:
    assert register(folder, "--unit", "user").exit_code == 0
    ran(*runs(folder)[kind], "--who", "ana")
    (entry,) = entries(folder)
    assert entry.digest == hashlib.sha256((folder / "made").read_bytes()).hexdigest()
    assert (entry.who, entry.unit, entry.label, entry.state) == ("ana", "user", "made", "finished")
    assert entry.what == ("vocabulary" if kind == "vocabulary" else "fit")


@pytest.mark.parametrize("kind", KINDS)
def test_another_kind_of_run_is_refused_before_the_corpus_is_read(folder: Path, kind: str) -> None:
    assert register(folder, "--unit", "document").exit_code == 0
    (folder / "letters.jsonl").write_text("")
    (folder / "counts.npz").write_text("")
    refused = run(*runs(folder)[kind])
    assert refused.exit_code == 1
    assert "for documents, and this fit protects users" in refused.stderr
    assert entries(folder) == ()


@pytest.mark.parametrize("kind", KINDS)
def test_ids_of_a_file_of_labels_or_of_a_source(folder: Path, kind: str) -> None:
    """The ids of texts and of labels are the same; those of others are refused."""
    key = "--ids-key", folder / "secret.key"
    wanted = folder / "labels.txt" if kind == "texts" else folder / "letters.jsonl"
    field = () if kind == "texts" else ("--ids-field", "patient")
    assert register(folder, "--ids", wanted, *field, *key).exit_code == 0
    assert ((folder / "secret.key").stat().st_mode & 0o777, (folder / "secret.key").stat().st_size) == (0o600, 32)
    assert "needs the key" in run(*runs(folder)[kind]).stderr
    ran(*runs(folder)[kind], *key)
    (folder / "others.txt").write_text("P1\nP2\n")
    refused = register(folder, "--ids", folder / "others.txt", *key)
    assert refused.exit_code == 1
    assert "--renew-ids" in refused.stderr
    assert register(folder, "--ids", folder / "others.txt", *key, "--renew-ids").exit_code == 0
    refused = run(*runs(folder)[kind], *key)
    assert refused.exit_code == 1
    assert "not the ids" in refused.stderr
    assert len(entries(folder)) == 1


def test_what_is_registered_is_said(folder: Path) -> None:
    assert "fixed by the first run" in register(folder).stderr
    assert "protects users" in register(folder, "--unit", "user").stderr
    for bad in (["--unit", "document"], ["--neighbours", "zero-out"], ["--unit", "patient"], ["--neighbours", "x"]):
        assert register(folder, *bad).exit_code == 1
    for bad in (["--ids", "labels.txt"], ["--renew-ids"], ["--ids-field", "patient"]):
        assert register(folder, *bad).exit_code == 2


# -- show ------------------------------------------------------------------------------------------------------------


def shown(path: Path) -> str:
    result = CliRunner().invoke(app, ["budget", "show", str(path)], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_page_fits_eighty_columns_and_hides_nothing(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    DurableLedger.register(path, "letters", 3.0, 1e-5, unit="user", neighbours="add-remove")
    long = "a label " * 20
    ledger = DurableLedger(path, "letters", label=long, who="a-login-name-of-an-unusual-length@hospital.example")
    number = ledger.reserve(PrivacyBudget(1.0, 1e-6), settings={"what": "fit", "n_units": 123456, "estimator": "X"})
    ledger.finish(number, results={"n_words": 3000}, digest="5" * 64)
    DurableLedger(path, "letters").reserve(PrivacyBudget(0.123456, 1.25e-7))
    page = shown(path)
    assert max(map(len, page.splitlines())) <= 80
    packed = "".join(page.split())
    named = "123,456users", "3,000words", "a-login-name-of-an-unusual-length@hospital.example", "".join(long.split())
    for part in (*named, "5" * 16, "notfinished", "0.123456", "1.25e-07", "oneofthemisaddedorremoved"):
        assert all(piece in packed for piece in re.findall(r".{1,8}", part)), part


def test_what_is_left_is_counted_in_runs_like_the_last(tmp_path: Path) -> None:
    """As many as the page says are then admitted, and no more."""
    ledger = DurableLedger.register(tmp_path / "budget.db", "letters", 3.0, 1e-5)
    assert "like the last" not in shown(tmp_path / "budget.db")
    ledger.reserve(PrivacyBudget(1.0, 1e-6), threshold_delta=1e-7, unit="user")
    page = " ".join(shown(tmp_path / "budget.db").split())
    assert "spent epsilon 0.8682" in page
    assert "left epsilon 2.694 for one more run" in page
    assert "do not add up in epsilon but, roughly, in its square" in page
    (many,) = re.findall(r"(\d+) more runs like the last, at its epsilon 1 too", page)
    for _ in range(int(many)):
        ledger.reserve(PrivacyBudget(1.0, 1e-6), threshold_delta=1e-7)
    assert ledger.repeats() == 0
    assert "0 more runs like the last" in " ".join(shown(tmp_path / "budget.db").split())


def test_a_run_that_was_given_up_says_so_and_what_it_was_charged(tmp_path: Path) -> None:
    """A hundredth of its cost: a tenth of mu. It is not called unfinished, and no run like it is promised."""
    ledger = DurableLedger.register(tmp_path / "budget.db", "letters", 3.0, 1e-5)
    ledger.give_up(ledger.reserve(PrivacyBudget(1.0, 1e-6)), 0.01)
    charged = gdp_epsilon(mu_of_budget(1.0, 1e-6) / 10.0, 1e-6)
    page = shown(tmp_path / "budget.db")
    row = next(line for line in page.splitlines() if line.split()[:1] == ["1"])
    assert f"{charged:.4g}" in row.split()
    assert "1" not in row.split()[1:]
    text = " ".join(page.split())
    assert "given up" in text
    assert "epsilon 1 was reserved" in text
    assert "not finished" not in text
    assert "more runs like the last" not in text
    (book,) = json.loads(ran("budget", "show", tmp_path / "budget.db", "--json").stdout)
    assert book["runs"][0]["epsilon_charged"] == pytest.approx(charged, rel=1e-6)
    assert book["runs_left_like_last"] is None


def test_a_total_that_adds_up_is_not_explained_away(tmp_path: Path) -> None:
    ledger = DurableLedger.register(tmp_path / "budget.db", "letters", 3.0, 1e-5, set_aside=0.0)
    ledger.reserve(PrivacyBudget(1.0, 1e-6), guarantee="approximate")
    assert "in its square" not in shown(tmp_path / "budget.db")
    (book,) = json.loads(ran("budget", "show", tmp_path / "budget.db", "--json").stdout)
    assert book["epsilon_left_like_last"] == pytest.approx(2.0, rel=1e-5)
    assert book["runs_left_like_last"] == 2


def test_a_stranger_s_names_do_not_act_on_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    ledger = DurableLedger.register(path, "letters", 3.0, 1e-5)
    ledger.reserve(PrivacyBudget(1.0, 1e-6), settings={"what": "\x1b[31mfit", "estimator": "[bold]x"})
    assert "binding" in SCHEMA
    assert "\x1b" not in shown(path)

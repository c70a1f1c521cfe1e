"""Before money is spent: hopeless fits are refused, paid-for files are kept, `check` shows and writes nothing."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from command_support import ran, run

from private_topics.cli.check_command import CONFIDENTIAL
from private_topics.corpus.made_up.letters import write_letters
from private_topics.privacy.ledger.durable import DurableLedger

LIST = ("--vocabulary", "list:english", "--vocabulary-size", 300, "--knowledge", "none")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_letters(tmp_path / "letters.jsonl.gz", 300)
    DurableLedger.register(tmp_path / "budget.db", "letters", 1_000.0, 1e-2)
    return tmp_path


def fit(folder: Path, *more: Any) -> Any:
    charged = "--ledger", folder / "budget.db", "--corpus", "letters", "--refine-steps", 0
    return run("fit", folder / "letters.jsonl.gz", *charged, "-o", folder / "model", *more)


def rows(folder: Path) -> int:
    return len(DurableLedger(folder / "budget.db", "letters").entries())


@pytest.mark.parametrize(
    "options",
    [("--vocabulary", "private", "--knowledge", "none"), ("--vocabulary", "candidates", "--knowledge", "none"), LIST],
    ids=["private", "candidates", "list"],
)
def test_a_hopeless_fit_is_refused_before_it_is_charged(options: tuple[Any, ...], folder: Path) -> None:
    refused = fit(folder, *options)
    assert refused.exit_code == 1
    assert "Refused before anything was charged" in refused.stderr
    assert "What helps" in refused.stderr
    assert "--anyway" in refused.stderr
    assert rows(folder) == 0
    assert not (folder / "model").exists()


def test_anyway_is_fitted_and_charged(folder: Path) -> None:
    assert fit(folder, *LIST, "--anyway").exit_code == 0
    assert rows(folder) == 1


def test_add_remove_is_refused_for_a_public_bound_only(folder: Path) -> None:
    """300 letters are few, but that is private: the run goes on unless --most-units says that there are few."""
    relation = "--neighbours", "add-remove"
    DurableLedger.register(folder / "other.db", "letters", 1_000.0, 1e-2, neighbours="add-remove")
    (folder / "budget.db").unlink()
    (folder / "other.db").rename(folder / "budget.db")
    assert "Refused" in fit(folder, *LIST, *relation, "--most-units", 400).stderr
    assert rows(folder) == 0
    assert fit(folder, *LIST, *relation).exit_code == 0
    assert rows(folder) == 1


def test_a_model_that_was_paid_for_is_not_replaced(folder: Path) -> None:
    (folder / "model").write_text("paid for")
    refused = fit(folder, *LIST, "--anyway")
    assert refused.exit_code == 1
    assert "--force" in refused.stderr
    assert (rows(folder), (folder / "model").read_text()) == (0, "paid for")
    assert fit(folder, *LIST, "--anyway", "--force").exit_code == 0
    assert rows(folder) == 1
    (folder / "link").symlink_to(folder / "nowhere")
    assert "exists" in fit(folder, *LIST, "--anyway", "-o", folder / "link").stderr


def test_a_word_list_that_was_paid_for_is_not_replaced(folder: Path) -> None:
    (folder / "words").write_text("paid for")
    command = "vocabulary", "private", folder / "letters.jsonl.gz", "--epsilon", 30, "-o", folder / "words"
    assert "--force" in run(*command).stderr
    assert (folder / "words").read_text() == "paid for"
    ran(*command, "--force")
    assert (folder / "words").read_text() != "paid for"


def test_how_a_file_is_read_is_said_whatever_it_says(folder: Path) -> None:
    (folder / "other.jsonl").write_text('{"no": "such field"}\n' * 200)
    said = []
    for source in ("letters.jsonl.gz", "other.jsonl"):
        result = ran("fit", folder / source, *LIST, "--anyway", "--refine-steps", 0, "-o", folder / f"{source}.model")
        said += [line for line in result.stderr.splitlines() if line.startswith("Reading")]
    assert len(said) == 2
    assert len(set(said)) == 1
    for option in ("--field", "--encoding", "--language", "private-topics check"):
        assert option in said[0]


def test_a_column_that_is_missing_names_the_options(folder: Path) -> None:
    (folder / "a.csv").write_text("letter,patient\nsome words,P1\n")
    refused = run("fit", folder / "a.csv", "-o", folder / "x")
    assert refused.exit_code == 1
    for option in ("--field", "--encoding", "private-topics check"):
        assert option in refused.stderr


def test_check_writes_nothing_and_says_that_it_is_confidential(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*")}
    result = ran("check", folder / "letters.jsonl.gz")
    assert CONFIDENTIAL in result.stderr
    assert "unit\tpatient_id" in result.stdout
    assert "epsilon 1\tabout" in result.stdout
    facts = json.loads(ran("check", folder / "letters.jsonl.gz", "--json", "--quiet").stdout)
    assert facts["confidential"] == CONFIDENTIAL
    assert {path: path.read_bytes() for path in folder.rglob("*")} == before


def test_the_command_that_check_prints_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It names the file and how to read it; topics, words and budget are the curator's to choose elsewhere."""
    monkeypatch.chdir(folder)
    lines = [
        f"Der Patient {n % 40};P{n % 50} – Köln;er hat nicht mehr so viel Fieber wie gestern" for n in range(400)
    ]
    (folder / "briefe.csv").write_text("note;patient;brief\n" + "\n".join(lines) + "\n", encoding="cp1252")
    result = ran("check", folder / "briefe.csv")
    command = next(line for line in result.stdout.splitlines() if line.startswith("private-topics fit"))
    words = shlex.split(command)
    assert {word.split("=")[0] for word in words if word.startswith("-")} == {
        *("-o", "--field", "--unit", "--encoding", "--language")
    }
    ran(*words[1:], "--epsilon", 50, "--vocabulary", "list:german", "-k", 2, "--refine-steps", 0, "--anyway")
    assert (folder / "MODEL").exists()


def test_wrong_settings_of_a_file_name_their_options(folder: Path) -> None:
    for option, value in (("--language", "klingon"), ("--encoding", "utf-16")):
        refused = run("fit", folder / "letters.jsonl.gz", option, value, "-o", folder / "x")
        assert refused.exit_code == 1
        assert option in refused.stderr


# -- whether anybody adds up -----------------------------------------------------------------------------------------

WITHOUT = "No ledger: what this run spent is added to no total."


def test_a_run_without_a_ledger_says_so_once(folder: Path) -> None:
    """The same for every corpus: `fit`, `shares` and `vocabulary private` spend, and nothing adds that up."""
    letters, paid = folder / "letters.jsonl.gz", ("--epsilon", 20, "--delta", 1e-5)
    model, words = folder / "model", folder / "words.txt"
    commands: list[tuple[Any, ...]] = [
        ("fit", letters, *LIST, *paid, "--refine-steps", 0, "--anyway", "-o", model),
        ("shares", model, letters, "--by", "ward", "--classes", "north", *paid),
        ("vocabulary", "private", letters, *paid, "-o", words),
    ]
    for command in commands:
        assert ran(*command).stderr.count(WITHOUT) == 1
        again = () if command[0] == "shares" else ("--force",)
        assert WITHOUT not in ran(*command, *again, "-q").stderr
    charged = "--ledger", folder / "budget.db", "--corpus", "letters"
    for command in commands:
        again = () if command[0] == "shares" else ("--force",)
        said = ran(*command, *again, *charged).stderr
        assert said.count("is left for 'letters'") == 1
        assert WITHOUT not in said
    assert WITHOUT not in ran("fit", letters, "--no-privacy", "--force", "-o", model).stderr

"""`shares` by the commands that a user would type; the noise is fresh, so numbers are only bounded."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from command_support import ran, run
from rich.console import Console

from private_topics.corpus.made_up.letters import make_letters
from private_topics.estimators.saving import load
from private_topics.evaluation.labels import labels_of
from private_topics.privacy.ledger.durable import DurableLedger

LETTERS = 2_000
WARDS = ("north", "south", "quixotic")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Letters of two wards and of one that no list names, a ledger, and a private model of them."""
    folder = tmp_path_factory.mktemp("shares")
    with open(folder / "letters.jsonl", "w", encoding="utf-8") as file:
        for number, letter in enumerate(make_letters(LETTERS, seed=1)):
            record = {"text": letter.text, "patient": letter.patient, "ward": WARDS[min(number % 10 // 4, 2)]}
            file.write(json.dumps(record) + "\n")
    ran("budget", "register", folder / "budget.db", "--corpus", "letters", "--epsilon", 50, "--delta", 1e-3)
    ran(
        "fit", folder / "letters.jsonl", "-k", 3, "--epsilon", 20, "--delta", 1e-5, "--vocabulary", "list:english",
        "--knowledge", "none", *charged(folder), "-o", folder / "model", "-q",
    )  # fmt: skip
    return folder


def charged(folder: Path) -> list[object]:
    return ["--ledger", folder / "budget.db", "--corpus", "letters"]


def test_shares_go_to_the_screen_a_file_a_page_and_the_ledger(folder: Path) -> None:
    result = ran(
        "shares", folder / "model", folder / "letters.jsonl", "--by", "ward", "--classes", "north,south,nobody",
        "--epsilon", 2, "--delta", 1e-5, *charged(folder), "-o", folder / "shares.json",
        "--report", folder / "shares.html",
    )  # fmt: skip
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert {row[0] for row in rows} == {"north", "south", "nobody"}
    assert rows[-1][-1] == "too few to say"
    labels = [line.split("\t")[-1] for line in ran("topics", folder / "model").stdout.splitlines()]
    assert [row[-1] for row in rows if row[0] == "north"] == labels, "what a topic is about, not its number alone"
    assert "(2, 1e-05)-differential privacy for 2,000 documents, on top of what the model cost" in result.stderr
    assert "is left for 'letters'" in result.stderr
    found = json.loads((folder / "shares.json").read_text())
    sizes = {one["class"]: one["size"] for one in found["classes"]}
    assert sizes["north"] == pytest.approx(800, abs=60), "six deviations of the noise would be 35"
    assert sizes["north"] != 800
    assert "<svg" in (folder / "shares.html").read_text()
    digest = hashlib.sha256((folder / "shares.json").read_bytes()).hexdigest()
    shown = ran("budget", "show", folder / "budget.db").stdout
    assert "class shares" in shown
    assert digest[:16] in shown
    everything = [result.stdout, result.stderr, shown, (folder / "shares.json").read_text()]
    assert not any("quixotic" in text for text in [*everything, (folder / "shares.html").read_text()])


def test_users_csv_and_json(folder: Path) -> None:
    result = ran(
        "shares", folder / "model", folder / "letters.jsonl", "--by", "ward", "--classes", "north", "--classes",
        "south", "--unit", "patient", "--epsilon", 5, "--delta", 1e-5, "-o", folder / "shares.csv", "--json", "-q",
    )  # fmt: skip
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert found["privacy"]["unit"] == "user"
    with open(folder / "shares.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(found["topics"])
    assert float(rows[0]["size"]) == pytest.approx(found["classes"][0]["size"], abs=0.1)


def test_topics_have_the_names_that_they_have_elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, in both files and on the page: the label that a person gave, else the distinctive words."""
    ran("edit", folder / "model", "--rename", "0=[bold]the wards", "-o", folder / "renamed")
    labels = labels_of(load(folder / "renamed"))
    assert labels[0] == "[bold]the wards"
    screens: list[Console] = []
    monkeypatch.setattr(
        "private_topics.cli.shares_command.Console", lambda: screens.append(terminal()) or screens[-1]
    )
    for file in ("named.json", "named.csv"):
        ran(
            "shares", folder / "renamed", folder / "letters.jsonl", "--by", "ward", "--classes", "north", "--delta",
            1e-5, "-o", folder / file, "--report", folder / "named.html",
        )  # fmt: skip
    shown = screens[0].file.getvalue()
    assert all(label in shown for label in labels)
    found = json.loads((folder / "named.json").read_text())
    assert [one["label"] for one in found["topics"]] == labels
    with open(folder / "named.csv", newline="") as file:
        assert [row["label"] for row in csv.DictReader(file)] == labels
    assert "<bdi>[bold]the wards</bdi>" in (folder / "named.html").read_text()


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=400, color_system=None)


def test_the_page_has_the_day_on_which_the_run_began(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that took the time when it is written would say how long the run took, around midnight."""
    given: list[Any] = []
    monkeypatch.setattr("private_topics.reports.class_shares.date_text", lambda day, _: given.append(day) or "a day")
    ran(
        "shares", folder / "model", folder / "letters.jsonl", "--by", "ward", "--classes", "north", "--delta", 1e-5,
        "--report", folder / "day.html",
    )  # fmt: skip
    assert [type(day) for day in given] == [date]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "ward"], "classes"),
        (["--by", "ward", "--classes", "a,a"], "'classes' parameter"),
        (["--by", "text", "--classes", "a"], "'by' parameter"),
        (["--by", "ward", "--classes", "a", "--unit", "patient", "LEDGER"], "document"),
        (["--by", "ward", "--classes", "a", "-o", "shares.txt"], ".json or .csv"),
        (["--by", "ward", "--classes", "a", "--neighbours", "zero-out", "LEDGER"], "replace"),
        (["--by", "ward", "--classes", "a", "--epsilon", "400", "LEDGER"], "epsilon"),
    ],
)
def test_refused_before_it_is_charged(folder: Path, options: list[str], message: str) -> None:
    before = ran("budget", "show", folder / "budget.db").stdout
    given = [part for one in options for part in (charged(folder) if one == "LEDGER" else [one])]
    result = run("shares", folder / "model", folder / "letters.jsonl", *given)
    assert result.exit_code in (1, 2)
    assert message in result.stderr
    assert ran("budget", "show", folder / "budget.db").stdout == before


def test_a_ledger_that_does_not_list_the_fit_is_not_charged(folder: Path) -> None:
    ran("budget", "register", folder / "budget.db", "--corpus", "other", "--epsilon", 50, "--delta", 1e-3)
    other = ["--ledger", folder / "budget.db", "--corpus", "other"]
    asked = ["shares", folder / "model", folder / "letters.jsonl", "--by", "ward", "--classes", "north", *other]
    refused = run(*asked, "--delta", 1e-5)
    assert refused.exit_code == 1
    assert "does not list the fit of this model" in refused.stderr
    assert "--unlisted-model" in refused.stderr
    assert DurableLedger(folder / "budget.db", "other").entries() == ()
    ran(*asked, "--delta", 1e-5, "--unlisted-model")
    assert len(DurableLedger(folder / "budget.db", "other").entries()) == 1

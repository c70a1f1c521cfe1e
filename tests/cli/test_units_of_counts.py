"""Users as units of a count file, by a file of labels beside it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from typer.testing import CliRunner

import private_topics
from private_topics import PrivateSpectralLDA, make_lda_corpus
from private_topics.cli import app
from private_topics.corpus.counts.blocks import as_blocks, write_npz_block
from private_topics.corpus.texts.files import read_unit_labels

DOCUMENTS, WORDS, USERS = 600, 30, 150
SOURCES = ("counts.npz", "counts.mtx", "docword.counts.txt", "blocks")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same counts in every format, and a label for each document."""
    folder = tmp_path_factory.mktemp("counts")
    counts = make_lda_corpus(DOCUMENTS, WORDS, 2, alpha0=0.4, random_state=0)[0]
    write_npz_block(folder / "counts.npz", counts)
    scipy.io.mmwrite(folder / "counts.mtx", counts)
    (folder / "blocks").mkdir()
    write_npz_block(folder / "blocks" / "b.npz", counts[400:])
    write_npz_block(folder / "blocks" / "a.npz", counts[:400])
    entries = counts.tocoo()
    lines = [f"{i + 1} {j + 1} {n}" for i, j, n in zip(*entries.coords, entries.data, strict=True)]
    header = [str(DOCUMENTS), str(WORDS), str(len(lines))]
    (folder / "docword.counts.txt").write_text("\n".join(header + lines) + "\n")
    users = np.random.default_rng(0).permutation(np.arange(DOCUMENTS) % USERS)
    (folder / "labels.txt").write_text("".join(f"user {number}\n" for number in users))
    (folder / "short.txt").write_text("".join(f"user {number}\n" for number in users[:-1]))
    (folder / "blank.txt").write_text("".join(f"user {number}\n" for number in users[:-1]) + "  \n")
    return folder


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "120"})


@pytest.mark.parametrize("source", SOURCES)
def test_users_are_protected(source: str, folder: Path, tmp_path: Path) -> None:
    labels = ["--unit-labels", folder / "labels.txt"]
    result = run("fit", folder / source, *labels, "-k", 2, "--epsilon", 20, "--json", "-o", tmp_path / "model")
    assert result.exit_code == 0, result.output
    assert "protecting users (labels.txt)" in result.stderr
    statement = json.loads(result.stdout)["privacy"]
    assert (statement["unit"], statement["n_units"], statement["proved"]) == ("user", USERS, True)
    assert not re.search(rf"(?<!\w){DOCUMENTS}(?!\w)", result.output)
    assert private_topics.load(tmp_path / "model").privacy_.to_dict() == json.loads(
        json.dumps(statement), object_hook=_tuples
    )


def _tuples(found: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def test_it_is_the_fit_with_groups(folder: Path) -> None:
    """The same units as an array of labels in Python: the same noise gives the same model."""
    settings = {"epsilon": 20.0, "delta": 1e-6, "noise_seed": 1, "refine_steps": 1}
    labels = (folder / "labels.txt").read_text().splitlines()
    first = PrivateSpectralLDA(2, **settings).fit(as_blocks(folder / "counts.npz"), groups=labels)
    second = PrivateSpectralLDA(2, **settings).fit(
        as_blocks(folder / "docword.counts.txt"), groups=read_unit_labels(folder / "labels.txt")
    )
    np.testing.assert_allclose(first.components_, second.components_, rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["{}/counts.npz", "--unit-labels", "{}/short.txt"], "one label for each document"),
        (["{}/blocks", "--unit-labels", "{}/short.txt"], "one label for each document"),
        (["{}/counts.npz", "--unit-labels", "{}/blank.txt"], "no unit"),
        (["{}/counts.npz", "--unit-labels", "{}/missing.txt"], "There is no file"),
        (["{}/counts.npz", "--unit-labels", "{}/counts.npz"], "cannot be used"),
        (["{}/counts.npz", "--unit", "user"], "--unit-labels"),
        (["{}/labels.txt", "--unit-labels", "{}/labels.txt"], "--unit names it"),
    ],
)
def test_labels_that_do_not_fit_are_refused_before_the_budget_is_spent(
    options: list[str], said: str, folder: Path, tmp_path: Path
) -> None:
    ledger = private_topics.DurableLedger.register(tmp_path / "budget.db", "c", 10.0, 1e-3)
    charged = ["--ledger", tmp_path / "budget.db", "--corpus", "c", "-o", tmp_path / "model"]
    result = run("fit", *(option.format(folder) for option in options), *charged)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith("error: ")
    assert said in result.stderr
    assert "user " not in result.stderr.replace("user names", "")
    assert str(DOCUMENTS) not in result.stderr
    assert ledger.entries() == ()


def test_without_privacy_there_are_no_units(folder: Path, tmp_path: Path) -> None:
    result = run("fit", folder / "counts.npz", "--no-privacy", "--unit-labels", "x", "-o", tmp_path / "model")
    assert result.exit_code == 2
    assert "--unit-labels" in result.stderr

"""The command line: results on standard output, messages on standard error, exit status 0, 1 or 2."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import private_topics
from private_topics import SpectralLDA, make_lda_corpus
from private_topics.cli import app
from private_topics.corpus.counts.blocks import write_npz_block
from private_topics.evaluation.labels import labels_of

WORDS = 40


def run(*arguments, columns="100"):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": columns})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Counts, a vocabulary and a fitted model file."""
    folder = tmp_path_factory.mktemp("cli")
    counts = make_lda_corpus(900, WORDS, 3, alpha0=0.4, random_state=0)[0]
    write_npz_block(folder / "train.npz", counts[:800])
    write_npz_block(folder / "test.npz", counts[800:])
    write_npz_block(folder / "narrow.npz", counts[:, :10])
    (folder / "words.txt").write_text("\n".join(f"wörd{j}" for j in range(WORDS)) + "\n", encoding="utf-8")
    names = ["--vocabulary", folder / "words.txt"]
    result = run("fit", folder / "train.npz", "--no-privacy", "-k", 3, *names, "-o", folder / "model")
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    assert "Wrote 3 topics over 40 words" in result.stderr
    return folder


def test_fit_is_the_estimator(folder):
    model = private_topics.load(folder / "model")
    expected = SpectralLDA(3, random_state=0).fit(str(folder / "train.npz"))
    np.testing.assert_array_equal(model.components_, expected.components_)
    assert list(model.feature_names_in_[:2]) == ["wörd0", "wörd1"]
    assert model.verbose is False


def test_topics(folder):
    result = run("topics", folder / "model", "-n", 4)
    assert result.exit_code == 0
    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert [row[0] for row in rows] == ["0", "1", "2"]
    assert sum(float(row[1]) for row in rows) == pytest.approx(1.0, abs=1e-3)
    expected = private_topics.load(folder / "model").top_words(n=4)
    assert [row[2].split() for row in rows] == expected


def test_topics_with_another_vocabulary(folder, tmp_path):
    (tmp_path / "other.txt").write_text("\n".join(f"x{j}" for j in range(WORDS)))
    result = run("topics", folder / "model", "--vocabulary", tmp_path / "other.txt")
    assert result.stdout.splitlines()[0].split("\t")[2].startswith("x")


@pytest.mark.parametrize("suffix", ["csv", "npy", None])
def test_transform(folder, tmp_path, suffix):
    arguments = [] if suffix is None else ["-o", tmp_path / f"proportions.{suffix}"]
    result = run("transform", folder / "model", folder / "test.npz", *arguments)
    assert result.exit_code == 0, result.output
    if suffix == "npy":
        found = np.load(tmp_path / "proportions.npy")
    else:
        text = result.stdout if suffix is None else (tmp_path / "proportions.csv").read_text()
        header, *rows = csv.reader(text.splitlines())
        assert header == ["row", *labels_of(private_topics.load(folder / "model"))]
        assert [row[0] for row in rows] == [str(number) for number in range(1, 101)]
        found = np.array([[float(value) for value in row[1:]] for row in rows])
    model = private_topics.load(folder / "model")
    del model.feature_names_in_
    counts = make_lda_corpus(900, WORDS, 3, alpha0=0.4, random_state=0)[0][800:]
    np.testing.assert_allclose(found, model.transform(counts), atol=1e-7)


def test_evaluate(folder):
    result = run("evaluate", folder / "model", folder / "test.npz")
    assert result.exit_code == 0
    values = dict(line.split("\t") for line in result.stdout.splitlines())
    assert values["documents"] == "100"
    counts = make_lda_corpus(900, WORDS, 3, alpha0=0.4, random_state=0)[0][800:]
    assert float(values["perplexity"]) == pytest.approx(
        private_topics.load(folder / "model").perplexity(counts), 1e-5
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["topics", "missing.model"],
        ["topics", "{folder}/train.npz"],
        ["topics", "{folder}"],
        ["topics", "{folder}/model", "--vocabulary", "missing.txt"],
        ["topics", "{folder}/model", "--vocabulary", "{folder}/model"],
        ["transform", "{folder}/model", "missing.npz"],
        ["transform", "{folder}/model", "{folder}/narrow.npz"],
        ["evaluate", "{folder}/model", "{folder}/narrow.npz"],
        ["evaluate", "{folder}/model", "{folder}/words.txt"],
        ["fit", "missing.npz", "--no-privacy", "-o", "{folder}/x"],
        ["fit", "{folder}/train.npz", "--no-privacy", "-o", "{folder}/none/x"],
        ["fit", "{folder}/train.npz", "--no-privacy", "-k", "99", "-o", "{folder}/x"],
        ["fit", "{folder}/train.npz", "--no-privacy", "--alpha0", "-1", "-o", "{folder}/x"],
        ["fit", "{folder}/narrow.npz", "--no-privacy", "--vocabulary", "{folder}/words.txt", "-o", "{folder}/x"],
        ["fit", "{folder}/train.npz", "--vocabulary", "private", "-o", "{folder}/x"],
        ["fit", "{folder}/train.npz", "--unit", "user", "-o", "{folder}/x"],
        ["fit", "{folder}/train.npz", "--epsilon", "0", "-o", "{folder}/x"],
        ["fit", "{folder}/train.npz", "--delta", "2", "-o", "{folder}/x"],
        ["fit", "{folder}/train.npz", "--sampler", "none", "-o", "{folder}/x"],
    ],
)
def test_expected_errors_are_one_line(folder, arguments):
    result = run(*[argument.format(folder=folder) for argument in arguments])
    assert result.exit_code == 1
    assert result.stdout == ""
    last = result.stderr.splitlines()[-1]
    assert last.startswith("error: ")
    assert "Traceback" not in result.stderr
    assert not (folder / "x").exists()


BAD_USAGE = """\
no-such-command
fit
fit counts.npz
fit counts.npz -o model --no-privacy --epsilon 1
fit counts.npz -o model --no-privacy --vocabulary private
fit counts.npz -o model --no-privacy --unit user
fit counts.npz -o model --topics 0
fit counts.npz -o model --noise-seed 1
fit counts.npz -o model --ledger budget.db
fit counts.npz -o model --corpus letters
demo --letters 0
demo --seed -1
plan
reproduce
budget register budget.db
topics model -n many
transform model counts.npz -o proportions.xlsx
"""


@pytest.mark.parametrize("line", BAD_USAGE.splitlines())
def test_bad_usage_is_exit_status_two(line):
    assert run(*line.split()).exit_code == 2


def test_version():
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout.strip() == private_topics.__version__


@pytest.mark.process
def test_installed_command(folder):
    """The real thing, in a process of its own: the exit status and the streams."""
    command = Path(sys.executable).with_name("private-topics")
    done = subprocess.run([command, "topics", folder / "model", "-n", "2"], capture_output=True, text=True)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 3
    failed = subprocess.run([command, "topics", folder / "missing"], capture_output=True, text=True)
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert failed.stderr.count("\n") == 1

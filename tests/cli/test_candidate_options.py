"""`--vocabulary candidates`: which list is meant, what is said of it, and that it is read before the corpus."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_support import ran, run

import private_topics
from private_topics.cli import sources
from private_topics.corpus.made_up.letters import make_letters, write_letters
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.privacy.ledger.durable import DurableLedger


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("candidates")
    write_letters(folder / "letters.jsonl.gz", 1_500)
    words = {word for letter in make_letters(500, seed=9) for word in Tokeniser().words(letter.text)}
    (folder / "words.txt").write_text("".join(f"{word}\n" for word in [*sorted(words), "unheardof", "neverwritten"]))
    return folder


def test_a_fit_with_a_list_of_ones_own(folder: Path, tmp_path: Path) -> None:
    ledger = DurableLedger.register(tmp_path / "budget.db", "letters", 100.0, 1e-3)
    charged = ["--ledger", tmp_path / "budget.db", "--corpus", "letters"]
    result = ran(
        "fit", folder / "letters.jsonl.gz", "-k", 3, "--epsilon", 30, "--unit", "patient_id", "--refine-steps", 1,
        "--vocabulary", f"candidates:{folder / 'words.txt'}", "--vocabulary-size", 80, *charged, "--json",
        "--report", tmp_path / "report.html", "-o", tmp_path / "model",
    )  # fmt: skip
    assert "Vocabulary: chosen from the public word list 'words.txt' (" in result.stderr
    summary = json.loads(result.stdout)
    listed = private_topics.read_word_list(folder / "words.txt")
    assert summary["words"] == 80
    assert summary["privacy"]["releases"][1]["name"] == "candidate words"
    assert summary["privacy"]["releases"][1]["coordinates"] == len(listed)
    assert any(listed.digest in fact for fact in summary["privacy"]["public"])
    (row,) = ledger.entries()
    assert row.settings["candidates"] == "words.txt"
    assert set(private_topics.load(tmp_path / "model").feature_names_in_) <= set(listed.words)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "candidate words" in page
    assert "candidates.md" in page
    before = "units with words (1.0%), candidate words (10.0%)."
    assert f"Before the graph begins, with noise of their own: {before}" in " ".join(page.split())


def test_the_vocabulary_command_takes_candidates(folder: Path, tmp_path: Path) -> None:
    ran("vocabulary", "private", folder / "letters.jsonl.gz", "--epsilon", 10, "--candidates", folder / "words.txt",
        "--size", 60, "--quiet", "-o", tmp_path / "chosen.txt")  # fmt: skip
    found = (tmp_path / "chosen.txt").read_text().splitlines()
    assert len(found) == 60
    assert found == sorted(found)
    assert set(found) <= set((folder / "words.txt").read_text().splitlines())


@pytest.mark.parametrize("named", ["candidates:missing.txt", "candidates:list:klingon"])
def test_the_candidates_are_read_before_the_corpus(
    named: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list that is not there: nothing is charged, and the corpus is not opened."""
    pytest.importorskip("wordfreq", reason="needs the extra 'words'")

    def opened(*arguments: Any, **settings: Any) -> None:
        raise AssertionError("the corpus was opened")

    monkeypatch.setattr(sources, "open_texts", opened)
    ledger = DurableLedger.register(tmp_path / "budget.db", "letters", 100.0, 1e-3)
    charged = ["--ledger", tmp_path / "budget.db", "--corpus", "letters", "-o", tmp_path / "x"]
    letters = folder / "letters.jsonl.gz"
    listed = named.removeprefix("candidates:")
    for command in (
        ["fit", letters, "--vocabulary", named],
        ["vocabulary", "private", letters, "--candidates", listed],
    ):
        result = run(*command, *charged)
        assert result.exit_code == 1, result.output
        assert result.stderr.splitlines()[-1].startswith("error: ")
    assert ledger.entries() == ()
    assert not (tmp_path / "x").exists()


def test_which_list_is_meant() -> None:
    pytest.importorskip("wordfreq", reason="needs the extra 'words'")

    def listed(vocabulary: str, *languages: str) -> str:
        reading = sources.Reading(language=list(languages) or None)
        tokeniser = sources.tokeniser_of(reading, vocabulary)
        found = sources.vocabulary_of(vocabulary, None, False, tokeniser)
        assert isinstance(found, private_topics.CandidateVocabulary)
        assert len(found.candidates) > 20_000
        assert found.size == 3_000
        return found.candidates.name

    assert ", english, the " in listed("candidates")
    assert ", german, the " in listed("candidates", "german")
    assert ", german, the " in listed("candidates", "german", "english")
    assert ", german, the " in listed("candidates:list:german")
    assert ", english, the " in listed("candidates", "none")


@pytest.mark.parametrize("named", ["candidates", "candidates:words.txt"])
def test_counts_and_fits_without_privacy_take_none(named: str, tmp_path: Path) -> None:
    (tmp_path / "texts.jsonl").write_text('{"text": "one"}\n')
    without = run("fit", tmp_path / "texts.jsonl", "--no-privacy", "--vocabulary", named, "-o", tmp_path / "x")
    assert without.exit_code == 2
    assert f"--vocabulary {named}" in " ".join(without.stderr.split())
    (tmp_path / "counts.npz").write_bytes(b"")
    counts = run("fit", tmp_path / "counts.npz", "--vocabulary", named, "-o", tmp_path / "x")
    assert counts.exit_code == 1
    assert "have their vocabulary already" in counts.stderr

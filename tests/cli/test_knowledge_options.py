"""`--knowledge` and `--public-corpus`: what is taken where nothing is named, what is said, what is read first."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_support import ran, run

import private_topics
from private_topics.cli import fit_run, sources
from private_topics.cli.knowledge import knowledge_of
from private_topics.cli.options import Known, Reading
from private_topics.cli.screen import Screen
from private_topics.corpus.counts.blocks import write_npz_block
from private_topics.corpus.counts.counting import count_texts
from private_topics.corpus.counts.matrix import stack_rows
from private_topics.corpus.made_up.letters import make_letters, write_letters
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.fits.private import IN_KNOWLEDGE
from private_topics.knowledge.shipped import shipped
from private_topics.privacy.ledger.durable import DurableLedger


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("knowledge")
    write_letters(folder / "letters.jsonl.gz", 1_500)
    write_letters(folder / "public.jsonl.gz", 400, seed=7)
    words = sorted({word for letter in make_letters(500, seed=9) for word in Tokeniser().words(letter.text)})
    (folder / "words.txt").write_text("".join(f"{word}\n" for word in words))
    counts = stack_rows(list(count_texts([letter.text for letter in make_letters(800)], words)))
    write_npz_block(folder / "counts.npz", counts)
    return folder


def fitted(folder: Path, tmp_path: Path, *options: Any, source: str = "letters.jsonl.gz") -> tuple[Any, str]:
    """The statement of a small fit, and what was said."""
    few = ["-k", 3, "--epsilon", 10, "--refine-steps", 1, "--json", "--force"]
    result = ran("fit", folder / source, *few, *options, "-o", tmp_path / "model")
    return json.loads(result.stdout)["privacy"], result.stderr


def test_english_knowledge_and_its_words_are_the_default(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wordfreq", None)  # the default needs no further package
    ledger = DurableLedger.register(tmp_path / "budget.db", "letters", 100.0, 1e-3)
    charged = ["--ledger", tmp_path / "budget.db", "--corpus", "letters", "--report", tmp_path / "report.html"]
    statement, said = fitted(folder, tmp_path, *charged)
    digest = shipped("english").digest
    assert "Vocabulary: chosen from the public word list 'english' (50,000 words, SHA-256 " in said
    assert [line for line in said.splitlines() if line.startswith(f"Public knowledge: english (SHA-256 {digest})")]
    assert (statement["configuration"], statement["releases"][1]["name"]) == ("informed", "candidate words")
    assert any(digest in fact for fact in statement["public"])
    assert statement["not_covered"][-1] == IN_KNOWLEDGE
    (row,) = ledger.entries()
    assert (row.settings["knowledge"], row.settings["knowledge_sha256"]) == ("english", digest)
    assert row.settings["candidates"] == "english"
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert digest in page
    assert IN_KNOWLEDGE in page
    assert (
        "Before the graph begins, with noise of their own: units with words (1.0%), candidate words (10.0%)."
        in " ".join(page.split())
    )
    ran("report", tmp_path / "model", tmp_path / "model", "-o", tmp_path / "two.html")


def test_none_is_the_fit_without_it(folder: Path, tmp_path: Path) -> None:
    statement, said = fitted(folder, tmp_path, "--knowledge", "none")
    assert "Public knowledge: none." in said
    assert (statement["configuration"], statement["releases"][1]["name"]) == ("sequential", "vocabulary")
    assert IN_KNOWLEDGE not in statement["not_covered"]


@pytest.mark.parametrize(
    ("reading", "settings", "expected"),
    [
        (Reading(), {}, "english"),
        (Reading(language=["english"]), {}, "english"),
        (Reading(language=["german"]), {}, None),
        (Reading(language=["english", "german"]), {}, None),
        (Reading(language=["none"]), {}, None),
        (Reading(stem=True), {}, None),
        (Reading(), {"private": False}, None),
        (Reading(), {"counts": True}, None),
        (Reading(language=["german"]), {"named": ["english", "english-documents"]}, "english + english-documents"),
        (Reading(), {"named": ["none"]}, None),
    ],
)
def test_what_is_taken(reading: Reading, settings: dict[str, Any], expected: str | None) -> None:
    named = settings.pop("named", None)
    settings = {"private": True, "counts": False} | settings
    found = knowledge_of(Known(named), Path("x"), reading, sources.tokeniser_of(reading), **settings)
    assert (None if found is None else found.name) == expected


def test_which_candidates_are_meant(folder: Path) -> None:
    english = private_topics.knowledge.sources.open_knowledge("english")
    texts = private_topics.knowledge.sources.open_knowledge(["some public text", "another public text"])
    tokeniser = Tokeniser()

    def chosen(named: str | None, known: Any, size: int | None = None) -> Any:
        return sources.vocabulary_of(named, size, False, tokeniser, known)

    assert chosen(None, english).candidates.name == chosen("candidates", english, 70).candidates.name == "english"
    assert (chosen(None, english).size, chosen("candidates", english, 70).size) == (3_000, 70)
    assert chosen(f"candidates:{folder / 'words.txt'}", english).candidates.name == "words.txt"
    for named, known in ((None, None), (None, texts), ("private", english)):
        assert isinstance(chosen(named, known), private_topics.PrivateVocabulary)


@pytest.mark.slow
def test_a_public_corpus_is_added(folder: Path, tmp_path: Path) -> None:
    statement, said = fitted(folder, tmp_path, "--public-corpus", folder / "public.jsonl.gz", "--field", "text")
    assert "Public knowledge: english + 400 public texts (SHA-256 " in said
    assert any("word vectors from 400 public texts (SHA-256 " in fact for fact in statement["public"])
    alone, said = fitted(folder, tmp_path, "--public-corpus", folder / "public.jsonl.gz", "--knowledge", "none")
    assert "Public knowledge: 400 public texts (SHA-256 " in said
    assert alone["releases"][1]["name"] == "vocabulary"
    same = run(
        "fit", folder / "letters.jsonl.gz", "--public-corpus", folder / "letters.jsonl.gz", "-o", tmp_path / "x"
    )
    assert same.exit_code == 1
    assert "no public knowledge" in same.stderr


def test_a_list_that_the_default_does_not_know_is_fitted_without_it(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_text("zqzqx\nxqzqz\nnursezq\n")
    done = run("fit", folder / "letters.jsonl.gz", "--vocabulary", tmp_path / "w.txt", "--epsilon", 10, "--anyway",
               "-o", tmp_path / "x")  # fmt: skip
    assert "Public knowledge: none." in done.stderr
    assert "have any of the words that are looked for" in done.stderr
    asked = run("fit", folder / "letters.jsonl.gz", "--vocabulary", tmp_path / "w.txt", "--knowledge", "english",
                "-o", tmp_path / "x")  # fmt: skip
    assert asked.exit_code == 1
    assert "has a vector for none of the 3 columns" in asked.stderr


def test_counts_need_the_names_of_their_columns(folder: Path, tmp_path: Path) -> None:
    named = ["--vocabulary", folder / "words.txt"]
    plain, _ = fitted(folder, tmp_path, *named, source="counts.npz")
    assert plain["configuration"] == "sequential"
    informed, said = fitted(folder, tmp_path, *named, "--knowledge", "english", source="counts.npz")
    assert f"Public knowledge: english (SHA-256 {shipped('english').digest})" in said
    assert informed["configuration"] == "informed"
    model = private_topics.load(tmp_path / "model")
    assert model.knowledge is None
    assert np.isfinite(model.components_).all()
    refused = run("fit", folder / "counts.npz", "--knowledge", "english", "-o", tmp_path / "x")
    assert refused.exit_code == 2
    assert "names their columns" in " ".join(refused.stderr.split())


@pytest.mark.parametrize(
    "options",
    [
        ["--knowledge", "missing.txt"],
        ["--knowledge", "{folder}/damaged.npz"],
        ["--knowledge", "{folder}/damaged.txt"],
        ["--knowledge", "english", "--knowledge", "{folder}/damaged.npz"],
        ["--public-corpus", "missing.jsonl"],
        ["--public-corpus", "{folder}/empty.jsonl"],
        ["--public-corpus", "{folder}/counts.npz"],
    ],
)
def test_knowledge_is_read_before_the_corpus(
    options: list[str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it is missing or damaged nothing is charged, and the corpus is not opened."""
    (folder / "damaged.npz").write_bytes(b"PK no archive")
    (folder / "damaged.txt").write_text("word 0.1 0.2\nword two\n")
    (folder / "empty.jsonl").write_text("")

    def opened(*arguments: Any, **settings: Any) -> None:
        raise AssertionError("the corpus was opened")

    monkeypatch.setattr(sources, "open_texts", opened)
    ledger = DurableLedger.register(tmp_path / "budget.db", "letters", 100.0, 1e-3)
    charged = ["--ledger", tmp_path / "budget.db", "--corpus", "letters", "-o", tmp_path / "x"]
    named = [option.format(folder=folder) for option in options]
    result = run("fit", folder / "letters.jsonl.gz", *named, *charged)
    assert result.exit_code == 1, result.output
    assert result.stderr.splitlines()[-1].startswith("error: ")
    assert "internal" not in result.stderr
    assert ledger.entries() == ()
    assert not (tmp_path / "x").exists()
    usual = run("fit", folder / "letters.jsonl.gz", *charged)
    assert "internal error" in usual.stderr  # the corpus is what is opened next


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--no-privacy", "--knowledge", "english"], "--knowledge english"),
        (["--no-privacy", "--public-corpus", "x.jsonl"], "--public-corpus"),
        (["--knowledge", "none", "--knowledge", "english"], "stands alone"),
    ],
)
def test_contradictions_are_bad_usage(options: list[str], said: str, folder: Path, tmp_path: Path) -> None:
    result = run("fit", folder / "letters.jsonl.gz", *options, "-o", tmp_path / "x")
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    ran("fit", folder / "letters.jsonl.gz", "--no-privacy", "--knowledge", "none", "-k", 2, "-o", tmp_path / "plain")


def test_the_bar_has_room_for_all_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int | None] = []
    progress = Screen.progress

    def watched(screen: Screen, *, stages: int | None, show_documents: bool) -> Any:
        seen.append(stages)
        return progress(screen, stages=stages, show_documents=show_documents)

    monkeypatch.setattr(Screen, "progress", watched)
    for steps, informed in ((3, False), (3, True), (0, True)):
        model = private_topics.PrivateSpectralLDA(2, refine_steps=steps)
        with fit_run.shown(Screen(quiet=True), model, show_documents=True, informed=informed):
            pass
    assert seen == [6, 10, 7]

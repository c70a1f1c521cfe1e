"""Public knowledge cannot depend on the private corpus: it is read, whole, before the corpus is, and never again.

The interpreter reports every file that is opened. As soon as the corpus is touched the files of the knowledge are
deleted and their names are forbidden; the model is the one of an undisturbed fit.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from private_topics import (
    CandidateVocabulary,
    PrivateSpectralLDA,
    PublicKnowledge,
    Tokeniser,
    WordList,
    fit_texts,
    load,
)
from private_topics.cli import app
from private_topics.corpus.counts.counting import count_texts
from private_topics.corpus.made_up.letters import make_letters

LETTERS = [letter.text for letter in make_letters(400, seed=1)]
WORDS = sorted({word for text in LETTERS[:60] for word in Tokeniser().words(text)})
SETTINGS: dict[str, Any] = {"epsilon": 30.0, "delta": 1e-5, "refine_steps": 1, "n_jobs": 1, "noise_seed": 5}
opened: list[str] = []


listening: list[bool] = []


def _hear(event: str, given: Any) -> None:
    if listening and event == "open":
        opened.append(str(given[0]))


@pytest.fixture(scope="module", autouse=True)
def _hook() -> None:
    """It cannot be removed: it hears nothing but the tests of this file."""
    sys.addaudithook(_hear)


@pytest.fixture
def files(tmp_path: Path) -> Iterator[dict[str, Path]]:
    """A corpus, word vectors, public texts."""
    rows = np.random.default_rng(0).normal(size=(len(WORDS), 12)).round(4).tolist()
    found = {name: tmp_path / name for name in ("corpus.jsonl", "vectors.txt", "public.jsonl")}
    found["corpus.jsonl"].write_text("\n".join(json.dumps({"text": text}) for text in LETTERS))
    found["vectors.txt"].write_text(
        "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in zip(WORDS, rows, strict=True))
    )
    public = (letter.text for letter in make_letters(200, seed=9))
    found["public.jsonl"].write_text("\n".join(json.dumps({"text": text}) for text in public))
    opened.clear()
    listening.append(True)
    yield found
    listening.clear()


def forget(*knowledge: Path) -> None:
    """What the corpus does as soon as it is touched."""
    for path in knowledge:
        path.unlink(missing_ok=True)


def places(*paths: Path) -> list[int]:
    return [place for place, name in enumerate(opened) if any(name == str(path) for path in paths)]


class Corpus:
    """Texts that destroy the files of the knowledge when they are read."""

    def __init__(self, *knowledge: Path) -> None:
        self.knowledge = knowledge
        self.touched: list[int] = []

    def __iter__(self) -> Iterator[str]:
        self.touched.append(len(opened))
        forget(*self.knowledge)
        return iter(LETTERS)


@pytest.mark.parametrize("name", ["vectors.txt", "public.jsonl"])
@pytest.mark.parametrize("listed", [False, True], ids=["candidates", "a public list"])
def test_texts(name: str, listed: bool, files: dict[str, Path]) -> None:
    path, words = files[name], WordList("public", tuple(WORDS))
    vocabulary: Any = words if listed else CandidateVocabulary(words)
    knowledge: Any = path if name == "vectors.txt" else Lines(path)
    corpus = Corpus(path)
    model = fit_texts(PrivateSpectralLDA(3, **SETTINGS), corpus, vocabulary, knowledge=knowledge)  # type: ignore[arg-type]
    assert places(path)
    assert max(places(path)) < corpus.touched[0]
    assert not path.exists()
    assert any("what is known of the words" in fact for fact in model.privacy_.public)


class Lines:
    """Public texts that are read from their file when they are asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __iter__(self) -> Iterator[str]:
        with self.path.open() as lines:
            yield from (json.loads(line)["text"] for line in lines)


def test_counts(files: dict[str, Path]) -> None:
    """The estimator takes knowledge that is ready: the file may be gone, and a fit opens no file of knowledge."""
    path, counts = files["vectors.txt"], count_texts(LETTERS, WORDS)
    knowledge = PublicKnowledge.from_vectors(WORDS, path)
    before = len(opened)
    assert max(places(path)) < before
    kept = knowledge.vectors.tobytes(), knowledge.digest
    expected = PrivateSpectralLDA(3, **SETTINGS, knowledge=knowledge).fit(counts)
    forget(path)
    model = PrivateSpectralLDA(3, **SETTINGS, knowledge=knowledge).fit(counts)
    assert all(place < before for place in places(path))
    np.testing.assert_array_equal(model.components_, expected.components_)
    assert (knowledge.vectors.tobytes(), knowledge.digest) == kept
    with pytest.raises(ValueError, match="read-only"):
        knowledge.vectors[0, 0] = 1.0


@pytest.mark.parametrize("option", ["--knowledge", "--public-corpus"])
def test_the_command(option: str, files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The corpus is not even opened before the knowledge is closed; from then on the file is gone."""
    from private_topics.cli import sources

    known, corpus = files["vectors.txt" if option == "--knowledge" else "public.jsonl"], files["corpus.jsonl"]
    exact, touched = sources.open_texts, []

    def opening(path: Any, *given: Any, **named: Any) -> Any:
        touched.append(len(opened))
        forget(known)
        return exact(path, *given, **named)

    monkeypatch.setattr(sources, "open_texts", opening)
    (tmp_path / "words.txt").write_text("".join(f"{word}\n" for word in WORDS))
    fit = ["fit", corpus, option, known, "--vocabulary", f"candidates:{tmp_path / 'words.txt'}", "-k", 3, "--epsilon",
           30, "--delta", 1e-5, "--refine-steps", 1, "--jobs", 1, "-q", "-o", tmp_path / "model"]  # fmt: skip
    done = CliRunner().invoke(app, list(map(str, fit)))
    assert done.exit_code == 0, done.output
    assert touched
    assert places(known)
    assert max(places(known)) < touched[0]
    assert max(places(known)) < min(places(corpus))
    assert any("what is known of the words" in fact for fact in load(tmp_path / "model").privacy_.public)

"""`private-topics audit --model`: the unit, the words and the releases are the model's, or it says which not.

The command takes no seed of the noise. An audit fails by chance at most once in 10,000; the settings are far from the
edges where noise decides which releases a fit makes: none of 30 runs or more of each fit here made others.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from private_topics import PrivacyWarning, PrivateSpectralLDA, Tokeniser, make_lda_corpus
from private_topics.audit import made_up, verify
from private_topics.cli import app
from private_topics.corpus.made_up.letters import make_letters

pytestmark = pytest.mark.statistical

SETTINGS: dict[str, Any] = {"epsilon": 30.0, "delta": 1e-5, "alpha0": 0.3, "refine_steps": 1, "n_jobs": 1}
QUICK = ["--jobs", "1", "--trials", "10", "--fits", "10"]


def called(*arguments: Any) -> Any:
    return CliRunner().invoke(app, ["audit", *QUICK, *map(str, arguments)])


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> dict[str, Path]:
    """A model of users and one of documents, from the same counts."""
    folder = tmp_path_factory.mktemp("models")
    counts = make_lda_corpus(900, 24, 3, alpha0=0.3, mean_length=40, random_state=0)[0]
    sp.save_npz(folder / "counts.npz", counts)
    for name, groups in (("user", np.arange(900) // 3), ("document", None)):
        PrivateSpectralLDA(3, **SETTINGS).fit(counts, groups=groups).save(folder / f"{name}.model")
    return {name: folder / f"{name}.model" for name in ("user", "document")} | {"counts": folder / "counts.npz"}


@pytest.mark.parametrize("unit", ["user", "document"])
def test_the_unit_and_the_words_are_those_of_the_model(unit, models, tmp_path):
    """A model of users whose audit replaced documents would fail here, in four places."""
    page = tmp_path / "report.html"
    done = called("--model", models[unit], "--json", "-q", "--report", page)
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)["sealed"]
    settings, statement = content["audit"]["settings"], content["model_statement"]
    assert settings["unit"] == content["audit"]["statement"]["unit"] == statement["unit"] == unit
    assert settings["n_words"] == 24
    assert settings["n_units"] == statement["n_units"] == {"user": 300, "document": 900}[unit]
    assert any(name.startswith("user: ") for name in content["audit"]["neighbours"]) == (unit == "user")
    attacked = [release["name"] for release in content["audit"]["releases"]]
    assert attacked == [release["name"] for release in statement["releases"]]
    assert content["coverage"]["complete"]
    text = page.read_text(encoding="utf-8").replace("&#39;", "'")
    assert verify(page, json.loads(done.stdout)["sha256"])
    named = {"user": "one user with all their documents", "document": "one document"}[unit]
    assert f"Attacked: {named}, replaced by any other, among {settings['n_units']} {unit}s" in text
    assert "attacked the model's unit and every release" in text


def test_units_that_contradict_the_model_are_refused(models):
    for name, number, said in (("user", 1, "protects users"), ("document", 2, "protects documents")):
        done = called("--model", models[name], "--documents-per-user", number)
        assert done.exit_code == 1
        assert said in done.output
        assert "Traceback" not in done.output
    done = called("--model", models["user"], "--corpus", models["counts"], "--corpus-is-public")
    assert done.exit_code == 1
    assert "units of this corpus are documents" in done.output


def test_users_of_a_public_corpus_do_not_stand_for_documents(models, tmp_path):
    lines = [json.dumps({"text": f"alpha beta gamma{n % 3}", "who": str(n % 20)}) for n in range(60)]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines))
    (tmp_path / "words.txt").write_text("alpha\nbeta\n")
    done = called("--model", models["document"], "--corpus", tmp_path / "texts.jsonl", "--corpus-is-public", "--unit",
                  "who", "--vocabulary", tmp_path / "words.txt")  # fmt: skip
    assert done.exit_code == 1
    assert "units of this corpus are users" in done.output


def test_a_large_vocabulary_is_attacked_with_its_second_unigram(tmp_path):
    """Words as rare as in a language and more topics than they carry; a corpus of 200 words would not go there."""
    random = np.random.default_rng(0)
    topics = random.gamma(0.3, size=(6, 6_000)) / np.arange(1, 6_001)
    counts = made_up.drawn(topics / topics.sum(axis=1, keepdims=True), np.full(6, 0.1), 600, 1)
    with pytest.warns(PrivacyWarning, match="of the 10 topics"):
        model = PrivateSpectralLDA(10, **SETTINGS | {"epsilon": 200.0}).fit(counts)
    model.save(tmp_path / "large.model")
    done = called("--model", tmp_path / "large.model", "--json", "-q")
    assert done.exit_code == 0, done.output
    content = json.loads(done.stdout)["sealed"]
    attacked = [release["name"] for release in content["audit"]["releases"]]
    assert attacked[-3:] == ["unigram again", "refinement 1", "evidence"]
    assert content["audit"]["settings"]["n_words"] == 6_000
    assert content["coverage"]["complete"]


@pytest.fixture(scope="module")
def texts(tmp_path_factory) -> Path:
    """Letters, words of them, and vectors of those words that mean nothing."""
    folder = tmp_path_factory.mktemp("texts")
    letters = list(make_letters(600, seed=1))
    lines = [json.dumps({"text": letter.text, "who": letter.patient}) for letter in letters]
    (folder / "letters.jsonl").write_text("\n".join(lines))
    words = sorted({word for letter in letters[:100] for word in Tokeniser().words(letter.text)})
    (folder / "words.txt").write_text("".join(f"{word}\n" for word in words))
    rows = np.random.default_rng(7).normal(size=(len(words), 20)).round(4).tolist()
    vectors = (f"{word} {' '.join(map(str, row))}\n" for word, row in zip(words, rows, strict=True))
    (folder / "random.txt").write_text("".join(vectors))
    return folder


KINDS = {
    "the default": ([], 40, "candidate words", "public second moment 1"),
    "much data": ([], 2, "candidate words", "second moment"),
    "private words of users": (["--vocabulary", "private", "--unit", "who"], 40, "vocabulary", "features 4"),
    "no knowledge": (["--vocabulary", "private", "--knowledge", "none"], 3, "vocabulary", "second moment"),
    "a public list": (["--vocabulary", "{0}/words.txt", "--knowledge", "english"], 40, "unigram", "features 4"),
    "vectors that know nothing": (
        ["--vocabulary", "candidates:{0}/words.txt", "--knowledge", "{0}/random.txt"],
        40,
        "candidate words",
        "refinement 1",
    ),
}


def fitted(texts: Path, kind: str) -> tuple[Path, list[Any]]:
    """A model of text, and what its audit needs beside its file."""
    options, topics, *_ = KINDS[kind]
    path, named = texts / f"{kind}.model", [option.format(texts) for option in options]
    fit = ["fit", texts / "letters.jsonl", "-o", path, "--epsilon", 45, "--delta", 1e-5, "-k", topics,
           "--refine-steps", 1, "--jobs", 1, "-q", "--force", *named]  # fmt: skip
    assert CliRunner().invoke(app, list(map(str, fit))).exit_code == 0
    return path, ["--knowledge", texts / "random.txt"] if kind == "vectors that know nothing" else []


@pytest.mark.parametrize("kind", KINDS)
def test_every_release_of_a_model_of_text_is_attacked(kind, texts, tmp_path):
    """The vocabulary, and whatever path public knowledge took; only then is the shield green."""
    for _ in range(5):  # noise decides how often useless vectors are looked at, and whether a fit finds any word
        path, needed = fitted(texts, kind)
        done = called("--model", path, *needed, "--json", "-q", "--report", tmp_path / "audit.html")
        if "No word reaches the threshold" in done.output:
            continue
        assert done.exit_code == 0, done.output
        content = json.loads(done.stdout)["sealed"]
        attacked = [release["name"] for release in content["audit"]["releases"]]
        stated = [release["name"] for release in content["model_statement"]["releases"]]
        if attacked == stated or kind != "vectors that know nothing":
            break
    assert attacked == stated
    assert attacked[:2] == ["units with words", KINDS[kind][2]]
    assert KINDS[kind][3] in attacked
    assert ("public second norms" in attacked) == (kind not in ("much data", "no knowledge"))
    if kind == "vectors that know nothing":
        assert "second moment" in attacked, "the fit went on without knowledge"
        assert not any(name.startswith("features") for name in attacked)
    assert content["coverage"]["complete"], content["coverage"]
    page = (tmp_path / "audit.html").read_text(encoding="utf-8").replace("&#39;", "'")
    assert "it attacked the model's unit and every release" in page
    assert 'class="verdict caution"' not in page
    assert ("Words that one unit alone has" in page) == (attacked[1] == "vocabulary")


def test_knowledge_that_is_not_at_hand_is_missed(texts, tmp_path):
    """The page is amber and says what is missing; another file is refused."""
    path, _ = fitted(texts, "vectors that know nothing")
    done = called("--model", path, "--report", tmp_path / "audit.html")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "audit.html").read_text(encoding="utf-8").replace("&#39;", "'")
    for text in (done.stdout, page):
        assert "did NOT attack all that the model claims" in text
        assert "public knowledge that was not at hand" in text
        assert "public second norms" in text
    assert 'class="verdict caution"' in page
    other = called("--model", path, "--knowledge", "english")
    assert other.exit_code == 1
    assert "another digest" in other.output
    assert called("--knowledge", "english").exit_code == 2


def test_more_words_than_the_model_has_are_refused(models):
    done = called("--model", models["document"], "--words", "25")
    assert done.exit_code == 1
    assert "has 24 words" in done.output

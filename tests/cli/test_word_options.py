"""The options of the commands that decide which words are counted and shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_support import ran, run

import private_topics

TEXTS = [
    "The nurse was kind and patient hello",
    "Parking the car cost too much hello",
    "The soup was cold hello",
] * 40


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    source = tmp_path / "texts.jsonl"
    source.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return source


def fitted(texts: Path, *more: object) -> private_topics.SpectralLDA:
    output = texts.parent / "model"
    ran("fit", texts, "--no-privacy", "-k", 2, *more, "-o", output, "--force")
    return private_topics.load(output)


def test_extra_stop_words_are_dropped_and_remembered(texts: Path) -> None:
    listed = texts.parent / "stop.txt"
    listed.write_text("Hello\n\nsoup\nhello\n", encoding="utf-8")
    for given, kept in ((listed, {"Hello", "hello", "soup"}), ("hello,soup", {"hello", "soup"})):
        model = fitted(texts, "--extra-stop-words", given)
        names = set(model.feature_names_in_)
        assert not names & {"hello", "soup"}
        assert "nurse" in names
        assert set(model.tokeniser_.stop_words) == kept
    assert "hello" in fitted(texts).feature_names_in_


def test_extra_stop_words_of_a_vocabulary(tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("nurse\nsoup\nkind\n")
    facts = json.loads(ran("vocabulary", "check", words, "--extra-stop-words", "soup", "--json").stdout)
    assert (facts["entries"], facts["usable"]) == (3, 2)


def test_a_list_that_is_not_there_is_not_taken_for_a_word(texts: Path) -> None:
    result = run("fit", texts, "--no-privacy", "--extra-stop-words", "stop.txt", "-o", texts.parent / "model")
    assert result.exit_code == 1
    assert "stop.txt" in result.stderr
    result = run("fit", texts, "--no-privacy", "--extra-stop-words", " , ", "-o", texts.parent / "model")
    assert result.exit_code == 2


def test_a_language_without_spaces_is_refused_before_anything_is_read(texts: Path) -> None:
    result = run("fit", texts, "--language", "chinese", "-o", texts.parent / "model")
    assert result.exit_code == 1
    assert "jieba" in result.stderr
    assert not (texts.parent / "model").exists()


def test_phrases_are_counted_and_remembered(texts: Path) -> None:
    listed = texts.parent / "phrases.txt"
    listed.write_text("parking the car\nnurse\n")
    words = texts.parent / "words.txt"
    words.write_text("nurse\nsoup\nkind\ncar\ncold\nhello\ncost\n")
    model = fitted(texts, "--phrases", listed, "--vocabulary", words)
    assert list(model.feature_names_in_) == [
        "nurse",
        "soup",
        "kind",
        "car",
        "cold",
        "hello",
        "cost",
        "parking_the_car",
    ]
    assert model.tokeniser_.phrases == ("parking the car", "nurse")
    assert model.top_words(n=6)
    check = json.loads(ran("vocabulary", "check", words, "--phrases", listed, "--json").stdout)
    assert check["usable"] == 8
    listed.write_text("nurse\n")
    assert run("vocabulary", "check", words, "--phrases", listed).exit_code == 2


def test_segmented_text_is_read(tmp_path: Path) -> None:
    source = tmp_path / "texts.jsonl"
    source.write_text(
        "".join(json.dumps({"text": text}) + "\n" for text in ["患者 胸痛 医生", "回家 高兴 医生"] * 20)
    )
    said = "--language", "none", "--min-length", 1
    assert set(fitted(source, *said, "--segmented").feature_names_in_) == {"患者", "胸痛", "医生", "回家", "高兴"}
    assert run("fit", source, "--no-privacy", *said, "-o", tmp_path / "other").exit_code == 1

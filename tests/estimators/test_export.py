"""Exports hold released values only, in the form that other programs read."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from private_topics import InputError, PrivateSpectralLDA, SpectralLDA, export_topics, make_lda_corpus, topics_of
from private_topics.estimators.export import pyldavis_arguments


@pytest.fixture(scope="module")
def model() -> PrivateSpectralLDA:
    counts, _, _ = make_lda_corpus(3_000, 30, 3, alpha0=0.3, random_state=0)
    fitted = PrivateSpectralLDA(3, epsilon=20, delta=1e-5, alpha0=0.3).fit(counts)
    fitted.feature_names_in_ = np.array([f"wörd{j}" for j in range(30)], dtype=object)
    return fitted


def test_json(model: PrivateSpectralLDA, tmp_path: Path) -> None:
    export_topics(model, tmp_path / "topics.json", n_words=4)
    found = json.loads((tmp_path / "topics.json").read_text(encoding="utf-8"))
    assert found["statement"] == model.privacy_.text
    assert found["privacy"]["epsilon"] == 20
    for topic, expected in zip(found["topics"], topics_of(model, 4), strict=True):
        assert (topic["number"], topic["label"], topic["share"]) == (expected.number, expected.label, expected.share)
        assert [word["word"] for word in topic["words"]] == [word.word for word in expected.words]
        assert set(topic["words"][0]) == {"word", "probability", "low", "high"}


def test_parquet(model: PrivateSpectralLDA, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    export_topics(model, tmp_path / "topics.parquet", n_words=5)
    table = parquet.read_table(tmp_path / "topics.parquet")
    rows = table.to_pylist()
    assert len(rows) == 5 * len(model.components_)
    assert [row["rank"] for row in rows[:5]] == [1, 2, 3, 4, 5]
    assert rows[0]["probability"] == model.components_[0].max()
    assert rows[0]["low"] is None
    assert table.schema.metadata[b"privacy statement"].decode() == model.privacy_.text


def test_csv(model: PrivateSpectralLDA, tmp_path: Path) -> None:
    export_topics(model, tmp_path / "topics.csv", n_words=5)
    with (tmp_path / "topics.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["topic", "label", "share", "rank", "word", "probability"], "no empty columns"
    assert [row["rank"] for row in rows[:5]] == ["1", "2", "3", "4", "5"]
    words = [word for topic in topics_of(model, 5) for word in topic.words]
    assert [(row["word"], float(row["probability"])) for row in rows] == [(w.word, w.probability) for w in words]


def test_pyldavis(model: PrivateSpectralLDA, tmp_path: Path) -> None:
    """What pyLDAvis.prepare checks: lengths that agree, rows that sum to one, frequencies above zero."""
    export_topics(model, tmp_path / "view.json", format="pyldavis")
    found = json.loads((tmp_path / "view.json").read_text(encoding="utf-8"))
    assert set(found) == {"topic_term_dists", "doc_topic_dists", "doc_lengths", "vocab", "term_frequency"}
    topics, documents = np.array(found["topic_term_dists"]), np.array(found["doc_topic_dists"])
    assert (
        topics.shape == (len(model.components_), len(found["vocab"])) == (len(topics), len(found["term_frequency"]))
    )
    assert documents.shape == (len(found["doc_lengths"]), len(topics))
    np.testing.assert_allclose(topics.sum(axis=1), 1.0)
    np.testing.assert_allclose(documents.sum(axis=1), 1.0)
    assert min(found["term_frequency"]) > 0
    frequency = documents.T @ np.array(found["doc_lengths"])  # how pyLDAvis sizes its circles
    np.testing.assert_allclose(frequency / frequency.sum(), model.doc_topic_prior_ / model.doc_topic_prior_.sum())


def test_exports_are_functions_of_the_model_file(model: PrivateSpectralLDA, tmp_path: Path) -> None:
    """Nothing of the corpus is left in the model for an export to find: a loaded one exports the same bytes."""
    model.save(tmp_path / "model")
    loaded = PrivateSpectralLDA.load(tmp_path / "model")
    for format in ("json", "pyldavis"):
        for name, one in (("first", model), ("second", loaded)):
            export_topics(one, tmp_path / name, format=format)
        assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_words_without_any_probability_are_left_out_of_pyldavis() -> None:
    model = SpectralLDA(2)
    model.components_ = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0]])
    model.doc_topic_prior_ = np.array([0.25, 0.75])
    found = pyldavis_arguments(model)
    assert found["vocab"] == ["word0", "word1", "word2"]
    np.testing.assert_allclose(found["term_frequency"], [125_000, 500_000, 375_000])


@pytest.mark.parametrize("format", ["html", None, "JSON"])
def test_other_formats_are_refused(model: PrivateSpectralLDA, tmp_path: Path, format: str | None) -> None:
    with pytest.raises(InputError, match="'format' parameter of export_topics"):
        export_topics(model, tmp_path / "topics.xlsx", format=format)
    assert not list(tmp_path.iterdir())

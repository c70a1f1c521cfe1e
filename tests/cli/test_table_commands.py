"""`transform` and `export` write tables that other programs read: names, ids, and gaps where nothing is known."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from command_support import ran, run

from private_topics import SpectralLDA, WordList, fit_texts, load
from private_topics.evaluation.labels import labels_of

TEXTS = ["heart lung vein heart", "road car wheel car", "heart vein lung", "road wheel"] * 30
WORDS = WordList("words", ("heart", "lung", "vein", "road", "car", "wheel"))
SECRET = "zzyzx"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    fit_texts(SpectralLDA(2, random_state=0), TEXTS, WORDS).save(tmp_path / "model")
    rows = [("a", "heart"), ("b,c", SECRET), (3, "car road"), (None, "car")]
    lines = (json.dumps({"text": text, "name": name}) for name, text in rows)
    (tmp_path / "new.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_csv_has_a_header_and_rows_are_numbered(folder: Path) -> None:
    result = ran("transform", folder / "model", folder / "new.jsonl", "-o", folder / "out.csv")
    header, *rows = csv.reader((folder / "out.csv").read_text().splitlines())
    assert header == ["row", *labels_of(load(folder / "model"))]
    assert [row[0] for row in rows] == ["1", "2", "3", "4"]
    assert rows[1][1:] == ["", ""]
    assert sum(map(float, rows[0][1:])) == pytest.approx(1.0)
    assert "1 of 4 documents hold no word" in result.stderr
    assert SECRET not in result.output


def test_ids(folder: Path) -> None:
    result = ran("transform", folder / "model", folder / "new.jsonl", "--id", "name")
    header, *rows = csv.reader(result.stdout.splitlines())
    assert header[0] == "name"
    assert [row[0] for row in rows] == ["a", "b,c", "3"]
    assert "1 records have no text or number in the field 'name' and were left out" in result.stderr


def test_parquet(folder: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    ran("transform", folder / "model", folder / "new.jsonl", "--id", "name", "-o", folder / "out.parquet")
    table = parquet.read_table(folder / "out.parquet")
    assert table.column_names == ["name", *labels_of(load(folder / "model"))]
    assert table["name"].to_pylist() == ["a", "b,c", "3"]
    assert [value is None for value in table[1].to_pylist()] == [False, True, False]


def test_npy_has_gaps_too(folder: Path) -> None:
    ran("transform", folder / "model", folder / "new.jsonl", "-o", folder / "out.npy")
    found = np.load(folder / "out.npy")
    assert np.isnan(found).any(axis=1).tolist() == [False, True, False, False]
    assert run("transform", folder / "model", folder / "new.jsonl", "--id", "name", "-o", "x.npy").exit_code == 2


def test_counts_have_no_ids(folder: Path) -> None:
    np.savez(folder / "counts.npz")
    result = run("transform", folder / "model", folder / "counts.npz", "--id", "name")
    assert result.exit_code == 1
    assert "--id needs text" in result.stderr


def test_export(folder: Path) -> None:
    assert "Wrote the topics" in ran("export", folder / "model", "-o", folder / "topics.json", "-n", 2).stderr
    found = json.loads((folder / "topics.json").read_text())
    assert [len(topic["words"]) for topic in found["topics"]] == [2, 2]
    ran("export", folder / "model", "-o", folder / "view.json", "--format", "pyldavis")
    assert sorted(json.loads((folder / "view.json").read_text())["vocab"]) == sorted(WORDS.words)
    ran("export", folder / "model", "-o", folder / "topics.csv", "-n", 2)
    assert (folder / "topics.csv").read_text(encoding="utf-8").startswith("topic,label,share,rank,word,probability\n")
    assert run("export", folder / "model", "-o", folder / "topics.txt").exit_code == 2

"""The class of a record, read with its text and its unit; whatever it says, records stay as many as they are."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from private_topics import InputError, open_texts

RECORDS: list[dict[str, Any]] = [
    {"text": "one", "year": 2019, "who": "a"},
    {"text": "two", "year": " 2020 ", "who": "b"},
    {"text": "three", "who": "a"},
    {"text": "four", "year": None, "who": "c"},
    {"text": "five", "year": [2019], "who": "c"},
    {"text": 5, "year": 2019, "who": "d"},
    {"text": "seven", "year": True, "who": "d"},
]


def jsonl(folder: Path, lines: list[str] | None = None) -> Path:
    path = folder / "texts.jsonl"
    path.write_text("\n".join(lines or [json.dumps(record) for record in RECORDS]) + "\n")
    return path


def test_json_lines_give_text_unit_and_class(tmp_path: Path) -> None:
    found = list(open_texts(jsonl(tmp_path), by="year"))
    assert found == [
        ("one", None, "2019"), ("two", None, "2020"), ("three", None, None), ("four", None, None),
        ("five", None, None), ("", None, None), ("seven", None, None),
    ]  # fmt: skip
    assert list(open_texts(jsonl(tmp_path), by="year", unit="who"))[:2] == [
        ("one", "a", "2019"),
        ("two", "b", "2020"),
    ]


def test_a_broken_record_is_an_empty_one_without_a_class(tmp_path: Path) -> None:
    path = jsonl(tmp_path, ['{"text": "one", "year": 2019}', '{"text": "tw', ""])
    assert list(open_texts(path, by="year")) == [("one", None, "2019"), ("", None, None), ("", None, None)]


def test_tables_and_parquet_files_give_the_same(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    rows = [("one", "a", "2019"), ("two, and more", "b", ""), ("three", "a", "2021")]
    with open(tmp_path / "texts.csv", "w", newline="") as file:
        csv.writer(file).writerows([("year", "text", "who"), *((year, text, who) for text, who, year in rows)])
    expected = [("one", "a", "2019"), ("two, and more", "b", None), ("three", "a", "2021")]
    assert list(open_texts(tmp_path / "texts.csv", by="year", unit="who")) == expected
    columns = {"text": [text for text, _, _ in rows], "who": ["a", "b", "a"]}
    for years in (pa.array([2019, None, 2021]), pa.array(["2019", None, "2021"]).dictionary_encode()):
        pyarrow.parquet.write_table(pa.table({**columns, "year": years}), tmp_path / "texts.parquet")
        assert list(open_texts(tmp_path / "texts.parquet", by="year", unit="who")) == expected
        without_units = [(text, None, year) for text, _, year in expected]
        assert list(open_texts(tmp_path / "texts.parquet", by="year")) == without_units


def test_a_class_needs_a_column_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("one\n")
    (tmp_path / "texts.csv").write_text("text,who\none,a\n")
    with pytest.raises(InputError, match="'by' parameter names a column, and this format has none"):
        open_texts(tmp_path / "texts.txt", by="year")
    with pytest.raises(InputError, match="'text' and 'year' among them"):
        open_texts(tmp_path / "texts.csv", by="year")
    for same in ("text", "who"):
        with pytest.raises(InputError, match="'by' parameter of open_texts must be another column"):
            open_texts(jsonl(tmp_path), by=same, unit="who")
    with pytest.raises(InputError, match="'by' parameter of open_texts must be the name of a column"):
        open_texts(jsonl(tmp_path), by="")

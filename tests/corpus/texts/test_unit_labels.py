"""Labels of units: one rule for all that may hold them, and files of labels for files of counts."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from private_topics import InputError
from private_topics.corpus.counts.blocks import as_blocks
from private_topics.corpus.counts.counting import count_texts, distinct_words
from private_topics.corpus.texts.files import LONGEST_LABEL_BYTES, read_unit_labels
from private_topics.corpus.texts.frames import texts_of
from private_topics.corpus.texts.readers import open_texts
from private_topics.corpus.texts.source import unit_label
from private_topics.corpus.words.vocabulary import user_units
from private_topics.engines.local import LocalCorpus
from private_topics.engines.spark.tasks import unit_key
from private_topics.privacy.ledger.binding import fingerprint

SECRET = "quixotically"


def test_equal_labels_are_one_unit_whatever_surrounds_them(tmp_path: Path) -> None:
    lines = ["anna", "  anna\t", "bob\r", "Zoe\u0308", "Zo\u00eb", "bob", "17", "a b"]
    (tmp_path / "labels.txt").write_bytes("\n".join(lines).encode())
    np.testing.assert_array_equal(read_unit_labels(tmp_path / "labels.txt"), [0, 0, 1, 2, 2, 1, 3, 4])
    (tmp_path / "labels.txt.gz").write_bytes(gzip.compress(("\ufeff" + "\n".join(lines) + "\n").encode()))
    np.testing.assert_array_equal(read_unit_labels(tmp_path / "labels.txt.gz"), [0, 0, 1, 2, 2, 1, 3, 4])


BAD = {
    "a blank line": f"{SECRET}\n\n{SECRET}\n".encode(),
    "blanks only": f"{SECRET}\n   \n".encode(),
    "nothing": b"",
    "another encoding": f"{SECRET}é\n".encode("latin-1"),
    "UTF-16": f"{SECRET}\nb\n".encode("utf-16"),
    "binary": bytes(range(256)) + SECRET.encode(),
    "a long line": SECRET.encode() * LONGEST_LABEL_BYTES,
}


@pytest.mark.parametrize("kind", BAD)
def test_a_document_without_a_label_stops_the_run(kind: str, tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_bytes(BAD[kind])
    with pytest.raises(InputError) as error:
        read_unit_labels(tmp_path / "labels.txt")
    assert SECRET not in str(error.value)


def test_files_that_are_not_there_or_truncated(tmp_path: Path) -> None:
    (tmp_path / "labels.txt.gz").write_bytes(gzip.compress(b"anna\nbob\n" * 9_999)[:-20])
    for name in ("missing.txt", "labels.txt.gz", "."):
        with pytest.raises(InputError):
            read_unit_labels(tmp_path / name)


# One rule for every door: what the labels of `SPELLED` name are three people, whichever way they come in

SPELLED = ["anna", " anna\t", "Zoë", "Zoe\u0308", "7", "7 "]
PEOPLE = [0, 0, 1, 1, 2, 2]
COUNTS = np.arange(18).reshape(6, 3)


def numbered(labels: Iterable[Any]) -> list[int]:
    """Labels as the numbers of their units, in the order in which they appear."""
    numbers: dict[Any, int] = {}
    return [numbers.setdefault(label, len(numbers)) for label in labels]


def of_file(name: str, write: Callable[[Path, list[dict[str, str]]], object]) -> Callable[[Path], list[Any]]:
    def door(folder: Path) -> list[Any]:
        write(folder / name, [{"text": "lung", "who": label} for label in SPELLED])
        return [label for _, label in open_texts(folder / name, unit="who")]

    return door


def write_jsonl(path: Path, rows: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def pairs() -> list[tuple[str, str]]:
    return [("lung", label) for label in SPELLED]


def of_a_frame(_: Path) -> list[Any]:
    return [label for _, label in texts_of(pd.DataFrame({"t": "lung", "who": SPELLED}), "t", "who", "a test")]


def of_dicts(_: Path) -> list[Any]:
    return [label for _, label in texts_of([{"t": "lung", "who": label} for label in SPELLED], "t", "who", "a test")]


def of_counted_pairs(_: Path) -> list[Any]:
    return list(count_texts(pairs(), ["lung"], n_jobs=1).groups)


def of_pairs_for_a_vocabulary(_: Path) -> list[Any]:
    return [label for _, label in distinct_words(pairs(), n_jobs=1)]


def of_groups(made: Callable[[list[str]], Any]) -> Callable[[Path], list[Any]]:
    return lambda _: list(LocalCorpus.of(as_blocks(COUNTS), made(SPELLED)).unit)


def of_labels(folder: Path) -> list[Any]:
    (folder / "labels.txt").write_text("\n".join(SPELLED))
    return list(read_unit_labels(folder / "labels.txt"))


def of_a_cluster(_: Path) -> list[Any]:
    return [unit_key(label) for label in SPELLED]


DOORS: dict[str, Callable[[Path], list[Any]]] = {
    "jsonl": of_file("a.jsonl", write_jsonl),
    "csv": of_file("a.csv", lambda path, rows: pd.DataFrame(rows).to_csv(path, index=False)),
    "tsv": of_file("a.tsv", lambda path, rows: pd.DataFrame(rows).to_csv(path, index=False, sep="\t")),
    "parquet": of_file("a.parquet", lambda path, rows: pd.DataFrame(rows).to_parquet(path)),
    "frame": of_a_frame,
    "dicts": of_dicts,
    "pairs": of_counted_pairs,
    "pairs for a vocabulary": of_pairs_for_a_vocabulary,
    "groups: list": of_groups(list),
    "groups: array": of_groups(np.array),
    "groups: objects": of_groups(lambda labels: np.array(labels, object)),
    "groups: bytes": of_groups(lambda labels: np.array([label.encode() for label in labels])),
    "groups: Series": of_groups(pd.Series),
    "file of labels": of_labels,
    "cluster": of_a_cluster,
}


@pytest.mark.parametrize("door", DOORS)
def test_spellings_of_one_label_are_one_unit(door: str, tmp_path: Path) -> None:
    """Two units for one person would each have the whole of the budget."""
    assert numbered(DOORS[door](tmp_path)) == PEOPLE


def test_the_words_of_one_unit_are_limited_together() -> None:
    documents = [{f"word{number}"} for number in range(6)]
    assert sorted(map(len, user_units(documents, SPELLED, 1))) == [1, 1, 1]


def test_ids_of_a_ledger_are_compared_as_labels_are() -> None:
    key, salt = bytes(32), bytes(8)
    assert fingerprint(SPELLED, key, salt) == fingerprint(["Zoë", "anna", 7], key, salt)
    assert fingerprint(SPELLED, key, salt) != fingerprint(["Zoe", "anna", 7], key, salt)


@pytest.mark.parametrize("same", [["7", 7], [7, 7.0], ["7", 7.0], ["7", np.int64(7)]])
def test_numbers_are_labels_by_their_digits(same: list[Any]) -> None:
    assert {unit_label(label) for label in same} == {"7"}
    assert set(count_texts([("lung", label) for label in same], ["lung"], n_jobs=1).groups) == {0}
    assert set(LocalCorpus.of(as_blocks(COUNTS[:2]), same).unit) == {0}
    assert len(list(user_units([["lung"]] * 2, same, 1))) == 1


@pytest.mark.parametrize("missing", ["", " \t", 1.5, float("nan"), b"x", True])
def test_what_is_no_label_is_refused_where_a_program_hands_it_over(missing: Any) -> None:
    with pytest.raises(InputError):
        count_texts([("lung", "a"), ("lung", missing)], ["lung"], n_jobs=1)
    with pytest.raises(InputError):
        LocalCorpus.of(as_blocks(COUNTS[:2]), ["a", missing])
    with pytest.raises(InputError):
        list(user_units([["lung"]] * 2, ["a", missing], 1))

"""Labels of the documents of a count file: one line each, read as the labels of texts are."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from private_topics import InputError
from private_topics.corpus.texts.files import LONGEST_LABEL_BYTES, read_unit_labels

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

"""A folder of texts: a file is a record, so one that cannot be opened is an empty document, and goes unnamed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from private_topics import InputError
from private_topics.corpus.texts.readers import open_texts

PATIENT = "patient_123"


def dangling(path: Path) -> None:
    path.symlink_to(path.parent / "gone")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def loop(path: Path) -> None:
    path.symlink_to(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(3):
        (tmp_path / f"a{number}.txt").write_text(f"text {number}")
    return tmp_path


@pytest.mark.parametrize("broken", [dangling, pipe, loop])
def test_a_file_that_cannot_be_opened_is_an_empty_document(broken, folder: Path) -> None:
    broken(folder / f"{PATIENT}.txt")
    source = open_texts(folder)
    assert [text for text, _ in source] == ["text 0", "text 1", "text 2", ""]
    assert source.skipped == 1
    with pytest.raises(InputError, match="it cannot be opened") as error:
        list(open_texts(folder, strict=True))
    assert PATIENT not in str(error.value)
    assert PATIENT not in repr(error.value.__cause__)


def test_a_file_that_goes_between_two_passes_stays_a_record(folder: Path) -> None:
    source = open_texts(folder)
    assert len(list(source)) == 3
    (folder / "a1.txt").unlink()
    assert [text for text, _ in source] == ["text 0", "", "text 2"]


def test_a_folder_of_nothing_else_is_empty_documents(tmp_path: Path) -> None:
    dangling(tmp_path / f"{PATIENT}.txt")
    assert list(open_texts(tmp_path)) == [("", None)]


def test_a_folder_inside_that_cannot_be_listed_is_not_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / PATIENT).mkdir()
    honest = os.scandir

    def scandir(path):
        if Path(path).name == PATIENT:
            raise PermissionError(13, "Permission denied", str(path))
        return honest(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(InputError, match=r"A folder inside .* cannot be opened: Permission denied") as error:
        open_texts(folder)
    assert PATIENT not in str(error.value)

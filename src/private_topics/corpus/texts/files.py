"""Documents in files of lines (JSON or plain text) and in folders of text files; a file of labels for counts."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from private_topics.corpus.texts.source import (
    Broken,
    Classified,
    Document,
    LineSource,
    Reading,
    TextSource,
    open_binary,
)
from private_topics.errors import InputError

TEXT_SUFFIXES = (".txt", ".txt.gz")
LONGEST_LABEL_BYTES = 4_096


class JSONLines(LineSource):
    """One JSON object per line; the text is one of its strings. A blank line is an empty document."""

    def _record(self, decoded: str, problem: str | None) -> Document | Classified | Broken:
        if not decoded.strip() and problem is None:
            return self._document("", None, None)
        record = _parsed(decoded)
        if not isinstance(record, dict):
            return Broken(problem or "it is not a JSON object")
        text, unit, by = (record.get(name) for name in (self.reading.field, self.reading.unit, self.reading.by))
        return self._document(text, unit, problem, by)


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


class TextLines(LineSource):
    """A document per line of a plain text file, empty lines included; texts with line ends belong in JSON lines."""

    has_fields = False

    def _record(self, decoded: str, problem: str | None) -> Document | Classified | Broken:
        return self._document(decoded, None, problem)


def read_unit_labels(path: str | os.PathLike[str]) -> np.ndarray:
    """The unit of each document as a number, from a text file (UTF-8, also gzipped) with one label per line.

    For the `groups` of a private fit on a file of counts. Lines with the same label are one unit; blanks around a
    label do not count. Labels are read as those of texts are (`unit_label`): a line without one stops the run, since
    a document without a unit could neither be left out nor counted by itself. docs/proofs/records.md
    """
    numbers: dict[str, int] = {}
    return np.fromiter((numbers.setdefault(label, len(numbers)) for label in unit_labels(path)), np.int64)


def unit_labels(path: str | os.PathLike[str]) -> Iterator[str]:
    """The labels themselves, line by line."""
    reading = Reading(unit="label", strict=True, max_record_bytes=LONGEST_LABEL_BYTES)
    return (str(label) for _, label in _LabelLines(Path(path), reading))


class _LabelLines(LineSource):
    """Records that have a unit and nothing else."""

    def _record(self, decoded: str, problem: str | None) -> Document | Classified | Broken:
        return self._document("", decoded, problem)


class TextFolder(TextSource):
    """A document per `.txt` or `.txt.gz` file in a folder and its subfolders, in the order of their paths."""

    has_fields = False

    def __init__(self, path: Path, reading: Reading) -> None:
        super().__init__(path, reading)
        self.files = text_files(path)
        if not self.files:
            raise self._problem("there are no *.txt files in this folder")

    def _records(self) -> Iterator[Document | Classified | Broken]:
        for file in self.files:
            yield self._document(*self._read(file))

    def _read(self, file: Path) -> tuple[str, None, str | None]:
        """The text of a file, which is a record: a message that named it would identify one."""
        try:
            with open_binary(file) as opened:
                text, problem = self._decoded(opened.read(self.reading.max_record_bytes + 1))
        except InputError:
            return "", None, "it cannot be opened"
        except (OSError, EOFError, zlib.error):
            return "", None, "it is truncated or damaged"
        return text, None, problem


def text_files(folder: Path) -> list[Path]:
    """The visible text files below a folder, sorted; a folder that cannot be listed is an error."""

    def refuse(error: OSError) -> None:
        inside = "" if Path(error.filename) == folder else "A folder inside "
        raise InputError(f"{inside}{str(folder)!r} cannot be opened: {error.strerror}.")

    found = []
    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        visible = (name for name in names if name.endswith(TEXT_SUFFIXES) and not name.startswith("."))
        found += [Path(parent, name) for name in visible]
    return sorted(found)

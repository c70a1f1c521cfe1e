"""Whom the documents of a count file belong to: a file with one label per line, in the order of the documents.

Labels are read as those of texts are (`unit_label`): a line that holds none stops the run, since a document without
a unit could neither be left out nor counted by itself. docs/proofs/records.md
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from private_topics.corpus.texts.source import TOO_LONG, Broken, Document, LineSource, Reading

LONGEST_LABEL_BYTES = 4_096


def read_unit_labels(path: str | os.PathLike[str]) -> np.ndarray:
    """The unit of each document as a number, from a text file (UTF-8, also gzipped) with one label per line.

    For `groups` of a private fit. Lines with the same label are one unit; blanks around a label do not count.
    """
    numbers: dict[str, int] = {}
    labels = _LabelLines(Path(path), Reading(unit="label", strict=True, max_record_bytes=LONGEST_LABEL_BYTES))
    return np.fromiter((numbers.setdefault(str(label), len(numbers)) for _, label in labels), np.int64)


class _LabelLines(LineSource):
    """Records that have a unit and nothing else."""

    def _records(self) -> Iterator[Document | Broken]:
        for line in self._lines():
            if isinstance(line, bytes):
                label, problem = self._decoded(line)
                yield self._document("", label, problem)
            else:
                yield Broken(TOO_LONG)

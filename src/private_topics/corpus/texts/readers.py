"""Text files in, documents out: `open_texts` knows the format by the file's name.

| name | a record is |
|---|---|
| `.jsonl`, `.ndjson` (`.gz`) | a line with a JSON object |
| `.csv`, `.tsv` (`.gz`) | a row below the header, quoted as in RFC 4180 |
| `.parquet` | a row (extra `parquet`) |
| `.txt` (`.gz`) | a line |
| a folder | a `.txt` or `.txt.gz` file in it |

Files of counts (`.npz`, `.mtx`, UCI `docword.*.txt`, blocks in `.parquet`) hold no text: `as_blocks` takes them.

What is public: the number of units `N`, which nothing in a text may change. So the number of records depends on
their frames alone, and a broken record (not JSON, no such field, longer than `max_record_bytes`, wrongly encoded) is
an empty document that counts in `N`. With `unit`, `N` is the number of different labels that can be read: a record
without one belongs to no unit and is left out. A truncated or damaged archive and a CSV quote that never closes stop
the run, because the number of missing records is unknown: no record that is properly written does that. Nothing else
stops it, whatever the records say, unless `strict=True`, which is for looking at a file and which private fits
refuse. The proof is `docs/proofs/records.md`.

What is not: `skipped`, the number of broken records, and `first_skipped`, the position of the first, say something
certain about single documents. They are attributes for the holder of the file, appear in no message, and must not be
published with a private model.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from private_topics.corpus.counts.folder import BLOCK_SUFFIXES, N_WORDS_KEY
from private_topics.corpus.texts.files import JSONLines, TextFolder, TextLines
from private_topics.corpus.texts.parquet import ParquetTexts, parquet_metadata
from private_topics.corpus.texts.source import DEFAULT_RECORD_BYTES, Reading, TextSource
from private_topics.corpus.texts.tables import DelimitedText
from private_topics.errors import InputError

OPENERS: dict[str, Callable[[Path, Reading], TextSource]] = {
    "jsonl": JSONLines,
    "csv": lambda path, reading: DelimitedText(path, reading, "csv"),
    "tsv": lambda path, reading: DelimitedText(path, reading, "tsv"),
    "parquet": ParquetTexts,
    "lines": TextLines,
    "folder": TextFolder,
}
COUNTS = "counts"
ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "lines",
    ".mtx": COUNTS,
}
"""Formats by the end of a name; `.gz` may follow."""


def open_texts(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    field: str = "text",
    unit: str | None = None,
    encoding: str = "utf-8",
    strict: bool = False,
    max_record_bytes: int = DEFAULT_RECORD_BYTES,
    by: str | None = None,
) -> TextSource:
    """The documents of a file or folder, as (text, unit) pairs to iterate as often as needed, read record by record.

    Parameters
    ----------
    path : the file or folder.
    format : "jsonl", "csv", "tsv", "parquet", "lines" or "folder"; None to infer it from the name.
    field : the field or column of the text.
    unit : the field or column whose value names the privacy unit (a patient, an author); None: each document is one.
    encoding : of the characters; one that contains ASCII.
    strict : whether a broken record stops the run; otherwise it is an empty document. To look at a file, not for a
        private fit: that a run stops would say something certain about one document.
    max_record_bytes : a longer record is broken.
    by : the field or column whose value names a document's class (a year, a ward), for `class_shares`: documents are
        then (text, unit, class) triples, with None for the class of a record that has none.
    """
    reading = Reading(field, unit, encoding, strict, max_record_bytes, by)
    if not isinstance(path, str | os.PathLike) or "\n" in os.fspath(path):
        raise InputError(
            "The 'path' parameter of open_texts must name a file or folder. Texts in memory need no opening: pass "
            "them to fit_texts, or a data frame to PrivateTopics."
        )
    path = Path(path)
    found = detect_format(path) if format is None else format
    if found == COUNTS:
        raise InputError(f"{str(path)!r} holds counts, not text: pass the path itself to fit, or to as_blocks.")
    if found not in OPENERS:
        raise InputError(
            f"The 'format' parameter of open_texts must be one of {tuple(OPENERS)} or None. Got {format!r} instead."
        )
    _check_there(path)
    if path.is_dir() != (found == "folder"):
        raise InputError(f"{str(path)!r} is {'a' if path.is_dir() else 'not a'} folder, but the format is {found!r}.")
    return OPENERS[found](path, reading)


def detect_format(path: str | os.PathLike[str]) -> str:
    """The format of texts in a file or folder, by its name; "counts" where `as_blocks` is to read it."""
    path = Path(path)
    _check_there(path)
    if path.is_dir():
        return _folder_format(path)
    name = path.name.lower()
    if name.endswith(".parquet"):
        return COUNTS if N_WORDS_KEY in parquet_metadata(path) else "parquet"
    if name.endswith(BLOCK_SUFFIXES) or (name.startswith("docword.") and name.endswith((".txt", ".txt.gz"))):
        return COUNTS
    for ending, found in ENDINGS.items():
        if name.endswith((ending, ending + ".gz")):
            return found
    raise InputError(
        f"The format of {str(path)!r} cannot be told by its name: pass format=, one of {tuple(OPENERS)}."
    )


def _folder_format(path: Path) -> str:
    try:
        is_counts = any(file.suffix in BLOCK_SUFFIXES for file in path.iterdir() if file.name[0] not in "._")
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be opened: {error.strerror}.") from None
    return COUNTS if is_counts else "folder"


def _check_there(path: Path) -> None:
    try:
        path.stat()
    except OSError as error:
        missing = isinstance(error, FileNotFoundError | NotADirectoryError)
        what = f"There is no file or folder {str(path)!r}." if missing else f"{str(path)!r} cannot be opened."
        raise InputError(what) from None
    except ValueError:
        raise InputError("A path cannot hold a null character.") from None

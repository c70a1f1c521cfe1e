"""A source of texts is a sequence of records, each one document; a broken record is an empty document.

The guarantee of a private fit takes the number of units as public, so it must not depend on what a unit says. Hence a
record is found by its frame alone (a line, a table row, a file), and *every* record counts: one that cannot be read
is yielded as an empty text. Where users are units, a record without a readable label belongs to none and is left out.
No number of broken records stops a run, for then its exit status would tell whether there is one more of them.
`skipped` counts them for the holder of the data. Replacing one document by a broken one changes that count by one, so
it is as confidential as the texts: no message, model or report of ours shows it.

The position of a broken record leaks too (it says something certain about one document): messages name the file
and the kind of problem only. `first_skipped` has the position, for those who may look into the file anyway.
"""

from __future__ import annotations

import codecs
import gzip
import os
import stat
import unicodedata
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, BinaryIO, cast

from private_topics.errors import InputError

DEFAULT_RECORD_BYTES = 16 * 2**20
LARGEST_RECORD_BYTES = 2**28
CHUNK_BYTES = 2**20
LARGEST_GROWTH, SPARE_BYTES = 300, 2**26
"""A Parquet file that announces more than 300 times its size plus 64 MB is read a row at a time."""
STATEFUL = ("utf-16", "utf-32", "utf-7", "iso2022", "hz")
"""Encodings in which the byte 10 need not be a line's end, or a quote not a quote."""

TOO_LONG = "it is longer than max_record_bytes"

Document = tuple[str, str | None]
"""A text and the label of its unit (`None` where units are documents)."""
Classified = tuple[str, str | None, str | None]
"""The same with the label of its class (`None` where it has none): what a source read with `by` gives."""


@dataclass(frozen=True)
class Broken:
    """A record that cannot be read: a fixed phrase, and its unit where that much is readable."""

    problem: str
    unit: str | None = None


@dataclass(frozen=True)
class Piece:
    """A part of a line that is longer than `max_record_bytes`, and whether the line ends with it."""

    content: bytes
    ends: bool


@dataclass(frozen=True)
class Reading:
    """How records are read: every setting is public."""

    field: str = "text"
    unit: str | None = None
    encoding: str = "utf-8"
    strict: bool = False
    max_record_bytes: int = DEFAULT_RECORD_BYTES
    by: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("field", self.field), ("unit", self.unit), ("by", self.by)):
            if not (isinstance(value, str) and value) and not (name != "field" and value is None):
                raise _bad_parameter(name, "the name of a column", value)
        if self.by in (self.field, self.unit) and self.by is not None:
            raise _bad_parameter("by", "another column than those of the text and of the unit", self.by)
        size = self.max_record_bytes
        if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= LARGEST_RECORD_BYTES:
            raise _bad_parameter("max_record_bytes", f"an int between 1 and {LARGEST_RECORD_BYTES}", size)
        try:
            usable = "\n".encode(self.encoding) == b"\n" and bool(b"\xff".decode(self.encoding, "replace"))
            name = codecs.lookup(self.encoding).name
        except (LookupError, TypeError, ValueError):
            usable, name = False, ""
        if not usable or name.startswith(STATEFUL):
            what = (
                "an encoding that contains ASCII, such as 'utf-8' or 'latin-1' (--encoding; convert UTF-16 files to "
                "UTF-8)"
            )
            raise _bad_parameter("encoding", what, self.encoding)


class TextSource(ABC):
    """Documents of a file or folder, to iterate as often as needed; each pass reads them again, record by record."""

    has_fields = True
    """Whether records have named fields, so that `unit` can name one."""

    def __init__(self, path: Path, reading: Reading) -> None:
        self.path, self.reading = path, reading
        self.skipped: int | None = None
        """Broken records of the last complete pass. Confidential, like the texts."""
        self.first_skipped: int | None = None
        """Number (from 1) of the first broken record of the last pass. Confidential, like the texts."""
        self.left_out: int | None = None
        """Broken records of the last complete pass that belong to no unit, and were left out. Confidential, too."""
        for name in ("unit", "by"):
            if getattr(reading, name) is not None and not self.has_fields:
                raise self._problem(f"the {name!r} parameter names a column, and this format has none")

    @property
    def _wanted(self) -> list[str]:
        """The columns that a table must have."""
        reading = self.reading
        return [name for name in (reading.field, reading.unit, reading.by) if name is not None]

    @abstractmethod
    def _records(self) -> Iterator[Any]:
        """One pass over all records: `Document`, `Classified` where `by` is given, or `Broken`."""

    def __iter__(self) -> Iterator[Any]:
        seen = given = skipped = 0
        self.skipped = self.first_skipped = self.left_out = None
        for seen, record in enumerate(self._records(), start=1):
            if isinstance(record, Broken):
                skipped += 1
                self.first_skipped = self.first_skipped or seen
                if self.reading.strict:
                    raise self._problem(f"with strict=True a broken record stops the run: {record.problem}")
                if self.reading.unit is not None and record.unit is None:
                    continue  # a document of no unit
                record = ("", record.unit) if self.reading.by is None else ("", record.unit, None)
            given += 1
            yield record
        if seen == 0:
            raise self._problem("it holds no documents")
        if given == 0:
            raise self._problem(
                f"no record has a unit in the field {self.reading.unit!r}. Name another with the 'unit' parameter "
                "(--unit); `private-topics check` looks for it"
            )
        self.skipped, self.left_out = skipped, seen - given

    def _decoded(self, raw: bytes) -> tuple[str, str | None]:
        """The characters, and what is wrong with them; then some may be replaced by U+FFFD."""
        if len(raw) > self.reading.max_record_bytes:
            return "", TOO_LONG
        try:
            return raw.decode(self.reading.encoding), "it is binary" if b"\0" in raw else None
        except ValueError:
            return raw.decode(self.reading.encoding, "replace"), f"it is not {self.reading.encoding}"

    def _document(self, text: Any, unit: Any, problem: str | None, by: Any = None) -> Document | Classified | Broken:
        """The document made of a record's text, unit and class; `problem` where it was read with damage."""
        label = None
        if self.reading.unit is not None:
            label = unit_label(unit)
            if label is None or (problem is not None and "\ufffd" in label):
                return Broken(problem or "it has no unit")
        if problem is None and not isinstance(text, str):
            problem = f"it has no text in the field {self.reading.field!r}"
        if problem is not None:
            return Broken(problem, label)
        return (text, label) if self.reading.by is None else (text, label, unit_label(by))

    def _problem(self, what: str) -> InputError:
        return InputError(f"{str(self.path)!r} cannot be used: {what}.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"


class LineSource(TextSource):
    """A file whose records are made of lines, plain or gzipped.

    Only the byte 10 ends a line: other characters at which some programs break lines would let a text decide how
    many records there are. A file that ends early (truncated gzip) is refused with and without strict, since the
    number of lost records is unknown.
    """

    def _records(self) -> Iterator[Document | Classified | Broken]:
        for line in self._lines():
            if isinstance(line, bytes):
                yield self._record(*self._decoded(line))
            elif line.ends:
                yield Broken(TOO_LONG)

    @abstractmethod
    def _record(self, decoded: str, problem: str | None) -> Document | Classified | Broken:
        """The document in the characters of a record; `problem` where they were read with damage."""

    def _lines(self) -> Iterator[bytes | Piece]:
        """Lines without their end, one at a time; a line that is too long comes in pieces."""
        limit = self.reading.max_record_bytes + 1  # a carriage return before the end
        rest, too_long = b"", False
        with open_binary(self.path) as file:
            for chunk in self._chunks(file):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if too_long or len(line) > limit:
                        yield Piece(line, True)
                    else:
                        yield line.removesuffix(b"\r")
                    too_long = False
                if too_long or len(rest) > limit:
                    yield Piece(rest, False)
                    rest, too_long = b"", True
        if too_long:
            yield Piece(b"", True)
        elif rest:
            yield rest.removesuffix(b"\r")

    def _chunks(self, file: BinaryIO) -> Iterator[bytes]:
        first = self._read(file)
        if self.reading.encoding.lower().replace("_", "-") in ("utf-8", "utf8"):
            first = first.removeprefix(codecs.BOM_UTF8)
        yield first
        while chunk := self._read(file):
            yield chunk

    def _read(self, file: BinaryIO) -> bytes:
        try:
            return file.read(CHUNK_BYTES)
        except (OSError, EOFError, zlib.error):
            raise self._problem("the file is truncated or damaged") from None


def open_binary(path: Path) -> BinaryIO:
    """A regular file for reading, decompressed if its name ends in `.gz`."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise InputError(f"{str(path)!r} is not a regular file.")
        return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix == ".gz" else open(path, "rb")
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"There is no file {str(path)!r}.") from None
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be opened: {error.strerror}.") from None


def largest_unpacked(path: Path) -> int:
    """The bytes that a file may announce and yet be read in batches, see `LARGEST_GROWTH`."""
    return LARGEST_GROWTH * path.stat().st_size + SPARE_BYTES


def unit_label(value: Any) -> str | None:
    """A unit's label as text, or `None` if `value` is not one.

    Labels that differ only in type, surrounding blanks or Unicode form are one unit: larger units are safe, split
    ones are not. A float is a whole number beside missing ones (pandas), or no label. Every door goes through here:
    fields of files, columns of frames, (text, unit) pairs, `groups`, files of labels, data frames of a cluster.
    """
    if isinstance(value, float):
        value = int(value) if value.is_integer() else None
    if isinstance(value, bool) or not isinstance(value, str | Integral):
        return None
    return unicodedata.normalize("NFC", str(value)).strip() or None


def _bad_parameter(name: str, wanted: str, value: Any) -> InputError:
    return InputError(f"The {name!r} parameter of open_texts must be {wanted}. Got {value!r} instead.")

"""Documents in the rows of a CSV or TSV file: one column holds the text, one may name the unit.

A quoted field may hold line ends, so an opening quote without its closing one can swallow the rows after it: then
one record changes others. A program that quotes properly never writes such a file; where one is seen (the quote is
still open after `max_record_bytes`, or the lines it joined are not a row) the run stops with and without strict. In
JSON lines and Parquet no record can affect another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from private_topics.corpus.texts.source import (
    TOO_LONG,
    Broken,
    Classified,
    Document,
    LineSource,
    Oversized,
    Reading,
)

DELIMITERS = {"csv": (",", ";"), "tsv": ("\t",)}
"""What may separate fields; the header decides."""
OPEN_QUOTE = re.compile(r'"[^"]*+(?:""[^"]*+)*+\Z')
UNCLOSED_QUOTE = "a quote does not close where a field ends, so the rows after it cannot be told apart"


def field_pattern(delimiter: str) -> re.Pattern[str]:
    """A quoted field (group 1) or a bare one (group 3), each with what ends it (groups 2 and 4)."""
    end = rf"({delimiter}|\Z)"
    return re.compile(rf'"([^"]*+(?:""[^"]*+)*+)"{end}|((?!")[^{delimiter}\n]*+){end}')


def split_row(row: str, pattern: re.Pattern[str]) -> tuple[list[str], int]:
    """The fields of a row as far as it is well formed, and where the rest begins: past the end if all of it is."""
    fields, position = [], 0
    while (found := pattern.match(row, position)) is not None:
        quoted, quoted_end, bare, bare_end = found.groups()
        fields.append(bare if quoted is None else quoted.replace('""', '"'))
        if not (bare_end if quoted is None else quoted_end):
            return fields, len(row) + 1
        position = found.end()
    return fields, position


class DelimitedText(LineSource):
    """A CSV or TSV file, quoted as in RFC 4180; its first line names the columns."""

    def __init__(self, path: Path, reading: Reading, kind: str = "csv") -> None:
        super().__init__(path, reading)
        header = next(self._lines(), None)
        if header is None:
            raise self._problem("it holds no documents")
        names, problem = self._decoded(header) if isinstance(header, bytes) else ("", TOO_LONG)
        wanted = self._wanted
        for delimiter in DELIMITERS[kind]:
            self._pattern = field_pattern(delimiter)
            self._names, stop = split_row(names, self._pattern)
            if problem is None and stop > len(names) and all(self._names.count(name) == 1 for name in wanted):
                return
        named = " and ".join(map(repr, wanted))
        raise self._problem(
            f"its first line must name its columns, {named} among them (once), in {reading.encoding}. Name others "
            "with the 'field' and 'unit' parameters (--field, --unit), or its 'encoding' (--encoding); "
            "`private-topics check` looks for them"
        )

    def _records(self) -> Iterator[Document | Classified | Broken]:
        lines = self._lines()
        next(lines)
        for line in lines:
            if isinstance(line, bytes):
                yield self._record(*self._decoded(self._whole_row(line, lines)))
            elif line.quotes % 2:
                raise self._problem(UNCLOSED_QUOTE)
            else:
                yield Broken(TOO_LONG)

    def _record(self, decoded: str, problem: str | None) -> Document | Classified | Broken:
        fields, stop = split_row(decoded, self._pattern)
        if stop <= len(decoded) or len(fields) != len(self._names):
            return Broken(problem or "it has a different number of fields than the header, or a misplaced quote")
        named: dict[str | None, str] = dict(zip(self._names, fields, strict=True))
        return self._document(
            named[self.reading.field], named.get(self.reading.unit), problem, named.get(self.reading.by)
        )

    def _whole_row(self, first: bytes, lines: Iterator[bytes | Oversized]) -> bytes:
        """`first` and, if it ends in an open quote, the lines up to the one whose odd quotes close it."""
        if b'"' not in first or not self._is_open(first):
            return first
        parts, size = [first], len(first)
        for line in lines:
            if isinstance(line, Oversized) or (size := size + len(line) + 1) > self.reading.max_record_bytes:
                break
            parts.append(line)
            if line.count(b'"') % 2:
                row = b"\n".join(parts)
                if self._is_row(row):
                    return row
                break
        raise self._problem(UNCLOSED_QUOTE)

    def _is_open(self, line: bytes) -> bool:
        text = line.decode(self.reading.encoding, "replace")
        return OPEN_QUOTE.match(text, split_row(text, self._pattern)[1]) is not None

    def _is_row(self, row: bytes) -> bool:
        text = row.decode(self.reading.encoding, "replace")
        fields, stop = split_row(text, self._pattern)
        return stop > len(text) and len(fields) == len(self._names)

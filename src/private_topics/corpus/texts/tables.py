"""Documents in the rows of a CSV or TSV file: one column holds the text, one may name the unit.

A row ends at the first line end outside quotes, however long it is: `state_after` follows the quotes even where the
row is too long to be kept. Carriage returns between a closing quote and the line's end change nothing of that. A
quoted field may hold line ends, so an opening quote without its closing one can swallow the rows after it: then one
record changes others. A program that quotes properly never writes such a file; where one is seen (a quote is open at
the end of the file, or was open at the end of a line and closes where no field ends) the run stops with and without
strict. In JSON lines and Parquet no record can affect another.
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
    Reading,
)

DELIMITERS = {"csv": (",", ";"), "tsv": ("\t",)}
"""What may separate fields; the header decides."""
QUOTED = re.compile(rb'"[^"]*+(?:""[^"]*+)*+')
START, OPEN, MISPLACED = b"", b'"', b'""x'
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


def closed_fields(delimiter: str) -> re.Pattern[bytes]:
    """The fields of a row, each with the delimiter behind it, as far as they are well formed."""
    end = delimiter.encode()
    return re.compile(rb'(?:"[^"]*+(?:""[^"]*+)*+"%b|(?!")[^%b]*+%b)*+' % (end, end, end))


def state_after(state: bytes, content: bytes, fields: re.Pattern[bytes]) -> bytes:
    """Return the state in which the beginning of a row leaves its reader; nothing else of it need be kept.

    A state is the shortest beginning of a row that means the same: a field begins, is bare (`x`), is in quotes
    (`OPEN`), has just closed, perhaps with carriage returns behind, or has closed where no field ends (`MISPLACED`).
    """
    if state == OPEN and b'"' not in content:
        return OPEN
    last = fields.sub(b"", state + content, count=1)
    quoted = QUOTED.match(last)
    if quoted is None:
        return b"x" if last else START
    behind = last[quoted.end() :]
    if not behind:
        return OPEN
    behind = behind.rstrip(b"\r") + b"\r" * behind.endswith(b"\r")  # of a short line one was taken away
    return b'"' + behind if behind in (b'"', b'"\r') else MISPLACED


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
            self._pattern, self._closed_fields = field_pattern(delimiter), closed_fields(delimiter)
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
        for row in self._rows():
            yield Broken(TOO_LONG) if row is None else self._record(*self._decoded(row))

    def _rows(self) -> Iterator[bytes | None]:
        """The rows below the header; None for one that is longer than `max_record_bytes`."""
        lines = self._lines()
        next(lines)
        parts: list[bytes] = []
        state, size, is_open = START, 0, False
        for line in lines:
            content, ends = (line, True) if isinstance(line, bytes) else (line.content, line.ends)
            if ends and not size and not is_open and b'"' not in content:
                yield content
                continue
            state, size = state_after(state, content, self._closed_fields), size + len(content)
            parts.append(content)
            if ends and state == OPEN:
                parts.append(b"\n")
                size, is_open = size + 1, True
            if size > self.reading.max_record_bytes:
                parts.clear()
            if not ends or state == OPEN:
                continue
            if is_open and state == MISPLACED:
                raise self._problem(UNCLOSED_QUOTE)
            yield None if size > self.reading.max_record_bytes else b"".join(parts)
            parts.clear()
            state, size, is_open = START, 0, False
        if is_open:
            raise self._problem(UNCLOSED_QUOTE)

    def _record(self, decoded: str, problem: str | None) -> Document | Classified | Broken:
        fields, stop = split_row(decoded, self._pattern)
        if stop <= len(decoded) or len(fields) != len(self._names):
            return Broken(problem or "it has a different number of fields than the header, or a misplaced quote")
        named: dict[str | None, str] = dict(zip(self._names, fields, strict=True))
        return self._document(
            named[self.reading.field], named.get(self.reading.unit), problem, named.get(self.reading.by)
        )

"""Documents in the rows of a Parquet file: one column holds the text, one may name the unit.

A short file can hold many copies of one long text, stored once. Batches are therefore as high as the longest such
text allows: a batch of copies takes no more memory than `BATCH_BYTES` or one text, whichever is larger. Where a file
announces far more bytes than it has, which one long text is enough for, its rows are read one at a time: then a page
(at most 2 GB, as the format has it) and one text are in memory, and no file is refused for what it unpacks to.

Of texts that are all missing pandas writes floats. One text in place of one of them makes it a column of texts, so a
column of floats is taken for one without texts, whatever it holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from private_topics.corpus.texts.source import (
    Broken,
    Classified,
    Document,
    Reading,
    TextSource,
    largest_unpacked,
    open_binary,
)
from private_topics.errors import InputError, require

BATCH_ROWS, BATCH_BYTES = 64, 2**26


class ParquetTexts(TextSource):
    """The rows of a Parquet file, a batch at a time."""

    def __init__(self, path: Path, reading: Reading) -> None:
        super().__init__(path, replace(reading, encoding="utf-8"))
        with self._open() as file:
            self._check_columns(file.schema_arrow)
            unfolds = _announced(file.metadata) > largest_unpacked(path)
        try:
            self._batch_rows = 1 if unfolds else _guarded(path, self._rows_that_fit)
        except InputError:
            self._batch_rows = 1  # some encodings cannot be read as dictionaries; the first pass reports damage

    def _records(self) -> Iterator[Document | Classified | Broken]:
        with self._open() as file:
            for batch in _guarded_items(self.path, file.iter_batches(self._batch_rows, columns=self._wanted)):
                columns = [_values(batch.column(name), self.reading.max_record_bytes + 1) for name in self._wanted]
                for row in _guarded_items(self.path, zip(*columns, strict=True)):
                    yield self._record(*row)

    def _record(self, value: Any, *labels: Any) -> Document | Classified | Broken:
        text, problem = self._decoded(value) if isinstance(value, bytes) else (None, None)
        named = dict(zip(self._wanted[1:], map(self._label, labels), strict=True))
        return self._document(text, named.get(self.reading.unit or ""), problem, named.get(self.reading.by or ""))

    def _label(self, value: Any) -> Any:
        """Numbers as they are; text that can be read, else nothing."""
        if not isinstance(value, bytes):
            return value
        text, problem = self._decoded(value)
        return text if problem is None else None

    def _open(self, **options: Any) -> Any:
        open_binary(self.path).close()  # its errors name the file and the reason
        return _guarded(self.path, arrow().parquet.ParquetFile, self.path, **options)

    def _check_columns(self, schema: Any) -> None:
        from pyarrow import types

        for name in self._wanted:
            if schema.names.count(name) != 1:
                which = "field" if name == self.reading.field else "unit"
                raise self._problem(
                    f"it needs the column {name!r} (once). Name another with the {which!r} parameter (--{which}); "
                    "`private-topics check` looks for it"
                )
            kind = schema.field(name).type
            kind = kind.value_type if types.is_dictionary(kind) else kind
            # Of a column without any value pandas writes no type or floats; of whole numbers with gaps, floats.
            is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind)
            labels = name != self.reading.field
            if not is_text and not types.is_floating(kind) and not (labels and types.is_integer(kind)):
                wanted = "text or whole numbers" if labels else "text"
                raise self._problem(f"the column {name!r} must hold {wanted}")

    def _rows_that_fit(self) -> int:
        """Rows of a batch: reading the first value of a group as a dictionary brings all texts stored once."""
        from pyarrow import compute

        longest = 1
        with self._open(read_dictionary=self._wanted) as file:
            for number in range(file.metadata.num_row_groups):
                batch = next(file.iter_batches(1, row_groups=[number], columns=self._wanted), None)
                for column in () if batch is None else batch.columns:
                    if hasattr(column, "dictionary"):
                        longest = max(longest, compute.max(compute.binary_length(column.dictionary)).as_py() or 0)
        return max(1, min(BATCH_ROWS, BATCH_BYTES // longest))


def _announced(metadata: Any) -> int:
    """Return the number of bytes that a file claims to unpack to."""
    # Only sizes of whole groups: on a damaged file, asking for one column's metadata ends the process in pyarrow.
    return sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))


def parquet_metadata(path: Path) -> dict[bytes, bytes]:
    """Keys and values that the writer of a Parquet file stored with its schema."""
    open_binary(path).close()
    schema = _guarded(path, arrow().parquet.read_schema, path)
    return dict(schema.metadata or {})


def first_rows(path: Path, count: int) -> list[dict[str, Any]]:
    """The text and whole numbers of the first rows, by column, for those who look at a file."""
    from pyarrow import types

    file = _guarded(path, arrow().parquet.ParquetFile, path)
    schema = file.schema_arrow
    flat = [one.name for one in schema if types.is_integer(one.type) or types.is_string(one.type)]
    flat += [one.name for one in schema if types.is_large_string(one.type) or types.is_dictionary(one.type)]
    batch = _guarded(path, next, file.iter_batches(count, columns=flat), None)
    return [] if batch is None else _guarded(path, batch.to_pylist)


def _values(column: Any, limit: int) -> Iterator[Any]:
    """Numbers, or the first `limit` bytes of strings, of an Arrow column; `None` where a value is missing."""
    from pyarrow import types

    if types.is_integer(column.type) or types.is_floating(column.type):
        yield from column.to_pylist()
        return
    for value in column:
        text = value.value if types.is_dictionary(column.type) else value
        yield text.as_buffer()[:limit].to_pybytes() if value.is_valid and text.is_valid else None


def _guarded_items(path: Path, iterator: Iterator[Any]) -> Iterator[Any]:
    while (item := _guarded(path, next, iterator, None)) is not None:
        yield item


def _guarded(path: Path, function: Any, *arguments: Any, **options: Any) -> Any:
    """A call into pyarrow: whatever it raises for a damaged file ends as one error that quotes nothing."""
    import pyarrow

    try:
        return function(*arguments, **options)
    except (OSError, EOFError, ValueError, TypeError, LookupError, ArithmeticError, MemoryError, RuntimeError):
        pass
    except pyarrow.ArrowException:
        pass
    raise InputError(f"{str(path)!r} cannot be used: it is damaged, or not a Parquet file.")


def arrow() -> Any:
    """The package pyarrow with its module `parquet`, or an error that names the extra."""
    require("pyarrow", "A Parquet file needs pyarrow", "parquet")
    import pyarrow.parquet

    return pyarrow

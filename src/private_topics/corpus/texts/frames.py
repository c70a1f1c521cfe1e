"""Texts that a program holds already: lists, columns, data frames, lists of dicts; no library of frames is needed.

A frame is whatever names its columns and gives one by its name (pandas, polars, pyarrow), a column whatever gives its
values as a list. What a table looks like is public, as the form of a file is: the names and types of its columns,
that every value is a text or missing, that every dict has the keys that are named, and that every row has a unit. A
table of another form is refused whatever it says. A missing text is an empty document, which counts in the number of
documents like any other; where all are missing, the type of the column does not matter. docs/proofs/records.md
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from private_topics.corpus.texts.readers import open_texts
from private_topics.corpus.texts.source import Document, TextSource, unit_label
from private_topics.errors import InputError

TEXT_KINDS = ("object", "str", "string", "utf8", "category", "categorical", "dictionary", "null", "enum", "unknown")
"""Beginnings of the names of types that hold text. A column without a single value may be of any type."""
ONE_TEXT = (
    "Got one string: pass a list of texts, for a single one [text]; a file is named by pathlib.Path or open_texts."
)


def texts_of(data: Any, text: str | None, unit: str | None, caller: str) -> Iterable[str | Document]:
    """The texts in `data`, with the labels of their units where `unit` names a column; to be read as often as needed.

    A string or `Path` is a file or folder, as `open_texts` reads it.
    """
    if isinstance(data, str | os.PathLike):
        return open_texts(_existing(data, caller), field="text" if text is None else text, unit=unit)
    if text is None and unit is None and isinstance(data, list) and _all_strings(data):
        return data  # a look at each of many texts takes as long as a tenth of the fold-in
    names = column_names(data)
    rows = None if names is not None else _rows(data)
    if names is None and rows is None:
        if text is not None or unit is not None:
            given = "text" if text is not None else "unit"
            raise InputError(
                f"The {given!r} parameter of {caller} names a column, and this input has none: pass a data frame, a "
                "list of dicts or a file."
            )
        return plain_texts(data, caller)
    listed = "" if names is None else _one_of(names)  # the keys of dicts are part of the records: not shown
    names = _common_keys(rows) if names is None else names
    if text is None:
        raise InputError(f"The 'text' parameter of {caller} must name the column of the texts{listed}.")
    for parameter, name in (("text", text), ("unit", unit)):
        if name is not None and names.count(name) != 1:
            raise InputError(
                f"The {parameter!r} parameter of {caller} must be the name of a column{listed}. Got {name!r} instead."
            )
    texts = _strings(_column(data, rows, text), f"The column {text!r}", caller)
    return texts if unit is None else list(zip(texts, _labels(_column(data, rows, unit), unit), strict=True))


def plain_texts(data: Any, caller: str) -> Iterable[str | Document]:
    """Texts without columns: what `open_texts` gives, a column, or a sequence of strings or of (text, unit) pairs."""
    refuse_other_than_texts(data, caller)
    if isinstance(data, TextSource):
        return data
    if iter(data) is data:
        raise InputError(f"{caller} reads the texts more than once: pass a list, or what open_texts gives.")
    return data if _values(data) is None else _strings(data, "The list", caller)


def refuse_other_than_texts(texts: Any, caller: str) -> None:
    """Refuse what would be read as something else: a frame as the names of its columns, a string as its letters."""
    if isinstance(texts, str):
        raise InputError(f"{caller} takes a list of texts. {ONE_TEXT}")
    if column_names(texts) is not None:
        raise InputError(
            f"{caller} takes texts, not a data frame, of which it would read the names of the columns: pass one "
            "column, such as frame['text'], or use PrivateTopics.fit(frame, text='text')."
        )
    if isinstance(texts, bytes | bytearray | os.PathLike | dict | set | frozenset) or not isinstance(texts, Iterable):
        raise InputError(
            f"{caller} takes a list of texts or what open_texts gives. Got an object of type "
            f"{type(texts).__name__!r} instead."
        )
    if getattr(texts, "ndim", 1) != 1:
        raise InputError(f"{caller} takes texts in one dimension, such as one column of an array.")
    if _rows(texts) is not None:
        raise InputError(
            f"{caller} takes texts, not dicts: pass their texts, or use PrivateTopics.fit(rows, text='text')."
        )
    if not _may_hold_text(texts):
        raise InputError(f"{caller} takes texts. Got a column of the type {_kind(texts)!r} instead.")


def column_names(data: Any) -> list[Any] | None:
    """The names of a frame's columns; None where the object is none."""
    names = getattr(data, "column_names", None)  # pyarrow, whose `columns` are the columns themselves
    names = getattr(data, "columns", None) if names is None else names
    if names is None or callable(names) or not hasattr(data, "__getitem__"):
        return None
    return list(names)


def has_columns(data: Any) -> bool:
    """Whether `text` can name a column of this input: a frame, a list of dicts, a file."""
    return column_names(data) is not None or _rows(data) is not None or isinstance(data, os.PathLike)


def index_of(data: Any) -> Any:
    """The labels of the rows of a pandas frame or Series; None where there are none."""
    index = getattr(data, "index", None)
    return None if index is None or callable(index) else index


def _existing(path: str | os.PathLike[str], caller: str) -> Path:
    """The path; a string that is no path may be a private text, so it is not repeated."""
    try:
        if isinstance(path, os.PathLike) or os.path.exists(path):
            return Path(path)
    except ValueError:
        pass
    raise InputError(f"{caller} takes a string as the path of a file or folder, and there is none. {ONE_TEXT}")


def _rows(data: Any) -> Sequence[Any] | None:
    """`data` where it is a list of dicts."""
    is_rows = isinstance(data, list | tuple) and any(issubclass(kind, dict) for kind in set(map(type, data)))
    return data if is_rows else None


def _common_keys(rows: Sequence[Any] | None) -> list[Any]:
    """The keys that every row has."""
    common = [set(row) if isinstance(row, dict) else set() for row in rows or ()]
    return list(set.intersection(*common)) if common else []


def _column(data: Any, rows: Sequence[Any] | None, name: str) -> Any:
    return data[name] if rows is None else [row[name] for row in rows]


def _values(column: Any) -> list[Any] | None:
    """The values of a column as Python's own; None for an object that is no column."""
    if isinstance(column, list | tuple):
        return list(column)
    for name in ("to_pylist", "to_list", "tolist"):  # pyarrow; pandas and polars; numpy
        if callable(getattr(column, name, None)):
            return list(getattr(column, name)())
    return None


def _strings(column: Any, what: str, caller: str) -> list[Any]:
    """Texts (or pairs), an empty one for each that is missing. Values of another kind are refused."""
    found = _values(column)
    if found and _all_strings(found):
        return found
    if found is None or not _may_hold_text(column) or not all(map(_is_text_or_missing, found)):
        kind = "" if _kind(column) is None else f" Got the type {_kind(column)!r} instead."
        raise InputError(f"{what} given to {caller} must hold texts: strings, or None where one is missing.{kind}")
    return [value if _is_text(value) else "" for value in found]


def _all_strings(values: list[Any]) -> bool:
    return set(map(type, values)) == {str}


def _is_text_or_missing(value: Any) -> bool:
    return _is_text(value) or _is_missing(value)


def _is_missing(value: Any) -> bool:
    """Missing are None, NaN, and what pandas writes for them."""
    missing = value is None or type(value).__name__ in ("NAType", "NaTType")
    return missing or (isinstance(value, float) and value != value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str))


def _labels(column: Any, name: str) -> Iterator[str]:
    for value in _values(column) or ():
        label = unit_label(value)
        if label is None:
            raise InputError(
                f"The column {name!r} must say for each row who it belongs to, as text or a whole number: at least "
                "one row has no unit. Nothing was charged. Leave such rows out, or give them one."
            )
        yield label


def _kind(column: Any) -> str | None:
    """The type of a column as its library writes it; None for a list."""
    kind = getattr(column, "dtype", getattr(column, "type", None))
    return None if kind is None else str(kind)


def _may_hold_text(column: Any) -> bool:
    """Accept columns of a type for text, and those without a value, which pandas makes floats or times."""
    kind = _kind(column)
    kind = "object" if kind is None or kind.startswith(("<U", ">U")) else kind.lower()
    if kind.removeprefix("large_").startswith(TEXT_KINDS):
        return True
    values = _values(column)
    return values is not None and all(map(_is_missing, values))


def _one_of(names: list[Any]) -> str:
    listed = ", ".join(map(repr, names[:20]))
    return f": one of {listed}{', …' if len(names) > 20 else ''}" if names else ""

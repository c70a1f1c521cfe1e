"""Texts in memory: every shape gives the same documents, their number never depends on what they say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from private_topics import (
    InputError,
    PrivacyBudget,
    PrivateSpectralLDA,
    PrivateVocabulary,
    fit_texts,
    make_vocabulary,
)
from private_topics.corpus.texts.frames import column_names, has_columns, index_of, texts_of
from private_topics.corpus.texts.readers import open_texts

TEXTS, OWNERS = ["Heart and lung.", "", "A letter."], ["anna", "ben", "anna"]


class Column:
    """A column as polars has them: a type, and `to_list`."""

    def __init__(self, values: list[Any], dtype: str) -> None:
        self._values, self.dtype = values, dtype

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def to_list(self) -> list[Any]:
        return list(self._values)


class Frame:
    """A frame as polars has them: a list of names, and a column by its name. Iterating it gives columns."""

    def __init__(self, columns: dict[str, Column]) -> None:
        self._columns, self.columns = columns, list(columns)

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]


def missing_in_the_middle(missing: Any) -> list[Any]:
    return [TEXTS[0], missing, TEXTS[2]]


def pandas_frame() -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"note": missing_in_the_middle(np.nan), "who": OWNERS, "age": [1, 2, 3]})


def arrow_table() -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    return pyarrow.table({"note": missing_in_the_middle(None), "who": OWNERS, "age": [1, 2, 3]})


def like_polars() -> Any:
    columns = {
        "note": (missing_in_the_middle(None), "String"),
        "who": (OWNERS, "String"),
        "age": ([1, 2, 3], "Int64"),
    }
    return Frame({name: Column(*column) for name, column in columns.items()})


def dicts() -> Any:
    return [
        {"note": TEXTS[0], "who": "anna", "age": 1},
        {"note": None, "who": "ben", "age": 2},
        {"note": TEXTS[2], "who": "anna", "age": 3, "ward": "east"},
    ]


def polars_frame() -> Any:
    polars = pytest.importorskip("polars")
    return polars.DataFrame({"note": missing_in_the_middle(None), "who": OWNERS, "age": [1, 2, 3]})


TABLES = [pandas_frame, arrow_table, like_polars, dicts, polars_frame]


@pytest.mark.parametrize("made", TABLES)
def test_every_table_gives_the_same_documents(made: Any) -> None:
    assert texts_of(made(), "note", None, "fit") == TEXTS
    assert texts_of(made(), "note", "who", "fit") == list(zip(TEXTS, OWNERS, strict=True))
    assert has_columns(made())


@pytest.mark.parametrize("made", TABLES)
def test_columns_are_named_and_checked(made: Any) -> None:
    with pytest.raises(InputError, match="'text' parameter of fit must name the column"):
        texts_of(made(), None, None, "fit")
    with pytest.raises(InputError, match=r"'text' parameter of fit must be the name of a column.*Got 'txt' instead"):
        texts_of(made(), "txt", None, "fit")
    with pytest.raises(InputError, match="'unit' parameter of fit must be the name of a column"):
        texts_of(made(), "note", "patient", "fit")
    with pytest.raises(InputError, match="The column 'age' given to fit must hold texts"):
        texts_of(made(), "age", None, "fit")


@pytest.mark.parametrize("made", TABLES[:3])
def test_a_message_names_the_columns_of_a_frame(made: Any) -> None:
    with pytest.raises(InputError, match="one of 'note', 'who', 'age'"):
        texts_of(made(), None, None, "fit")


def test_a_message_does_not_name_the_keys_of_dicts() -> None:
    """They are part of the records."""
    with pytest.raises(InputError) as caught:
        texts_of([{"note": "x", "Alice Smith": 1}], "txt", None, "fit")
    assert "Alice" not in str(caught.value)


def test_a_column_that_occurs_twice_is_none() -> None:
    pandas = pytest.importorskip("pandas")
    twice = pandas.DataFrame([["a", "b"]], columns=["note", "note"])
    with pytest.raises(InputError, match="must be the name of a column"):
        texts_of(twice, "note", None, "fit")


def columns() -> list[Any]:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    values = missing_in_the_middle(None)
    as_category = pandas.Series(values, dtype="category")
    return [
        *(values, tuple(values), np.array(values, dtype=object), np.array(TEXTS)),
        *(pandas.Series(values), pandas.Series(values, dtype=object), as_category),
        *(pyarrow.array(values), pyarrow.chunked_array([values]), Column(values, "String")),
    ]


def test_every_column_gives_the_same_documents() -> None:
    for column in columns():
        assert list(texts_of(column, None, None, "fit")) == TEXTS, type(column)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_a_missing_text_is_an_empty_document(missing: Any) -> None:
    assert texts_of([*TEXTS, missing], None, None, "fit") == [*TEXTS, ""]


def test_what_pandas_calls_missing_is_an_empty_document() -> None:
    pandas = pytest.importorskip("pandas")
    assert texts_of([*TEXTS, pandas.NA, pandas.NaT], None, None, "fit") == [*TEXTS, "", ""]


def without_texts() -> list[Any]:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    missing = [np.nan] * 3
    return [
        *(pandas.Series(missing), pandas.Series(missing, dtype="category"), pandas.Series([pandas.NaT] * 3)),
        *(pandas.Series([pandas.NA] * 3, dtype="Float64"), pandas.Series([None] * 3), np.array(missing)),
        *(pyarrow.array([None] * 3, pyarrow.float64()), pyarrow.nulls(3), Column([None] * 3, "Null"), missing),
    ]


def test_the_type_of_a_column_without_texts_does_not_matter() -> None:
    """One text in place of one that is missing makes it a column of texts, so one unit would decide."""
    for column in without_texts():
        assert texts_of(column, None, None, "fit") == ["", "", ""], type(column)
    pandas = pytest.importorskip("pandas")
    for texts in ([np.nan] * 3, ["a", np.nan, np.nan]):
        frame = pandas.DataFrame({"note": texts, "who": OWNERS})
        assert [text for text, _ in texts_of(frame, "note", "who", "fit")] == [
            texts[0] if "a" in texts else "",
            "",
            "",
        ]


@pytest.mark.parametrize("other", [7, 7.5, b"bytes", ["a", "list"], {"a": "dict"}.items()])
@pytest.mark.parametrize("others", [1, 3])
def test_values_of_another_kind_are_refused_one_or_all(other: Any, others: int) -> None:
    """Were only one kind of mixture refused, one unit could decide it."""
    with pytest.raises(InputError, match="must hold texts"):
        texts_of([*TEXTS[others:], *[other] * others], None, None, "fit")


def test_a_key_is_a_column_where_every_dict_has_it() -> None:
    for rows in ([{"note": "a"}, {}], [{"note": "a"}, "b"], [{"text": "a"}, {"note": "a"}]):
        with pytest.raises(InputError, match="must be the name of a column"):
            texts_of(rows, "note", None, "fit")


def test_a_unit_is_a_label_as_in_a_file() -> None:
    pandas = pytest.importorskip("pandas")
    numbers = pandas.DataFrame({"note": ["a", "b", "c"], "who": [1.0, 2.0, 1.0]})  # pandas has no whole NaN
    assert texts_of(numbers, "note", "who", "fit") == [("a", "1"), ("b", "2"), ("c", "1")]
    spelled = pandas.DataFrame({"note": ["a", "b"], "who": [" anna", "anna "]})
    assert texts_of(spelled, "note", "who", "fit") == [("a", "anna"), ("b", "anna")]


@pytest.mark.parametrize("unknown", [None, np.nan, "  ", 1.5])
def test_a_row_without_a_unit_is_refused(unknown: Any) -> None:
    rows = [{"note": "a", "who": "anna"}, {"note": "secret", "who": unknown}]
    with pytest.raises(InputError, match="at least one row has no unit") as caught:
        texts_of(rows, "note", "who", "fit")
    assert "secret" not in str(caught.value)
    assert "anna" not in str(caught.value)


def test_a_path_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "letters.csv"
    path.write_text("note,who\nHeart and lung.,anna\n")
    for named in (path, str(path)):
        assert list(texts_of(named, "note", "who", "fit")) == [("Heart and lung.", "anna")]
    source = open_texts(path, field="note")
    assert texts_of(source, None, None, "fit") is source


def test_a_private_text_is_not_repeated() -> None:
    for text in ("Alice has the flu", "Alice\nhas the flu", "Alice\0"):
        with pytest.raises(InputError, match="Got one string") as caught:
            texts_of(text, None, None, "fit")
        assert "Alice" not in str(caught.value)


def not_texts() -> list[Any]:
    pandas = pytest.importorskip("pandas")
    return [
        *("one text", b"bytes", {"a": "dict"}, {"a", "set"}, 7, Path("letters.csv"), np.array([["a"], ["b"]])),
        *(pandas_frame(), arrow_table(), like_polars(), dicts(), pandas.Series([1, 2]), np.array([1.0])),
    ]


def test_what_is_no_list_of_texts_is_refused_before_it_is_charged() -> None:
    """A frame would be read as the names of its columns, a string as its letters."""
    charged: list[Any] = []
    ledger = type("Ledger", (), {"reserve": lambda self, budget, **kind: charged.append(budget)})()
    for wrong in not_texts():
        with pytest.raises(InputError, match="fit_texts takes"):
            fit_texts(PrivateSpectralLDA(2, ledger=ledger), wrong, PrivateVocabulary())
        with pytest.raises(InputError, match="make_vocabulary takes"):
            make_vocabulary(wrong, PrivacyBudget(1.0, 1e-6), PrivateVocabulary(), ledger=ledger)
    assert not charged


@pytest.mark.parametrize("wrong", [["a", "list"], b"bytes", 7, "a text\nof two lines"])
def test_open_texts_takes_paths(wrong: Any) -> None:
    with pytest.raises(InputError, match="'path' parameter of open_texts"):
        open_texts(wrong)


@pytest.mark.parametrize(("data", "what"), [(iter(["a"]), "more than once"), (["a"], "names a column"), (7, "takes")])
def test_other_input_is_refused(data: Any, what: str) -> None:
    with pytest.raises(InputError, match=what):
        texts_of(data, "note" if what == "names a column" else None, None, "fit")


def test_what_has_an_index() -> None:
    pandas = pytest.importorskip("pandas")
    assert list(index_of(pandas.Series(["a"], index=["r"]))) == ["r"]
    assert index_of(["a"]) is None
    assert column_names(["a"]) is None


class Watched(list[str]):
    """A list that counts how often somebody walks through it."""

    walks = 0

    def __iter__(self) -> Iterator[str]:
        self.walks += 1
        return super().__iter__()


def test_a_list_of_strings_is_walked_through_once():
    """Each walk touches every text: beside the tokeniser that is what `transform` of many short ones can notice."""
    texts = Watched(TEXTS)
    assert texts_of(texts, None, None, "here") is texts
    assert texts.walks == 1

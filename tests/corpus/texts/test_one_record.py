"""Whatever one record of a file is replaced by: the file is read as before, and every other document stays.

Records are any bytes that a writer of the format may write for one: longer than `max_record_bytes`, binary, in
another encoding, of too few fields, missing. Limits and chunks are a few bytes, so that long records are short.
docs/proofs/records.md says which files are made of records, and that no other error is left for one of them to cause.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpus_support import assert_quiet, write_bytes
from private_topics.corpus.texts import parquet, source
from private_topics.corpus.texts.readers import open_texts

LIMIT = 24


@pytest.fixture(autouse=True, scope="module")
def _small_limits():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "CHUNK_BYTES", 7)
        patch.setattr(source, "SPARE_BYTES", 0)
        patch.setattr(source, "LARGEST_GROWTH", 1)
        patch.setattr(parquet, "BATCH_ROWS", 2)
        yield


# Records


def pieces(*more: bytes):
    """Bytes of which some mean something to a reader."""
    some = st.sampled_from(
        [b'"', b'""', b"\r", b"\0", b"\xff", b"\xc3\xa9", b"\\", b"word ", b"x" * 2 * LIMIT, *more]
    )
    return st.lists(some | st.binary(max_size=3), max_size=6).map(b"".join)


def lines():
    return pieces(b"{", b"}", b'{"text": "a', b'", "who": "b"}', b"\xef\xbb\xbf").map(
        lambda line: line.replace(b"\n", b"")
    )


def json_lines():
    texts = st.text(max_size=2 * LIMIT).map(lambda text: f'{{"text": "{text}", "who": 1}}'.replace("\n", ""))
    return lines() | texts.map(lambda line: line.encode("utf-8", "replace"))


def rows(delimiter: bytes):
    """Rows of any number of fields, in quotes or bare, with carriage returns at the end or without.

    Or one line in which a quote closes where no field ends.
    """
    quoted = pieces(b"\n", delimiter).map(lambda field: b'"' + field.replace(b'"', b'""') + b'"')
    bare = pieces().map(lambda field: field.replace(b"\n", b"").replace(delimiter, b"").lstrip(b'"'))
    proper = st.lists(quoted | bare, min_size=1, max_size=4).map(delimiter.join)
    misplaced = st.tuples(st.lists(bare, max_size=2), lines()).map(
        lambda row: delimiter.join([*row[0], b'"a"x' + row[1]])
    )
    two = st.tuples(quoted | bare, quoted).map(delimiter.join)
    ends = st.sampled_from([b"", b"\r", b"\r\r", b"\r" * 2 * LIMIT])
    return st.tuples(two | proper | misplaced, ends).map(b"".join)


values = st.none() | pieces(b"\n") | st.integers(1, 4).map(lambda times: b"x" * 40 * LIMIT * times)


# Files


def as_lines(path: Path, records: list[bytes], end: bytes) -> Path:
    return write_bytes(path, b"".join(record + end for record in records))


def as_table(path: Path, records: list[bytes], end: bytes) -> Path:
    delimiter = b"\t" if "tsv" in path.name else b","
    return as_lines(path, [delimiter.join([b"text", b"who"]), *records], end)


def as_parquet(path: Path, records: list[bytes | None], end: bytes) -> Path:
    texts = pa.array(records, pa.binary()).cast(pa.string(), safe=False)
    table = pa.table({"text": texts, "who": [str(number) for number in range(len(records))]})
    pq.write_table(table, path, compression="zstd", use_dictionary=end == b"\n", row_group_size=3)
    return path


def as_folder(path: Path, records: list[bytes], end: bytes) -> Path:
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    for number, record in enumerate(records):
        (path / f"{number}.txt.gz").write_bytes(gzip.compress(record) if end == b"\n" else record)
    return path


FORMATS = {
    "a.txt": (lines(), as_lines),
    "a.txt.gz": (lines(), as_lines),
    "a.jsonl": (json_lines(), as_lines),
    "a.jsonl.gz": (json_lines(), as_lines),
    "a.csv": (rows(b","), as_table),
    "a.csv.gz": (rows(b","), as_table),
    "a.tsv": (rows(b"\t"), as_table),
    "a.parquet": (values, as_parquet),
    "folder": (lines(), as_folder),
}


@pytest.mark.parametrize("name", FORMATS)
def test_no_record_decides_whether_a_file_is_read_nor_what_the_others_say(name):
    any_record, write = FORMATS[name]
    folders = tempfile.TemporaryDirectory()

    @given(st.lists(any_record, min_size=1, max_size=4), st.data(), st.sampled_from([b"\n", b"\r\n", b"\r\r\n"]))
    @settings(max_examples=250, deadline=None)
    def check(records, data, end):
        place = data.draw(st.integers(0, len(records) - 1))
        changed = [*records[:place], data.draw(any_record), *records[place + 1 :]]
        found, neighbour = (
            list(open_texts(write(Path(folders.name, name), some, end), max_record_bytes=LIMIT))
            for some in (records, changed)
        )
        assert len(found) == len(neighbour) == len(records)
        assert [*found[:place], *found[place + 1 :]] == [*neighbour[:place], *neighbour[place + 1 :]]
        assert all(len(text.encode("utf-8", "surrogatepass")) <= LIMIT for text, _ in found)

    with folders:
        check()


@pytest.mark.parametrize("name", [name for name in FORMATS if "txt" not in name and name != "folder"])
def test_nor_where_users_are_units(name):
    """A record without a label that can be read is left out; it changes nothing else."""
    any_record, write = FORMATS[name]
    labelled = {"a.csv": b"first,a", "a.tsv": b"first\ta", "a.parquet": b"first"}
    first = labelled.get(name.removesuffix(".gz"), b'{"text":"f","who":"a"}')
    folders = tempfile.TemporaryDirectory()

    @given(any_record)
    @settings(max_examples=150, deadline=None)
    def check(record):
        path = write(Path(folders.name, name), [first, record, first], b"\n")
        found = list(open_texts(path, unit="who", max_record_bytes=LIMIT))
        known = list(open_texts(write(path, [first, first, first], b"\n"), unit="who", max_record_bytes=LIMIT))
        assert [found[0], found[-1]] == [known[0], known[-1]]
        assert 2 <= len(found) <= 3

    with folders:
        check()


# Long records


LONG = {
    "one line": b"x" * 60,
    "two": b"x" * 20 + b"\n" + b"x" * 40,
    "many": b"\n" * 60,
    "quotes": b'""' * 30 + b'\n""',
}
ROWS = {"first": b'"%b",b', "last": b'a,"%b"', "only": b'"%b"', "more": b'"%b",b,"c\nd"'}


@pytest.mark.parametrize("quoted", LONG.values(), ids=LONG)
@pytest.mark.parametrize("fields", ROWS.values(), ids=ROWS)
def test_a_long_quoted_row_is_an_empty_document_with_and_without_line_ends(tmp_path, quoted, fields):
    row = fields.replace(b"%b", quoted)
    path = write_bytes(tmp_path / "a.csv", b"text,who\nfirst,a\n" + row + b'\n"last",b\n')
    for limit in (LIMIT, 10):
        texts = open_texts(path, max_record_bytes=limit)
        assert [text for text, _ in texts] == ["first", "", "last"]
        assert texts.skipped == 1


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_long_row_may_be_cut_anywhere(tmp_path, end):
    """Before, between and after two quotes, a quote and a delimiter, a quote and a line's end."""
    for size in range(40, 60):
        for inside in (b'"",""' + end, b'"""",' + end + b'""'):
            rows = [
                b"text,who",
                b"first,a",
                b'"' + b"x" * size + inside + b'",b',
                b'b,"' + b"x" * size + b'"',
                b"last,c",
            ]
            path = write_bytes(tmp_path / "a.csv", end.join(rows) + end)
            assert [text for text, _ in open_texts(path, max_record_bytes=LIMIT)] == ["first", "", "", "last"]


@pytest.mark.parametrize("size", [10, 2 * LIMIT, 10 * LIMIT])
@pytest.mark.parametrize("returns", range(5))
def test_carriage_returns_may_stand_behind_a_closing_quote(tmp_path, size, returns):
    """Of a short line one is taken away and of a long one none: neither row swallows another or stops the run."""
    row = b'b,"n\n' + b"x" * size + b'"' + b"\r" * returns
    path = write_bytes(tmp_path / "a.csv", b"who,text\na,first\n" + row + b"\nc,last\n")
    for limit in (*range(8, 80), 20 * LIMIT):
        found = list(open_texts(path, max_record_bytes=limit))
        assert [found[0], *found[2:]] == [("first", None), ("last", None)]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.txt"])
def test_the_number_of_documents_does_not_depend_on_limits_nor_on_chunks(name):
    any_record, write = FORMATS[name]
    folders = tempfile.TemporaryDirectory()

    @given(st.lists(any_record, min_size=1, max_size=4), st.sampled_from([b"\n", b"\r\n", b"\r\r\n"]))
    @settings(max_examples=50, deadline=None)
    def check(records, end):
        path = write(Path(folders.name, name), records, end)
        for chunk in (1, 2, 7, 2**20):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(source, "CHUNK_BYTES", chunk)
                for limit in (12, 13, 20, LIMIT, 3 * LIMIT, 2**20):
                    assert len(list(open_texts(path, max_record_bytes=limit))) == len(records)

    with folders:
        check()


def test_a_long_bare_field_may_hold_a_quote(tmp_path):
    """As a short one may: five inches are no open quote."""
    path = write_bytes(tmp_path / "a.csv", b'text,who\n5" wide,a\n' + b"long " * 9 + b'5" wide,a\nlast,b\n')
    assert [text for text, _ in open_texts(path, max_record_bytes=LIMIT)] == ['5" wide', "", "last"]


def test_a_row_of_several_lines_may_have_too_few_fields(tmp_path):
    path = write_bytes(tmp_path / "a.csv", b'text,who\nfirst,a\n"two\nlines"\nlast,b\n')
    assert [text for text, _ in open_texts(path)] == ["first", "", "last"]


@pytest.mark.parametrize("size", [10, 10 * LIMIT])
@pytest.mark.parametrize("rest", [b"", b'\na,"b",c\n'], ids=["to the end", "to another quote"])
def test_a_quote_that_does_not_close_is_refused_whatever_its_length(tmp_path, size, rest):
    """Such a file is not made of records: which rows the quote swallows cannot be told."""
    path = write_bytes(tmp_path / "a.csv", b'text,who\nfirst,a\n"' + b"x" * size + rest)
    assert_quiet(lambda: list(open_texts(path, max_record_bytes=LIMIT)), "a quote does not close")


def test_columns_whose_type_one_record_decides(tmp_path):
    """Of texts that are all missing pandas writes no type, of whole numbers with a gap floats."""
    table = {"text": pa.nulls(3), "who": pa.array([7.0, None, 7.5]), "name": ["7", "8", "9"]}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    assert list(open_texts(tmp_path / "a.parquet")) == [("", None)] * 3
    assert list(open_texts(tmp_path / "a.parquet", field="name", unit="who")) == [("7", "7")]


@pytest.mark.parametrize("kind", ["float64", "float32", "category"])
@pytest.mark.parametrize("values", [[None] * 3, [None, 7.5, None], [1.0, 2.0, 3.0]], ids=["none", "one", "all"])
def test_a_column_of_floats_is_one_of_missing_texts(tmp_path, kind, values):
    """Of texts that are all missing pandas writes floats; one text in place of one of them makes the column text."""
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(values, dtype="float64").astype(kind)
    pandas.DataFrame({"text": column, "who": ["a", "b", "b"]}).to_parquet(tmp_path / "a.parquet")
    texts = open_texts(tmp_path / "a.parquet", unit="who")
    assert list(texts) == [("", "a"), ("", "b"), ("", "b")]
    assert texts.skipped == 3
    column = pandas.Series(["a text", None, None])
    pandas.DataFrame({"text": column}).to_parquet(tmp_path / "a.parquet")
    assert [text for text, _ in open_texts(tmp_path / "a.parquet")] == ["a text", "", ""]

"""Text files of every kind give the same documents; broken ones give empty documents or one clear error."""

import gzip
import io
import json
import os
import sys
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from corpus_support import SECRET, assert_quiet, write_bytes
from private_topics.cli.app import OneLineErrors
from private_topics.corpus.counts.blocks import as_blocks, write_npz_block, write_parquet_block
from private_topics.corpus.counts.matrix import stack_rows
from private_topics.corpus.texts import source as text_source
from private_topics.corpus.texts.readers import detect_format, open_texts
from private_topics.errors import InputError

TEXTS = [
    "plain words",
    'quotes " and, commas; tabs\tand\nlines\r\nof text',
    "",
    "Ärzte\u2028line\x85\x0bbreaks",
    " x ",
]
UNITS = ["u1", "u2", "u1", "ü3", "u2"]


def write_jsonl(path, texts=TEXTS, units=UNITS, encoding="utf-8"):
    lines = [json.dumps({"id": n, "text": t, "who": u}) for n, (t, u) in enumerate(zip(texts, units, strict=True))]
    return write_bytes(path, ("\n".join(lines) + "\n").encode(encoding))


def write_table(path, texts=TEXTS, units=UNITS, separator=",", encoding="utf-8"):
    buffer = io.StringIO()
    pd.DataFrame({"id": range(len(texts)), "text": texts, "who": units}).to_csv(buffer, sep=separator, index=False)
    return write_bytes(path, buffer.getvalue().encode(encoding))


def write_parquet(path, texts=TEXTS, units=UNITS):
    pq.write_table(pa.table({"id": range(len(texts)), "text": texts, "who": units}), path)
    return path


WRITERS = {
    "a.jsonl": write_jsonl,
    "a.ndjson.gz": write_jsonl,
    "a.csv": write_table,
    "a.csv.gz": write_table,
    "a.tsv": lambda path: write_table(path, separator="\t"),
    "a.tsv.gz": lambda path: write_table(path, separator="\t"),
    "semicolons.csv": lambda path: write_table(path, separator=";"),
    "a.parquet": write_parquet,
}


def same_lines(text):
    return text.replace("\r\n", "\n")  # rows of a table are read line by line


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_documents_at_every_pass(tmp_path, name):
    source = open_texts(str(WRITERS[name](tmp_path / name)), unit="who")
    assert source.skipped is None
    for _ in range(2):
        found = list(source)
        assert [same_lines(text) for text, _ in found] == [same_lines(text) for text in TEXTS]
        assert [unit for _, unit in found] == UNITS
        assert (source.skipped, source.first_skipped) == (0, None)
    assert [unit for _, unit in open_texts(tmp_path / name)] == [None] * len(TEXTS)
    assert str(tmp_path / name) in repr(source)


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_lines_of_text(tmp_path, name, end):
    lines = ["one", "", "Ärzte\u2028here\x0b\x85too", "last"]
    path = write_bytes(tmp_path / name, ("\r\n".join(lines) + end).encode())
    assert list(open_texts(path)) == [(line, None) for line in lines]


def test_only_newlines_end_a_record(tmp_path):
    """Whatever a text says, the number of records stays: no other character may end one."""
    for character in "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\ufeff":
        path = write_bytes(tmp_path / "a.txt", f"one\ntw{character}o\nthree\n".encode())
        assert len(list(open_texts(path))) == 3


def test_a_folder_of_text_files(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / ".hidden").mkdir()
    write_bytes(tmp_path / "b" / "2.txt", b"zwei\nZeilen")
    write_bytes(tmp_path / "b" / "1.txt.gz", b"one")
    write_bytes(tmp_path / "a.txt", b"")
    write_bytes(tmp_path / "notes.md", b"no")
    write_bytes(tmp_path / ".hidden" / "x.txt", b"no")
    write_bytes(tmp_path / ".x.txt", b"no")
    assert list(open_texts(tmp_path)) == [("", None), ("one", None), ("zwei\nZeilen", None)]


def test_encodings(tmp_path):
    latin = write_bytes(tmp_path / "a.txt", "Ärzte".encode("latin-1"))
    assert list(open_texts(latin, encoding="latin-1")) == [("Ärzte", None)]
    text = ['表示 "能" 十', "ソ,"]  # Shift JIS: second bytes that look like ASCII
    path = write_table(tmp_path / "a.csv", text, ["a", "b"], encoding="shift_jis")
    assert [found for found, _ in open_texts(path, encoding="shift_jis")] == text
    with_mark = write_bytes(tmp_path / "b.csv", b"\xef\xbb\xbftext,who\nhello,1\n")
    assert list(open_texts(with_mark, unit="who")) == [("hello", "1")]
    for encoding in (
        "utf-16",
        "utf-32",
        "utf-7",
        "iso2022_jp",
        "hz",
        "rot13",
        "no-such",
        "base64",
        "idna",
        "punycode",
        8,
    ):
        with pytest.raises(InputError, match="'encoding' parameter of open_texts"):
            open_texts(path, encoding=encoding)


def test_columns_of_parquet(tmp_path):
    text = pa.array(["a", None, "a", "b"]).dictionary_encode()
    pq.write_table(pa.table({"t": text, "n": pa.array([1, 1, 2, 3], pa.uint16())}), tmp_path / "a.parquet")
    source = open_texts(tmp_path / "a.parquet", field="t", unit="n")
    assert list(source) == [("a", "1"), ("", "1"), ("a", "2"), ("b", "3")]
    assert (source.skipped, source.first_skipped) == (1, 2)
    pq.write_table(pa.table({"t": pa.array(["x", "y"], pa.large_string())}), tmp_path / "a.parquet")
    assert [t for t, _ in open_texts(tmp_path / "a.parquet", field="t")] == ["x", "y"]
    pq.write_table(pa.table({"t": pa.array([b"ok", b"\xff"]).cast(pa.string(), safe=False)}), tmp_path / "b.parquet")
    source = open_texts(tmp_path / "b.parquet", field="t")
    assert list(source) == [("ok", None), ("", None)]
    for field in ("n", "missing"):
        with pytest.raises(InputError, match=field):
            open_texts(tmp_path / "a.parquet", field=field)


def test_labels_of_one_unit_are_recognised(tmp_path):
    labels = [7, "7", " 7 ", "Ä", "A\u0308"]
    lines = [json.dumps({"text": "x", "who": label}) for label in labels]
    path = write_bytes(tmp_path / "a.jsonl", "\n".join(lines).encode())
    assert [unit for _, unit in open_texts(path, unit="who")] == ["7", "7", "7", "Ä", "Ä"]


# Broken records count as empty documents

BAD_LABEL = b'{"text": "Zzyzx", "who": "v\xff"}'

GOOD = b'{"text": "good", "who": "w"}'
BROKEN_LINES = {
    "not JSON": b'{"text": "Zzyzx',
    "another type": b'["Zzyzx"]',
    "no field": b'{"body": "Zzyzx", "who": "w"}',
    "a number": b'{"text": 5, "who": "w"}',
    "null": b'{"text": null, "who": "w"}',
    "wrong encoding": b'{"text": "Zzyzx\xff", "who": "w"}',
    "binary": b"Zzyzx\0\x01\x02",
    "nested": b"[" * 100_000,
    "long number": b'{"text": "Zzyzx", "n": ' + b"9" * 5000 + b"}",
    "too long": b'{"text": "' + b"Zzyzx " * 400 + b'", "who": "w"}',
}


@pytest.mark.parametrize("line", BROKEN_LINES.values(), ids=BROKEN_LINES)
def test_a_broken_line_is_an_empty_document(tmp_path, line):
    path = write_bytes(tmp_path / "a.jsonl", b"\n".join([GOOD, line, GOOD]))
    source = open_texts(path, max_record_bytes=2000 if len(line) < 10_000 else 2**20)
    assert [text for text, _ in source] == ["good", "", "good"]
    assert (source.skipped, source.first_skipped) == (1, 2)
    strict = open_texts(path, max_record_bytes=2000, strict=True)
    assert_quiet(lambda: list(strict), "strict=True")
    assert strict.first_skipped == 2


@pytest.mark.parametrize("line", [*BROKEN_LINES.values(), b""], ids=[*BROKEN_LINES, "blank"])
def test_the_number_of_documents_does_not_depend_on_their_content(tmp_path, line):
    """Replace-one neighbours: whatever one record is replaced by, N and all other documents stay."""
    lines = [b'{"text": "document %d"}' % n for n in range(9)]
    wanted = [f"document {n}" for n in range(9)]
    for position in (0, 4, 8):
        changed = [*lines[:position], line, *lines[position + 1 :], b""]
        path = write_bytes(tmp_path / "a.jsonl", b"\n".join(changed))
        found = [text for text, _ in open_texts(path, max_record_bytes=2000)]
        assert found == [*wanted[:position], "", *wanted[position + 1 :]]


@given(
    st.text(max_size=40) | st.text('",;\t\r\n\\{}x', max_size=12), st.sampled_from(["csv", "tsv", "jsonl", "parquet"])
)
@settings(max_examples=200)
def test_whatever_a_text_says_the_others_stay(text, kind):
    """Any text, written properly, is one document and leaves those before and behind it as they are."""
    texts, units = ["before", text, 'be"hind'], ["a", "b", "c"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"a.{kind}")
        if kind in ("csv", "tsv"):
            write_table(path, texts, units, separator=",\t"[kind == "tsv"])
        else:
            (write_jsonl if kind == "jsonl" else write_parquet)(path, texts, units)
        found = list(open_texts(path, unit="who"))
    assert [found[0], *found[2:]] == [("before", "a"), ('be"hind', "c")]
    assert found[1][1] == "b"
    if "\0" not in text and "\r" not in text:
        assert found[1][0] == text


@pytest.mark.parametrize("broken", [899, 900, 901, 1000])
def test_no_number_of_broken_records_stops_a_run(tmp_path, broken):
    """Else the exit status would tell whether one more record is broken."""
    path = write_bytes(tmp_path / "a.jsonl", b"\n".join([GOOD] * (1000 - broken) + [b"Zzyzx"] * broken))
    source = open_texts(path)
    assert [text for text, _ in source] == ["good"] * (1000 - broken) + [""] * broken
    assert source.skipped == broken


def test_a_broken_text_keeps_its_unit_and_a_record_without_unit_is_left_out(tmp_path):
    path = write_bytes(tmp_path / "a.jsonl", GOOD + b'\n{"text": 5, "who": "v"}\n')
    assert list(open_texts(path, unit="who")) == [("good", "w"), ("", "v")]
    write_bytes(path, GOOD + b'\n{"text": "Zzyzx \xff", "who": "v"}\n')
    assert list(open_texts(path, unit="who")) == [("good", "w"), ("", "v")]
    table = write_bytes(tmp_path / "a.csv", b"text,who\ngood,w\nZzyzx \xff,v\nZzyzx\0,u\n")
    assert list(open_texts(table, unit="who")) == [("good", "w"), ("", "v"), ("", "u")]
    for line in (
        b'{"text": "Zzyzx"}',
        b'{"text": "Zzyzx", "who": ""}',
        b'{"text": "a", "who": 1.5}',
        b"",
        b"Zzyzx",
        BAD_LABEL,
    ):
        write_bytes(path, GOOD + b"\n" + line + b"\n" + GOOD)
        source = open_texts(path, unit="who")
        assert list(source) == [("good", "w"), ("good", "w")]
        assert (source.skipped, source.first_skipped, source.left_out) == (1, 2, 1)
        assert_quiet(lambda: list(open_texts(path, unit="who", strict=True)), "strict=True")
        assert len(list(open_texts(path))) == 3
        write_bytes(path, line + b"\n" + line)
        assert_quiet(lambda: list(open_texts(path, unit="who")), "no record has a unit")


TABLES = {
    "too few fields": (b"1\n", 1),
    "too many fields": (b"1,Zzyzx,3,4\n", 1),
    "blank": (b"\n", 1),
    "text after a quote": (b'1,"Zzyzx"x,3\n', 1),
    "wrong encoding": (b"1,Zzyzx\xff,3\n", 1),
    "wrong encoding over two lines": (b'1,"Zzyzx\xff\nx",3\n', 1),
    "binary": (b"1,Zzyzx\0,3\n", 1),
    "too long": (b"1," + b"Zzyzx" * 500 + b",3\n", 1),
    "too long and quoted": (b'1,"' + b"Zzyzx" * 500 + b'",3\n', 1),
    "an inch": (b'1,5" of Zzyzx,3\n', 0),
    "quotes inside": (b'1,the "Zzyzx" word,3\n', 0),
}


@pytest.mark.parametrize(("row", "skipped"), TABLES.values(), ids=TABLES)
def test_broken_rows(tmp_path, row, skipped):
    path = write_bytes(tmp_path / "a.csv", b"id,text,who\n1,first,a\n" + row + b'2,"last",b\n')
    source = open_texts(path, max_record_bytes=2000)
    found = [text for text, _ in source]
    assert len(found) == 3
    assert (found[0], found[2], source.skipped) == ("first", "last", skipped)
    assert (found[1] == "") == bool(skipped)
    if skipped:
        assert_quiet(lambda: list(open_texts(path, max_record_bytes=2000, strict=True)), "strict=True")


@pytest.mark.parametrize(
    "row",
    [b'1,"Zzyzx,3\n', b'1,"Zzyzx,3\n1,x,3\n1,"y",3\n', b'1,"' + b"Zzyzx\n" * 500, b'1,"' + b"Zzyzx" * 500 + b"\n"],
    ids=["to the end", "to another quote", "too long", "too long in one line"],
)
def test_a_quote_that_does_not_close_stops_the_run(tmp_path, row):
    path = write_bytes(tmp_path / "a.csv", b"id,text,who\n1,first,a\n" + row + b"2,last,b\n")
    assert_quiet(lambda: list(open_texts(path, max_record_bytes=2000)), "a quote does not close")


# Bad files


def bad_files(folder: Path) -> dict[str, tuple[Path, str, dict]]:
    """Name: file, part of the message, options."""
    long_text, short = (SECRET + " ") * 30_000, {"max_record_bytes": 10**5}
    good = write_jsonl(folder / "good.jsonl.gz", [long_text, SECRET], ["a", "b"]).read_bytes()
    header = f"id,text,who\n1,{SECRET},3\n"
    rng = np.random.default_rng(0)
    (folder / "empty").mkdir()
    (folder / "others").mkdir()
    write_bytes(folder / "others" / f"{SECRET}.md", SECRET.encode())
    paths = {
        "truncated gzip": (folder / "cut.jsonl.gz", good[: len(good) // 2], "truncated or damaged", {}),
        "damaged gzip": (folder / "flip.jsonl.gz", good[:-8] + bytes(8), "truncated or damaged", {}),
        "not gzip": (folder / "text.csv.gz", header.encode(), "truncated or damaged", {}),
        "binary table": (folder / "binary.csv", rng.bytes(20_000), "name its columns", {}),
        "binary Parquet": (folder / "binary.parquet", rng.bytes(20_000), "Parquet", {}),
        "huge quoted field": (folder / "huge.csv", f'{header}1,"{long_text}\n'.encode(), "quote", short),
        "missing column": (folder / "field.csv", header.encode(), "'body'", {"field": "body"}),
        "open quote above": (folder / "open.csv", f'text,"a\nb"\n{SECRET}\n'.encode(), "name its columns", {}),
        "stray quote above": (folder / "stray.csv", f'text,"a"b\n{SECRET}\n'.encode(), "name its columns", {}),
        "column twice": (folder / "twice.csv", b"text,text\na,b\n", "'text' among them (once)", {}),
        "missing unit column": (folder / "unit.csv", header.encode(), "'text' and 'patient'", {"unit": "patient"}),
        "unit without columns": (folder / "unit.txt", SECRET.encode(), "'unit' parameter", {"unit": "patient"}),
        "empty": (folder / "empty.jsonl", b"", "no documents", {}),
        "empty gzip": (folder / "empty.txt.gz", gzip.compress(b""), "no documents", {}),
        "empty table": (folder / "empty.csv", b"", "no documents", {}),
        "header only": (folder / "header.csv", b"id,text\n", "no documents", {}),
        "unknown ending": (folder / "a.doc", SECRET.encode(), "pass format=", {}),
        "not a folder": (folder / "file.txt", SECRET.encode(), "not a folder", {"format": "folder"}),
    }  # fmt: skip
    found = {}
    for name, (path, content, message, options) in paths.items():
        path.write_bytes(content)
        found[name] = path, message, options
    pq.write_table(pa.table({"text": [SECRET] * 1000}), folder / "half.parquet")
    half = (folder / "half.parquet").read_bytes()
    (folder / "half.parquet").write_bytes(half[: len(half) // 2])
    return found | {
        "truncated Parquet": (folder / "half.parquet", "Parquet", {}),
        "missing": (folder / "nowhere.jsonl", "There is no file", {}),
        "missing folder": (folder / "nowhere", "There is no file", {}),
        "below a file": (folder / "good.jsonl.gz" / "a.txt", "There is no file", {}),
        "null": (Path("a\0b.txt"), "null character", {}),
        "empty folder": (folder / "empty", "no *.txt files", {}),
        "folder of others": (folder / "others", "no *.txt files", {}),
        "folder as lines": (folder / "others", "is a folder", {"format": "lines"}),
        "unknown format": (folder / "file.txt", "'format' parameter", {"format": "xml"}),
    }


def test_files_of_nothing_readable_are_empty_documents(tmp_path):
    """Of another kind, encoding or field: whether that is so of all records or of all but one must not be seen."""
    rng = np.random.default_rng(0)
    bomb = gzip.compress(bytes(2**22), 9) * 64  # 256 MB of zeros in 260 kB: one line that is too long
    files = {
        "binary.txt": (rng.bytes(200_000), {}),
        "binary.jsonl": (rng.bytes(20_000), {}),
        "bomb.txt.gz": (bomb, {}),
        "long.txt": ((SECRET + " ").encode() * 30_000, {"max_record_bytes": 10**5}),
        "latin.txt": (f"Ä{SECRET}".encode("latin-1"), {}),
        "field.jsonl": (GOOD, {"field": "body"}),
    }
    for name, (content, options) in files.items():
        source = open_texts(write_bytes(tmp_path / name, content), **options)
        assert {text for text, _ in source} == {""}, name
        assert source.skipped >= 1


@pytest.fixture(scope="module")
def bad(tmp_path_factory):
    return bad_files(tmp_path_factory.mktemp("bad"))


def test_bad_files_are_clear_errors(bad):
    for path, message, options in bad.values():
        assert_quiet(lambda path=path, options=options: list(open_texts(path, **options)), message)


def test_bad_files_are_one_line_on_the_command_line(bad):
    app = typer.Typer(cls=OneLineErrors, pretty_exceptions_enable=False)

    @app.command()
    def read(path: str, options: str) -> None:
        for _ in open_texts(path, **json.loads(options)):
            pass

    @app.command()
    def other() -> None: ...

    for path, message, options in bad.values():
        if "\0" not in str(path):
            result = CliRunner().invoke(app, ["read", str(path), json.dumps(options)])
            assert result.exit_code == 1
            assert result.stderr.startswith("error: ")
            assert result.stderr.count("\n") == 1
            assert message.split("'")[0] in result.stderr
            assert SECRET not in result.output


def test_permission_denied(tmp_path):
    """As another user where this one may read everything."""
    tmp_path.chmod(0o755)
    write_bytes(tmp_path / "a.txt", SECRET.encode())
    (tmp_path / "sub").mkdir()
    write_bytes(tmp_path / "sub" / "b.txt", SECRET.encode())
    for path in (tmp_path / "a.txt", tmp_path / "sub"):
        path.chmod(0)
    before = os.geteuid()
    try:
        if before == 0:
            for parent in tmp_path.parents:
                if parent.name.startswith("pytest-"):
                    parent.chmod(0o755)
            os.seteuid(65534)
        for path in (tmp_path / "a.txt", tmp_path / "sub", tmp_path / "sub" / "b.txt", tmp_path):
            assert_quiet(lambda path=path: list(open_texts(path)), "cannot be opened")
    finally:
        os.seteuid(before)
        (tmp_path / "sub").chmod(0o755)


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "a.txt")
    assert_quiet(lambda: list(open_texts(tmp_path / "a.txt")), "not a regular file")


def test_a_line_of_ten_megabytes(tmp_path):
    """Read whole under the default limit, skipped in bounded memory under a smaller one."""
    path = write_bytes(tmp_path / "a.txt", b"one\n" + b"word " * 2**21 + b"\nlast\n")
    assert [len(text) for text, _ in open_texts(path)] == [3, 5 * 2**21, 4]
    tracemalloc.start()
    source = open_texts(path, max_record_bytes=10_000)
    assert [text for text, _ in source] == ["one", "", "last"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert source.skipped == 1
    assert peak < 5 * text_source.CHUNK_BYTES


def test_memory_does_not_grow_with_the_file(tmp_path):
    path = write_bytes(tmp_path / "a.jsonl.gz", (GOOD + b"\n") * 500_000)
    tracemalloc.start()
    assert sum(1 for _ in zip(open_texts(path), range(50_000), strict=False)) == 50_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * text_source.CHUNK_BYTES


def test_a_parquet_file_that_unfolds(tmp_path):
    """A text of 4 MB, stored once and repeated 200 times, is 800 MB; it comes out a few texts at a time."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 200, pa.int32()), pa.array(["x" * 2**22]))
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": column}), path, compression="zstd", store_schema=False)
    assert path.stat().st_size < 10_000
    assert pa.default_memory_pool().max_memory() < 2**28
    assert sum(len(text) for text, _ in open_texts(path)) == 200 * 2**22
    assert pa.default_memory_pool().max_memory() < 2**28


def test_a_parquet_file_of_differences(tmp_path):
    """Texts that share all but their end are stored as their ends, and come out one by one."""
    texts = ["x" * 2**20 + str(number) for number in range(100)]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": texts}), path, use_dictionary=False, column_encoding="DELTA_BYTE_ARRAY")
    assert path.stat().st_size < 2**19
    assert [text for text, _ in open_texts(path)] == texts
    assert pa.default_memory_pool().max_memory() < 2**28


def test_a_bad_parameter(tmp_path):
    path = write_bytes(tmp_path / "a.txt", b"x")
    for name, value in [("field", ""), ("field", None), ("unit", ""), ("unit", 3), ("max_record_bytes", 0)]:
        with pytest.raises(InputError, match=f"'{name}' parameter of open_texts"):
            open_texts(path, **{name: value})
    with pytest.raises(InputError, match="an int between 1 and 268435456"):
        open_texts(path, max_record_bytes=268_435_457)
    for most in (1, 268_435_456):
        assert list(open_texts(path, max_record_bytes=most)) == [("x", None)]


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    write_parquet(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"private-topics\[parquet\]"):
        open_texts(tmp_path / "a.parquet")


# Files of counts

COUNTS = np.array([[0, 2, 0, 1], [0, 0, 0, 0], [5, 0, 1, 0], [0, 0, 0, 0]])


def test_counts_are_sent_to_as_blocks(tmp_path):
    (tmp_path / "folder").mkdir()
    write_npz_block(tmp_path / "folder" / "a.npz", COUNTS)
    write_npz_block(tmp_path / "a.npz", COUNTS)
    write_parquet_block(tmp_path / "a.parquet", COUNTS)
    scipy.io.mmwrite(tmp_path / "a.mtx", sp.csr_array(COUNTS))
    (tmp_path / "docword.a.txt").write_text("4\n4\n4\n1 2 2\n1 4 1\n3 1 5\n3 3 1\n")
    for name in ("folder", "a.npz", "a.parquet", "a.mtx", "docword.a.txt"):
        assert detect_format(tmp_path / name) == "counts"
        with pytest.raises(InputError, match="holds counts, not text"):
            open_texts(tmp_path / name)
        np.testing.assert_array_equal(stack_rows(list(as_blocks(tmp_path / name))).toarray(), COUNTS)

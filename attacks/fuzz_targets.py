"""Parsers of strangers' bytes as targets of a fuzzer: small valid inputs, what is done with them, what may come out.

A target makes a file of the bytes that it is given, with checksums and digests made right where anybody could make
them (zip, gzip, models, ledgers): what lies behind them is reached. Acceptable is a documented error, in one line and
without content, or a result; where `fuzz_references.py` reads the same bytes in slow and plain Python, the same
result. Nothing here needs the fuzzer, which is in `fuzz_coverage.py`.
"""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

from fuzz_references import (
    LONGEST_COMPARED_LINE,
    plain_entries,
    plain_labels,
    plain_market,
    plain_table,
    plain_texts,
    plain_words,
)
from fuzz_seeds import SECRET, as_text
from private_topics import DurableLedger, load
from private_topics.audit import verify
from private_topics.corpus.counts.blocks import as_blocks
from private_topics.corpus.counts.counting import count_texts, distinct_words
from private_topics.corpus.texts import source
from private_topics.corpus.texts.files import read_unit_labels
from private_topics.corpus.texts.readers import open_texts
from private_topics.corpus.words.scanning import number_words
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.corpus.words.vocabulary import read_word_list
from private_topics.errors import InputError, ModelFileError, PrivacyError
from private_topics.estimators.saving import model_digest
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.ledger.file import DIGESTED, digest
from private_topics.privacy.ledger.reservations import Reservation
from private_topics.reports import write_report

DOCUMENTED = (InputError, ModelFileError, PrivacyError)
MOST_COMPARED = 10**6
TOKENISERS = tuple(
    Tokeniser(
        case=case,
        min_length=least,
        digits=digits,
        languages=languages,
        stemmer=stemmer,
        phrases=("a b", "b a b") if digits else (),
        segmented=digits,
    )
    for case in ("lower", "casefold", "keep")
    for least, digits, languages, stemmer in (
        (1, False, (), None),
        (1, True, (), None),
        (3, False, ("english",), "s"),
    )
)


class NoCaseError(Exception):
    """These bytes make no file, or one that is left out."""


@dataclass(frozen=True)
class Target:
    """`run` reads bytes in a folder of its own; `watched` are modules besides the library whose branches guide it."""

    run: Callable[[bytes, Path], None]
    grammar: str = "bytes"
    watched: tuple[str, ...] = ()


def judged(name: str, data: bytes, folder: Path) -> str:
    """ "read", "refused" or "no case"; whatever else comes out of a target is a finding, and is raised."""
    try:
        TARGETS[name].run(data, folder)
    except NoCaseError:
        return "no case"
    except DOCUMENTED as error:
        said = str(error)
        assert said, "an error without a message"
        assert SECRET not in said, "a message with content"
        assert "\n" not in said, "a message of several lines"
        return "refused"
    return "read"


# -- texts -----------------------------------------------------------------------------------------------------------


def read_texts(name: str, data: bytes, folder: Path) -> None:
    """The first byte chooses the options."""
    flags, content = data[0] if data else 0, data[1:]
    strict, limit, packed = bool(flags & 1), 80 if flags & 2 else 2**20, bool(flags & 8)
    unit = "who" if flags & 4 and name != "a.txt" else None
    path = folder / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(content, 1, mtime=0) if packed else content)
    opened = open_texts(path, strict=strict, unit=unit, max_record_bytes=limit)
    documents = list(opened)
    left_out = getattr(opened, "left_out", None) or 0
    texts = [text for text, _ in documents]
    assert all(isinstance(text, str) for text in texts)
    assert all((label is None) == (unit is None) for _, label in documents)
    if not name.endswith(("csv", "tsv")):
        expected = plain_texts(name.removeprefix("a."), content, limit)
        assert expected is None or is_part(texts, expected, left_out), "other texts than the lines hold"
    elif strict and limit > len(content):
        expected = plain_table(content, ",;" if name.endswith("csv") else "\t", unit)
        assert expected is None or texts == expected, "other texts than the csv module reads"


def is_part(texts: list[str], expected: list[str], left_out: int) -> bool:
    """Whether these are the expected texts, in their order, but for so many that belong to no unit."""
    rest = iter(expected)
    return len(texts) + left_out == len(expected) and all(text in rest for text in texts)


def read_tables(data: bytes, folder: Path) -> None:
    read_texts("a.tsv" if data[:1] > b"\x7f" else "a.csv", data, folder)


def read_neighbours(data: bytes, folder: Path) -> None:
    """Records (between marks) in a file, and the same file with one replaced by the first of them.

    The first byte chooses the format. Whatever the records are, both files are read, with as many documents as
    records, and those of the others are the same. Limits and chunks are small, so that long records are short.
    """
    flags, (other, *records) = data[0] if data else 0, data[1:].split(MARK)
    if not records:
        raise NoCaseError
    write = WRITERS[flags % len(WRITERS)]
    place = flags // len(WRITERS) % len(records)
    small = {"CHUNK_BYTES": 16, "SPARE_BYTES": 0, "LARGEST_GROWTH": 1}
    try:
        with patch.multiple(source, **small):
            one, two = (
                list(open_texts(write(folder, some), max_record_bytes=LONGEST_RECORD))
                for some in (records, [*records[:place], other, *records[place + 1 :]])
            )
    except DOCUMENTED as error:
        raise AssertionError("a record ends the reading") from error
    assert len(one) == len(two) == len(records), "a record changes the number of documents"
    assert one[:place] + one[place + 1 :] == two[:place] + two[place + 1 :], "a record changes what others say"


def written_lines(name: str, folder: Path, records: list[bytes]) -> Path:
    path, content = folder / name, b"".join(record.replace(b"\n", b"") + b"\n" for record in records)
    path.write_bytes(gzip.compress(content, 1, mtime=0) if path.suffix == ".gz" else content)
    return path


def written_table(name: str, delimiter: bytes, folder: Path, records: list[bytes]) -> Path:
    """Rows of any number of fields, each quoted as RFC 4180 says where it has to be."""

    def field(content: bytes) -> bytes:
        bare = not content.startswith(b'"') and b"\n" not in content and delimiter not in content
        return content if bare else b'"' + content.replace(b'"', b'""') + b'"'

    rows = [delimiter.join(map(field, record.split(FIELD_MARK))) for record in records]
    path = folder / name
    path.write_bytes(b"".join(row + b"\n" for row in [delimiter.join([b"text", b"who"]), *rows]))
    return path


def written_parquet(folder: Path, records: list[bytes]) -> Path:
    """A value in each row, or none; the marks are letters."""
    texts = pa.array([record or None for record in records], pa.binary()).cast(pa.string(), safe=False)
    pq.write_table(pa.table({"text": texts}), folder / "a.parquet", compression="zstd", row_group_size=3)
    return folder / "a.parquet"


MARK, FIELD_MARK, LONGEST_RECORD = b"\n#\n", b"|", 24
WRITERS: tuple[Callable[[Path, list[bytes]], Path], ...] = (
    partial(written_lines, "b.jsonl"),
    partial(written_lines, "b.txt.gz"),
    partial(written_table, "b.csv", b","),
    partial(written_table, "b.tsv", b"\t"),
    written_parquet,
)


def read_packed(data: bytes, folder: Path) -> None:
    """A gzipped file as it is, its checksum too."""
    path = folder / "b.jsonl.gz"
    path.write_bytes(data)
    assert all(isinstance(text, str) for text, _ in open_texts(path))


# -- counts ----------------------------------------------------------------------------------------------------------


def triplets(path: Path) -> Counter[tuple[int, int]]:
    """The counts that a file holds, by document and word."""
    found: Counter[tuple[int, int]] = Counter()
    first = 0
    for block in as_blocks(path):
        rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
        for row, column, count in zip(rows.tolist(), block.indices.tolist(), block.data.tolist(), strict=True):
            assert (first + row, column) not in found, "an entry twice"
            found[first + row, column] = count
        first += block.shape[0]
    return found


def read_counts(name: str, plain: Callable[[bytes], Any], data: bytes, folder: Path) -> None:
    """The compiled parser and a plain one accept and refuse the same files, and find the same counts in them."""
    lines = data.split(b"\n")
    if len(lines) > 900 or max(map(len, lines)) > LONGEST_COMPARED_LINE:
        raise NoCaseError
    expected = plain(data)
    path = folder / name
    path.write_bytes(data)
    try:
        found = triplets(path)
    except InputError:
        assert expected is None, "a right file is refused"
        raise
    assert expected is not None, "a wrong file is read"
    assert found == expected, "other counts than the lines hold"


def read_blocks(data: bytes, folder: Path) -> None:
    """An archive as it is, or parts (`name`, a null, an array) that are packed here, with their checksums."""
    path = folder / "a.npz"
    path.write_bytes(data if data.startswith(b"PK") else packed_parts(data))
    blocks = list(as_blocks(path))
    n_rows, n_words = sum(block.shape[0] for block in blocks), blocks[0].shape[1]
    if n_rows * n_words > MOST_COMPARED:
        return
    whole = np.vstack([block.toarray() for block in blocks])
    assert np.array_equal(whole, sp.load_npz(path).astype(np.int64).toarray()), "other counts than scipy reads"


def packed_parts(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for part in data.split(b"\n#\n"):
            name, _, content = part.partition(b"\0")
            archive.writestr(zipfile.ZipInfo(name.decode("latin-1")[:100] or "x"), content)
    return buffer.getvalue()


def read_lists(data: bytes, folder: Path) -> None:
    """A word list, or labels of units, as the first byte says."""
    flags, content = data[0] if data else 0, data[1:]
    path = folder / "list.txt"
    path.write_bytes(content)
    if flags & 1:
        numbers = read_unit_labels(path).tolist()
        assert numbers == plain_labels(content), "other labels than the lines hold"
        return
    words = read_word_list(path)
    lines = content.decode("utf-8-sig").replace("\r\n", "\n")
    assert "".join(f"{word}\n" for word in words.words) == lines + "\n" * (not lines.endswith("\n"))


# -- models, ledgers, audits -----------------------------------------------------------------------------------------


def read_model_file(data: bytes, folder: Path, *, report: bool = False) -> None:
    """A model whose header and arrays are spelled out as JSON; its digest is made right."""
    path = folder / "a.model"
    path.write_bytes(signed_model(data))
    model = load(path)
    model.top_words(n=3)
    if report:
        page = folder / "a.html"
        write_report(model, page, tokeniser=getattr(model, "tokeniser_", None), model_file=path)


def signed_model(data: bytes) -> bytes:
    try:
        parts = json.loads(data)
        header = dict(parts["header"])
        arrays = {name: np.array(values, dtype).reshape(shape) for name, dtype, shape, values in parts["arrays"]}
        header["sha256"] = model_digest(header, arrays)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("header.json", json.dumps(header))
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w") as part:
                    np.save(part, array, allow_pickle=False)
    except Exception:  # whatever JSON, numpy and zip say: these values make no file
        raise NoCaseError from None
    return buffer.getvalue()


def read_ledger(data: bytes, folder: Path) -> None:
    """Rows are spelled out as JSON; digests, and costs that are left out, are made right."""
    path = folder / "a.db"
    lay_out_ledger(data, path)
    for name in DurableLedger.registered(path):
        ledger = DurableLedger(path, name)
        assert ledger.epsilon_spent >= 0
        assert ledger.remaining() >= 0
        assert len(ledger.entries()) == len(ledger.spent)


def lay_out_ledger(data: bytes, path: Path) -> None:
    if not path.exists():
        DurableLedger.register(path, "none", 1.0, 1e-6)
    connection = sqlite3.connect(path)
    try:
        books = json.loads(data)
        total, rows = cells_of(books["corpus"]), [cells_of(signed_cost(row)) for row in books["rows"]]
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("DELETE FROM reservation")
        connection.execute("DELETE FROM corpus")
        connection.execute("DELETE FROM binding")
        last = signed(*total)
        for number, (*fields, state, results) in enumerate(rows):
            last = signed(last, *fields)
            cells = number, total[0], *fields, last, state, results
            names = f"id, corpus, {DIGESTED}, digest, state, results"
            connection.execute(f"INSERT INTO reservation ({names}) VALUES (?{', ?' * 12})", cells)
        connection.execute("INSERT INTO corpus VALUES (?, ?, ?, ?, ?, ?)", (*total, last))
        bound = [total[0], *cells_of(books.get("binding", ["", "replace", ""]))]
        connection.execute("INSERT INTO binding VALUES (?, ?, ?, ?, ?)", (*bound, signed(*bound)))
        connection.commit()
    except Exception:  # these values are not JSON, or do not go into the tables
        raise NoCaseError from None
    finally:
        connection.close()


def cells_of(row: list[Any]) -> list[Any]:
    """Any values of JSON as SQLite can hold them: as they are, or spelled out."""

    def holds(value: Any) -> bool:
        return isinstance(value, str | float) or (isinstance(value, int) and abs(value) < 2**63)

    return [value if holds(value) else json.dumps(value) for value in row]


def signed(*fields: Any) -> str:
    """As SQLite gives the fields back: whole numbers in a column of floats are floats."""
    try:
        return digest(*(float(field) if isinstance(field, int) else field for field in fields))
    except (TypeError, OverflowError):
        return "unsigned"


def signed_cost(row: list[Any]) -> list[Any]:
    time, label, guarantee, epsilon, delta, threshold_delta, rho, *rest = row
    if rho is None:
        try:
            rho = Reservation(PrivacyBudget(epsilon, delta), guarantee, threshold_delta).rho
        except PrivacyError:
            rho = 1.0
    return [time, label, guarantee, epsilon, delta, threshold_delta, rho, *rest]


def read_audit(data: bytes, folder: Path) -> None:
    path = folder / "page"
    path.write_bytes(data)
    assert isinstance(verify(path), bool)
    assert not verify(path, "0" * 64)


# -- words -----------------------------------------------------------------------------------------------------------


def read_words(data: bytes, _folder: Path) -> None:
    """The compiled tokeniser, the one in Python, the counter and a plain reading by categories agree on any text."""
    tokeniser = TOKENISERS[(data[0] if data else 0) % len(TOKENISERS)]
    text = as_text(data[1:])
    texts = [text, "", text[: len(text) // 2]]
    found = number_words(texts, tokeniser)
    assert len(set(found.different)) == len(found.different)
    expected = []
    for number, written in enumerate(texts):
        runs = plain_words(written, tokeniser.case, tokeniser.digits)
        place = slice(found.pointers[number], found.pointers[number + 1])
        assert [found.different[word].decode() for word in found.numbers[place]] == runs, "the compiled runs differ"
        expected.append([kept for run in runs if (kept := tokeniser.kept(run)) is not None])
        assert tokeniser.words(written) == expected[-1], "the plain words differ"
    assert [set(words) for words, _ in distinct_words(texts, tokeniser, n_jobs=1)] == list(map(set, expected))
    vocabulary = sorted(set(expected[0]))
    assert all(tokeniser.words(word) == [word] for word in vocabulary), "a word is not its own word"
    if vocabulary:
        (counts,) = count_texts(texts, vocabulary, tokeniser, n_jobs=1)
        counted = [Counter(words) for words in expected]
        assert counts.toarray().tolist() == [[words[word] for word in vocabulary] for words in counted]


TARGETS = {
    "model": Target(read_model_file, "json"),
    "report": Target(partial(read_model_file, report=True), "json"),
    "ledger": Target(read_ledger, "json"),
    "audit": Target(read_audit, "json"),
    "jsonl": Target(partial(read_texts, "a.jsonl")),
    "table": Target(read_tables),
    "lines": Target(partial(read_texts, "a.txt")),
    "neighbours": Target(read_neighbours),
    "gzip": Target(read_packed, watched=("gzip", "_compression")),
    "docword": Target(partial(read_counts, "docword.a.txt", plain_entries)),
    "mtx": Target(partial(read_counts, "a.mtx", plain_market)),
    "npz": Target(read_blocks, watched=("zipfile", "numpy.lib", "scipy.sparse._matrix_io")),
    "lists": Target(read_lists),
    "words": Target(read_words, "text"),
}

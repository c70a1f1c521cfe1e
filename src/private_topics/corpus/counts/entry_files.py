"""Text files with one line per entry, plain or gzipped, as blocks of counts: UCI bag-of-words and MatrixMarket.

UCI (`docword.*.txt`): three header lines (documents, words, entries), then one line `docID wordID count` per entry,
ids from 1, documents in order. A document without a line is an empty document. MatrixMarket (`.mtx`): the banner
`%%MatrixMarket matrix coordinate integer general`, comments and a size line, then entries as in a UCI file, sorted by
row; `real` is read too where its values are whole numbers without a point.

The text is read in chunks of bytes and parsed by one compiled loop over them, so a pass holds a chunk and a block,
never the file. The number of documents is limited by itself alone (2^31 - 1), not by the size of the file: that
depends on what the documents say, and documents without a line take time but no more than a block of memory.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import scipy.sparse as sp
from numba import njit

from private_topics.corpus.counts.block_source import CountBlocks, checked_height
from private_topics.corpus.counts.matrix import LARGEST_COUNT, counts_of, validate_counts
from private_topics.errors import InputError

ENTRY_CHUNK_BYTES = 1 << 24
LONGEST_LINE = 256

OK, BAD_CHARACTER, BAD_FIELDS, BAD_DOCUMENT, BAD_WORD, BAD_COUNT, BAD_ORDER = range(7)
PROBLEMS = {
    BAD_CHARACTER: "a line holds a character that is not a digit",
    BAD_FIELDS: "a line does not hold three numbers",
    BAD_DOCUMENT: "a document id is not between 1 and the number of documents in the header",
    BAD_WORD: "a word id is not between 1 and the number of words in the header",
    BAD_COUNT: "a count is larger than 2**31 - 1",
    BAD_ORDER: "the document ids are not in ascending order",
}
MATRIX_MARKET_PROBLEMS = {
    PROBLEMS[BAD_CHARACTER]: "an entry is not a non-negative whole number",
    PROBLEMS[BAD_FIELDS]: "an entry does not hold a row, a column and a count",
    PROBLEMS[BAD_ORDER]: "its entries are not sorted by row; pass the matrix that scipy.io.mmread gives",
}
BANNER = re.compile(rb"%%MatrixMarket\s+matrix\s+coordinate\s+(integer|real)\s+general\s*", re.IGNORECASE)
SIZES = re.compile(rb"[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]+([0-9]{1,18})\s*")
MOST_COMMENT_READS = 1_000

Entries = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Document (from 0), word (from 0) and count of each entry, documents ascending."""


class UCIBlocks(CountBlocks):
    """The documents of a UCI bag-of-words file, `block_documents` at a time; every pass reads it again."""

    def __init__(self, path: str | os.PathLike[str], block_documents: int = 65_536) -> None:
        self.path = Path(path)
        self.block_documents = checked_height(block_documents, "UCIBlocks")
        with self._open() as file:
            self._announced = self._header(file)
        self.n_documents, self.n_words, self.n_entries = self._announced

    def _blocks(self) -> Iterator[sp.csr_array]:
        start = 0
        pending: list[Entries] = []
        for documents, words, counts in self._entries():
            position = 0
            while len(documents) and documents[-1] >= start + self.block_documents:
                cut = int(np.searchsorted(documents, start + self.block_documents))
                pending.append((documents[position:cut], words[position:cut], counts[position:cut]))
                yield self._block(pending, start)
                start, position, pending = start + self.block_documents, cut, []
            pending.append((documents[position:], words[position:], counts[position:]))
        while start < self._announced[0]:
            yield self._block(pending, start)
            start, pending = start + self.block_documents, []

    def _block(self, pending: list[Entries], start: int) -> sp.csr_array:
        """The documents from `start` on as one block, from entries that all lie in it."""
        height = min(self.block_documents, self._announced[0] - start)
        columns = zip(*pending, strict=True) if pending else [[np.empty(0, np.int64)]] * 3
        documents, words, counts = (np.concatenate(list(column)) for column in columns)
        indptr = np.zeros(height + 1, dtype=np.int64)
        np.cumsum(np.bincount(documents - start, minlength=height), out=indptr[1:])
        return validate_counts(counts_of(indptr, words, counts, self.n_words), caller=str(self.path))

    def _entries(self) -> Iterator[Entries]:
        """The parsed entries, chunk by chunk; the header and the number of entries are checked on the way."""
        parsed, last_document, rest = 0, 0, b""
        with self._open() as file:
            if self._header(file) != self._announced:
                raise self._problem("its header changed between two passes")
            while True:
                chunk = self._read(file)
                text = rest + (chunk or b"\n")
                end = text.rfind(b"\n") + 1
                text, rest = text[:end], text[end:]
                if len(rest) > LONGEST_LINE:
                    raise self._problem("a line is too long to hold three numbers")
                entries = self._parse(text, last_document)
                parsed += len(entries[0])
                if parsed > self.n_entries:
                    raise self._problem("it holds more entries than its header announces")
                if len(entries[0]):
                    last_document = int(entries[0][-1])
                    yield entries
                if not chunk:
                    break
        if parsed < self.n_entries:
            raise self._problem("it ends early: it holds fewer entries than its header announces")

    def _parse(self, text: bytes, last_document: int) -> Entries:
        n_lines = text.count(b"\n")
        documents = np.empty(n_lines, dtype=np.int64)
        words, counts = np.empty(n_lines, dtype=np.int32), np.empty(n_lines, dtype=np.int32)
        buffer = np.frombuffer(text, dtype=np.uint8)
        n_documents, n_words, _ = self._announced
        status, n_entries = _parse_lines(buffer, n_documents, n_words, last_document, documents, words, counts)
        if status != OK:
            raise self._problem(PROBLEMS[status])
        return documents[:n_entries], words[:n_entries], counts[:n_entries]

    def _open(self) -> BinaryIO:
        try:
            if self.path.suffix == ".gz":
                return cast(BinaryIO, gzip.open(self.path, "rb"))
            return open(self.path, "rb")
        except FileNotFoundError:
            raise InputError(f"There is no file {str(self.path)!r}.") from None
        except OSError as error:
            raise self._problem(f"it cannot be opened ({error.strerror})") from None

    def _read(self, file: BinaryIO, line: bool = False) -> bytes:
        try:
            return file.readline(LONGEST_LINE) if line else file.read(ENTRY_CHUNK_BYTES)
        except (OSError, EOFError, zlib.error):
            raise self._problem("the file is truncated or damaged") from None

    def _header(self, file: BinaryIO) -> tuple[int, int, int]:
        numbers = []
        for _ in range(3):
            line = self._read(file, line=True)
            if not re.fullmatch(rb"[ \t]*[0-9]{1,18}[ \t\r]*\n?", line):
                raise self._problem("its first three lines must be the numbers of documents, words and entries")
            numbers.append(int(line))
        n_documents, n_words, n_entries = numbers
        if not 1 <= n_documents <= LARGEST_COUNT or not 1 <= n_words <= LARGEST_COUNT:
            raise self._problem("its header must announce at least 1 document and 1 word (at most 2**31 - 1 of each)")
        return n_documents, n_words, n_entries

    def _problem(self, what: str) -> InputError:
        return InputError(f"The UCI bag-of-words file {str(self.path)!r} cannot be used: {what}.")


class MatrixMarketBlocks(UCIBlocks):
    """The rows of a MatrixMarket file, `block_documents` at a time; every pass reads it again."""

    def _header(self, file: BinaryIO) -> tuple[int, int, int]:
        if not BANNER.fullmatch(self._read(file, line=True)):
            raise self._problem("its first line must be '%%MatrixMarket matrix coordinate integer general'")
        sizes = SIZES.fullmatch(self._after_comments(file))
        if sizes is None:
            raise self._problem("it has no line with the numbers of rows, columns and entries")
        n_documents, n_words, n_entries = (int(size) for size in sizes.groups())
        if not 1 <= n_documents <= LARGEST_COUNT or not 1 <= n_words <= LARGEST_COUNT:
            raise self._problem("it must have at least 1 row and 1 column (and at most 2**31 - 1 of each)")
        return n_documents, n_words, n_entries

    def _after_comments(self, file: BinaryIO) -> bytes:
        in_comment = False
        for _ in range(MOST_COMMENT_READS):
            line = self._read(file, line=True)
            in_comment = in_comment or line.startswith(b"%") or not line.strip()
            if not in_comment:
                return line
            in_comment = not line.endswith(b"\n")
        return b""

    def _problem(self, what: str) -> InputError:
        what = MATRIX_MARKET_PROBLEMS.get(what, what)
        return InputError(f"The MatrixMarket file {str(self.path)!r} cannot be used: {what}.")


@njit(cache=True)
def _parse_lines(
    buffer: np.ndarray,
    n_documents: int,
    n_words: int,
    last_document: int,
    documents: np.ndarray,
    words: np.ndarray,
    counts: np.ndarray,
) -> tuple[int, int]:
    """Parse complete lines (the last byte is a newline) into a status and the number of entries written."""
    first, second, number = 0, 0, 0
    n_fields, in_number, n_entries = 0, False, 0
    for byte in buffer:
        if 48 <= byte <= 57:
            if not in_number:
                in_number, number, n_fields = True, 0, n_fields + 1
            number = min(number * 10 + (byte - 48), 1 << 53)  # larger than any limit, far from overflow
        elif byte == 32 or byte == 9 or byte == 13 or byte == 10:
            if in_number:
                in_number = False
                if n_fields == 1:
                    first = number
                elif n_fields == 2:
                    second = number
            if byte == 10 and n_fields > 0:
                if n_fields != 3:
                    return BAD_FIELDS, n_entries
                if not 1 <= first <= n_documents:
                    return BAD_DOCUMENT, n_entries
                if not 1 <= second <= n_words:
                    return BAD_WORD, n_entries
                if number > LARGEST_COUNT:
                    return BAD_COUNT, n_entries
                if first - 1 < last_document:
                    return BAD_ORDER, n_entries
                last_document = first - 1
                documents[n_entries], words[n_entries], counts[n_entries] = first - 1, second - 1, number
                n_entries += 1
                n_fields = 0
        else:
            return BAD_CHARACTER, n_entries
    return OK, n_entries

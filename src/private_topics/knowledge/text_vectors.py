"""Word vectors as text: a word and its numbers on each line, with the header `words dimension` (word2vec, fastText)
or without one (GloVe).

Numbers are taken from the right, so that a word may contain spaces, as some of GloVe's do. Blank lines, trailing
blanks and a byte order mark are skipped; of a word that comes twice the first line counts. Whatever else is unusual
is refused with the number of its line.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np

from private_topics.errors import InputError
from private_topics.knowledge.table import LARGEST_DIMENSION, LARGEST_TABLE_BYTES, MOST_VECTORS, first_rows

CHUNK_BYTES = 2**23
LOOKED_AT = 100  # lines that tell the dimension where no header does
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Header(NamedTuple):
    """The first line of a word2vec file."""

    n_words: int
    dimension: int


def read_text_vectors(stream: BinaryIO, file: str) -> tuple[dict[str, int], np.ndarray]:
    """The row of each word, and the rows; `file` is what messages call the stream."""
    header: Header | None = None
    dimension, n_rows = 0, 0
    rows: dict[str, int] = {}
    blocks: list[np.ndarray] = []
    for first, lines in _lines(stream, file):
        if first == 1:
            lines[0] = lines[0].removeprefix(BYTE_ORDER_MARK)
            header = _header(lines[0])
            if header is not None:
                lines[0] = b""
        if not any(map(bytes.strip, lines)):
            continue
        if not dimension:
            dimension = _usual_dimension(lines) if header is None else header.dimension
            _check_size(1, dimension, file)
        words, values = _block(lines, first, dimension, file)
        first_rows(words, n_rows, rows)
        blocks.append(values)
        n_rows += len(words)
        _check_size(n_rows, dimension, file)
    if not n_rows:
        raise InputError(f"The word vectors {file} hold no vector.")
    if header is not None and header.n_words != n_rows:
        raise InputError(
            f"The word vectors {file} announce {header.n_words} words in line 1, but hold {n_rows}: "
            "the file is truncated, or of another format."
        )
    return rows, np.concatenate(blocks)


def looks_binary(beginning: bytes) -> bool:
    """Whether a file is no text: control characters stand among its first bytes."""
    return any(byte < 32 and byte not in b"\t\n\v\f\r" for byte in beginning)


def _lines(stream: BinaryIO, file: str) -> Iterator[tuple[int, list[bytes]]]:
    """All lines, a chunk at a time, with the number of the chunk's first line. Only a line feed ends a line."""
    number, rest = 1, b""
    while chunk := stream.read(CHUNK_BYTES):
        *lines, rest = (rest + chunk).split(b"\n")
        if lines:
            yield number, lines
            number += len(lines)
        elif len(rest) >= CHUNK_BYTES:
            raise _refused(file, number, f"is longer than {CHUNK_BYTES} bytes")
    if rest:
        yield number, [rest]


def _header(line: bytes) -> Header | None:
    fields = line.split()
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        return Header(int(fields[0]), int(fields[1]))
    return None


def _usual_dimension(lines: list[bytes]) -> int:
    """What most of the first lines have; a word with spaces, or a broken line, is outvoted."""
    widths = Counter(len(fields) - 1 for line in lines[:LOOKED_AT] if (fields := line.split()))
    return widths.most_common(1)[0][0] if widths else 0


def _check_size(n_rows: int, dimension: int, file: str) -> None:
    if n_rows and not 1 <= dimension <= LARGEST_DIMENSION:
        raise InputError(
            f"The word vectors {file} are not in a known format: a line holds a word and its numbers, "
            f"at most {LARGEST_DIMENSION} of them."
        )
    if n_rows > MOST_VECTORS or 4 * n_rows * dimension > LARGEST_TABLE_BYTES:
        raise InputError(
            f"The word vectors {file} are too large: at most {MOST_VECTORS} words and {LARGEST_TABLE_BYTES} bytes "
            "are taken. Keep the most frequent words, which usually come first."
        )


def _block(lines: list[bytes], first: int, dimension: int, file: str) -> tuple[list[str], np.ndarray]:
    """The words of some lines, and their numbers."""
    words, tails, numbers = [], [], []
    for number, line in enumerate(lines, start=first):
        line = line.rstrip().replace(b"\t", b" ")
        if not line:
            continue
        word, _, tail = line.partition(b" ")
        if not word or tail.count(b" ") != dimension - 1:
            word, tail = _from_the_right(line, dimension, file, number)
        words.append(word)
        tails.append(tail)
        numbers.append(number)
    values = _numbers(b" ".join(tails), dimension * len(tails))
    if values is None:
        broken = (number for number, tail in zip(numbers, tails, strict=True) if _numbers(tail, dimension) is None)
        raise _refused(file, next(broken), "holds something else than finite numbers after its word")
    return _decoded(words, numbers, file), values.reshape(len(tails), dimension)


def _from_the_right(line: bytes, dimension: int, file: str, number: int) -> tuple[bytes, bytes]:
    fields = line.split()
    words, tail = fields[:-dimension], fields[-dimension:]
    if not words or (len(words) > 1 and _numbers(words[-1], 1) is not None):
        raise _refused(file, number, f"does not hold a word and {dimension} numbers")
    return b" ".join(words), b" ".join(tail)


def _numbers(text: bytes, expected: int) -> np.ndarray | None:
    """The numbers of a text as float32, or None if it holds another number of them, or anything else.

    numpy stops at what it cannot read, so a zero is put behind the text: it is read only if all before it was.
    """
    with warnings.catch_warnings(), np.errstate(over="ignore"):
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            values = np.fromstring(text + b" 0", dtype=np.float64, sep=" ")[:-1]
        except ValueError:
            return None
        single = values.astype(np.float32)
    return single if len(single) == expected and np.isfinite(single).all() else None


def _decoded(words: list[bytes], numbers: list[int], file: str) -> list[str]:
    try:
        return b"\n".join(words).decode().split("\n") if words else []
    except UnicodeDecodeError:
        for number, word in zip(numbers, words, strict=True):
            if word.decode(errors="ignore").encode() != word:
                raise _refused(file, number, "is not UTF-8 text") from None
        raise


def _refused(file: str, number: int, problem: str) -> InputError:
    return InputError(f"Line {number} of the word vectors {file} {problem}.")

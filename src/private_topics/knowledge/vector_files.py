"""A file of word vectors, in whichever known format, read once: its table and the SHA-256 of its bytes.

The format is told by the first bytes, not by the name: a gzipped file, an `.npz` archive, or text.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from pathlib import Path
from typing import BinaryIO, cast

from private_topics.errors import InputError
from private_topics.knowledge.npz_vectors import read_npz_vectors
from private_topics.knowledge.table import LARGEST_TABLE_BYTES, VectorTable
from private_topics.knowledge.text_vectors import looks_binary, read_text_vectors

GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
BUFFER_BYTES = 2**20
LOOKED_AT = 4_096


def read_vectors(path: str | os.PathLike[str]) -> VectorTable:
    """The word vectors of a file: word2vec or GloVe text, gzipped or not, or `.npz`."""
    file = Path(path)
    try:
        with open(file, "rb", buffering=0) as raw:
            digesting = Digesting(raw)
            return _read(io.BufferedReader(digesting, BUFFER_BYTES), digesting, file)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError(f"The gzipped word vectors {file} are damaged or truncated.") from None
    except OSError as error:
        raise InputError(f"Cannot read the word vectors {file}: {error.strerror or type(error).__name__}.") from None


class Digesting(io.RawIOBase):
    """A file that digests what is read from it."""

    def __init__(self, raw: io.RawIOBase | io.FileIO) -> None:
        self.raw = raw
        self.hash = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        count = self.raw.readinto(buffer) or 0
        self.hash.update(memoryview(buffer)[:count])
        return count


def _read(buffered: io.BufferedReader, digesting: Digesting, file: Path) -> VectorTable:
    if buffered.peek(len(ZIP)).startswith(ZIP):
        content = buffered.read(LARGEST_TABLE_BYTES + 1)
        if len(content) > LARGEST_TABLE_BYTES:
            raise InputError(f"The file of word vectors {file} is larger than {LARGEST_TABLE_BYTES} bytes.")
        return read_npz_vectors(content, str(file), digesting.hash.hexdigest())
    stream = buffered
    if buffered.peek(len(GZIP)).startswith(GZIP):
        stream = io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=buffered)), BUFFER_BYTES)
    if looks_binary(stream.peek(LOOKED_AT)[:LOOKED_AT]):
        raise InputError(
            f"The word vectors {file} are not text. Binary files of word2vec and fastText are not read: "
            "save the vectors as text (word2vec's option -binary 0; fastText's .vec file)."
        )
    rows, vectors = read_text_vectors(cast(BinaryIO, stream), str(file))
    while buffered.read(BUFFER_BYTES):  # what may stand behind the end of a gzipped stream belongs to the digest
        pass
    return VectorTable(file.name, digesting.hash.hexdigest(), rows, vectors)

"""The character encoding of a file, guessed from its bytes: byte order marks, trials, and which bytes occur."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",  # begins as UTF-16 does
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
MANY_ZEROS = 0.2  # of the bytes: text of Latin letters in UTF-16 has half, and no other text has any
MOSTLY = 0.5  # of the lines with other than ASCII characters are UTF-8: the others are damaged
FOREIGN = 0.3  # of the letters are beyond ASCII: no language of western Europe writes so
C1 = bytes(range(0x80, 0xA0))
"""Letters and quotes in Windows-1252, control characters in Latin-1."""


@dataclass(frozen=True)
class Encoding:
    """A guess: the name, as `--encoding` takes it, or None. `readable`: whether a fit can read it."""

    name: str | None
    readable: bool = True


def guess_encoding(sample: bytes) -> Encoding:
    """The encoding of text whose first bytes these are."""
    for mark, name in MARKS.items():
        if sample.startswith(mark):
            return Encoding(name, readable=name == "utf-8")
    if sample.count(0) > MANY_ZEROS * len(sample):
        little = sample[1::2].count(0) > sample[::2].count(0)
        return Encoding("utf-16-le" if little else "utf-16-be", readable=False)
    beyond = [line for line in sample.split(b"\n")[:-1] or [sample] if not line.isascii()]
    if sum(map(_is_utf8, beyond)) >= MOSTLY * len(beyond):
        return Encoding("utf-8")
    bytes_beyond = sum(len(line.translate(None, bytes(range(0x80)))) for line in beyond)
    letters = sum(map(str.isalpha, b"".join(beyond).decode("latin-1")))
    if bytes_beyond > FOREIGN * max(1, letters):
        return Encoding(None)
    windows = any(line.translate(None, bytes(set(range(256)) - set(C1))) for line in beyond)
    return Encoding("cp1252" if windows and _decodes(sample, "cp1252") else "latin-1")


def _is_utf8(line: bytes) -> bool:
    return _decodes(line, "utf-8")


def _decodes(sample: bytes, name: str) -> bool:
    try:
        sample.decode(name)
    except UnicodeDecodeError:
        return False
    return True

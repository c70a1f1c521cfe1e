"""The formats read once more, in slow and plain Python, to hold the library's readers against.

They follow the documented rules and share no code with the readers. `None` stands for a file that must be refused or,
of texts, for one that is not compared.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections import Counter

LONGEST_COMPARED_LINE = 200
MOST_COMPARED_NESTING = 200
LARGEST = 2**31 - 1
MOST_EMPTY = 2**23
BOM = b"\xef\xbb\xbf"
CASES = {"lower": str.lower, "casefold": str.casefold, "keep": str}

Counts = Counter[tuple[int, int]]
"""The counts by document and word."""


def plain_lines(content: bytes) -> list[bytes]:
    lines = content.removeprefix(BOM).split(b"\n")
    return [line.removesuffix(b"\r") for line in (lines if lines[-1] else lines[:-1])]


def plain_text(line: bytes, limit: int) -> str:
    """The characters of a line; none where it is too long, binary or not UTF-8."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return ""
    return "" if len(line) > limit or "\0" in text else text


def plain_texts(kind: str, content: bytes, limit: int) -> list[str] | None:
    """A text for every line: the line itself, or what its JSON object says; none for a broken one."""
    lines = [plain_text(line, limit) for line in plain_lines(content)]
    if kind == "txt":
        return lines
    if content.count(b"[") + content.count(b"{") > MOST_COMPARED_NESTING:
        return None  # how deep JSON may go depends on who asks
    return [plain_json_text(line) for line in lines]


def plain_json_text(line: str) -> str:
    try:
        record = json.loads(line)
    except ValueError:
        return ""
    text = record.get("text") if isinstance(record, dict) else None
    return text if isinstance(text, str) else ""


def plain_table(content: bytes, delimiters: str, unit: str | None) -> list[str] | None:
    """The texts of a table without a broken row; the first delimiter that finds the columns counts."""
    if b"\r" in content:
        return None
    text = content.removeprefix(BOM).decode()
    for delimiter in delimiters:
        try:
            (header,) = csv.reader(text.split("\n")[:1], delimiter=delimiter, strict=True)
        except csv.Error:
            continue
        if all(header.count(name) == 1 for name in ("text", unit) if name is not None):
            _, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
            return [(row or [""])[header.index("text")] for row in rows]
    raise AssertionError("the csv module finds no column of texts")


def plain_labels(content: bytes) -> list[int]:
    numbers: dict[str, int] = {}
    labels = [unicodedata.normalize("NFC", line.decode()).strip() for line in plain_lines(content)]
    return [numbers.setdefault(label, len(numbers)) for label in labels]


def plain_entries(content: bytes) -> Counts | None:
    """A UCI file: three lines with a number, then `document word count` in every line that is not blank."""
    lines = content.split(b"\n")
    sizes = []
    for line in lines[:3]:
        if not re.fullmatch(rb"[ \t]*[0-9]{1,18}[ \t\r]*", line):
            return None
        sizes.append(int(line))
    return plain_counts(sizes, lines[3:], len(content)) if len(sizes) == 3 else None


def plain_market(content: bytes) -> Counts | None:
    """A MatrixMarket file: a banner, comments and blank lines, one line with three sizes, then the entries."""
    banner, *lines = content.split(b"\n")
    kind = banner.lower().split()
    if banner[:1] != b"%" or kind[:3] + kind[4:] != [b"%%matrixmarket", b"matrix", b"coordinate", b"general"]:
        return None
    if kind[3] not in (b"integer", b"real"):
        return None
    while lines and (not lines[0].strip() or lines[0].startswith(b"%")):
        lines = lines[1:]
    sizes = re.fullmatch(rb"[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]+([0-9]{1,18})\s*", lines[0] if lines else b"")
    if sizes is None:
        return None
    return plain_counts([int(size) for size in sizes.groups()], lines[1:], len(content))


def plain_counts(sizes: list[int], lines: list[bytes], size: int) -> Counts | None:
    """The entries below a header; a file may announce so many documents: eight million, and 37.5 for each byte."""
    n_documents, n_words, n_entries = sizes
    if not 1 <= n_documents <= min(LARGEST, MOST_EMPTY + size * 300 // 8) or not 1 <= n_words <= LARGEST:
        return None
    counts: Counter[tuple[int, int]] = Counter()
    before, seen = 1, 0
    for line in lines:
        if not re.fullmatch(rb"[0-9 \t\r]*", line):
            return None
        fields = [int(field) for field in line.split()]
        if not fields:
            continue
        if len(fields) != 3:
            return None
        document, word, count = fields
        if not before <= document <= n_documents or not 1 <= word <= n_words or count > LARGEST:
            return None
        before, seen = document, seen + 1
        counts[document - 1, word - 1] += count
    if seen != n_entries or any(count > LARGEST for count in counts.values()):
        return None
    return Counter({place: count for place, count in counts.items() if count})


def plain_words(text: str, case: str, digits: bool) -> list[str]:
    """The runs of letters and marks that begin with a letter, of a text in one normal form and one case."""
    folded = unicodedata.normalize("NFC", CASES[case](unicodedata.normalize("NFC", text)))
    words: list[str] = []
    inside = False
    for character in folded:
        category = unicodedata.category(character)
        letter = category.startswith("L") or (digits and category == "Nd")
        if letter and not inside:
            words.append("")
        inside = letter or (inside and category.startswith("M"))
        if inside:
            words[-1] += character
    return words

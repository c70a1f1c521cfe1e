"""The format of a file and its fields, from its first records: which field holds the text, and which names people."""

from __future__ import annotations

import csv
import io
import json
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from private_topics.corpus.texts.parquet import first_rows
from private_topics.corpus.texts.readers import COUNTS, detect_format
from private_topics.corpus.texts.source import open_binary
from private_topics.errors import InputError

SAMPLE_BYTES, SAMPLE_RECORDS = 2**22, 1_000
DELIMITERS = ("\t", ";", ",")
PEOPLE = (
    r"(?:patient|user|author|person|people|member|customer|client|sender|owner|account|student|pupil|employee|"
    r"participant|citizen|respondent|reviewer|writer|speaker|nutzer|benutzer|kunde|autor|absender|subject(?=_?id)|"
    r"(?<![^_])(?:from|mrn|nhs)(?![^_]))s?"
)
PERSON = re.compile(PEOPLE)
PERSON_ALONE = re.compile(rf"(?:.*_)?{PEOPLE}_?(?:id|nr|no|num|number|name|key|code|uuid|hash|e?mail|address)?")
"""Names that say nothing else, such as `user` and `author_id`: such a field is one of people, whatever it holds."""
CLASS = re.compile(
    r"(?<![^_])(?:class|classes|cls|category|categories|cat|type|kind|label|tag|topic|genre|status|state|rating|score|"
    r"stars|language|lang|country|region|city|gender|sex|age|agent|version|week|month|quarter|decade|period|day|hour|"
    r"created|updated|modified|since|klasse|kategorie|typ|jahr|monat|datum)s?(?![^_])|(?:date|year|time|timestamp)s?(?![^_])"
)
"""Names of what many people share: never offered as units."""
DAY = re.compile(r"(?:1[5-9]|20)\d\d(?:-\d\d.*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}.*")
"""Values that are years or days."""
LONGEST_LABEL, MOST_WORDS_IN_LABEL = 64.0, 3.0
USUALLY = 0.9  # of the records have it
FEWEST_DIFFERENT, FEWEST_REPEATED, MOST_REPEATED = 10, 0.02, 0.95
"""Different values of a field that repeats, in all and per record: fewer are a category, more name each record."""


@dataclass
class Field:
    """What the first records say of a field."""

    name: str
    texts: int = 0
    numbers: int = 0
    letters: int = 0
    characters: int = 0
    words: int = 0
    values: set[Any] = field(default_factory=set)

    def add(self, value: Any) -> None:
        if isinstance(value, str) and value:
            self.texts += 1
            self.letters += sum(map(str.isalpha, value))
            self.characters += len(value)
            self.words += len(value.split())
        elif isinstance(value, int) and not isinstance(value, bool):
            self.numbers += 1
        else:
            return
        self.values.add(value if len(str(value)) <= LONGEST_LABEL else hash(value))

    def is_label(self, records: int) -> bool:
        """Whether its values are short and nearly every record has one."""
        if self.texts + self.numbers < USUALLY * records:
            return False
        within = self.characters <= LONGEST_LABEL * max(1, self.texts)
        return within and self.words <= MOST_WORDS_IN_LABEL * max(1, self.texts)

    @property
    def called(self) -> str:
        """Its name in small letters, the words of it joined by `_`."""
        return re.sub(r"[\W_]+", "_", re.sub(r"(?<=[^\W_A-Z])(?=[A-Z])", "_", self.name)).strip("_").lower()

    @property
    def is_class(self) -> bool:
        """Return whether a field is named like a class or a time, or holds nothing but years or days."""
        return CLASS.search(self.called) is not None or all(DAY.fullmatch(str(value)) for value in self.values)


@dataclass(frozen=True)
class Layout:
    """The format of a file, whether its name tells it, and its fields."""

    format: str
    by_name: bool
    fields: tuple[Field, ...]
    records: int

    @property
    def text(self) -> str | None:
        """The field with the most letters, if there are fields."""
        texts = [one for one in self.fields if one.texts]
        return max(texts, key=lambda one: one.letters).name if texts else None

    def people(self, text: str | None) -> list[str]:
        """Fields that name who a text belongs to, as they are called: the plainest names first, then what repeats."""
        there = [one for one in self.fields if one.name != text and one.values]
        plain = [one.name for one in there if PERSON_ALONE.fullmatch(one.called)]
        named = [one.name for one in self._labels(text) if PERSON.search(one.called) and not CLASS.search(one.called)]
        repeated = self.repeated(text)
        return sorted(dict.fromkeys(plain + named), key=lambda name: (name not in plain, name not in repeated))

    def repeated(self, text: str | None) -> list[str]:
        """Fields whose values repeat, but are no class and no time: they may name who a text belongs to."""
        fewest, most = max(FEWEST_DIFFERENT, FEWEST_REPEATED * self.records), MOST_REPEATED * self.records
        found = [one for one in self._labels(text) if fewest <= len(one.values) < most]
        return [one.name for one in found if not one.is_class]

    def _labels(self, text: str | None) -> list[Field]:
        found = [one for one in self.fields if one.name != text and one.is_label(self.records)]
        return [one for one in found if len(one.values) > 1]


def first_bytes(path: Path) -> bytes:
    """The beginning of a file, or of the files of a folder, decompressed."""
    if path.is_dir():
        from private_topics.corpus.texts.files import text_files

        return b"\n".join(first_bytes(file)[:65_536] for file in text_files(path)[:50])
    with open_binary(path) as file:
        try:
            return file.read(SAMPLE_BYTES)
        except (OSError, EOFError, zlib.error):
            raise InputError(f"{str(path)!r} cannot be used: the file is truncated or damaged.") from None


def layout_of(path: Path, sample: bytes, encoding: str, format: str | None = None) -> Layout:
    """The format and the fields of a file: as it is called, unless its contents contradict that."""
    text = sample.decode(encoding, "replace").removeprefix("\ufeff")
    named = _named_format(path)
    found = format or _by_contents(path, named, text)
    if found == COUNTS:
        raise InputError(f"{str(path)!r} holds counts, not text: there is nothing to look at but their number.")
    records = list(_first_records(path, found, text))
    fields: dict[str, Field] = {}
    for record in records:
        for name, value in record.items():
            fields.setdefault(name, Field(name)).add(value)
    return Layout(found, found == named, tuple(fields.values()), len(records))


def _named_format(path: Path) -> str | None:
    try:
        return detect_format(path)
    except InputError:
        if not path.exists():
            raise
        return None


def _by_contents(path: Path, named: str | None, text: str) -> str:
    if named in (COUNTS, "parquet", "folder"):
        return named
    lines = [line for line in text.split("\n")[:20] if line.strip()]
    if text.lstrip().startswith("[") and named in (None, "jsonl"):
        raise InputError(
            f"{str(path)!r} is one JSON array: a fit takes a JSON object on each line (jq -c '.[]' makes them)."
        )
    if sum(isinstance(_parsed(line), dict) for line in lines) > len(lines) / 2:
        return "jsonl"
    if text.startswith("PK\x03\x04"):
        raise InputError(f"{str(path)!r} looks like a spreadsheet or an archive: save it as CSV in UTF-8 first.")
    if named == "csv" and lines and "\t" in lines[0] and "," not in lines[0] and ";" not in lines[0]:
        return "tsv"
    if named is not None:
        return named
    return "tsv" if lines and "\t" in lines[0] else "csv" if lines and "," in lines[0] else "lines"


def _first_records(path: Path, format: str, text: str) -> Iterable[dict[str, Any]]:
    if format == "parquet":
        return first_rows(path, SAMPLE_RECORDS)
    lines = text.split("\n")[:SAMPLE_RECORDS]
    if format == "jsonl":
        return [record for line in lines if isinstance(record := _parsed(line), dict)]
    if format in ("csv", "tsv"):
        delimiters = DELIMITERS[:1] if format == "tsv" else DELIMITERS[1:]
        delimiter = max(delimiters, key=lines[0].count)
        rows = csv.DictReader(io.StringIO("\n".join(lines)), delimiter=delimiter)
        try:
            return [{name: value for name, value in row.items() if isinstance(name, str)} for row in rows]
        except csv.Error:
            return []
    return []


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None

"""`check_file`: what a curator should know of a file before a model is fitted to it. All of it is confidential.

The main pass reads the file as a fit would, so what it counts is what a fit sees. Nothing is written.
"""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from private_topics.checking.contents import Contents
from private_topics.checking.encodings import Encoding, guess_encoding
from private_topics.checking.fields import Layout, first_bytes, layout_of
from private_topics.corpus.texts.readers import open_texts
from private_topics.corpus.texts.source import Reading, TextSource
from private_topics.corpus.words.stop_words import STOP_WORDS
from private_topics.errors import InputError
from private_topics.planning.plan import ENGLISH, plan
from private_topics.planning.refusal import CANDIDATES, PRIVATE, hopeless
from private_topics.privacy.budget import PrivacyBudget
from private_topics.progress import SILENT, Progress
from private_topics.releases.candidates import CHOSEN_WORDS

EPSILONS, DELTA, TOPICS = (0.5, 1.0, 3.0), 1e-6, 10
"""What the forecast is for: usual settings, whatever the texts are like."""
FORMAT_OPTIONS = ("--format", "--field", "--unit", "--encoding", "--language")
"""All that the printed command may hold beside the file and the model: settings that describe the file."""
A_LANGUAGE, NOTABLE, NEARLY_ALL = 0.2, 0.05, 0.5


@dataclass(frozen=True)
class Expected:
    """What the plan expects of so many units at an epsilon: topics, and no fewer than `fewest`.

    `refused`: why `fit` would refuse, if it would.
    """

    epsilon: float
    topics: int
    fewest: int
    refused: str | None


@dataclass(frozen=True)
class FileCheck:
    """What was found. Shares are of all records. Everything here is as confidential as the texts."""

    file: str
    format: str
    format_by_name: bool
    encoding: str | None
    readable: bool
    fields: tuple[str, ...] = ()
    text_field: str | None = None
    unit_candidates: tuple[str, ...] = ()
    unit: str | None = None
    records: int = 0
    unreadable: int = 0
    first: int | None = None
    without_unit: int = 0
    empty: int = 0
    html: int = 0
    duplicates: int = 0
    unsegmented: int = 0
    languages: dict[str, float] = field(default_factory=dict)
    units: int | None = None
    documents_per_unit: tuple[int, float, int] | None = None
    expected: tuple[Expected, ...] = ()

    @property
    def language(self) -> list[str]:
        """The languages of the stop words: those of a good part of the texts; "none" where none has a list."""
        listed = [name for name, share in self.languages.items() if name in STOP_WORDS and share >= A_LANGUAGE]
        return listed or (["none"] if self.languages and "unknown" not in self.languages else [])

    @property
    def fit_command(self) -> str | None:
        """How a fit reads this file: format settings alone. None where no fit can read it."""
        if not self.readable:
            return None
        options: list[tuple[str, str | None]] = [
            ("--format", None if self.format_by_name else self.format),
            ("--field", None if self.text_field == "text" else self.text_field),
            ("--unit", self.unit),
            ("--encoding", None if self.encoding == "utf-8" else self.encoding),
        ]
        options += [("--language", name) for name in self.language if self.language != [ENGLISH]]
        given = [f"{name}={value}" for name, value in options if value is not None]
        return shlex.join(["private-topics", "fit", self.file, "-o", "MODEL", *given])

    @property
    def advice(self) -> list[str]:
        """What to do before a fit, in order of weight."""
        return [text for holds, text in _advice(self) if holds]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"fit_command": self.fit_command, "advice": self.advice}


def check_file(
    path: Path,
    *,
    field: str | None = None,
    unit: str | None = None,
    encoding: str | None = None,
    format: str | None = None,
    strict: bool = False,
    progress: Progress = SILENT,
) -> FileCheck:
    """Look at a file: what is given is taken as given, the rest is guessed from the first records."""
    if encoding is not None:
        Reading(encoding=encoding)  # refuses one that is not known
    sample = first_bytes(path) if path.exists() else b""
    guessed = Encoding(encoding) if encoding is not None else guess_encoding(sample)
    if path.suffix == ".parquet" or format == "parquet":
        guessed = Encoding("utf-8")
    layout = layout_of(path, sample, guessed.name or "latin-1", format)
    facts: dict[str, Any] = {"file": str(path), "format": layout.format, "format_by_name": layout.by_name}
    facts |= {"encoding": guessed.name, "readable": guessed.readable and guessed.name is not None}
    facts |= {"fields": tuple(one.name for one in layout.fields)}
    text = field or layout.text
    people = layout.people(text)
    candidates = dict.fromkeys([*people, *layout.repeated(text)])
    unit = unit or (people[0] if people else None)
    facts |= {"text_field": text, "unit_candidates": tuple(candidates), "unit": unit}
    if not facts["readable"]:
        return FileCheck(**facts)
    texts = _opened(path, layout, text, unit, guessed.name, strict)
    return FileCheck(**facts | _counted(texts, unit, progress))


def _opened(
    path: Path, layout: Layout, text: str | None, unit: str | None, encoding: str | None, strict: bool
) -> TextSource:
    if text is None and layout.format not in ("lines", "folder"):
        raise InputError(
            f"No field of {str(path)!r} holds text, as far as its first records tell: --field names it, --encoding "
            "the character encoding, --format the format."
        )
    return open_texts(
        path,
        format=layout.format,
        field=text or Reading.field,
        unit=unit,
        encoding=encoding or Reading.encoding,
        strict=strict,
    )


def _counted(texts: TextSource, unit: str | None, progress: Progress) -> dict[str, Any]:
    """One pass over the texts, read as a fit reads them."""
    contents = Contents()
    for text, label in progress.documents(texts, "reading"):
        contents.add(text, label)
    given = contents.given
    known = sum(contents.languages.values())
    languages = {name: count / known for name, count in contents.languages.most_common(5)}
    units = None if unit is None else contents.unit_labels.different
    facts = {
        "records": given + (texts.left_out or 0),
        "unreadable": texts.skipped,
        "first": texts.first_skipped,
        "without_unit": texts.left_out or 0,
        "empty": contents.empty + (texts.left_out or 0),
        "html": contents.html,
        "duplicates": contents.texts.repeats,
        "unsegmented": contents.unsegmented,
        "languages": languages,
        "units": units,
        "documents_per_unit": None if unit is None else contents.unit_labels.spread,
    }
    english = [name for name, share in languages.items() if share >= A_LANGUAGE] == [ENGLISH]
    return facts | {"expected": tuple(_expected(units or given, epsilon, english) for epsilon in EPSILONS)}


def _expected(n_units: int, epsilon: float, english: bool) -> Expected:
    """The forecast of a fit of so many units as the command line makes it of this language."""
    settings = {"n_units": n_units, "n_components": TOPICS, "vocabulary": CANDIDATES if english else PRIVATE}
    settings |= {"knowledge": ENGLISH} if english else {}
    forecast = plan(
        n_units, CHOSEN_WORDS, TOPICS, epsilon=epsilon, delta=DELTA, knowledge=ENGLISH if english else None
    )
    topics = forecast.expected_topics
    fewest = topics if forecast.topic_range is None else forecast.topic_range[0]
    return Expected(epsilon, topics, min(topics, fewest), hopeless(PrivacyBudget(epsilon, DELTA), settings))


def _advice(found: FileCheck) -> list[tuple[bool, str]]:
    records = max(1, found.records)
    most = 0 if found.documents_per_unit is None else found.documents_per_unit[2]
    return [
        (
            not found.readable and found.encoding is None,
            "The encoding is none of UTF-8, UTF-16, Latin-1 and Windows-1252: name it with --encoding.",
        ),
        (
            not found.readable and found.encoding is not None,
            f"Convert the file to UTF-8 first, then check that: iconv -f {found.encoding} -t utf-8 FILE > NEW.",
        ),
        (
            found.unsegmented > NOTABLE * records,
            "Many texts are written without spaces between words (Chinese, Japanese, Thai): segment them first, with "
            "a space between words, or whole clauses count as words.",
        ),
        (
            found.unreadable > NOTABLE * records,
            "Many records cannot be read and would be empty documents: see --field, --encoding and --format.",
        ),
        (found.html > NOTABLE * records, "Many texts hold HTML: remove tags and entities, or they count as words."),
        (
            found.duplicates > NOTABLE * records,
            "Many texts occur more than once. Copies of one person's text under several units weaken what is "
            "promised to that person: remove them, or let --unit name who a text belongs to.",
        ),
        (
            found.unit is None and len(found.fields) > 1 and found.readable,
            "No field is called like one that names people, so documents are protected, not people. If a person can "
            "have several documents, --unit names the field that says whose they are.",
        ),
        (
            found.unit is not None and most > NEARLY_ALL * records,
            "One unit has more than half of the records: is the field of the unit the right one?",
        ),
    ]

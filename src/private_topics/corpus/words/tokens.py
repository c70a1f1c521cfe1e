"""Text to words: letters of any script, one normal form, public stop words; every choice in one frozen object.

A word is a letter followed by letters and combining marks (Unicode categories L and M; with `digits` also decimal
digits), so vowel signs of Indic scripts stay in their words and everything else, apostrophes and hyphens too,
separates words. Scripts written without spaces (Chinese, Japanese, Thai) are not segmented: put spaces between words
first, and say `segmented`; otherwise such words are dropped (`scripts.py`).

Text is brought to NFC, then to one case, then to NFC again, so that canonically equal texts give equal words.
`case="lower"` is the default because it keeps words as people write them (`Straße` → `straße`, a final `ς`);
`"casefold"` merges more spellings (`strasse`, `σ`) but shows forms nobody writes; `"keep"` changes nothing.

No setting may be chosen by looking at a private corpus. `corpus/words/scanning.py` computes the same, compiled.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any, Self

import numpy as np

from private_topics.corpus.words.phrases import JOINS, JOINT, Phrases
from private_topics.corpus.words.plurals import singular
from private_topics.corpus.words.scripts import (
    SEGMENTERS,
    how_to_segment,
    longer_than_a_word,
    written_without_spaces,
)
from private_topics.corpus.words.stop_words import STOP_WORDS
from private_topics.errors import InputError

TOKENISER_VERSION = 2
"""Raised when the rules or lists change what a recorded tokeniser does. Version 1 had another stemmer."""
SINCE_2: dict[str, Any] = {"phrases": [], "segmented": False}
LISTS = ("languages", "stop_words", "phrases")
CASES: dict[str, Callable[[str], str]] = {"lower": str.lower, "casefold": str.casefold, "keep": str}
SEPARATOR, LETTER, MARK = 0, 1, 2
"""Classes of characters: a word begins with `LETTER` and continues with `LETTER` or `MARK`."""
LARGEST_LENGTH = 1_000


@cache
def character_classes(digits: bool) -> np.ndarray:
    """The class of every code point."""
    categories = "".join(map(unicodedata.category, map(chr, range(0x110000))))
    letters = np.frombuffer(categories.encode(), dtype="S1")[::2]
    classes = np.select([letters == b"L", letters == b"M"], [LETTER, MARK], SEPARATOR).astype(np.uint8)
    if digits:
        classes[np.frombuffer(categories.encode(), dtype="S2") == b"Nd"] = LETTER
    classes.flags.writeable = False
    return classes


@cache
def _class_bytes(digits: bool) -> bytes:
    return character_classes(digits).tobytes()


@dataclass(frozen=True)
class Tokeniser:
    """How text becomes words.

    Parameters
    ----------
    case : "lower", "casefold" or "keep".
    min_length, max_length : letters (code points) of the words that are kept.
    digits : whether decimal digits are letters.
    languages : whose stop words are dropped: names from `corpus.words.stop_words.STOP_WORDS`.
    stop_words : further words to drop, taken from outside the corpus.
    stemmer : "s" turns English plurals into singulars, None nothing.
    phrases : phrases of a public list, which count as one word: "heart failure" as `heart_failure`. An entry of a
        single word is no phrase.
    segmented : whether text in scripts without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) was given spaces
        between its words. If not, their words are dropped: they would be whole clauses.
    """

    case: str = "lower"
    min_length: int = 3
    max_length: int = 64
    digits: bool = False
    languages: tuple[str, ...] = ("english",)
    stop_words: tuple[str, ...] = ()
    stemmer: str | None = None
    phrases: tuple[str, ...] = ()
    segmented: bool = False

    def __post_init__(self) -> None:
        if self.case not in CASES:
            raise _bad_parameter("case", f"one of {tuple(CASES)}", self.case)
        for name, value in (("min_length", self.min_length), ("max_length", self.max_length)):
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_LENGTH:
                raise _bad_parameter(name, f"an int in the range [1, {LARGEST_LENGTH}]", value)
        for name in ("digits", "segmented"):
            if not isinstance(getattr(self, name), bool):
                raise _bad_parameter(name, "True or False", getattr(self, name))
        for name in LISTS:
            value = getattr(self, name)
            listed = not isinstance(value, str) and isinstance(value, Iterable)
            if not listed or not all(isinstance(word, str) for word in value):
                raise _bad_parameter(name, "a tuple of strings", value)
            object.__setattr__(self, name, tuple(value))
        for language in SEGMENTERS.keys() & set(self.languages):
            raise InputError(how_to_segment(language))
        if not set(self.languages) <= set(STOP_WORDS):
            raise _bad_parameter("languages", f"names out of {tuple(STOP_WORDS)}", self.languages)
        if self.stemmer not in (None, "s"):
            raise _bad_parameter("stemmer", "'s' or None", self.stemmer)

    def words(self, text: str) -> list[str]:
        """The words of a text, in order."""
        return [kept for word in self._found(self.folded(text)) if (kept := self.kept(word)) is not None]

    def folded(self, text: str) -> str:
        """A text in NFC and in one case."""
        if text.isascii():
            return CASES[self.case](text)
        return unicodedata.normalize("NFC", CASES[self.case](unicodedata.normalize("NFC", text)))

    def stem(self, word: str) -> str:
        """A word of a folded text without what the stemmer removes."""
        return singular(word) if self.stemmer == "s" else word

    def kept(self, word: str) -> str | None:
        """What a word of a folded text, or a phrase, counts as; `None` if it is dropped: for a stop word, one that is
        too short or too long, or a clause of a script without spaces.
        """
        is_clause = longer_than_a_word if self.segmented else written_without_spaces
        if is_clause(word):
            return None
        if JOINT in word:
            return None if self._dropped(word) else word
        stem = self.stem(word)
        if not self.min_length <= len(stem) <= self.max_length:
            return None
        return None if self._dropped(word) or self._dropped(stem) else stem

    def usable(self, words: Iterable[str]) -> list[str]:
        """A public word list as words of this tokeniser: each entry that is one word, in order, without repeats."""
        found = [self.words(entry) for entry in words]
        return list(dict.fromkeys(words[0] for words in found if len(words) == 1))

    def to_dict(self) -> dict[str, Any]:
        """Everything needed to make the same tokeniser, as JSON types."""
        settings = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}
        return {"version": TOKENISER_VERSION, **plain}

    @classmethod
    def from_dict(cls, settings: Any) -> Self:
        """The tokeniser that `to_dict` described."""
        names = {field.name for field in fields(cls)}
        if isinstance(settings, dict) and settings.get("version") == 1 and settings.get("stemmer", "") is None:
            settings = {**SINCE_2, **settings, "version": TOKENISER_VERSION}
        known = isinstance(settings, dict) and set(settings) == {"version", *names}
        known = known and settings["version"] == TOKENISER_VERSION
        if not known or not all(isinstance(settings[name], list) for name in LISTS):
            raise InputError("Tokeniser.from_dict needs the settings that to_dict of this release wrote.")
        return cls(**{name: settings[name] for name in names})

    def _found(self, folded: str) -> Iterator[str]:
        """Words and phrases, before any is dropped."""
        runs = list(self._runs(folded))
        if not self.phrases:
            yield from (folded[start:stop] for start, stop in runs)
            return
        stems = [self.stem(folded[start:stop]) for start, stop in runs]
        at = 0
        while at < len(runs):
            match = self.joined_words.longest(
                stems.__getitem__, lambda i: not folded[runs[i][1] : runs[i + 1][0]].strip(JOINS), at, len(runs)
            )
            yield folded[slice(*runs[at])] if match is None else match[0]
            at += 1 if match is None else match[1]

    def _runs(self, folded: str) -> Iterator[tuple[int, int]]:
        """Where the words of a folded text start and stop."""
        classes = _class_bytes(self.digits)
        start = None
        for position, character in enumerate(folded):
            kind = classes[ord(character)]
            if start is None and kind == LETTER:
                start = position
            elif start is not None and kind == SEPARATOR:
                yield start, position
                start = None
        if start is not None:
            yield start, len(folded)

    @cached_property
    def joined_words(self) -> Phrases:
        """The phrases as they are found in folded texts."""
        folded = [self.folded(phrase) for phrase in self.phrases]
        split = [[text[start:stop] for start, stop in self._runs(text)] for text in folded]
        return Phrases((tuple(map(self.stem, words)), JOINT.join(words)) for words in split if len(words) > 1)

    def _dropped(self, word: str) -> bool:
        return (word.lower() if self.case == "keep" else word) in self._stop_words

    @cached_property
    def _stop_words(self) -> frozenset[str]:
        listed = set(self.stop_words).union(*(STOP_WORDS[language] for language in self.languages))
        if self.case == "keep":
            return frozenset(self.folded(word).lower() for word in listed)
        return frozenset(self.folded(word) for word in listed)


def _bad_parameter(name: str, wanted: str, value: Any) -> InputError:
    return InputError(f"The {name!r} parameter of Tokeniser must be {wanted}. Got {value!r} instead.")

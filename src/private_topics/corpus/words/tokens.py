"""Text to words: letters of any script, one normal form, public stop words; every choice in one frozen object.

A word is a letter followed by letters and combining marks (Unicode categories L and M; with `digits` also decimal
digits), so vowel signs of Indic scripts stay in their words and everything else, apostrophes and hyphens too,
separates words. Scripts written without spaces (Chinese, Japanese, Thai) are not segmented: put spaces between words
first.

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

from private_topics.corpus.words.plurals import singular
from private_topics.corpus.words.stop_words import STOP_WORDS
from private_topics.errors import InputError

TOKENISER_VERSION = 1
"""Raised when the rules or lists change what a recorded tokeniser does."""
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
    """

    case: str = "lower"
    min_length: int = 3
    max_length: int = 64
    digits: bool = False
    languages: tuple[str, ...] = ("english",)
    stop_words: tuple[str, ...] = ()
    stemmer: str | None = None

    def __post_init__(self) -> None:
        if self.case not in CASES:
            raise _bad_parameter("case", f"one of {tuple(CASES)}", self.case)
        for name, value in (("min_length", self.min_length), ("max_length", self.max_length)):
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_LENGTH:
                raise _bad_parameter(name, f"an int in the range [1, {LARGEST_LENGTH}]", value)
        if not isinstance(self.digits, bool):
            raise _bad_parameter("digits", "True or False", self.digits)
        for name in ("languages", "stop_words"):
            value = getattr(self, name)
            if isinstance(value, str) or not all(isinstance(word, str) for word in value):
                raise _bad_parameter(name, "a tuple of strings", value)
            object.__setattr__(self, name, tuple(value))
        if not set(self.languages) <= set(STOP_WORDS):
            raise _bad_parameter("languages", f"names out of {tuple(STOP_WORDS)}", self.languages)
        if self.stemmer not in (None, "s"):
            raise _bad_parameter("stemmer", "'s' or None", self.stemmer)

    def words(self, text: str) -> list[str]:
        """The words of a text, in order."""
        return [kept for word in self._runs(self.folded(text)) if (kept := self.kept(word)) is not None]

    def folded(self, text: str) -> str:
        """A text in NFC and in one case."""
        if text.isascii():
            return CASES[self.case](text)
        return unicodedata.normalize("NFC", CASES[self.case](unicodedata.normalize("NFC", text)))

    def kept(self, word: str) -> str | None:
        """What a word of a folded text counts as; `None` for a stop word or one that is too short or too long."""
        stem = singular(word) if self.stemmer == "s" else word
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
        known = isinstance(settings, dict) and set(settings) == {"version", *names}
        known = known and settings["version"] == TOKENISER_VERSION
        if not known or not all(isinstance(settings[name], list) for name in ("languages", "stop_words")):
            raise InputError("Tokeniser.from_dict needs the settings that to_dict of this release wrote.")
        return cls(**{name: settings[name] for name in names})

    def _runs(self, folded: str) -> Iterator[str]:
        classes = _class_bytes(self.digits)
        start = None
        for position, character in enumerate(folded):
            kind = classes[ord(character)]
            if start is None and kind == LETTER:
                start = position
            elif start is not None and kind == SEPARATOR:
                yield folded[start:position]
                start = None
        if start is not None:
            yield folded[start:]

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

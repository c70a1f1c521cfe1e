"""Where a vocabulary may come from: a public word list, or words counted per privacy unit for a private selection.

A public list costs no privacy. It is recorded by name and digest, so that a report can say which list it was. It is
the user's file, or, by the name of a language, comes with the package wordfreq (extra `words`); no list is
shipped with this package or downloaded. wordfreq counts words in books, encyclopaedias, news, subtitles and web pages
that anyone can read; its lists are CC BY-SA 4.0. They are older than the user's corpus and do not depend on it,
which is what makes a list public.

For a private selection (`releases/vocabulary.py`, `releases/candidates.py`) at most `most` distinct words per unit
are counted. Which words a unit with more of them keeps is decided by a hash that is keyed by the unit itself (its own
words, or its label): a function of the unit alone, so no unit affects another's choice; the same in every order and
in every run; and different from unit to unit, so that no word is dropped everywhere. Choosing by what other units say
would cost privacy.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from private_topics.corpus.texts.source import unit_label
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.errors import InputError

LONGEST_WORD = 1_000
MOST_LISTED_WORDS = 2**23
LARGEST_LIST_BYTES = 2**30
PREFIX = "list:"  # marks the name of a list where a path is possible too
LANGUAGES = {
    "dutch": "nl",
    "english": "en",
    "french": "fr",
    "german": "de",
    "italian": "it",
    "portuguese": "pt",
    "spanish": "es",
}
WORDFREQ_WORDS = 1_000_000  # more than any of its lists has
DEFAULT_SIZE = 10_000
"""The smallest list behind a name has some 28,000 words; the rarest say little about topics and cost noise."""


@dataclass(frozen=True)
class WordList:
    """A public vocabulary: distinct words, in the order of the columns."""

    name: str
    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if isinstance(self.words, str):
            raise InputError("The 'words' of a WordList must be a sequence of words, not one string.")
        object.__setattr__(self, "words", tuple(self.words))
        if not 0 < len(self.words) <= MOST_LISTED_WORDS:
            raise InputError(f"A word list must hold between 1 and {MOST_LISTED_WORDS} words.")
        for number, word in enumerate(self.words, start=1):
            if not is_word(word):
                raise InputError(
                    f"Entry {number} of the word list {self.name!r} is not a word: one per line, without spaces and "
                    f"control characters, of at most {LONGEST_WORD} characters."
                )
        if len(set(self.words)) != len(self.words):
            raise InputError(f"The word list {self.name!r} holds a word twice.")

    def __len__(self) -> int:
        return len(self.words)

    @property
    def digest(self) -> str:
        """SHA-256 of the words in UTF-8, each followed by a line feed: what `sha256sum` prints for such a file."""
        return hashlib.sha256("".join(f"{word}\n" for word in self.words).encode()).hexdigest()

    @property
    def description(self) -> str:
        return f"the public word list {self.name!r} ({len(self):,} words, SHA-256 {self.digest})"


def read_word_list(path: str | os.PathLike[str], *, name: str | None = None) -> WordList:
    """A public word list from a file of UTF-8 text, one word per line; its name is the file's if none is given."""
    file = Path(path)
    try:
        if file.stat().st_size > LARGEST_LIST_BYTES:
            raise InputError(f"The word list {file} is larger than {LARGEST_LIST_BYTES} bytes.")
        text = file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"Cannot read the word list {file}: {error.strerror or type(error).__name__}.") from None
    except UnicodeDecodeError:
        raise InputError(f"The word list {file} is not UTF-8 text.") from None
    lines = text.replace("\r\n", "\n").split("\n")
    return WordList(file.name if name is None else name, tuple(lines[:-1] if lines[-1] == "" else lines))


def named_word_list(
    name: str, size: int | None = None, *, usable: Callable[[Iterable[str]], list[str]] | None = None
) -> WordList:
    """The `size` most frequent words (10,000 if not given) of a language, from wordfreq.

    With `usable` (`Tokeniser.usable`) the words that the tokeniser never gives are left out first.
    """
    if name not in LANGUAGES:
        raise InputError(f"There is no public word list {name!r}: the names are {', '.join(LANGUAGES)}.")
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
        raise InputError(
            f"The 'size' parameter of named_word_list must be an int of 1 or more. Got {size!r} instead."
        )
    try:
        import wordfreq
    except ImportError:
        raise InputError(
            f"The word list {name!r} comes with the package wordfreq, which is not installed: "
            "pip install 'private-topics[words]'."
        ) from None
    listed = wordfreq.top_n_list(LANGUAGES[name], WORDFREQ_WORDS, wordlist="small")
    every = [word for word in listed if is_word(word)]
    words = (every if usable is None else usable(every))[: DEFAULT_SIZE if size is None else size]
    return WordList(f"wordfreq {version('wordfreq')}, {name}, the {len(words):,} most frequent", tuple(words))


def with_phrases(words: WordList, tokeniser: Tokeniser) -> WordList:
    """A public list and the phrases of a tokeniser, which are public too: no phrase would be counted otherwise."""
    listed = set(words.words)
    phrases = tuple(name for name in tokeniser.joined_words.names if name not in listed)
    return WordList(f"{words.name} and {len(phrases):,} phrases", words.words + phrases) if phrases else words


def is_word(token: Any) -> bool:
    """Whether a token can stand in a word list: printable, without spaces, not too long."""
    return isinstance(token, str) and 0 < len(token) <= LONGEST_WORD and token.isprintable() and " " not in token


def kept_words(unit: Iterable[str], most: int) -> Collection[str]:
    """The distinct words of a unit, or `most` of them. Whatever is not a word is left out."""
    return _limited(_different(unit), most)


def _limited(words: set[str], most: int) -> Collection[str]:
    if len(words) <= most:
        return words
    key = hashlib.blake2b("\n".join(sorted(words)).encode()).digest()
    return _first(words, most, key)


def user_units(documents: Iterable[Iterable[str]], groups: Iterable[Any], most: int) -> Iterator[Collection[str]]:
    """The units when users are units: for each label the words of all its documents, at most `most` of them.

    Documents of one user need not stand together. Memory grows with the number of users times `most`.
    """
    users: dict[str, set[str]] = {}
    labels = iter(groups)
    for document in documents:
        label = unit_label(next(labels, None))
        if label is None:
            raise InputError(
                "The 'groups' parameter must hold one string or integer for each document, none missing."
            )
        words = users.setdefault(label, set())
        words |= _different(document)
        if len(words) > 2 * most:
            words.intersection_update(_first(words, most, _key(label)))
    if next(labels, None) is not None:
        raise InputError("The 'groups' parameter must hold one string or integer for each document, none missing.")
    for label, words in users.items():
        yield words if len(words) <= most else _first(words, most, _key(label))


def union_weights(units: Iterable[Iterable[str]], most: int, weight: Callable[[int], int]) -> dict[str, int]:
    """The sum of what all units give to each word: a unit with t kept words gives `weight(t)` to each of them."""
    totals: dict[str, int] = {}
    for unit in units:
        words = kept_words(unit, most)
        share = weight(len(words)) if words else 0
        for word in words:
            totals[word] = totals.get(word, 0) + share
    return totals


def candidate_weights(
    units: Iterable[Iterable[str]], candidates: Sequence[str], most: int, weight: Callable[[int], int]
) -> npt.NDArray[np.int64]:
    """The same sum over a public list: a number for each candidate. Other words are not even counted."""
    columns = {word: column for column, word in enumerate(candidates)}
    totals = np.zeros(len(columns), dtype=np.int64)
    for unit in units:
        words = _limited(columns.keys() & _different(unit), most)
        share = weight(len(words)) if words else 0
        totals[[columns[word] for word in words]] += share
    return totals


def _different(unit: Iterable[str]) -> set[str]:
    if isinstance(unit, str | bytes):
        raise InputError("A unit must be an iterable of words; one text was given. Tokenise it first.")
    words = set(unit)
    if not all(isinstance(word, str) for word in words):
        raise InputError("The words of a unit must be strings.")
    return {word for word in words if is_word(word)}


def _first(words: Collection[str], most: int, key: bytes) -> list[str]:
    """The `most` words whose hashes under `key` come first."""

    def rank(word: str) -> tuple[bytes, str]:
        return hashlib.blake2b(word.encode(), digest_size=16, key=key).digest(), word

    return sorted(words, key=rank)[:most]


def _key(label: Any) -> bytes:
    return hashlib.blake2b(f"{label}".encode("utf-8", "surrogatepass")).digest()

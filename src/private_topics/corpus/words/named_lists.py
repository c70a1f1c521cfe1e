"""Public word lists by name: the most frequent words of a language, from the package wordfreq (extra `words`).

wordfreq counts words in books, encyclopaedias, news, subtitles and web pages that anybody can read; its lists are
CC BY-SA 4.0. They are older than, and do not depend on, the corpus of whoever uses them, which is what makes a list
public. The list is recorded with the release of the package, its size and its SHA-256.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import version

from private_topics.corpus.words.vocabulary import WordList, is_word
from private_topics.errors import InputError

LANGUAGES = {
    "dutch": "nl",
    "english": "en",
    "french": "fr",
    "german": "de",
    "italian": "it",
    "portuguese": "pt",
    "spanish": "es",
}
PREFIX = "list:"
MOST_WORDS = 1_000_000
DEFAULT_SIZE = 10_000
"""The smallest list behind a name has some 28,000 words; the rarest say little about topics and cost noise."""


def named_word_list(
    name: str, size: int | None = None, *, usable: Callable[[Iterable[str]], list[str]] | None = None
) -> WordList:
    """The `size` most frequent words (10,000 if not given) of a language.

    With `usable`, `Tokeniser.usable`, they are counted after the words that the tokeniser never gives are left out.
    """
    if name not in LANGUAGES:
        raise InputError(f"There is no public word list {name!r}: the names are {', '.join(LANGUAGES)}.")
    try:
        import wordfreq
    except ImportError:
        raise InputError(
            f"The word list {name!r} comes with the package wordfreq, which is not installed: "
            "pip install 'private-topics[words]'."
        ) from None
    every = [word for word in wordfreq.top_n_list(LANGUAGES[name], MOST_WORDS, wordlist="small") if is_word(word)]
    words = (every if usable is None else usable(every))[: DEFAULT_SIZE if size is None else size]
    return WordList(f"wordfreq {version('wordfreq')}, {name}, the {len(words):,} most frequent", tuple(words))

"""What a person should look at in released words: names of people, stop words, markup, clauses.

Functions of released words and public lists alone, so that they may be shown to anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from private_topics.corpus.words.phrases import JOINT
from private_topics.corpus.words.scripts import written_without_spaces
from private_topics.corpus.words.stop_words import STOP_WORDS
from private_topics.errors import InputError

SURE_MARKUP = frozenset({"nbsp", "href", "mailto", "colspan", "rowspan", "cellpadding", "cellspacing", "tbody"})
MARKUP = SURE_MARKUP | frozenset(
    {"amp", "quot", "div", "span", "http", "https", "www", "html", "img", "src", "css", "utf", "charset", "rsquo"}
    | {"lsquo", "ldquo", "rdquo", "ndash", "mdash", "hellip", "javascript", "valign", "bgcolor", "alt", "png"}
)
"""Tags, attributes and entities that are no words of a language, or rarely."""
FEWEST_STOP_WORDS, STOP_WORD_PART = 3, 0.05
CLAUSE_LETTERS = 6
SHOWN = 8


@cache
def known_names() -> frozenset[str]:
    """Given and family names that are common somewhere and no ordinary English words: a public list."""
    text = files("private_topics.corpus.words").joinpath("names.txt").read_text(encoding="utf-8")
    return frozenset(text.split())


def possible_names(words: Iterable[str | Sequence[str]]) -> list[str]:
    """The words that may name a person, in order, by a public list of names; a phrase, if a part of it may.

    Words, or lists of them as `top_words` gives. The list is far from complete, and many names are ordinary words
    too: look at all words.
    """
    names = known_names()
    return [word for word in _distinct(words, "possible_names") if names & set(word.lower().split(JOINT))]


def hints(words: Iterable[str | Sequence[str]]) -> list[str]:
    """What looks wrong in the top words of a model, a sentence each; none where nothing does."""
    found = _distinct(words, "hints")
    folded = {word.lower(): word for word in found}
    said = []
    for language, listed in STOP_WORDS.items():
        stops = [word for lower, word in folded.items() if lower in listed]
        if len(stops) >= max(FEWEST_STOP_WORDS, STOP_WORD_PART * len(found)):
            said.append(
                f"{language.capitalize()} stop words are among the top words ({_shown(stops)}): fit with --language "
                f"{language}, or name more words with --extra-stop-words."
            )
    markup = [word for lower, word in folded.items() if lower in MARKUP]
    if len(markup) > 1 or SURE_MARKUP & folded.keys():
        said.append(
            f"Markup is among the top words ({_shown(markup)}): take the tags out of the texts and fit again."
        )
    clauses = [word for word in found if written_without_spaces(word) and len(word) >= CLAUSE_LETTERS]
    if clauses:
        said.append(f"Some words may be clauses ({_shown(clauses)}): were the texts segmented before they were read?")
    return said


def _distinct(words: Any, caller: str) -> list[str]:
    """Words, or lists of them as `top_words` gives, each word once."""
    if isinstance(words, str):
        raise InputError(f"The 'words' parameter of {caller} must be words, not one string.")
    words = list(words)
    if not all(isinstance(item, Iterable) for item in words):
        raise InputError(f"The 'words' parameter of {caller} must be words, or lists of words.")
    flat = [word for item in words for word in ([item] if isinstance(item, str) else item)]
    return list(dict.fromkeys(map(str, flat)))


def _shown(words: list[str]) -> str:
    more = "" if len(words) <= SHOWN else f" and {len(words) - SHOWN} more"
    return ", ".join(words[:SHOWN]) + more

"""Which vocabulary and which public knowledge a fit of text takes, from what a user names: one rule for all doors.

The command line and `PrivateTopics` ask here. Everything named is public and read before the private corpus is.
"""

from __future__ import annotations

from typing import Any

from private_topics.corpus.words.tokens import Tokeniser
from private_topics.corpus.words.vocabulary import PREFIX, WordList, named_word_list, read_word_list
from private_topics.errors import InputError
from private_topics.estimators.vocabularies import CandidateVocabulary, PrivateVocabulary, Selection
from private_topics.knowledge.sources import KnowledgeSource

USUAL, USUAL_LANGUAGES = "english", ("english",)
CANDIDATES, PRIVATE = "candidates", "private"
MOST_CANDIDATES = 50_000
"""Of a named list, if it has as many. A word that nobody uses costs little, and one that is missing is lost."""


def knows_language(tokeniser: Tokeniser) -> bool:
    """Whether the words of the tokeniser are those of the English vectors that come with the package."""
    return tokeniser.languages == USUAL_LANGUAGES and tokeniser.stemmer is None


def worth_using(
    known: KnowledgeSource | None, insisted: bool, words: WordList | Selection | Any, tokeniser: Tokeniser
) -> bool:
    """Whether knowledge goes with the vocabulary: what was not asked for is not insisted on."""
    if known is None or insisted:
        return known is not None
    return not isinstance(words, WordList) or known.knows(tokeniser.usable(words.words))


def vocabulary_named(
    named: str | None, size: int | None, tokeniser: Tokeniser, known: KnowledgeSource | None = None
) -> WordList | Selection:
    """The vocabulary that is named; if none is, one chosen among the words of public knowledge, or a private one."""
    listed = None if known is None else known.word_list
    chosen = named or (PRIVATE if listed is None else CANDIDATES)
    if chosen == PRIVATE:
        return selection(None, size, None, tokeniser)
    if chosen == CANDIDATES and listed is not None:
        return CandidateVocabulary(listed) if size is None else CandidateVocabulary(listed, size)
    if asks_for_candidates(chosen):
        return selection(chosen.removeprefix(CANDIDATES).removeprefix(":"), size, None, tokeniser)
    return public_list(chosen, size, tokeniser)


def asks_for_candidates(vocabulary: str) -> bool:
    return vocabulary == CANDIDATES or vocabulary.startswith(f"{CANDIDATES}:")


def selection(candidates: str | None, size: int | None, most_words: int | None, tokeniser: Tokeniser) -> Selection:
    """A vocabulary to release: of any words, or of those of a public list, which is read now. None: as usual."""
    given = {"size": size, "most_words_per_unit": most_words}
    limits: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if candidates is None:
        return PrivateVocabulary(**limits)
    return CandidateVocabulary(candidates_of(candidates, tokeniser), **limits)


def candidates_of(named: str, tokeniser: Tokeniser) -> WordList:
    """Public candidates: a file, `list:NAME`, or, where nothing is named, the list of the tokeniser's language."""
    if not named:
        named = PREFIX + (tokeniser.languages[0] if tokeniser.languages else "english")
    return public_list(named, MOST_CANDIDATES if named.startswith(PREFIX) else None, tokeniser)


def public_list(named: str, size: int | None, tokeniser: Tokeniser) -> WordList:
    """A public list: `list:NAME`, of which `size` words are taken, or a file, which is taken as it is."""
    if named.startswith(PREFIX):
        return named_word_list(named.removeprefix(PREFIX), size, usable=tokeniser.usable)
    if size is not None:
        raise InputError("A list from a file is used as it is: it takes no size.")
    return read_word_list(named)

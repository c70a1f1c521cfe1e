"""What a user names as public knowledge, opened and digested before the private corpus is read, aligned after.

The words of the columns may come out of a private selection, so they are known late; what is known of them must be
fixed early. A source holds its content from the moment it is opened, and no file is read twice.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from private_topics.corpus.words.tokens import Tokeniser
from private_topics.corpus.words.vocabulary import WordList, is_word
from private_topics.errors import InputError
from private_topics.knowledge.public import Content, PublicKnowledge, joint_digest
from private_topics.knowledge.public_texts import public_texts
from private_topics.knowledge.shipped import SHIPPED, shipped
from private_topics.knowledge.table import VectorTable, checked_words
from private_topics.knowledge.vector_files import read_vectors

NONE = "none"


@dataclass(frozen=True)
class KnowledgeSource:
    """One or more opened sources; `a + b` is both."""

    parts: tuple[Content | PublicKnowledge, ...]

    @property
    def name(self) -> str:
        return " + ".join(part.name for part in self.parts)

    @property
    def digest(self) -> str:
        """As the aligned knowledge will have it."""
        return joint_digest([digest for part in self.parts for digest in _digests(part)])

    @property
    def words(self) -> tuple[str, ...]:
        """The words that files name, each once, in their order: candidates for a vocabulary. Texts name none."""
        tables = (part for part in self.parts if isinstance(part, VectorTable))
        return tuple(dict.fromkeys(word for table in tables for word in table.words))

    @property
    def word_list(self) -> WordList | None:
        """The same as a public list of the name of the source; None where there are none."""
        words = tuple(filter(is_word, self.words))
        return WordList(self.name, words) if words else None

    def align(self, words: Iterable[str]) -> PublicKnowledge:
        """What is known of the words that the columns turned out to be."""
        listed = checked_words(words, "KnowledgeSource.align")
        return reduce(add, (_aligned(part, listed) for part in self.parts))

    def align_released(self, words: Sequence[str]) -> PublicKnowledge | None:
        """The same for words that a run released and paid for, so it does not fail: None where nothing is known."""
        found = (
            part if isinstance(part, PublicKnowledge) else PublicKnowledge.known(part, words) for part in self.parts
        )
        known = [part for part in found if part is not None and part.n_words == len(words)]
        return reduce(add, known) if known else None

    @property
    def is_for_columns(self) -> bool:
        """Whether a part of it is for columns that were known beforehand."""
        return any(isinstance(part, PublicKnowledge) for part in self.parts)

    def knows(self, words: Iterable[str]) -> bool:
        """Whether a file names one of these words."""
        tables = [part for part in self.parts if isinstance(part, VectorTable)]
        return any(table.row_of(word) >= 0 for word in words for table in tables)

    def __add__(self, other: object) -> KnowledgeSource:
        return KnowledgeSource(self.parts + other.parts) if isinstance(other, KnowledgeSource) else NotImplemented


def open_knowledge(spec: Any, *, tokeniser: Tokeniser | None = None) -> KnowledgeSource | None:
    """Open what the 'knowledge' parameter names; None where it names nothing.

    Parameters
    ----------
    spec : None or "none"; "english" or "english-documents"; a path to word vectors; a `PublicKnowledge`, for columns
        that are known beforehand; public texts; or a list of such names, `Path` objects and `PublicKnowledge`.
    tokeniser : makes words of public texts; None for the usual one.
    """
    if spec is None or isinstance(spec, KnowledgeSource):
        return spec
    if isinstance(spec, PublicKnowledge):
        return KnowledgeSource((spec,))
    if isinstance(spec, str | os.PathLike):
        return _named(spec)
    if isinstance(spec, bytes | dict) or not isinstance(spec, Iterable):
        raise InputError(
            f"The 'knowledge' parameter must be None, one of {tuple(SHIPPED)}, a path to word vectors, a "
            f"PublicKnowledge or an iterable of public texts. Got an object of type {type(spec).__name__!r} instead."
        )
    items = list(spec)
    if items and all(map(_is_source, items)):
        opened = [source for item in items if (source := open_knowledge(item)) is not None]
        return reduce(add, opened) if opened else None
    return KnowledgeSource((public_texts(items, tokeniser),))


def _named(spec: str | os.PathLike[str]) -> KnowledgeSource | None:
    if spec == NONE:
        return None
    if isinstance(spec, str) and spec in SHIPPED:
        return KnowledgeSource((shipped(spec),))
    if isinstance(spec, str) and not os.path.exists(spec):
        raise InputError(
            f"There is no public knowledge {spec!r}: the names are {', '.join(SHIPPED)} and {NONE}, "
            "and there is no such file either."
        )
    return KnowledgeSource((read_vectors(spec),))


def _is_source(item: Any) -> bool:
    """Whether an item of a list is a source of its own, not a text. A path must be a `Path` there."""
    named = isinstance(item, str) and item in SHIPPED
    return named or isinstance(item, os.PathLike | PublicKnowledge | KnowledgeSource)


def _digests(part: Content | PublicKnowledge) -> list[str]:
    return [origin.digest for origin in part.origins] if isinstance(part, PublicKnowledge) else [part.digest]


def _aligned(part: Content | PublicKnowledge, words: list[str]) -> PublicKnowledge:
    if not isinstance(part, PublicKnowledge):
        return PublicKnowledge.aligned(part, words, "KnowledgeSource.align")
    if part.n_words != len(words):
        raise InputError(
            f"The PublicKnowledge {part.name!r} is for {part.n_words:,} columns, but the corpus has {len(words):,}: "
            "it goes with a public vocabulary only. Name its source instead ('english', a path, texts)."
        )
    return part

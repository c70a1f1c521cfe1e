"""From `--knowledge` and `--public-corpus` to opened public knowledge, before the private corpus is opened."""

from __future__ import annotations

from functools import reduce
from operator import add
from pathlib import Path

import typer

from private_topics.cli.options import Known, Reading
from private_topics.corpus.texts.readers import detect_format, open_texts
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.errors import InputError, PrivacyError
from private_topics.estimators import choices
from private_topics.estimators.choices import USUAL, knows_language
from private_topics.estimators.texts import Vocabulary
from private_topics.knowledge.sources import NONE, KnowledgeSource, open_knowledge


def knowledge_of(
    known: Known, source: Path, reading: Reading, tokeniser: Tokeniser, *, private: bool, counts: bool
) -> KnowledgeSource | None:
    """What the options name; if they name nothing, English vectors for the text of a private fit in English."""
    named = known.knowledge
    if named is not None and NONE in named and len(named) > 1:
        raise typer.BadParameter("'none' stands alone", param_hint="--knowledge")
    if named is None:
        named = [USUAL] if private and knows_language(tokeniser) and not counts else []
    opened = [open_knowledge(name) for name in named]
    if known.public_corpus is not None:
        if known.public_corpus.exists() and source.exists() and known.public_corpus.samefile(source):
            raise PrivacyError("The private corpus is no public knowledge: --public-corpus names the same file.")
        opened.append(public_corpus(known.public_corpus, reading, tokeniser))
    found = [one for one in opened if one is not None]
    return reduce(add, found) if found else None


def worth_using(known: KnowledgeSource | None, given: Known, words: Vocabulary | None, tokeniser: Tokeniser) -> bool:
    """Whether knowledge goes with the vocabulary: what was not asked for is not insisted on."""
    insisted = given.knowledge is not None or given.public_corpus is not None
    return choices.worth_using(known, insisted, words, tokeniser)


def public_corpus(path: Path, reading: Reading, tokeniser: Tokeniser) -> KnowledgeSource | None:
    """Texts that anyone may read, read as the private ones are; the format is by the name, if that tells it."""
    try:
        format = detect_format(path)
    except InputError:
        if reading.format is None or not path.exists():
            raise
        format = reading.format
    texts = open_texts(path, format=format, field=reading.field, encoding=reading.encoding, strict=reading.strict)
    return open_knowledge((text for text, _ in texts), tokeniser=tokeniser)


def knowledge_line(known: KnowledgeSource | None) -> str:
    """What a person is told of it, in one line."""
    if known is None:
        return "Public knowledge: none."
    return f"Public knowledge: {known.name} (SHA-256 {known.digest}); the guarantee covers no text that went into it."

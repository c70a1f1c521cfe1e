"""From the options of a command to texts, counts, words and ledgers, checked before anything is charged."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import typer

from private_topics.cli.options import Charged, Reading
from private_topics.corpus.counts.block_source import CountBlocks
from private_topics.corpus.counts.blocks import as_blocks
from private_topics.corpus.counts.counting import count_texts
from private_topics.corpus.texts.files import unit_labels
from private_topics.corpus.texts.readers import COUNTS, detect_format, open_texts
from private_topics.corpus.texts.source import TextSource
from private_topics.corpus.words.stop_words import STOP_WORDS
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.corpus.words.vocabulary import LANGUAGES, PREFIX, WordList, named_word_list, read_word_list
from private_topics.errors import InputError, LedgerError
from private_topics.estimators.texts import CandidateVocabulary, CorpusVocabulary, PrivateVocabulary, Vocabulary
from private_topics.estimators.vocabularies import Selection
from private_topics.knowledge.sources import KnowledgeSource
from private_topics.privacy.ledger.durable import DurableLedger
from private_topics.whole_files import ONLY_MINE, whole_file

PROBE_BYTES = 2**20
"""A disk that cannot hold this many is full."""
KEY_BYTES, LARGEST_KEY = 32, 4_096
CANDIDATES = "candidates"
MOST_CANDIDATES = 50_000
"""Of a named list, if it has as many. A word that nobody uses costs little, and one that is missing is lost."""


def holds_counts(source: Path, format: str | None) -> bool:
    return (detect_format(source) if format is None else format) == COUNTS


def texts_of(source: Path, reading: Reading) -> TextSource:
    chosen = {name: getattr(reading, name) for name in ("format", "field", "unit", "encoding", "strict")}
    return open_texts(source, **chosen)


def tokeniser_of(reading: Reading, vocabulary: str | None = None) -> Tokeniser:
    """Stop words are those of the languages given, else of the language of a named list, else English."""
    chosen = (vocabulary or "").removeprefix(f"{CANDIDATES}:")
    named = chosen.removeprefix(PREFIX)
    in_language = chosen.startswith(PREFIX) and named in LANGUAGES
    languages = reading.language or [named if in_language else "english"]
    dropped = tuple(name for name in languages if name != "none")
    if not set(dropped) <= set(STOP_WORDS):
        raise InputError(
            f"--language must be 'none' or one of {', '.join(STOP_WORDS)}: they have lists of stop words."
        )
    return Tokeniser(languages=dropped, min_length=reading.min_length, stemmer="s" if reading.stem else None)


def vocabulary_of(
    named: str | None,
    size: int | None,
    no_privacy: bool,
    tokeniser: Tokeniser,
    known: KnowledgeSource | None = None,
) -> Vocabulary:
    """The vocabulary that is named; if none is, one chosen among the words of public knowledge, or a private one."""
    listed = None if known is None else known.word_list
    chosen = named or ("corpus" if no_privacy else "private" if listed is None else CANDIDATES)
    if chosen == "private":
        return selection(None, size, None, tokeniser)
    if chosen == CANDIDATES and listed is not None:
        return CandidateVocabulary(listed) if size is None else CandidateVocabulary(listed, size)
    if asks_for_candidates(chosen):
        return selection(chosen.removeprefix(CANDIDATES).removeprefix(":"), size, None, tokeniser)
    if chosen == "corpus":
        if not no_privacy:
            raise typer.BadParameter(
                "a vocabulary taken from a private corpus would leak it: give a public list, or 'private'",
                param_hint="--vocabulary",
            )
        return CorpusVocabulary() if size is None else CorpusVocabulary(size)
    return public_list(chosen, size, tokeniser, "--vocabulary-size")


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
    return public_list(named, MOST_CANDIDATES if named.startswith(PREFIX) else None, tokeniser, "--vocabulary-size")


def public_list(named: str, size: int | None, tokeniser: Tokeniser, size_option: str) -> WordList:
    """A public list: `list:NAME`, of which `size` words are taken, or a file, which is taken as it is."""
    if named.startswith(PREFIX):
        return named_word_list(named.removeprefix(PREFIX), size, usable=tokeniser.usable)
    if size is not None:
        raise typer.BadParameter("a list from a file is used as it is", param_hint=size_option)
    return read_word_list(named)


def counts_for(model: Any, source: Path, reading: Reading) -> CountBlocks:
    """New documents as the model counts them: text by its own words and tokeniser, or counts as they are."""
    if holds_counts(source, reading.format):
        corpus = as_blocks(str(source))
        if corpus.n_words != model.n_features_in_:
            raise InputError(
                f"The corpus has {corpus.n_words} words, the model {model.n_features_in_}: not the same vocabulary."
            )
        return corpus
    if not hasattr(model, "tokeniser_"):
        raise InputError("The model was fitted to counts and does not know how text becomes words: give counts.")
    return count_texts(texts_of(source, reading), list(model.feature_names_in_), model.tokeniser_)


def ledger_of(charged: Charged, label: str = "", unit: str | None = None) -> DurableLedger | None:
    """The ledger of a corpus, opened before the corpus is read; `label` where the run has no other.

    `unit`: what the run protects; a ledger that was registered for something else refuses now.
    """
    path, corpus = charged.ledger, charged.corpus
    if path is None and corpus is None:
        for name, given in charged.request.items():
            if given:
                raise typer.BadParameter("needs --ledger and --corpus", param_hint=f"--{name.replace('_', '-')}")
        return None
    if path is None or corpus is None:
        raise typer.BadParameter("--ledger and --corpus belong together", param_hint="--ledger")
    if not path.exists():
        raise LedgerError(f"There is no ledger {path}. Create it with: private-topics budget register")
    if corpus not in DurableLedger.registered(path):
        raise LedgerError(
            f"No corpus {corpus!r} is registered in {path}. Register it with: private-topics budget register"
        )
    key = None if charged.ids_key is None else read_key(charged.ids_key)
    ledger = DurableLedger(path, corpus, label=charged.label or label, who=charged.who, key=key, **charged.request)
    ledger.require(unit)
    return ledger


def unit_of(reading: Reading) -> str:
    """What a run on a source that is read like this protects."""
    return "document" if reading.unit is None and reading.unit_labels is None else "user"


def read_key(path: Path, *, make: bool = False) -> bytes:
    """The secret key of the ids; `make`: where there is no file, one is made that only its owner can read."""
    if make and not path.exists():
        with whole_file(path, mode=ONLY_MINE) as file:
            file.write(os.urandom(KEY_BYTES))
    with open(path, "rb") as file:
        key = file.read(LARGEST_KEY + 1)
    if len(key) > LARGEST_KEY:
        raise InputError(f"{str(path)!r} is too large for a key: make one with budget register --ids-key.")
    return key


def read_ids(source: Path, field: str | None, reading: Reading) -> set[str]:
    """The labels of users: a file with one on each line, or a source whose records name them in `field`."""
    if field is None:
        return set(unit_labels(source))
    chosen = {name: getattr(reading, name) for name in ("format", "field", "encoding")}
    return {label for _, label in open_texts(source, unit=field, **chosen) if label is not None}


def check_new(path: Path, force: bool) -> None:
    """Refuse, before a budget is spent, to replace what was paid for."""
    if not force and os.path.lexists(path):
        raise InputError(
            f"{str(path)!r} exists, and what a budget was spent on is not replaced: give another name, or --force. "
            "Nothing was charged."
        )


def check_writable(*paths: Path | None) -> None:
    """Refuse before a budget is spent what could not be written afterwards."""
    for path in paths:
        if path is None:
            continue
        folder = path.parent
        if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise InputError(f"{str(path)!r} cannot be written: it must be a file in a writable folder.")
        try:
            with tempfile.TemporaryFile(dir=folder) as probe:
                probe.write(bytes(PROBE_BYTES))
        except OSError as error:
            raise InputError(f"{str(path)!r} cannot be written: {error.strerror}.") from None


def read_names(path: Path, n_words: int) -> list[str]:
    """Names of the columns of counts, one per line."""
    try:
        names = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a UTF-8 text file with one word per line.") from None
    if len(names) != n_words:
        raise InputError(
            f"{path} must hold one word per line for each of the {n_words} columns; it holds {len(names)}."
        )
    return names

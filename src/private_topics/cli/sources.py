"""From the options of a command to texts, counts, words and ledgers, checked before anything is charged."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
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
from private_topics.corpus.words.scripts import SEGMENTERS
from private_topics.corpus.words.stop_words import STOP_WORDS
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.corpus.words.vocabulary import LANGUAGES, PREFIX, WordList
from private_topics.errors import InputError, LedgerError
from private_topics.estimators import choices
from private_topics.estimators.applying import FITTED_TO_COUNTS
from private_topics.estimators.choices import CANDIDATES, PRIVATE, asks_for_candidates, vocabulary_named
from private_topics.estimators.texts import CorpusVocabulary, Vocabulary
from private_topics.knowledge.sources import KnowledgeSource
from private_topics.privacy.ledger.durable import DurableLedger
from private_topics.whole_files import ONLY_MINE, whole_file

PROBE_BYTES = 2**20
"""A disk that cannot hold this many is full."""
KEY_BYTES, LARGEST_KEY = 32, 4_096


def holds_counts(source: Path, format: str | None) -> bool:
    return (detect_format(source) if format is None else format) == COUNTS


def texts_of(source: Path, reading: Reading, by: str | None = None) -> TextSource:
    chosen = {name: getattr(reading, name) for name in ("format", "field", "unit", "encoding", "strict")}
    return open_texts(source, by=by, **chosen)


def tokeniser_of(reading: Reading, vocabulary: str | None = None) -> Tokeniser:
    """Stop words are those of the languages given, else of the language of a named list, else English."""
    chosen = (vocabulary or "").removeprefix(f"{CANDIDATES}:")
    named = chosen.removeprefix(PREFIX)
    in_language = chosen.startswith(PREFIX) and named in LANGUAGES
    languages = reading.language or [named if in_language else "english"]
    dropped = tuple(name for name in languages if name != "none")
    if not set(dropped) <= {*STOP_WORDS, *SEGMENTERS}:
        raise InputError(
            f"--language must be 'none' or one of {', '.join(STOP_WORDS)}: they have lists of stop words."
        )
    extra = () if reading.extra_stop_words is None else listed_words(reading.extra_stop_words, "--extra-stop-words")
    tokeniser = Tokeniser(
        languages=dropped,
        min_length=reading.min_length,
        stop_words=extra,
        stemmer="s" if reading.stem else None,
        phrases=() if reading.phrases is None else tuple(read_lines(reading.phrases)),
        segmented=reading.segmented,
    )
    if reading.phrases is not None and not tokeniser.joined_words.names:
        raise typer.BadParameter("there is no phrase of two or more words in it", param_hint="--phrases")
    return tokeniser


def listed_words(given: str, option: str) -> tuple[str, ...]:
    """The lines of a file, or words with commas between them; blank ones are left out, repeated ones taken once."""
    if "," not in given and (Path(given).exists() or not given.isalpha()):
        items = read_lines(Path(given))
    else:
        items = given.split(",")
    words = tuple(dict.fromkeys(item.strip() for item in items if item.strip()))
    if not words:
        raise typer.BadParameter("there is no word in it", param_hint=option)
    return words


def read_lines(path: Path) -> list[str]:
    """The lines of a public UTF-8 file."""
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a UTF-8 text file with one entry per line.") from None


def vocabulary_of(
    named: str | None,
    size: int | None,
    no_privacy: bool,
    tokeniser: Tokeniser,
    known: KnowledgeSource | None = None,
) -> Vocabulary:
    """The vocabulary that is named; if none is, one chosen among the words of public knowledge, or a private one."""
    if named == "corpus" and not no_privacy:
        raise typer.BadParameter(
            "a vocabulary taken from a private corpus would leak it: give a public list, or 'private'",
            param_hint="--vocabulary",
        )
    if named == "corpus" or (no_privacy and not named):
        return CorpusVocabulary() if size is None else CorpusVocabulary(size)
    if named and named != PRIVATE and not asks_for_candidates(named):
        return public_list(named, size, tokeniser, "--vocabulary-size")
    return vocabulary_named(named, size, tokeniser, known)


def public_list(named: str, size: int | None, tokeniser: Tokeniser, size_option: str) -> WordList:
    """A public list: `list:NAME`, of which `size` words are taken, or a file, which is taken as it is."""
    if size is not None and not named.startswith(PREFIX):
        raise typer.BadParameter("a list from a file is used as it is", param_hint=size_option)
    return choices.public_list(named, size, tokeniser)


def counts_for(model: Any, source: Path, reading: Reading) -> CountBlocks:
    """New documents as the model counts them: text by its own words and tokeniser, or counts as they are."""
    documents, is_text = texts_or_counts(model, source, reading)
    return count_texts(documents, list(model.feature_names_in_), model.tokeniser_) if is_text else documents


def texts_or_counts(model: Any, source: Path, reading: Reading, label: str | None = None) -> tuple[Any, bool]:
    """New documents for a model, and whether they are texts; `label`: the field whose values go with the texts."""
    if holds_counts(source, reading.format):
        if label is not None:
            raise InputError("Counts have no fields: --id needs text.")
        corpus = as_blocks(str(source))
        if corpus.n_words != model.n_features_in_:
            raise InputError(
                f"The corpus has {corpus.n_words} words, the model {model.n_features_in_}: not the same vocabulary."
            )
        return corpus, False
    if not hasattr(model, "tokeniser_"):
        raise InputError(FITTED_TO_COUNTS)
    return texts_of(source, replace(reading, unit=label)), True


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


def ledger_line(ledger: DurableLedger | None) -> str:
    """Return the last line of a charged run: what its ledger has left, or that there is none."""
    if ledger is None:
        return (
            "No ledger: what this run spent is added to no total. Give --ledger and --corpus to add up what all runs "
            "spend on this corpus."
        )
    total = ledger.total
    return (
        f"Ledger: of epsilon {total.epsilon:g}, {ledger.remaining():.3g} is left for {ledger.corpus!r} "
        f"(one more run at delta {total.delta:g}), or {ledger.repeats():,} more runs like this one."
    )


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
    names = read_lines(path)
    if len(names) != n_words:
        raise InputError(
            f"{path} must hold one word per line for each of the {n_words} columns; it holds {len(names)}."
        )
    return names

"""The steps of `fit`: choose the vocabulary, learn, say what is guaranteed. Imported only when a fit begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import typer

from private_topics.cli.screen import Screen
from private_topics.cli.sources import read_names
from private_topics.corpus.counts.blocks import as_blocks
from private_topics.corpus.texts.files import read_unit_labels
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.corpus.words.vocabulary import LANGUAGES, PREFIX, WordList, named_word_list, read_word_list
from private_topics.errors import InputError
from private_topics.estimators.base import TopicEstimator
from private_topics.estimators.private import PrivateSpectralLDA
from private_topics.estimators.spectral import SpectralLDA
from private_topics.estimators.texts import (
    WITH_VOCABULARY,
    CorpusVocabulary,
    PrivateVocabulary,
    Vocabulary,
    fit_texts,
)

__all__ = ["fit_texts"]

EPSILON, DELTA = 1.0, 1e-6
STAGES_BEFORE_REFINEMENT = 3


def new_model(topics: int, *, private: bool, **settings: Any) -> Any:
    return (PrivateSpectralLDA if private else SpectralLDA)(topics, **settings)


def privacy_settings(
    epsilon: float | None, delta: float | None, words: Vocabulary | None, refine_steps: int | None
) -> dict[str, Any]:
    with_vocabulary = WITH_VOCABULARY.without_refinement() if refine_steps == 0 else WITH_VOCABULARY
    return {
        "epsilon": EPSILON if epsilon is None else epsilon,
        "delta": DELTA if delta is None else delta,
        "budget_split": with_vocabulary if isinstance(words, PrivateVocabulary) else None,
    }


def started(engine: str, master: str | None) -> str:
    """The engine's name; Spark starts now, so that a cluster out of reach is known before the corpus is read."""
    if engine == "spark":
        from private_topics.engines.spark.session import session

        session(master)
    return engine


def languages_of(given: list[str] | None, vocabulary: str | None) -> list[str] | None:
    """Whose stop words are dropped: as given, else those of the language of a named list."""
    named = (vocabulary or "").removeprefix(PREFIX)
    return [named] if not given and (vocabulary or "").startswith(PREFIX) and named in LANGUAGES else given


def vocabulary_of(named: str | None, size: int | None, no_privacy: bool, tokeniser: Tokeniser) -> Vocabulary:
    chosen = named or ("corpus" if no_privacy else "private")
    if chosen == "private":
        return PrivateVocabulary(size)
    if chosen == "corpus":
        if not no_privacy:
            raise typer.BadParameter(
                "a vocabulary read off a private corpus would leak it: give a public list, or 'private'",
                param_hint="--vocabulary",
            )
        return CorpusVocabulary() if size is None else CorpusVocabulary(size)
    return public_list(chosen, size, tokeniser, "--vocabulary-size")


def public_list(named: str, size: int | None, tokeniser: Tokeniser, size_option: str) -> WordList:
    """A public list: `list:NAME`, of which `size` words are taken, or a file, which is taken as it is."""
    if named.startswith(PREFIX):
        return named_word_list(named.removeprefix(PREFIX), size, usable=tokeniser.usable)
    if size is not None:
        raise typer.BadParameter("the list of a file is used as it is", param_hint=size_option)
    return read_word_list(named)


def refuse_for_counts(vocabulary: str | None, size: int | None, unit: str | None) -> None:
    chosen = vocabulary or ""
    if chosen in ("private", "corpus") or chosen.startswith(PREFIX) or size is not None:
        raise InputError("Counts have their vocabulary already: --vocabulary may only name their columns.")
    if unit is not None:
        raise InputError("Counts have no fields: --unit needs text. Give a file of labels: --unit-labels.")


def refuse_for_text(unit_labels: Path | None) -> None:
    if unit_labels is not None:
        raise InputError(
            "Text carries the labels of its units in a field: --unit names it. --unit-labels needs counts."
        )


def fit_counts(model: Any, source: Path, vocabulary: str | None, unit_labels: Path | None) -> None:
    corpus = as_blocks(str(source))
    names = None if vocabulary is None else read_names(Path(vocabulary), corpus.n_words)
    if unit_labels is None:
        model.fit(corpus)
    else:
        model.fit(corpus, groups=_labels_for(corpus, unit_labels))
    if names is not None:
        model.feature_names_in_ = np.asarray(names, dtype=object)


def _labels_for(corpus: Any, path: Path) -> np.ndarray:
    """The labels, held to the number of documents. It is not public where users are units, so it is not told."""
    labels = read_unit_labels(path)
    if corpus.n_documents is None:
        for _ in corpus:  # the first pass counts the documents, here as in a fit
            pass
    if len(labels) != corpus.n_documents:
        raise InputError(f"{str(path)!r} must hold one label for each document, a line each; it holds more or fewer.")
    return labels


def save(model: TopicEstimator, output: Path) -> None:
    try:
        model.save(output)
    except OSError as error:
        raise InputError(
            f"{str(output)!r} could not be written: {error.strerror}. The model is lost; what it cost stays spent."
        ) from None


def words_named(words: Vocabulary) -> str:
    if isinstance(words, PrivateVocabulary):
        return "a private one, paid from the budget"
    return "taken off the corpus" if isinstance(words, CorpusVocabulary) else words.description


def announcement(model: TopicEstimator, source: str, unit: str | None, words: str) -> str:
    units = "documents" if unit is None else f"users ({unit})"
    guarantee = f"protecting {units}" if isinstance(model, PrivateSpectralLDA) else "WITHOUT privacy"
    return f"Fitting {type(model).__name__} to {source}, {guarantee}. Vocabulary: {words}."


def write_model_report(model: TopicEstimator, path: Path, model_file: Path, purse: Any, **extra: Any) -> None:
    """The HTML report of a model just saved, with what the ledger holds on its corpus."""
    from private_topics.reports import write_report

    if purse is not None:
        extra |= {"ledger_entries": purse.entries(), "ledger_total": purse.total}
    write_report(model, path, tokeniser=getattr(model, "tokeniser_", None), model_file=model_file, **extra)


def say_guarantee(screen: Screen, model: TopicEstimator, purse: Any) -> None:
    if not isinstance(model, PrivateSpectralLDA):
        screen.say("This model is NOT private: do not publish it if the text is confidential.")
        return
    statement = model.privacy_
    screen.say(
        f"({statement.epsilon:g}, {statement.delta:g})-differential privacy for {statement.n_units:,} "
        f"{statement.unit}s, proved; epsilon spent {statement.epsilon_spent:.4g}."
    )
    if purse is not None:
        screen.say(
            f"Ledger: of epsilon {purse.total.epsilon:g}, {purse.remaining():.3g} is left for {purse.corpus!r} "
            f"(one more run at delta {purse.total.delta:g})."
        )


def summary(model: TopicEstimator, output: Path, report: Path | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "model": str(output),
        "report": None if report is None else str(report),
        "topics": len(model.components_),
        "words": model.n_features_in_,
        "private": False,
    }
    if isinstance(model, PrivateSpectralLDA):
        facts |= {"private": model.privacy_.private, "privacy": model.privacy_.to_dict()}
    return facts

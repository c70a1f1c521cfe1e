"""The run of `fit`: a model from the options, learn, write, say what is guaranteed. Imported when a fit begins."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from private_topics.audit.model_seal import model_seal
from private_topics.cli.interrupts import Stopping, stop_if_interrupted
from private_topics.cli.knowledge import knowledge_line
from private_topics.cli.models import write_model_report
from private_topics.cli.options import Reading
from private_topics.cli.screen import Screen
from private_topics.cli.sources import ledger_line, read_names, texts_of
from private_topics.cli.topics_command import looked_at
from private_topics.corpus.counts.blocks import as_blocks
from private_topics.corpus.texts.files import read_unit_labels, unit_labels
from private_topics.corpus.texts.source import TextSource
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.corpus.words.vocabulary import PREFIX
from private_topics.engines.sites.site import Site
from private_topics.errors import InputError, PrivacyError
from private_topics.estimators.base import TopicEstimator
from private_topics.estimators.choices import asks_for_candidates
from private_topics.estimators.private import PrivateSpectralLDA, settings_of
from private_topics.estimators.spectral import SpectralLDA
from private_topics.estimators.texts import (
    CandidateVocabulary,
    CorpusVocabulary,
    PrivateVocabulary,
    Vocabulary,
    fit_texts,
)
from private_topics.evaluation.released_words import hints, possible_names
from private_topics.fits.informed import FEATURE_STEPS
from private_topics.fits.private import shares_of
from private_topics.fits.sequential import STAGES
from private_topics.knowledge.sources import KnowledgeSource
from private_topics.planning.refusal import PlannedLedger
from private_topics.progress import Progress
from private_topics.reports.report import found_in_texts

EPSILON, DELTA = 1.0, 1e-6
ROUNDED = 2e-6  # what is left in a ledger is rounded down by no more


def new_model(topics: int, *, private: bool, **settings: Any) -> Any:
    return (PrivateSpectralLDA if private else SpectralLDA)(topics, **settings)


def privacy_settings(epsilon: float | None, delta: float | None) -> dict[str, Any]:
    return {"epsilon": EPSILON if epsilon is None else epsilon, "delta": DELTA if delta is None else delta}


def planned(ledger: Any, most_units: int | None, site: Site | None = None) -> PlannedLedger:
    """What is charged, unless the plan calls the fit hopeless."""
    return PlannedLedger(ledger, most_units=most_units, shares=None if site is None else shares_of(site))


def check_beforehand(model: PrivateSpectralLDA, ledger: Any, source: Path, reading: Reading) -> None:
    """Refuse what a fit over sites would refuse later, when others may have paid: settings, budget, fields."""
    budget, left = settings_of(model).budget, math.inf
    if ledger is not None:
        ledger.require(neighbours=model.neighbours)
        left = ledger.remaining(budget.delta, exact=True)
    if left * (1.0 + ROUNDED) < budget.epsilon:
        raise PrivacyError(
            f"The ledger has epsilon {left:.3g} left for a run at delta {budget.delta:g}, and this one takes "
            f"{budget.epsilon:g}. Nothing was charged."
        )
    next(iter(texts_of(source, reading)), None)


def started(engine: str, master: str | None) -> str:
    """The engine's name; Spark starts now, so that an unreachable cluster is noticed before the corpus is read."""
    if engine == "spark":
        from private_topics.engines.spark.session import session

        session(master)
    return engine


@contextmanager
def shown(screen: Screen, model: TopicEstimator, show_documents: bool, informed: bool = False) -> Iterator[Progress]:
    """The stages of the model's fit on the screen, as many as there may be."""
    private = isinstance(model, PrivateSpectralLDA)
    stages = len(STAGES) + model.refine_steps if private else None
    if stages is not None and informed:
        stages += FEATURE_STEPS
    with screen.progress(stages=stages, show_documents=show_documents) as progress:
        model.set_params(verbose=Stopping(progress))
        yield progress
    model.set_params(verbose=False)


def fit_counts(
    screen: Screen,
    model: Any,
    source: Path,
    reading: Reading,
    vocabulary: str | None,
    vocabulary_size: int | None,
    known: KnowledgeSource | None,
) -> None:
    """Fit a model to counts, whose columns `vocabulary` names: as words, where something is known of them."""
    chosen, labels = vocabulary or "", reading.unit_labels
    named = chosen in ("private", "corpus") or chosen.startswith(PREFIX) or asks_for_candidates(chosen)
    if named or vocabulary_size is not None:
        raise InputError("Counts have their vocabulary already: --vocabulary may only name their columns.")
    if reading.unit is not None:
        raise InputError("Counts have no fields: --unit needs text. Give a file of labels: --unit-labels.")
    screen.say(announcement(model, source.name, None if labels is None else labels.name, "the columns"))
    corpus = as_blocks(str(source))
    names = None if vocabulary is None else read_names(Path(vocabulary), corpus.n_words)
    if known is not None and names is not None:
        screen.say(knowledge_line(known))
        model.set_params(knowledge=known.align(names))
    if names is not None:
        corpus.columns = names  # type: ignore[attr-defined]
    model.fit(corpus, **{} if labels is None else {"groups": _labels_for(corpus, labels)})


def _labels_for(corpus: Any, path: Path) -> np.ndarray:
    """The labels, one for each document. Their number is not public where users are units, so it is not shown."""
    labels = read_unit_labels(path)
    corpus.groups, corpus.unit_labels = labels, dict.fromkeys(unit_labels(path))
    if corpus.n_documents is None:
        for _ in corpus:  # the first pass counts the documents, here as in a fit
            pass
    if len(labels) != corpus.n_documents:
        raise InputError(f"{str(path)!r} must hold one label for each document, a line each; it holds more or fewer.")
    return labels


def fit_text(
    screen: Screen,
    model: Any,
    source: Path,
    reading: Reading,
    words: Vocabulary,
    tokeniser: Tokeniser,
    known: KnowledgeSource | None,
    progress: Progress,
) -> None:
    if reading.unit_labels is not None:
        raise InputError(
            "Text carries the labels of its units in a field: --unit names it. --unit-labels needs counts."
        )
    texts = texts_of(source, reading)
    screen.say(announcement(model, source.name, reading.unit, words_named(words)))
    screen.say(read_as(texts, tokeniser))
    if isinstance(model, PrivateSpectralLDA):
        screen.say(knowledge_line(known))
    fit_texts(model, texts, words, tokeniser, knowledge=known, progress=progress)


def deliver(
    screen: Screen, model: TopicEstimator, output: Path, report: Path | None, ledger: Any, began: datetime.date
) -> None:
    """The model and its report to their files, and what was guaranteed to the screen.

    The report's date is the day on which the fit began: the day on which it ended would depend on how long it took.
    """
    stop_if_interrupted()
    save(model, output)
    n_topics = f"{len(model.components_)} topic{'s' if len(model.components_) > 1 else ''}"
    screen.say(f"Wrote {n_topics} over {model.n_features_in_:,} words to {output}.")
    if report is not None:
        write_model_report(model, report, output, ledger, date=began)
        screen.say(f"Wrote the report to {report}.")
    say_guarantee(screen, model, ledger)
    found = found_in_texts(model)
    if found is not None:
        screen.say(found)
    if isinstance(model, PrivateSpectralLDA):  # the words of another model are the corpus's own
        for line in looked_at(model, model.top_words()):
            screen.say(line)


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
    if isinstance(words, CandidateVocabulary):
        return f"chosen from {words.candidates.description}, paid from the budget"
    return "taken from the corpus" if isinstance(words, CorpusVocabulary) else words.description


def read_as(texts: TextSource, tokeniser: Tokeniser) -> str:
    """How the texts are read, whatever they say: who gets this wrong fits empty documents."""
    field = f"the field {texts.reading.field!r} (--field), " if texts.has_fields else ""
    dropped = " and ".join(tokeniser.languages) or "no language"
    return (
        f"Reading {field}{texts.reading.encoding} (--encoding), without the stop words of {dropped} (--language). "
        "What cannot be read counts as empty: `private-topics check` looks at a file beforehand."
    )


def announcement(model: TopicEstimator, source: str, unit: str | None, words: str) -> str:
    units = "documents" if unit is None else f"users ({unit})"
    guarantee = f"protecting {units}" if isinstance(model, PrivateSpectralLDA) else "WITHOUT privacy"
    return f"Fitting {type(model).__name__} to {source}, {guarantee}. Vocabulary: {words}."


def say_guarantee(screen: Screen, model: TopicEstimator, ledger: Any) -> None:
    if not isinstance(model, PrivateSpectralLDA):
        screen.say("This model is NOT private: do not publish it if the text is confidential.")
        return
    statement = model.privacy_
    screen.say(
        f"({statement.epsilon:g}, {statement.delta:g})-differential privacy for {statement.units}, "
        f"proved; epsilon spent {statement.epsilon_spent:.4g}."
    )
    if statement.strength.warning:
        screen.say(f"warning: {statement.strength.warning}")
    screen.say(ledger_line(ledger))


def summary(model: TopicEstimator, output: Path, report: Path | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "model": str(output),
        "sha256": model_seal(output),
        "report": None if report is None else str(report),
        "topics": len(model.components_),
        "words": model.n_features_in_,
        "private": False,
    }
    if isinstance(model, PrivateSpectralLDA):
        facts |= {"private": model.privacy_.private, "privacy": model.privacy_.to_dict()}
        facts["evidence"] = None if model.evidence_ is None else model.evidence_.to_dict()
        facts["strength"] = model.privacy_.strength.level
        facts["hints"] = hints(model.top_words())
        facts["possible_names"] = possible_names(getattr(model, "feature_names_in_", ()))
    return facts

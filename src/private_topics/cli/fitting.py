"""`fit`: text or counts in, a model file out; private unless asked otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from private_topics.cli import options
from private_topics.cli.screen import Screen, print_json
from private_topics.cli.sources import check_writable, holds_counts, ledger_of, read_names, texts_of, tokeniser_of
from private_topics.corpus.blocks import as_blocks
from private_topics.corpus.text_source import TextSource
from private_topics.corpus.vocabulary import read_word_list
from private_topics.errors import InputError
from private_topics.estimators import SpectralLDA, TopicEstimator
from private_topics.pipeline import (
    WITH_VOCABULARY,
    CorpusVocabulary,
    PrivateVocabulary,
    Vocabulary,
    fit_texts,
)
from private_topics.private_estimator import PrivateSpectralLDA

EPSILON, DELTA = 1.0, 1e-6
STAGES_BEFORE_REFINEMENT = 3


def fit(
    source: options.Source,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.", show_default=False)],
    topics: Annotated[int, typer.Option("--topics", "-k", min=1, help="Number of topics.")] = 10,
    epsilon: Annotated[
        float | None,
        typer.Option(help="Privacy budget: 0.1 is strict, 1 usual, 10 weak. 1 if not given.", show_default=False),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="Well below one over the number of units. 1e-6 if not given.", show_default=False),
    ] = None,
    no_privacy: Annotated[bool, typer.Option("--no-privacy", help="Fit without any guarantee.")] = False,
    vocabulary: Annotated[
        str | None,
        typer.Option(
            help="A file with a public list of words, one per line; 'private': words that many units use, paid from "
            "the budget, the default; 'corpus': read off the corpus, the default with --no-privacy.",
            show_default=False,
        ),
    ] = None,
    vocabulary_size: options.VocabularySize = None,
    field: options.Field = "text",
    unit: options.Unit = None,
    format: options.Format = None,
    encoding: options.Encoding = "utf-8",
    language: options.Languages = None,
    min_length: options.MinLength = 3,
    stem: options.Stem = False,
    strict: options.Strict = False,
    ledger: options.Ledger = None,
    corpus: options.Corpus = None,
    label: options.Label = "",
    report: Annotated[Path | None, typer.Option(help="Write an HTML report too.")] = None,
    alpha0: Annotated[float, typer.Option(help="Sum of the Dirichlet prior over topics.")] = 1.0,
    refine_steps: Annotated[
        int | None,
        typer.Option(min=0, help="Refinement passes; 4 if not given, 1 without privacy.", show_default=False),
    ] = None,
    sampler: Annotated[str, typer.Option(help="Noise: 'fast', or 'exact' (slow).")] = "fast",
    jobs: options.Jobs = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Of the tensor method's restarts; the noise has no seed.")
    ] = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn topics from text or counts under differential privacy, and write a model file."""
    if no_privacy:
        _refuse_privacy_options(epsilon, delta, unit, ledger, corpus, vocabulary)
    screen = Screen(quiet)
    check_writable(output, report)
    purse = ledger_of(ledger, corpus, label or output.name)
    words = None if holds_counts(source, format) else _vocabulary(vocabulary, vocabulary_size, no_privacy)
    settings: dict[str, Any] = {"alpha0": alpha0, "n_jobs": jobs, "random_state": seed}
    settings |= {} if refine_steps is None else {"refine_steps": refine_steps}
    if not no_privacy:
        settings |= _privacy_settings(epsilon, delta, words) | {"sampler": sampler, "ledger": purse}
    model: Any = (SpectralLDA if no_privacy else PrivateSpectralLDA)(topics, **settings)
    stages = None if no_privacy else STAGES_BEFORE_REFINEMENT + model.refine_steps
    with screen.watch(stages=stages, show_documents=unit is None) as watch:
        model.set_params(verbose=watch.stage)
        if words is None:
            _refuse_for_counts(vocabulary, vocabulary_size, unit)
            _fit_counts(model, source, vocabulary)
        else:
            texts = texts_of(source, format, field=field, unit=unit, encoding=encoding, strict=strict)
            screen.say(_announcement(model, texts, words))
            fit_texts(model, texts, words, tokeniser_of(language, min_length, stem), watch=watch)
        watch.finished()
    model.set_params(verbose=False)
    model.save(output)
    screen.say(f"Wrote {len(model.components_)} topics over {model.n_features_in_:,} words to {output}.")
    if report is not None:
        write_model_report(model, report, output, purse)
        screen.say(f"Wrote the report to {report}.")
    _say_guarantee(screen, model, purse)
    if as_json:
        print_json(_summary(model, output, report))


def _refuse_privacy_options(
    epsilon: float | None,
    delta: float | None,
    unit: str | None,
    ledger: Path | None,
    corpus: str | None,
    vocabulary: str | None,
) -> None:
    given = {"--epsilon": epsilon, "--delta": delta, "--unit": unit, "--ledger": ledger, "--corpus": corpus}
    contradicted = [name for name, value in given.items() if value is not None]
    if vocabulary == "private":
        contradicted.append("--vocabulary private")
    if contradicted:
        raise typer.BadParameter(f"contradicts {', '.join(contradicted)}", param_hint="--no-privacy")


def _privacy_settings(epsilon: float | None, delta: float | None, words: Vocabulary | None) -> dict[str, Any]:
    return {
        "epsilon": EPSILON if epsilon is None else epsilon,
        "delta": DELTA if delta is None else delta,
        "budget_split": WITH_VOCABULARY if isinstance(words, PrivateVocabulary) else None,
    }


def write_model_report(model: TopicEstimator, path: Path, model_file: Path, purse: Any, **extra: Any) -> None:
    """The HTML report of a model just saved, with what the ledger holds on its corpus."""
    from private_topics.reports import write_report

    entries = None if purse is None else purse.entries()
    tokeniser = getattr(model, "tokeniser_", None)
    write_report(model, path, ledger_entries=entries, tokeniser=tokeniser, model_file=model_file, **extra)


def _vocabulary(named: str | None, size: int | None, no_privacy: bool) -> Vocabulary:
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
    if size is not None:
        raise typer.BadParameter("a public list is used as it is", param_hint="--vocabulary-size")
    return read_word_list(chosen)


def _refuse_for_counts(vocabulary: str | None, size: int | None, unit: str | None) -> None:
    if vocabulary in ("private", "corpus") or size is not None:
        raise InputError("Counts have their vocabulary already: --vocabulary may only name their columns.")
    if unit is not None:
        raise InputError("Counts have no fields: --unit needs text.")


def _fit_counts(model: Any, source: Path, vocabulary: str | None) -> None:
    corpus = as_blocks(str(source))
    names = None if vocabulary is None else read_names(Path(vocabulary), corpus.n_words)
    model.fit(corpus)
    if names is not None:
        model.feature_names_in_ = np.asarray(names, dtype=object)


def _announcement(model: TopicEstimator, texts: TextSource, words: Vocabulary) -> str:
    source = "a private one, paid from the budget" if isinstance(words, PrivateVocabulary) else "taken off the corpus"
    if not isinstance(words, PrivateVocabulary | CorpusVocabulary):
        source = words.description
    unit = "documents" if texts.reading.unit is None else f"users ({texts.reading.unit})"
    guarantee = f"protecting {unit}" if isinstance(model, PrivateSpectralLDA) else "WITHOUT privacy"
    return f"Fitting {type(model).__name__} to {texts.path.name}, {guarantee}. Vocabulary: {source}."


def _say_guarantee(screen: Screen, model: TopicEstimator, purse: Any) -> None:
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
            f"Ledger: of epsilon {purse.total.epsilon:g}, {purse.remaining():.3g} is left for {purse.corpus!r}."
        )


def _summary(model: TopicEstimator, output: Path, report: Path | None) -> dict[str, Any]:
    summary: dict[str, Any] = {
        "model": str(output),
        "report": None if report is None else str(report),
        "topics": len(model.components_),
        "words": model.n_features_in_,
        "private": False,
    }
    if isinstance(model, PrivateSpectralLDA):
        summary |= {"private": model.privacy_.private, "privacy": model.privacy_.to_dict()}
    return summary

"""`fit`: text or counts in, a model file out; private unless asked otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from private_topics.cli import options
from private_topics.cli.interrupts import stop_if_interrupted, stopping
from private_topics.cli.screen import Screen, print_json


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
            help="A file with a public list of words, one per line; 'list:english' (or another language): its most "
            "frequent words, a public list too; 'private': words that many units use, paid from the budget, the "
            "default; 'corpus': read off the corpus, the default with --no-privacy. For counts: a file with the "
            "names of the columns.",
            show_default=False,
        ),
    ] = None,
    vocabulary_size: options.VocabularySize = None,
    field: options.Field = "text",
    unit: options.Unit = None,
    unit_labels: Annotated[
        Path | None,
        typer.Option(
            help="For counts: a text file with one label per document, a line each, that says whom it belongs to. "
            "Then users are protected, not documents."
        ),
    ] = None,
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
    alpha0: options.Alpha0 = 1.0,
    refine_steps: Annotated[
        int | None,
        typer.Option(min=0, help="Refinement passes; 4 if not given, 1 without privacy.", show_default=False),
    ] = None,
    sampler: Annotated[str, typer.Option(help="Noise: 'fast', or 'exact' (slow).")] = "fast",
    engine: options.Engine = "local",
    master: options.Master = None,
    jobs: options.Jobs = None,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Of the tensor method's restarts; the noise has no seed.")
    ] = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn topics from text or counts under differential privacy, and write a model file."""
    if no_privacy:
        _refuse_privacy_options(epsilon, delta, unit, unit_labels, ledger, corpus, vocabulary)
    _refuse_engine_options(engine, master, no_privacy)
    from private_topics.cli import fit_steps as steps
    from private_topics.cli.sources import check_writable, holds_counts, ledger_of, texts_of, tokeniser_of

    screen = Screen(quiet)
    check_writable(output, report)
    purse = ledger_of(ledger, corpus, label or output.name)
    counts = holds_counts(source, format)
    tokeniser = tokeniser_of(steps.languages_of(language, vocabulary), min_length, stem)
    words = None if counts else steps.vocabulary_of(vocabulary, vocabulary_size, no_privacy, tokeniser)
    settings: dict[str, Any] = {"alpha0": alpha0, "n_jobs": jobs, "random_state": seed}
    settings |= {} if refine_steps is None else {"refine_steps": refine_steps}
    if not no_privacy:
        settings |= steps.privacy_settings(epsilon, delta, words, refine_steps)
        settings |= {"sampler": sampler, "ledger": purse}
        settings |= {"engine": steps.started(engine, master)}
    model = steps.new_model(topics, private=not no_privacy, **settings)
    stages = None if no_privacy else steps.STAGES_BEFORE_REFINEMENT + model.refine_steps
    with screen.watch(stages=stages, show_documents=unit is None) as watch:
        model.set_params(verbose=stopping(watch.stage))
        if words is None:
            steps.refuse_for_counts(vocabulary, vocabulary_size, unit)
            labels = None if unit_labels is None else unit_labels.name
            screen.say(steps.announcement(model, source.name, labels, "the columns"))
            steps.fit_counts(model, source, vocabulary, unit_labels)
        else:
            steps.refuse_for_text(unit_labels)
            texts = texts_of(source, format, field=field, unit=unit, encoding=encoding, strict=strict)
            screen.say(steps.announcement(model, source.name, unit, steps.words_named(words)))
            steps.fit_texts(model, texts, words, tokeniser, watch=watch)
        watch.finished()
    model.set_params(verbose=False)
    stop_if_interrupted()
    steps.save(model, output)
    n_topics = f"{len(model.components_)} topic{'s' if len(model.components_) > 1 else ''}"
    screen.say(f"Wrote {n_topics} over {model.n_features_in_:,} words to {output}.")
    if report is not None:
        steps.write_model_report(model, report, output, purse)
        screen.say(f"Wrote the report to {report}.")
    steps.say_guarantee(screen, model, purse)
    if as_json:
        print_json(steps.summary(model, output, report))


def _refuse_engine_options(engine: str, master: str | None, no_privacy: bool) -> None:
    if engine not in ("local", "spark", "gpu"):
        raise typer.BadParameter("one of local, spark, gpu", param_hint="--engine")
    if no_privacy and engine != "local":
        raise typer.BadParameter("a fit without privacy runs on this machine", param_hint="--engine")
    if master is not None and engine != "spark":
        raise typer.BadParameter("needs --engine spark", param_hint="--master")


def _refuse_privacy_options(
    epsilon: float | None,
    delta: float | None,
    unit: str | None,
    unit_labels: Path | None,
    ledger: Path | None,
    corpus: str | None,
    vocabulary: str | None,
) -> None:
    given = {"--epsilon": epsilon, "--delta": delta, "--unit": unit, "--unit-labels": unit_labels}
    given |= {"--ledger": ledger, "--corpus": corpus}
    contradicted = [name for name, value in given.items() if value is not None]
    if vocabulary == "private":
        contradicted.append("--vocabulary private")
    if contradicted:
        raise typer.BadParameter(f"contradicts {', '.join(contradicted)}", param_hint="--no-privacy")

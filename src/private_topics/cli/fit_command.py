"""`fit`: text or counts in, a model file out; private unless asked otherwise."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import typer

from private_topics.cli import options
from private_topics.cli.screen import Screen, print_json


@options.grouped
def fit(
    *,
    source: options.Source,
    output: options.ModelOutput,
    topics: options.Topics = 10,
    epsilon: options.EpsilonIfPrivate = None,
    delta: options.DeltaIfPrivate = None,
    neighbours: options.Neighbours = "replace",
    most_units: options.MostUnits = None,
    no_privacy: options.NoPrivacy = False,
    vocabulary: options.Vocabulary = None,
    vocabulary_size: options.VocabularySize = None,
    given: options.Known,
    reading: options.Reading,
    charged: options.Charged,
    report: options.Report = None,
    block_words: options.BlockWords = None,
    force: options.Force = False,
    anyway: options.Anyway = False,
    alpha0: options.Alpha0 = 1.0,
    refine_steps: options.RefineStepsOrUsual = None,
    keep: options.Keep = None,
    sampler: options.Sampler = "fast",
    engine: options.Engine = "local",
    master: options.Master = None,
    jobs: options.Jobs = None,
    seed: options.FitSeed = 0,
    shown: options.Output,
) -> None:
    """Learn topics from text or counts under differential privacy, and write a model file."""
    if no_privacy:
        _refuse_privacy_options(epsilon, delta, neighbours, most_units, keep, vocabulary, given, reading, charged)
    _refuse_engine_options(engine, master, no_privacy)
    from private_topics.cli import fit_run as run
    from private_topics.cli.edit_command import blocked
    from private_topics.cli.knowledge import knowledge_of, worth_using
    from private_topics.cli.sources import (
        check_new,
        check_writable,
        holds_counts,
        ledger_of,
        listed_words,
        tokeniser_of,
        unit_of,
        vocabulary_of,
    )

    screen, began = Screen(shown.quiet), datetime.now(UTC).date()
    check_new(output, force)
    check_writable(output, report)
    ledger = ledger_of(charged, output.name, unit_of(reading))
    counts = holds_counts(source, reading.format)
    tokeniser = tokeniser_of(reading, vocabulary)
    unwanted = () if block_words is None else listed_words(block_words, "--block-words")
    known = knowledge_of(given, source, reading, tokeniser, private=not no_privacy, counts=counts)
    if counts and known is not None and vocabulary is None:
        raise typer.BadParameter("counts need --vocabulary, which names their columns", param_hint="--knowledge")
    if counts and unwanted and vocabulary is None:
        raise typer.BadParameter("counts need --vocabulary, which names their columns", param_hint="--block-words")
    words = None if counts else vocabulary_of(vocabulary, vocabulary_size, no_privacy, tokeniser, known)
    known = known if worth_using(known, given, words, tokeniser) else None
    started = run.started(engine, master)
    settings: dict[str, Any] = {"alpha0": alpha0, "n_jobs": jobs, "random_state": seed, "engine": started}
    settings |= {} if refine_steps is None else {"refine_steps": refine_steps}
    if not no_privacy:
        charge = ledger if anyway else run.planned(ledger, most_units)
        settings |= {"sampler": sampler, "ledger": charge, "neighbours": neighbours, "most_units": most_units}
        settings |= {"keep": keep}
        settings |= run.privacy_settings(epsilon, delta)
    model = run.new_model(topics, private=not no_privacy, **settings)
    counted = reading.unit is None and neighbours != "add-remove"  # else the number of documents is not public
    with run.shown(screen, model, show_documents=counted, informed=known is not None) as progress:
        if words is None:
            run.fit_counts(screen, model, source, reading, vocabulary, vocabulary_size, known)
        else:
            run.fit_text(screen, model, source, reading, words, tokeniser, known, progress)
    model = blocked(model, unwanted, screen) if unwanted else model
    run.deliver(screen, model, output, report, ledger, began)
    if shown.as_json:
        print_json(run.summary(model, output, report))


def _refuse_engine_options(engine: str, master: str | None, no_privacy: bool) -> None:
    if engine not in ("local", "spark", "gpu"):
        raise typer.BadParameter("one of local, spark, gpu", param_hint="--engine")
    if no_privacy and engine == "spark":
        raise typer.BadParameter("a fit without privacy runs on this machine, or its GPU", param_hint="--engine")
    if master is not None and engine != "spark":
        raise typer.BadParameter("needs --engine spark", param_hint="--master")


def _refuse_privacy_options(
    epsilon: float | None,
    delta: float | None,
    neighbours: str,
    most_units: int | None,
    keep: str | None,
    vocabulary: str | None,
    given: options.Known,
    reading: options.Reading,
    charged: options.Charged,
) -> None:
    named = {"--epsilon": epsilon, "--delta": delta, "--unit": reading.unit, "--unit-labels": reading.unit_labels}
    named |= {"--ledger": charged.ledger, "--corpus": charged.corpus, "--public-corpus": given.public_corpus}
    named |= {
        "--neighbours": None if neighbours == "replace" else neighbours,
        "--most-units": most_units,
        "--keep": keep,
    }
    contradicted = [name for name, value in named.items() if value is not None]
    contradicted += [f"--knowledge {name}" for name in given.knowledge or [] if name != "none"]
    if vocabulary == "private" or (vocabulary or "").split(":")[0] == "candidates":
        contradicted.append(f"--vocabulary {vocabulary}")
    if contradicted:
        raise typer.BadParameter(f"contradicts {', '.join(contradicted)}", param_hint="--no-privacy")

"""The run of `audit`: settings, corpus, result on the screen. Imported when an audit begins."""

from __future__ import annotations

from dataclasses import asdict
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from private_topics.audit import audit_model, audit_privacy, seal, sealed
from private_topics.audit.made_up import corpus_for, fresh
from private_topics.audit.models import LIKE_MODEL
from private_topics.audit.recording import audited_parameters
from private_topics.cli.knowledge import public_corpus
from private_topics.cli.models import write_model_report
from private_topics.cli.options import AuditCorpus, AuditedSettings, Games, Reading
from private_topics.cli.screen import Screen, plain, print_json
from private_topics.cli.sources import holds_counts, public_list, texts_of, tokeniser_of
from private_topics.corpus.counts.blocks import as_blocks
from private_topics.corpus.counts.counting import count_texts
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.errors import InputError
from private_topics.estimators.private import PrivateSpectralLDA
from private_topics.estimators.saving import load_estimator
from private_topics.knowledge.sources import KnowledgeSource, open_knowledge
from private_topics.reports.audit import HEADS, WHOLE_HEADS, audit_context, write_audit

WORDS = 200
"""Words of a made-up corpus, where no model says how many."""
STAGES = 20


def configuration_of(named: str) -> int | str:
    if named not in ("sequential", "1", "2", "3", "4"):
        raise typer.BadParameter("one of sequential, 1, 2, 3, 4", param_hint="--configuration")
    return int(named) if named.isdigit() else named


def estimator_of(
    path: Path | None, audited: AuditedSettings, jobs: int | None, seed: int
) -> tuple[PrivateSpectralLDA, PrivateSpectralLDA | None]:
    """The settings as an estimator that is not fitted, and the model they come from."""
    settings = asdict(audited) | {"n_jobs": jobs, "random_state": seed}
    settings |= {"configuration": configuration_of(audited.configuration)}
    topics = settings.pop("topics")
    if path is None:
        return PrivateSpectralLDA(topics, **settings), None
    fitted = load_estimator(path)
    if type(fitted) is not PrivateSpectralLDA:
        raise InputError(f"audit takes a model of PrivateSpectralLDA. {str(path)!r} holds {type(fitted).__name__}.")
    estimator = fresh(fitted, **settings)
    audited_parameters(estimator)
    return estimator, fitted


def made_up(estimator: PrivateSpectralLDA, chosen: AuditCorpus, seed: int) -> tuple[Any, Any]:
    """A corpus for settings that come from no model."""
    words, per_user = chosen.words or WORDS, chosen.documents_per_user or 1
    return corpus_for(estimator, documents=chosen.documents, words=words, per_user=per_user, seed=seed)


def known(
    model: PrivateSpectralLDA, named: list[str] | None, texts: Path | None, reading: Reading
) -> KnowledgeSource | None:
    """What the options give of the public knowledge that the model's statement names."""
    tokeniser = getattr(model, "tokeniser_", None) or Tokeniser()
    opened = [open_knowledge(name) for name in named or ()]
    opened += [] if texts is None else [public_corpus(texts, reading, tokeniser)]
    found = [one for one in opened if one is not None]
    return reduce(add, found) if found else None


def check_unit(model: PrivateSpectralLDA | None, groups: Any) -> None:
    """The units of a public corpus must be those of the model, else its guarantee is not what is attacked."""
    if model is None or (model.privacy_.unit == "user") == (groups is not None):
        return
    if groups is None:
        raise InputError(
            "The model protects users, and the units of this corpus are documents: name the field of the users with "
            "--unit, or leave out --corpus and have one made up."
        )
    raise InputError("The model protects documents, and the units of this corpus are users: leave out --unit.")


def place(corpus: Path | None) -> str:
    """Where the corpus comes from, if not from a model."""
    return "made up" if corpus is None else f"{plain(corpus.name)}, taken as public"


def given(source: Path, vocabulary: str | None, size: int | None, reading: Reading) -> tuple[Any, Any]:
    """Counts as they are, or text counted over a public list of words."""
    tokeniser = tokeniser_of(reading, vocabulary)
    if holds_counts(source, reading.format):
        if vocabulary is not None or size is not None or reading.unit is not None:
            raise InputError(
                "Counts have their vocabulary already and no fields: give neither --vocabulary nor --unit."
            )
        return as_blocks(str(source)), None
    if vocabulary is None:
        raise InputError("Text needs a public list of words: --vocabulary FILE, or --vocabulary list:english.")
    words = tokeniser.usable(public_list(vocabulary, size, tokeniser, "--vocabulary-size").words)
    if not words:
        raise InputError("No entry of the word list is a word of the tokeniser.")
    counted = count_texts(texts_of(source, reading), words, tokeniser)
    return counted, counted.groups


def audited(
    screen: Screen,
    estimator: PrivateSpectralLDA,
    model: PrivateSpectralLDA | None,
    counts: Any,
    groups: Any,
    where: str,
    games: Games,
) -> dict[str, Any]:
    """The sealed content of an audit."""
    _announce(screen, estimator, where, "document" if groups is None else "user")
    with screen.progress(stages=STAGES, show_documents=False) as progress:
        result = audit_privacy(estimator, counts, groups=groups, corpus=where, progress=progress, **asdict(games))
    return sealed(result, None if model is None else model.privacy_.to_dict())


def audited_model(
    screen: Screen,
    estimator: PrivateSpectralLDA,
    model: PrivateSpectralLDA,
    known: KnowledgeSource | None,
    chosen: AuditCorpus,
    games: Games,
) -> dict[str, Any]:
    """The same for a model: its unit, its words, its releases."""
    _announce(screen, estimator, LIKE_MODEL, model.privacy_.unit)
    settings = chosen.sizes | asdict(games) | {"random_state": estimator.random_state, "n_jobs": estimator.n_jobs}
    with screen.progress(stages=None, show_documents=False) as progress:
        return audit_model(model, knowledge=known, progress=progress, **settings)


def _announce(screen: Screen, estimator: PrivateSpectralLDA, where: str, unit: str) -> None:
    screen.say(
        f"Auditing epsilon {estimator.epsilon:g}, delta {estimator.delta:g}, {estimator.n_components} topics, "
        f"configuration {estimator.configuration}. The corpus: {where}; units are {unit}s."
    )


def write(content: dict[str, Any], path: Path, model: Path | None) -> None:
    """The section alone, or inside the report of the model whose settings were audited."""
    if model is None or path.suffix.lower() == ".md":
        write_audit(content, path)
    else:
        write_model_report(load_estimator(model), path, model, None, audit=content)


def print_result(content: dict[str, Any], as_json: bool = False) -> None:
    """Tables on a terminal, tab-separated lines in a pipe; or the sealed content for a machine."""
    if as_json:
        print_json({"sealed": content, "sha256": seal(content)})
        return
    shown = audit_context(content)
    console = Console()
    for heads, rows in ((HEADS, shown["releases"]), (WHOLE_HEADS, shown["whole"])):
        if not console.is_terminal:
            for row in (heads, *rows):
                typer.echo("\t".join(row))
            continue
        table = Table(*heads, box=SIMPLE_HEAD)
        for row in rows:
            table.add_row(*(Text(cell, style="bold red" if cell.startswith("FAILED") else "") for cell in row))
        console.print(table)
    for trouble in shown["trouble"]:
        typer.echo(f"FAILED: {trouble}")
    scope = shown["scope"]
    typer.echo(" ".join(scope.sentences))
    for gap in scope.gaps or []:
        typer.echo(gap)
    typer.echo(f"{shown['headline']} (confidence {shown['confidence']}).")
    typer.echo(shown["seal"])

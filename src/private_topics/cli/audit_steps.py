"""The steps of `audit`: settings, corpus, result on the screen. Imported only when an audit begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from private_topics.audit import AuditResult, audit, seal, sealed
from private_topics.cli.fit_steps import languages_of, public_list, write_model_report
from private_topics.cli.screen import Screen
from private_topics.cli.sources import holds_counts, texts_of
from private_topics.corpus.blocks import as_blocks
from private_topics.corpus.counting import count_texts
from private_topics.corpus.synthetic import make_lda_corpus
from private_topics.corpus.tokens import Tokeniser
from private_topics.errors import InputError
from private_topics.estimators import load
from private_topics.private_estimator import PrivateSpectralLDA
from private_topics.reports.audit import HEADS, WHOLE_HEADS, audit_context, write_audit

__all__ = ["languages_of", "seal", "sealed"]

MEAN_LENGTH = 50
DOCUMENTS_PER_TOPIC = 1_000  # at epsilon 1
FEWEST_DOCUMENTS, MOST_DOCUMENTS = 1_000, 50_000
STAGES = 20
FROM_MODEL = ("n_components", "epsilon", "delta", "alpha0", "refine_steps", "configuration", "budget_split",
              "calibration", "allow_unproved", "sampler")  # fmt: skip
"""Settings of a model file; some of them the audit refuses."""


def configuration_of(named: str) -> int | str:
    if named not in ("sequential", "1", "2", "3", "4"):
        raise typer.BadParameter("one of sequential, 1, 2, 3, 4", param_hint="--configuration")
    return int(named) if named.isdigit() else named


def estimator_of(
    path: Path | None, topics: int, settings: dict[str, Any]
) -> tuple[PrivateSpectralLDA, dict[str, Any] | None]:
    """The settings as an estimator that is not fitted, and the statement of the model they come from."""
    if path is None:
        return PrivateSpectralLDA(topics, **settings), None
    fitted = load(path)
    if type(fitted) is not PrivateSpectralLDA:
        raise InputError(f"audit takes a model of PrivateSpectralLDA. {str(path)!r} holds {type(fitted).__name__}.")
    kept = {name: getattr(fitted, name) for name in FROM_MODEL}
    return PrivateSpectralLDA(**settings | kept), fitted.privacy_.to_dict()


def made_up(
    estimator: PrivateSpectralLDA, documents: int | None, words: int, per_user: int, seed: int
) -> tuple[Any, Any]:
    """A corpus drawn from the model itself, large enough that the fit takes all its steps where that is cheap."""
    topics = int(estimator.n_components)
    if documents is None:
        wanted = DOCUMENTS_PER_TOPIC * topics / float(estimator.epsilon)
        documents = per_user * int(np.clip(wanted, FEWEST_DOCUMENTS, MOST_DOCUMENTS))
    counts = make_lda_corpus(
        documents, words, topics, alpha0=float(estimator.alpha0), mean_length=MEAN_LENGTH, random_state=seed
    )[0]
    return counts, None if per_user == 1 else np.arange(documents) // per_user


def given(
    source: Path, vocabulary: str | None, size: int | None, tokeniser: Tokeniser, *, format: str | None, **texts: Any
) -> tuple[Any, Any]:
    """Counts as they are, or text counted by a public list of words."""
    if holds_counts(source, format):
        if vocabulary is not None or size is not None or texts["unit"] is not None:
            raise InputError(
                "Counts have their vocabulary already and no fields: give neither --vocabulary nor --unit."
            )
        return as_blocks(str(source)), None
    if vocabulary is None:
        raise InputError("Text needs a public list of words: --vocabulary FILE, or --vocabulary list:english.")
    words = tokeniser.usable(public_list(vocabulary, size, tokeniser, "--vocabulary-size").words)
    if not words:
        raise InputError("No entry of the word list is a word of the tokeniser.")
    counted = count_texts(texts_of(source, format, **texts), words, tokeniser)
    return counted, counted.groups


def announcement(estimator: PrivateSpectralLDA, corpus: Path | None, counts: Any, groups: Any) -> str:
    place = "a synthetic corpus" if corpus is None else f"{corpus.name}, taken as public"
    unit = "documents" if groups is None else "users"
    return (
        f"Auditing epsilon {estimator.epsilon:g}, delta {estimator.delta:g}, {estimator.n_components} topics, "
        f"configuration {estimator.configuration}, on {place}; units are {unit}."
    )


def audited(
    screen: Screen,
    estimator: PrivateSpectralLDA,
    counts: Any,
    groups: Any,
    trials: int,
    fits: int,
    confidence: float,
) -> AuditResult:
    with screen.watch(stages=STAGES, show_documents=False) as watch:
        found = audit(
            estimator, counts, groups=groups, trials=trials, fits=fits, confidence=confidence, progress=watch.stage
        )
        watch.finished()
    return found


def write(content: dict[str, Any], path: Path, model: Path | None) -> None:
    """The section alone, or inside the report of the model whose settings were audited."""
    if model is None or path.suffix.lower() == ".md":
        write_audit(content, path)
    else:
        write_model_report(load(model), path, model, None, audit=content)


def print_result(content: dict[str, Any]) -> None:
    """Tables on a terminal, tab-separated lines in a pipe."""
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
    typer.echo(f"{shown['headline']} (confidence {shown['confidence']}).")
    typer.echo(shown["seal"])

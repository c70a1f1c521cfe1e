"""`plan`: what a budget buys, from public numbers alone."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from private_topics.cli import options
from private_topics.cli.screen import print_json
from private_topics.planning.constants import LENGTH

if TYPE_CHECKING:
    from private_topics.planning.forecast import Outcome
    from private_topics.planning.informed import PlannedRelease
    from private_topics.planning.plan import Plan

Knowledge = Literal["english", "none"]

PLAN_NOTE = """\
topics: how many the model has. error: of a topic, relative to its length; 1 means uninformative, so that the topics
are not the corpus's own. documents: for all topics with an error of 1/4. The winner has the smallest error over all
topics asked for, a missing one counting as 1. Errors of the proved ones were forecast to a factor of about two where
topics are even, and up to five times too small where they are not; those of the published ones are bounds, every
constant one. vi depends on a random start."""
RELEASES_NOTE = "share: of the budget. noise: its size, in documents; one contributes a norm of at most 1."
PLAN_NUMBERS = (
    "expected_topics", "shown_topics", "informative", "enough", "documents_needed", "epsilon_needed",
    "units_to_name_a_word", "refined_words",
)  # fmt: skip


def plan(
    documents: Annotated[int, typer.Option(min=1, help="Documents, or users.")],
    words: Annotated[int, typer.Option(min=1, help="Words of the vocabulary.")],
    topics: Annotated[int, typer.Option("--topics", "-k", min=1, help="Topics wanted.")] = 10,
    epsilon: options.Epsilon = 1.0,
    delta: options.Delta = 1e-6,
    alpha0: options.Alpha0 = 1.0,
    mean_length: Annotated[float, typer.Option(help="Words of a document that are in the vocabulary.")] = LENGTH,
    neighbours: options.Neighbours = "replace",
    knowledge: Annotated[
        Knowledge,
        typer.Option(help="Whether the fit uses public word vectors, as `fit` does for text in English."),
    ] = "english",
    sites: options.PlannedSites = None,
    honest: options.PlannedHonest = None,
    as_json: options.Json = False,
) -> None:
    """Say from public numbers, before any data is touched, what a budget buys and which configuration is best."""
    from private_topics.planning.plan import plan as forecast

    assumed: dict[str, Any] = {"alpha0": alpha0, "mean_length": mean_length, "neighbours": neighbours}
    assumed |= {"knowledge": None if knowledge == "none" else knowledge, "sites": sites, "honest": honest}
    plan = forecast(documents, words, topics, epsilon=epsilon, delta=delta, **assumed)
    if as_json:
        print_json(_plan_facts(plan))
        return
    console = Console()
    typer.echo(str(plan))
    typer.echo(plan.verdict)
    if plan.impossible:
        typer.echo(plan.impossible)
    table = Table("configuration", "proved", "topics", "error", "documents", "", box=SIMPLE_HEAD)
    for outcome in plan.outcomes:
        table.add_row(*(Text(cell) for cell in _outcome_cells(outcome)))
    console.print(table)
    typer.echo(PLAN_NOTE)
    if plan.releases:
        console.print(_releases_table(plan.releases))
        typer.echo(RELEASES_NOTE)
    for note in plan.notes:
        typer.echo(note)
    typer.echo("The paper's remarks on its own configurations:")
    for remark in plan.remarks:
        typer.echo(f"  {remark}")


def _releases_table(releases: tuple[PlannedRelease, ...]) -> Table:
    table = Table("release with public knowledge", "share", "noise", box=SIMPLE_HEAD)
    for release in releases:
        table.add_row(release.name, f"{release.share:.1%}", _about(release.noise))
    return table


def _outcome_cells(outcome: Outcome) -> tuple[str, ...]:
    if outcome.topics is None or outcome.error is None or outcome.documents_needed is None:
        return outcome.name, "yes" if outcome.proved else "no", "?", "?", "?", outcome.note
    error = "-" if math.isinf(outcome.error) else f"{'' if outcome.proved else '<= '}{outcome.error:.2g}"
    many = "never" if math.isinf(outcome.documents_needed) else _about(outcome.documents_needed)
    return outcome.name, "yes" if outcome.proved else "no", str(outcome.topics), error, many, outcome.note


def _about(number: float) -> str:
    """Two digits: the forecast has no more."""
    digits = max(0, int(math.log10(max(1.0, number))) - 1)
    return f"{round(number, -digits):,.0f}" if number < 1e12 else f"{number:.0e}"


def _plan_facts(plan: Plan) -> dict[str, Any]:
    return {name: _finite(getattr(plan, name)) for name in PLAN_NUMBERS} | {
        "knowledge": plan.knowledge,
        "topic_range": plan.topic_range,
        "kept": None if plan.kept is None else asdict(plan.kept),
        "releases": [asdict(release) for release in plan.releases],
        "best": None if plan.best is None else plan.best.name,
        "impossible": plan.impossible,
        "limits": {name: _finite(number) for name, number in asdict(plan.limits).items()},
        "configurations": [_outcome_facts(outcome) for outcome in plan.outcomes],
        "notes": list(plan.notes),
        "remarks": list(plan.remarks),
    }


def _outcome_facts(outcome: Outcome) -> dict[str, Any]:
    numbers = {name: getattr(outcome, name) for name in ("error", "overall_error", "documents_needed")}
    return asdict(outcome) | {name: _finite(value) for name, value in numbers.items()}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None

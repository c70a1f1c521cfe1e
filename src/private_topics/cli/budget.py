"""`budget` and `plan`: what a corpus may spend, what was spent on it and by whom, and what a budget buys."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from private_topics.cli import options
from private_topics.cli.screen import Screen, plain, print_json
from private_topics.errors import LedgerError
from private_topics.planning.constants import LENGTH

if TYPE_CHECKING:
    from private_topics.planning.forecast import Outcome
    from private_topics.planning.informed import PlannedRelease
    from private_topics.planning.plan import Plan
    from private_topics.privacy.ledger.durable import DurableLedger, LedgerEntry

Knowledge = Literal["english", "none"]
LedgerPath = Annotated[Path, typer.Argument(metavar="LEDGER", help="The file of the ledger.")]

PLAN_NOTE = """\
topics: how many are found. error: of a topic, relative to its length; 1 means uninformative. documents: for all
topics with an error of 1/4. The winner has the smallest error over all topics asked for, a missing one counting as 1.
Errors of the proved ones were forecast to a factor of about two where topics are even, and up to five times too small
where they are not; those of the published ones are bounds, every constant one. vi depends on a random start."""
RELEASES_NOTE = "share: of the budget. noise: its size, in documents; one contributes a norm of at most 1."
PLAN_NUMBERS = (
    "expected_topics", "enough", "documents_needed", "epsilon_needed", "units_to_name_a_word", "refined_words"
)  # fmt: skip

budget_app = typer.Typer(no_args_is_help=True, help="The privacy budgets of corpora, across runs.")


@budget_app.command()
def register(
    ledger: LedgerPath,
    corpus: Annotated[str, typer.Option(help="Name of the corpus.")],
    epsilon: Annotated[float, typer.Option(help="Total over all runs, ever.")],
    delta: Annotated[float, typer.Option(help="Total over all runs, ever.")],
    quiet: options.Quiet = False,
) -> None:
    """Give a corpus its total, once and for all; the file is created if there is none."""
    from private_topics.privacy.ledger.durable import DurableLedger

    DurableLedger.register(ledger, corpus, epsilon, delta)
    Screen(quiet).say(f"{corpus!r} may spend epsilon {epsilon:g}, delta {delta:g} in all runs together.")


@budget_app.command()
def show(
    ledger: LedgerPath,
    corpus: Annotated[str | None, typer.Option(help="Only this corpus.")] = None,
    as_json: options.Json = False,
) -> None:
    """Show what is left of each corpus' budget, what was spent, and by which run."""
    from private_topics.privacy.ledger.durable import DurableLedger

    if not ledger.exists():
        raise LedgerError(f"There is no ledger {ledger}. Create it with: private-topics budget register")
    names = [corpus] if corpus is not None else list(DurableLedger.registered(ledger))
    books = [_books(DurableLedger(ledger, name)) for name in names]
    if as_json:
        print_json(books)
        return
    console = Console()
    for book in books:
        _print_book(console, book)


def plan(
    documents: Annotated[int, typer.Option(min=1, help="Documents, or users.")],
    words: Annotated[int, typer.Option(min=1, help="Words of the vocabulary.")],
    topics: Annotated[int, typer.Option("--topics", "-k", min=1, help="Topics wanted.")] = 10,
    epsilon: options.Epsilon = 1.0,
    delta: options.Delta = 1e-6,
    alpha0: options.Alpha0 = 1.0,
    mean_length: Annotated[float, typer.Option(help="Words of a document that are in the vocabulary.")] = LENGTH,
    knowledge: Annotated[
        Knowledge,
        typer.Option(help="Whether the fit uses public word vectors, as `fit` does for text in English."),
    ] = "english",
    as_json: options.Json = False,
) -> None:
    """Say from public numbers, before any data is touched, what a budget buys and which configuration is best."""
    from private_topics.planning.plan import plan as forecast

    plan = forecast(
        documents,
        words,
        topics,
        epsilon=epsilon,
        delta=delta,
        alpha0=alpha0,
        mean_length=mean_length,
        knowledge=None if knowledge == "none" else knowledge,
    )
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


def _books(ledger: DurableLedger) -> dict[str, Any]:
    total = ledger.total
    return {
        "corpus": ledger.corpus,
        "epsilon": total.epsilon,
        "delta": total.delta,
        "epsilon_spent": ledger.epsilon_spent,
        "epsilon_left": ledger.remaining(),
        "runs": [_run(entry) for entry in ledger.entries()],
    }


def _run(entry: LedgerEntry) -> dict[str, Any]:
    budget = entry.reservation.budget
    return {
        "id": entry.id,
        "time": entry.time,
        "label": entry.label,
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "state": entry.state,
        "settings": entry.settings,
        "results": entry.results,
    }


def _print_book(console: Console, book: dict[str, Any]) -> None:
    console.print(
        f"{plain(book['corpus'])}: epsilon {book['epsilon']:g}, delta {book['delta']:g}; "
        f"spent {book['epsilon_spent']:.4g}, left for one more run at that delta {book['epsilon_left']:.4g}",
        highlight=False,
        soft_wrap=True,
        markup=False,
    )
    if not book["runs"]:
        return
    table = Table(box=SIMPLE_HEAD)
    for name in ("run", "time (UTC)", "label", "epsilon", "delta", "state", "what"):
        table.add_column(name, overflow="fold", no_wrap=name == "time (UTC)")
    for run in book["runs"]:
        time = str(run["time"])[:16].replace("T", " ")
        row = run["id"], time, run["label"], f"{run['epsilon']:g}", f"{run['delta']:g}", run["state"], _what(run)
        table.add_row(*(Text(plain(str(value))) for value in row))
    console.print(table)


def _what(run: dict[str, Any]) -> str:
    """The kind of run, on how many units, over how many words, as far as its row says."""
    noted = {**run["results"], **run["settings"]}
    numbers = [
        f"{noted[f'n_{name}']:,} {name}" for name in ("units", "words") if isinstance(noted.get(f"n_{name}"), int)
    ]
    return ", ".join([str(noted.get("estimator", "")), *numbers])

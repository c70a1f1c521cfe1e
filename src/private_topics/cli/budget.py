"""`budget` and `plan`: what a corpus may spend, what was spent on it and by whom, and what a budget buys."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from private_topics.cli import options
from private_topics.cli.screen import Screen, print_json
from private_topics.configurations.plan import plan as forecast
from private_topics.errors import LedgerError
from private_topics.privacy.durable_ledger import DurableLedger, LedgerEntry

LedgerPath = Annotated[Path, typer.Argument(metavar="LEDGER", help="The file of the ledger.", show_default=False)]

budget_app = typer.Typer(no_args_is_help=True, help="The privacy budgets of corpora, across runs.")


@budget_app.command()
def register(
    ledger: LedgerPath,
    corpus: Annotated[str, typer.Option(help="Name of the corpus.", show_default=False)],
    epsilon: Annotated[float, typer.Option(help="Total over all runs, ever.", show_default=False)],
    delta: Annotated[float, typer.Option(help="Total over all runs, ever.", show_default=False)],
    quiet: options.Quiet = False,
) -> None:
    """Give a corpus its total, once and for all; the file is made where there is none."""
    DurableLedger.register(ledger, corpus, epsilon, delta)
    Screen(quiet).say(f"{corpus!r} may spend epsilon {epsilon:g}, delta {delta:g} in all runs together.")


@budget_app.command()
def show(
    ledger: LedgerPath,
    corpus: Annotated[str | None, typer.Option(help="Only this corpus.", show_default=False)] = None,
    as_json: options.Json = False,
) -> None:
    """Show what is left of each corpus' budget, what was spent, and by which run."""
    if not ledger.exists():
        raise LedgerError(f"There is no ledger {ledger}. Make it: private-topics budget register.")
    names = [corpus] if corpus is not None else list(DurableLedger.registered(ledger))
    books = [_books(DurableLedger(ledger, name)) for name in names]
    if as_json:
        print_json(books)
        return
    console = Console()
    for book in books:
        _print_book(console, book)


def plan(
    documents: Annotated[int, typer.Option(min=1, help="Documents, or users.", show_default=False)],
    words: Annotated[int, typer.Option(min=1, help="Words of the vocabulary.", show_default=False)],
    topics: Annotated[int, typer.Option("--topics", "-k", min=1, help="Topics wanted.")] = 10,
    epsilon: options.Epsilon = 1.0,
    delta: options.Delta = 1e-6,
    alpha0: Annotated[float, typer.Option(help="Sum of the Dirichlet prior over topics.")] = 1.0,
    mean_length: Annotated[float, typer.Option(help="Words of a document.")] = 100.0,
    as_json: options.Json = False,
) -> None:
    """Tell from public numbers, before any data is touched, how many topics a budget is expected to carry."""
    plan = forecast(documents, words, topics, epsilon=epsilon, delta=delta, alpha0=alpha0, mean_length=mean_length)
    if not as_json:
        typer.echo(str(plan))
        return
    needed = {"documents_needed": plan.documents_needed, "epsilon_needed": plan.epsilon_needed}
    print_json(
        {
            "expected_topics": plan.expected_topics,
            "enough": plan.enough,
            **{name: value if math.isfinite(value) else None for name, value in needed.items()},
        }
    )


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
    }


def _print_book(console: Console, book: dict[str, Any]) -> None:
    console.print(
        f"{book['corpus']}: epsilon {book['epsilon']:g}, delta {book['delta']:g}; spent {book['epsilon_spent']:.4g}, "
        f"left for one more run {book['epsilon_left']:.4g}",
        highlight=False,
        soft_wrap=True,
        markup=False,
    )
    if not book["runs"]:
        return
    table = Table("run", "time", "label", "epsilon", "delta", "state", "what")
    for run in book["runs"]:
        what = str(run["settings"].get("estimator", ""))
        row = run["id"], run["time"], run["label"], f"{run['epsilon']:g}", f"{run['delta']:g}", run["state"], what
        table.add_row(*(Text(str(value)) for value in row))
    console.print(table)

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
@options.grouped
def register(
    *,
    ledger: LedgerPath,
    corpus: Annotated[str, typer.Option(help="Name of the corpus.")],
    epsilon: Annotated[float, typer.Option(help="Total over all runs, ever.")],
    delta: Annotated[float, typer.Option(help="Total over all runs, ever.")],
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="user|document",
            help="What the runs protect; runs that protect something else are refused. If not given, the first run "
            "fixes it. A ledger of an earlier version needs it once.",
        ),
    ] = None,
    neighbours: Annotated[
        str,
        typer.Option(
            metavar="replace|zero-out|add-remove",
            help="How two corpora differ that a run must not tell apart; runs under another relation are refused.",
        ),
    ] = "replace",
    ids: Annotated[
        Path | None,
        typer.Option(
            help="Only runs on these users: a file with one id on each line or, with --ids-field, a source as `fit` "
            "takes it. The ledger keeps a digest that says nothing without the key."
        ),
    ] = None,
    ids_field: Annotated[
        str | None, typer.Option(help="Field of --ids that names the user, as --unit of `fit`.")
    ] = None,
    ids_key: Annotated[
        Path | None,
        typer.Option(
            envvar="PRIVATE_TOPICS_IDS_KEY",
            help="The file with the secret key of the ids; made if there is none. Keep it, and away from the ledger.",
        ),
    ] = None,
    renew_ids: Annotated[
        bool, typer.Option("--renew-ids", help="Replace the ids registered before: the corpus has grown.")
    ] = False,
    reading: options.ReadingOfIds,
    quiet: options.Quiet = False,
) -> None:
    """Give a corpus its total, once and for all; the file is created if there is none."""
    if ids is not None and ids_key is None:
        raise typer.BadParameter("needs --ids-key", param_hint="--ids")
    if ids is None and (renew_ids or ids_field is not None):
        raise typer.BadParameter("needs --ids", param_hint="--renew-ids, --ids-field")
    from private_topics.cli.sources import read_ids, read_key
    from private_topics.privacy.ledger.durable import DurableLedger

    fixed: dict[str, Any] = {"unit": unit, "neighbours": neighbours, "renew_ids": renew_ids}
    if ids is not None and ids_key is not None:
        fixed |= {"ids": read_ids(ids, ids_field, reading), "key": read_key(ids_key, make=True)}
    registered = DurableLedger.register(ledger, corpus, epsilon, delta, **fixed)
    screen = Screen(quiet)
    screen.say(f"{corpus!r} may spend epsilon {epsilon:g}, delta {delta:g} in all runs together.")
    if registered.unit is None:
        screen.say("What it protects, users or documents, is fixed by the first run: --unit says it now.")
    else:
        screen.say(f"It protects {registered.unit}s; runs that protect something else are refused.")


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
    neighbours: options.Neighbours = "replace",
    knowledge: Annotated[Knowledge, typer.Option(help="Public word vectors, as `fit` uses them.")] = "english",
    sites: options.PlannedSites = None,
    honest: options.PlannedHonest = None,
    as_json: options.Json = False,
) -> None:
    """Say from public numbers, before any data is touched, what a budget buys and which configuration is best."""
    from private_topics.planning.plan import plan as forecast

    assumed: dict[str, Any] = {"alpha0": alpha0, "mean_length": mean_length, "neighbours": neighbours}
    assumed |= {"epsilon": epsilon, "delta": delta, "sites": sites, "honest": honest}
    plan = forecast(documents, words, topics, knowledge=None if knowledge == "none" else knowledge, **assumed)
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
    total, entries = ledger.total, ledger.entries()
    book: dict[str, Any] = {
        "corpus": ledger.corpus,
        "unit": ledger.unit,
        "neighbours": ledger.neighbours,
        "epsilon": total.epsilon,
        "delta": total.delta,
        "epsilon_spent": ledger.epsilon_spent,
        "epsilon_left": ledger.remaining(),
        "runs": [_run(entry) for entry in entries],
    }
    if entries:
        last = entries[-1].reservation
        kind = {"guarantee": last.guarantee, "threshold_delta": last.threshold_delta}
        book["epsilon_left_like_last"] = ledger.remaining(last.budget.delta, **kind)
        book["runs_left_like_last"] = ledger.repeats()
    return book


def _run(entry: LedgerEntry) -> dict[str, Any]:
    budget = entry.reservation.budget
    return {
        "id": entry.id,
        "day": entry.time[:10],
        "who": entry.who,
        "what": entry.what,
        "library": entry.library,
        "unit": entry.unit,
        "neighbours": entry.neighbours,
        "label": entry.label,
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "state": entry.state,
        "digest": entry.digest,
        "settings": entry.settings,
        "results": entry.results,
    }


RELATIONS = {
    "replace": "one of them is replaced by any other",
    "zero-out": "one of them is emptied",
    "add-remove": "one of them is added or removed",
}


def _print_book(console: Console, book: dict[str, Any]) -> None:
    protects = "the first run says what" if book["unit"] is None else f"{book['unit']}s"
    if book["unit"] is None and book["runs"]:
        protects = "unknown: name it with `budget register --unit` before the next run"
    facts = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    facts.add_row("protects", f"{protects}; neighbouring corpora: {RELATIONS[book['neighbours']]}")
    facts.add_row("total", f"epsilon {book['epsilon']:g}, delta {book['delta']:g}, for all runs together")
    facts.add_row("spent", f"epsilon {book['epsilon_spent']:.4g} at that delta")
    facts.add_row("left", f"epsilon {book['epsilon_left']:.4g} for one more run at that delta")
    for line in _like_last(book):
        facts.add_row("", line)
    console.print(Text(plain(book["corpus"]), style="bold"))
    console.print(facts)
    if book["epsilon_spent"] + book["epsilon_left"] > book["epsilon"] * (1 + 1e-9) and book["runs"]:
        console.print(Text(f"\n{_why(book)}"))
    if book["runs"]:
        console.print(_runs_table(book["runs"]))


def _like_last(book: dict[str, Any]) -> list[str]:
    """What is left for runs of the last one's kind and delta."""
    from private_topics.privacy.ledger.reservations import MOST_REPEATS

    if not book["runs"]:
        return []
    last, many = book["runs"][-1], book["runs_left_like_last"]
    shown, largest = f"{many:,}" if many < MOST_REPEATS else f"at least {many:,}", book["epsilon_left_like_last"]
    return [
        f"epsilon {largest:.4g} for one more run like the last, at its delta {last['delta']:g}",
        f"{shown} more run{'' if many == 1 else 's'} like the last, at its epsilon {last['epsilon']:g} too",
    ]


def _why(book: dict[str, Any]) -> str:
    """Why what is spent and what is left are more than the total."""
    return (
        f"Spent and left exceed the total of {book['epsilon']:g} together, and rightly so: the noise of runs is "
        "independent, so their costs do not add up in epsilon but, roughly, in its square. And a run counts for less "
        f"than its own epsilon at the total's delta, {book['delta']:g}, where its own delta is smaller."
    )


def _runs_table(runs: list[dict[str, Any]]) -> Table:
    """At most 80 columns wide; what does not fit goes to the next line."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name, settings in COLUMNS.items():
        table.add_column(name, overflow="fold", **settings)
    for run in runs:
        cost = f"{run['epsilon']:g}", f"{run['delta']:g}"
        row = run["id"], run["day"], run["who"] or "?", *cost, _what(run)
        table.add_row(*(Text("\n".join(plain(line) for line in str(value).split("\n"))) for value in row))
    return table


COLUMNS: dict[str, dict[str, Any]] = {
    "run": {"justify": "right"},
    "day (UTC)": {"no_wrap": True},
    "who": {"max_width": 16},
    "epsilon": {"justify": "right"},
    "delta": {"justify": "right"},
    "what": {},
}


def _what(run: dict[str, Any]) -> str:
    """The kind of run, on how many units, over how many words, as far as its row says; label and result below it."""
    noted = {**run["results"], **run["settings"]}
    named = {"units": f"{run['unit']}s" if run["unit"] else "units", "words": "words"}
    numbers = [
        f"{noted[f'n_{name}']:,} {shown}" for name, shown in named.items() if _is_whole(noted.get(f"n_{name}"))
    ]
    kind = run["what"] or str(noted.get("estimator", "run"))
    lines = [", ".join([kind, *numbers])]
    if run["state"] != "finished":
        lines.append("not finished")
    if run["label"]:
        lines.append(plain(run["label"]))
    if run["digest"]:
        lines.append(f"sha256 {run['digest'][:16]}…")
    return "\n".join(plain(line) for line in lines)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)

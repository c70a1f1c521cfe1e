"""`budget`: what a corpus may spend, what was spent on it and by whom."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from private_topics.cli import options
from private_topics.cli.screen import Screen, plain, print_json
from private_topics.errors import LedgerError

if TYPE_CHECKING:
    from private_topics.privacy.ledger.durable import DurableLedger, LedgerEntry

LedgerPath = Annotated[Path, typer.Argument(metavar="LEDGER", help="The file of the ledger.")]

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
    requested_by: Annotated[str | None, typer.Option(help="List only the runs that this person asked for.")] = None,
    approved_by: Annotated[str | None, typer.Option(help="List only the runs that this person approved.")] = None,
    as_json: options.Json = False,
) -> None:
    """Show what is left of each corpus' budget, what was spent, and by which run.

    Sums are always those of all runs; with --requested-by or --approved-by only some of them are listed.
    """
    from private_topics.privacy.ledger.durable import DurableLedger

    if not ledger.exists():
        raise LedgerError(f"There is no ledger {ledger}. Create it with: private-topics budget register")
    names = [corpus] if corpus is not None else list(DurableLedger.registered(ledger))
    books = [_books(DurableLedger(ledger, name)) for name in names]
    wanted = {"requested_by": requested_by, "approved_by": approved_by}
    for book in books:
        book["listed"] = [run for run in book["runs"] if _is_wanted(run, wanted)]
    if as_json:
        print_json([{**book, "runs": book.pop("listed")} for book in books])
        return
    console = Console()
    for book in books:
        _print_book(console, book)


def _is_wanted(run: dict[str, Any], wanted: dict[str, str | None]) -> bool:
    return all(value is None or run[name] == value for name, value in wanted.items())


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
        from private_topics.privacy.ledger.file import GIVEN_UP

        last = entries[-1].reservation
        kind = {"guarantee": last.guarantee, "threshold_delta": last.threshold_delta}
        book["epsilon_left_like_last"] = ledger.remaining(last.budget.delta, **kind)
        book["runs_left_like_last"] = None if entries[-1].state == GIVEN_UP else ledger.repeats()
    return book


def _run(entry: LedgerEntry) -> dict[str, Any]:
    """A row of a ledger; `epsilon_charged` is, at its delta, what a run that was given up had spent by then."""
    from private_topics.privacy.ledger.reservations import composed_epsilon

    reservation, budget = entry.reservation, entry.reservation.budget
    charged = budget.epsilon if reservation.spent == 1.0 else composed_epsilon([reservation], budget.delta)
    return {
        "id": entry.id,
        "day": entry.time[:10],
        "who": entry.who,
        "what": entry.what,
        "library": entry.library,
        "unit": entry.unit,
        "neighbours": entry.neighbours,
        "label": entry.label,
        **asdict(entry.request),
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "epsilon_charged": charged,
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
    if book["listed"]:
        console.print(_runs_table(book["listed"]))
    hidden = len(book["runs"]) - len(book["listed"])
    if hidden:
        console.print(Text(f"{hidden:,} other run{'s' if hidden > 1 else ''} of this corpus not listed."))


def _like_last(book: dict[str, Any]) -> list[str]:
    """What is left for runs of the last one's kind and delta."""
    from private_topics.privacy.ledger.reservations import MOST_REPEATS

    if not book["runs"]:
        return []
    last, many = book["runs"][-1], book["runs_left_like_last"]
    largest = f"epsilon {book['epsilon_left_like_last']:.4g}"
    one = f"{largest} for one more run like the last, at its delta {last['delta']:g}"
    if many is None:
        return [one]
    shown = f"{many:,}" if many < MOST_REPEATS else f"at least {many:,}"
    return [one, f"{shown} more run{'' if many == 1 else 's'} like the last, at its epsilon {last['epsilon']:g} too"]


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
        whole = run["epsilon_charged"] == run["epsilon"]
        cost = f"{run['epsilon']:g}" if whole else f"{run['epsilon_charged']:.4g}", f"{run['delta']:g}"
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
    if run["state"] == "given up":
        lines.append(f"given up, and charged no more than that; epsilon {run['epsilon']:g} was reserved")
    elif run["state"] != "finished":
        lines.append("not finished")
    if run["label"]:
        lines.append(plain(run["label"]))
    for name in ("requested_by", "approved_by", "reason"):
        if run[name]:
            lines.append(f"{name.replace('_', ' ')}{':' if name == 'reason' else ''} {run[name]}")
    if run["digest"]:
        lines.append(f"sha256 {run['digest'][:16]}…")
    return "\n".join(plain(line) for line in lines)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)

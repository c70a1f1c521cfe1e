"""`shares`: how much of each class every topic takes up, by year, ward or kind, as a further release."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from private_topics.cli import options
from private_topics.cli.screen import Screen, plain, print_json
from private_topics.errors import InputError
from private_topics.privacy.neighbours import NEIGHBOURS
from private_topics.whole_files import write_whole_text

if TYPE_CHECKING:
    from private_topics.estimators.shares_table import ClassShares


@options.grouped
def shares(
    *,
    model: options.ModelPath,
    source: options.Source,
    by: Annotated[str, typer.Option(help="Field that names the class of a document: a year, a ward.")],
    classes: Annotated[
        list[str],
        typer.Option(
            metavar="A,B,C",
            help="The classes, a public list; repeatable. Documents of others are left out. Never a list that was "
            "read off the corpus.",
        ),
    ],
    epsilon: options.Epsilon = 1.0,
    delta: options.Delta = 1e-6,
    neighbours: options.NeighboursOfModel = None,
    most_units: options.MostUnits = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the table too: .json, with everything, or .csv.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML page with pictures too.")] = None,
    reading: options.ReadingForShares,
    charged: options.Charged,
    unlisted_model: Annotated[
        bool,
        typer.Option(
            "--unlisted-model",
            help="Take a model whose fit is not in the ledger: it was fitted to another corpus, or its cost is noted "
            "elsewhere.",
        ),
    ] = False,
    sampler: options.Sampler = "fast",
    jobs: options.Jobs = None,
    shown: options.Output,
) -> None:
    """Release the topic shares of public classes: topics by year, ward or kind. Costs a budget of its own."""
    if output is not None and output.suffix not in (".json", ".csv"):
        raise typer.BadParameter("give a name that ends in .json or .csv", param_hint="--output")
    from private_topics.cli.sources import check_writable, holds_counts, ledger_line, ledger_of, texts_of, unit_of
    from private_topics.estimators.class_shares import class_shares, units_for_a_class
    from private_topics.estimators.saving import load_estimator
    from private_topics.privacy.budget import PrivacyBudget

    screen, began = Screen(shown.quiet), datetime.now(UTC).date()
    check_writable(output, report)
    ledger = ledger_of(charged, model.name, unit_of(reading))
    fitted = load_estimator(model)
    if holds_counts(source, reading.format):
        raise InputError("Counts have no field that names a class: this command takes text.")
    listed = [name for given in classes for name in given.split(",")]
    texts = texts_of(source, reading, by)
    relation: Any = getattr(fitted, "neighbours", "replace") if neighbours is None else neighbours
    if relation in NEIGHBOURS:
        needed = units_for_a_class(len(fitted.components_), PrivacyBudget(epsilon, delta), relation)
        screen.say(f"At this budget a class needs about {needed:,} {unit_of(reading)}s for its shares to be told.")
    counted = reading.unit is None and relation != "add-remove"  # else the number of documents is not public
    with screen.progress(stages=None, show_documents=counted) as progress:
        found = class_shares(
            fitted,
            texts,
            listed,
            epsilon=epsilon,
            delta=delta,
            neighbours=relation,
            most_units=most_units,
            sampler=sampler,
            ledger=ledger,
            unlisted_model=unlisted_model,
            n_jobs=jobs,
            progress=progress,
        )
    _deliver(screen, found, output, report, began, as_json=shown.as_json)
    _say_guarantee(screen, found)
    screen.say(ledger_line(ledger))


def _deliver(
    screen: Screen, found: ClassShares, output: Path | None, report: Path | None, began: date, *, as_json: bool
) -> None:
    """The table to files and the screen. The day is that on which the run began: its end says how long it took."""
    if output is not None:
        write_whole_text(output, found.to_json() if output.suffix == ".json" else found.to_csv())
        screen.say(f"Wrote the shares to {output}.")
    if report is not None:
        from private_topics.reports.class_shares import write_shares

        write_shares(found, report, date=began)
        screen.say(f"Wrote the page to {report}.")
    if as_json:
        print_json(found.to_dict())
    else:
        _print_table(found)


def _print_table(found: ClassShares) -> None:
    """A table on a terminal; in a pipe a line for each class and topic, separated by tabs."""
    from private_topics.estimators.shares_table import TOO_FEW

    console = Console()
    if not console.is_terminal:
        for name, size, *cells in found.rows():
            for topic, cell in enumerate(cells or [TOO_FEW]):
                about = [str(topic), cell, plain(found.labels[topic])] if cells else ["-", cell]
                typer.echo("\t".join([plain(name), size, *about]))
        return
    table = Table("class", "size", title=f"topic shares, {found.coverage:.0%} intervals for the noise")
    for topic, label in enumerate(found.labels):
        table.add_column(Text(f"{topic}\n{plain(label)}"))
    for name, size, *cells in found.rows():
        table.add_row(*map(Text, [plain(name), size, *(cells or [TOO_FEW])]))
    console.print(table)


def _say_guarantee(screen: Screen, found: ClassShares) -> None:
    statement = found.privacy
    screen.say(
        f"({statement.epsilon:g}, {statement.delta:g})-differential privacy for {statement.units}, on top of what "
        f"the model cost; epsilon spent {statement.epsilon_spent:.4g}."
    )

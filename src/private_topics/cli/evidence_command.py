"""`evidence`: are these topics in our texts? A charged test of topics that were made without them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from private_topics.cli import options
from private_topics.cli.screen import Screen, plain, print_json
from private_topics.errors import InputError
from private_topics.whole_files import write_whole_text

if TYPE_CHECKING:
    from private_topics.estimators.evidence import TopicEvidence


@options.grouped
def evidence(
    *,
    model: options.ModelPath,
    source: options.Source,
    epsilon: options.Epsilon = 1.0,
    delta: options.Delta = 1e-6,
    neighbours: options.NeighboursOfModel = None,
    most_units: options.MostUnits = None,
    public_model: Annotated[
        bool,
        typer.Option("--public-model", help="Take a model without a guarantee: it depends on no private texts."),
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write everything to a .json file too.")
    ] = None,
    reading: options.ReadingForShares,
    charged: options.Charged,
    sampler: options.Sampler = "fast",
    jobs: options.Jobs = None,
    shown: options.Output,
) -> None:
    """Test which topics of a model are in other texts: last year's in this year's. Costs a budget of its own."""
    from private_topics.cli.sources import check_writable, holds_counts, ledger_line, ledger_of, texts_of, unit_of
    from private_topics.corpus.counts.blocks import as_blocks
    from private_topics.estimators.evidence import evidence_of
    from private_topics.estimators.saving import load_estimator

    if output is not None and output.suffix != ".json":
        raise typer.BadParameter("give a name that ends in .json", param_hint="--output")
    screen = Screen(shown.quiet)
    check_writable(output)
    ledger = ledger_of(charged, model.name, unit_of(reading))
    fitted = load_estimator(model)
    if holds_counts(source, reading.format):
        if reading.unit is not None:
            raise InputError("Counts have no fields: give no --unit.")
        texts: Any = as_blocks(str(source))
    else:
        texts = texts_of(source, reading)
    relation: Any = getattr(fitted, "neighbours", "replace") if neighbours is None else neighbours
    counted = reading.unit is None and relation != "add-remove"  # else the number of documents is not public
    with screen.progress(stages=None, show_documents=counted) as progress:
        found = evidence_of(
            fitted,
            texts,
            epsilon=epsilon,
            delta=delta,
            neighbours=relation,
            most_units=most_units,
            public_model=public_model,
            sampler=sampler,
            ledger=ledger,
            n_jobs=jobs,
            progress=progress,
        )
    if output is not None:
        write_whole_text(output, found.to_json())
        screen.say(f"Wrote the evidence to {output}.")
    if shown.as_json:
        print_json(found.to_dict())
    else:
        _print(found)
    statement = found.privacy
    screen.say(f"({statement.epsilon:g}, {statement.delta:g})-differential privacy for {statement.units}.")
    screen.say(ledger_line(ledger))


def _print(found: TopicEvidence) -> None:
    """A sentence and a table, the topics with most evidence first; in a pipe a line for each, separated by tabs."""
    judged, console = found.evidence, Console()
    order = sorted(range(len(found.labels)), key=lambda topic: -judged.deviations[topic])
    rows = [
        (
            str(topic),
            "seen" if judged.seen[topic] else "not seen",
            f"{judged.deviations[topic]:.1f}",
            f"{judged.losses[topic]:.4f}",
            plain(found.labels[topic]),
        )
        for topic in order
    ]
    if not console.is_terminal:
        for row in rows:
            typer.echo("\t".join(row))
        typer.echo(found.sentence, err=True)
        return
    table = Table("topic", "in the texts", "deviations", "nats per word", "about")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
    console.print(Text(found.sentence))

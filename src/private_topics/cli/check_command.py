"""`check`: how many records of a file can be read. For those who may read the file, before they fit a model to it."""

from __future__ import annotations

import typer

from private_topics.cli import options
from private_topics.cli.screen import Screen, print_json

CONFIDENTIAL = "These numbers are as confidential as the texts: no private fit shows them, and no fit stops for them."


@options.grouped
def check(*, source: options.Source, reading: options.ReadingForCheck, shown: options.Output) -> None:
    """Count the records of a text file that can be read. Costs no budget; what it prints is confidential."""
    from private_topics.cli.sources import texts_of

    texts = texts_of(source, reading)
    given, units = 0, set()
    for _, unit in texts:
        given += 1
        units.add(unit)
    facts = {"records": given + (texts.left_out or 0), "unreadable": texts.skipped, "first": texts.first_skipped}
    if reading.unit is not None:
        facts |= {"units": len(units), "without a unit": texts.left_out}
    Screen(shown.quiet).say(CONFIDENTIAL)
    if shown.as_json:
        print_json(facts)
    else:
        for name, value in facts.items():
            typer.echo(f"{name}\t{'-' if value is None else value}")

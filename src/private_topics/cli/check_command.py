"""`check`: a look at a file before a fit. For those who may read the file; nothing is written, nothing leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from private_topics.cli import options
from private_topics.cli.screen import Screen, plain, print_json

if TYPE_CHECKING:
    from private_topics.checking.check import FileCheck

CONFIDENTIAL = "These numbers are as confidential as the texts: no private fit shows them, and no fit stops for them."
FORMAT_ONLY = (
    "The command has settings that describe the file, and no others. Choose topics, words and epsilon from public "
    "numbers (private-topics plan), never from this page: a setting chosen by looking at the texts tells of them."
)


@options.grouped
def check(
    *,
    source: options.Source,
    field: Annotated[str | None, typer.Option(help="Field or column of the text; guessed if not given.")] = None,
    unit: Annotated[
        str | None, typer.Option(help="Field that names who a text belongs to; guessed if not given.")
    ] = None,
    encoding: Annotated[str | None, typer.Option(help="Character encoding; guessed if not given.")] = None,
    reading: Annotated[options.Reading, "format", "strict"],
    shown: options.Output,
) -> None:
    """Look at a text file before a fit: format, fields, languages, what cannot be read, what to expect.

    Costs no budget and writes nothing. What it prints is as confidential as the texts: for the curator's eyes.
    """
    from private_topics.checking.check import check_file

    screen = Screen(shown.quiet)
    named: dict[str, Any] = {"field": field, "unit": unit, "encoding": encoding}
    named |= {"format": reading.format, "strict": reading.strict}
    with screen.progress(stages=None, show_documents=True) as progress:
        found = check_file(source, progress=progress, **named)
    screen.say(CONFIDENTIAL)
    if shown.as_json:
        print_json({"confidential": CONFIDENTIAL} | found.to_dict())
        return
    for name, value in _lines(found):
        typer.echo(f"{name}\t{plain(value)}")
    for advice in found.advice:
        typer.echo(advice)
    if found.fit_command is not None:
        typer.echo(plain(found.fit_command))
        screen.say(FORMAT_ONLY)


def _lines(found: FileCheck) -> list[tuple[str, str]]:
    """What a person reads, a line each."""
    lines = [
        ("format", found.format + ("" if found.format_by_name else ", not as its name says")),
        ("encoding", found.encoding or "unknown"),
        ("fields", ", ".join(found.fields) or "none"),
        ("text", found.text_field or "the whole record"),
        ("unit", found.unit or "none found: each document"),
    ]
    others = [name for name in found.unit_candidates if name != found.unit]
    if others:
        lines.append(("units may also be", ", ".join(others)))
    if not found.readable:
        return lines
    lines += [
        ("records", f"{found.records:,}"),
        ("unreadable", _share(found.unreadable, found) + (f", first: record {found.first:,}" if found.first else "")),
        ("empty or unreadable", _share(found.empty, found)),
        ("with HTML", _share(found.html, found)),
        ("duplicates", _share(found.duplicates, found)),
        ("not segmented", _share(found.unsegmented, found)),
        ("languages", ", ".join(f"{name} {share:.0%}" for name, share in found.languages.items() if share >= 0.005)),
    ]
    if found.documents_per_unit is not None:
        fewest, median, most = found.documents_per_unit
        lines.append(("without a unit", _share(found.without_unit, found)))
        lines.append(("units", f"{found.units:,}"))
        lines.append(("documents per unit", f"{fewest:,} to {most:,}, median {median:g}"))
    for one in found.expected:
        refused = "" if one.refused is None else "; fit refuses without --anyway"
        chance = f", perhaps {one.fewest}" if one.fewest < one.topics else ""
        lines.append((f"epsilon {one.epsilon:g}", f"about {one.topics} of 10 topics{chance}{refused}"))
    return lines


def _share(count: int, found: FileCheck) -> str:
    return f"{count:,} ({count / max(1, found.records):.1%})"

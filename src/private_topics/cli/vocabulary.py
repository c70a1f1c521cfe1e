"""`vocabulary`: one released from a private corpus, or a public list checked against the tokeniser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from private_topics.cli import options
from private_topics.cli.screen import Screen, print_json
from private_topics.errors import InputError
from private_topics.whole_files import write_whole_text

vocabulary_app = typer.Typer(no_args_is_help=True, help="Make a private vocabulary, or check a public one.")


@vocabulary_app.command()
@options.grouped
def private(
    *,
    source: options.Source,
    output: Annotated[Path, typer.Option("--output", "-o", help="List to write, one word per line.")],
    epsilon: options.Epsilon = 1.0,
    delta: options.Delta = 1e-6,
    neighbours: options.Neighbours = "replace",
    most_units: options.MostUnits = None,
    size: options.VocabularySize = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Choose among the words of a public list, a file or 'list:english': they then need less support.",
        ),
    ] = None,
    most_words: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Maximum number of different words counted per unit; 100 if not given, 1,000 with --candidates.",
        ),
    ] = None,
    reading: options.ReadingOfText,
    charged: options.Charged,
    force: options.Force = False,
    shown: options.Output,
) -> None:
    """Release the words that many units use. A later fit with this list spends its own budget on top."""
    screen = Screen(shown.quiet)
    from private_topics.cli.sources import (
        check_new,
        check_writable,
        holds_counts,
        ledger_line,
        ledger_of,
        texts_of,
        tokeniser_of,
        unit_of,
    )
    from private_topics.estimators.choices import selection
    from private_topics.estimators.texts import list_text, make_vocabulary
    from private_topics.privacy.budget import PrivacyBudget

    check_new(output, force)
    check_writable(output)
    ledger = ledger_of(charged, output.name, unit_of(reading))
    budget = PrivacyBudget(epsilon, delta)
    if holds_counts(source, reading.format):
        raise InputError("Counts have their vocabulary already: this command takes text.")
    tokeniser = tokeniser_of(reading, candidates)
    wanted = selection(candidates, size, most_words, tokeniser)
    texts = texts_of(source, reading)
    compared: dict[str, Any] = {"neighbours": neighbours, "most_units": most_units}
    counted = reading.unit is None and neighbours != "add-remove"  # else the number of documents is not public
    with screen.progress(stages=None, show_documents=counted) as progress:
        words, run = make_vocabulary(texts, budget, wanted, tokeniser, ledger=ledger, progress=progress, **compared)
    write_whole_text(output, list_text(words))
    screen.say(
        f"Wrote {len(words):,} words to {output}: ({epsilon:g}, {delta:g})-differential privacy for "
        f"{'documents' if reading.unit is None else 'users'} ({neighbours}), epsilon spent {run.epsilon_spent:.4g}."
    )
    screen.say(ledger_line(ledger))
    if shown.as_json:
        print_json({"words": len(words), "file": str(output), "epsilon": epsilon, "delta": delta})


@vocabulary_app.command()
@options.grouped
def check(
    *,
    words: Annotated[
        str,
        typer.Argument(
            metavar="LIST",
            help="A file with one word per line, or the name of a public list: list:english, list:german, …",
        ),
    ],
    size: Annotated[
        int | None,
        typer.Option(min=1, help="Of a named list: how many of its most frequent words; 10,000 if not given."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the usable words there, one per line.")
    ] = None,
    reading: options.Tokenising,
    as_json: options.Json = False,
) -> None:
    """Count the entries of a public list that the tokeniser can produce; show the digest that a statement names."""
    from private_topics.cli.sources import check_writable, public_list, tokeniser_of
    from private_topics.corpus.words.vocabulary import with_phrases

    check_writable(output)
    tokeniser = tokeniser_of(reading, words)
    found = with_phrases(public_list(words, size, tokeniser, "--size"), tokeniser)
    usable = tokeniser.usable(found.words)
    facts = {"list": found.name, "entries": len(found), "usable": len(usable), "sha256": found.digest}
    if as_json:
        print_json(facts)
    else:
        for name, value in facts.items():
            typer.echo(f"{name}\t{value}")
    if not usable:
        raise InputError(f"No entry of {found.name!r} is a word of the tokeniser.")
    if output is not None:
        write_whole_text(output, "".join(f"{word}\n" for word in usable))

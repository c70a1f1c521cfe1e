"""`export`: a model for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from private_topics.cli import options
from private_topics.cli.screen import Screen


def export(
    model: options.ModelPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write: .json, .csv or .parquet.")],
    format: Annotated[
        str | None,
        typer.Option(
            metavar="json|csv|parquet|pyldavis",
            help="Topics with their words as JSON, CSV or Parquet, or the arguments of pyLDAvis.prepare as JSON. By "
            "the name if not given.",
        ),
    ] = None,
    words: Annotated[int, typer.Option("--words", "-n", min=1, help="Words per topic; pyldavis has all.")] = 50,
    quiet: options.Quiet = False,
) -> None:
    """Write the topics for other programs: released values only, so the file may be shown as the model may."""
    if (format or output.suffix.removeprefix(".")) not in ("json", "csv", "parquet", "pyldavis"):
        raise typer.BadParameter(
            "give json, csv, parquet or pyldavis, or a file name that ends in .json, .csv or .parquet",
            param_hint="--format",
        )
    from private_topics.cli.sources import check_writable
    from private_topics.estimators.export import export_topics
    from private_topics.estimators.saving import load_estimator

    check_writable(output)
    export_topics(load_estimator(model), output, format=format, n_words=words)
    Screen(quiet).say(f"Wrote the topics to {output}.")

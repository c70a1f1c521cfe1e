"""`transform`: a table of topic proportions, one row per document, for whoever holds the documents."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from private_topics.cli import options
from private_topics.cli.screen import Screen, plain
from private_topics.errors import InputError
from private_topics.whole_files import whole_file, write_whole_text

if TYPE_CHECKING:
    import numpy as np

NOT_COVERED = "The guarantee of a private model does not cover the documents it is applied to."
SUFFIXES = (".csv", ".parquet", ".npy")


@options.grouped
def transform(
    *,
    model: options.ModelPath,
    source: options.Source,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="File to write (.csv, .parquet or .npy); if not given, CSV to standard output."
        ),
    ] = None,
    id: Annotated[
        str | None, typer.Option("--id", help="Field that names a document, for the first column; else row numbers.")
    ] = None,
    reading: options.ReadingForModel,
    quiet: options.Quiet = False,
) -> None:
    """Topic proportions of each document, a row each under the names of the topics. They are not private.

    A document without a known word has an empty row: NaN in .npy, which has neither names nor ids.
    """
    if output is not None and output.suffix not in SUFFIXES:
        raise typer.BadParameter(f"give a name that ends in {', '.join(SUFFIXES)}", param_hint="--output")
    if id is not None and output is not None and output.suffix == ".npy":
        raise typer.BadParameter(".npy holds numbers alone", param_hint="--id")
    import numpy as np

    from private_topics.cli.sources import check_writable, texts_or_counts
    from private_topics.estimators.applying import count_proportions, text_proportions, unknown_line, unknown_rows
    from private_topics.estimators.saving import load_estimator

    check_writable(output)
    fitted, screen = load_estimator(model), Screen(quiet)
    documents, is_text = texts_or_counts(fitted, source, reading, id)
    screen.say(NOT_COVERED)
    ids: list[str] = []
    parts = text_proportions(fitted, _noted(documents, ids)) if is_text else count_proportions(fitted, documents)
    found = np.concatenate(list(parts))
    _write(fitted, found, output, None if id is None else {id: ids})
    if unknown := unknown_rows(found):
        screen.say(unknown_line(unknown, len(found)))
    if id is not None and documents.left_out:
        screen.say(f"{documents.left_out:,} records have no text or number in the field {id!r} and were left out.")


def _noted(documents: Iterable[tuple[str, str | None]], ids: list[str]) -> Iterator[str]:
    """The texts; their labels, where they have any, go to `ids`."""
    for text, label in documents:
        if label is not None:
            ids.append(label)
        yield text


def _write(fitted: Any, found: np.ndarray, output: Path | None, ids: dict[str, list[str]] | None) -> None:
    from private_topics.evaluation.labels import labels_of

    names = [plain(label) for label in labels_of(fitted)]
    first = {"row": range(1, len(found) + 1)} if ids is None else ids
    if output is None:
        _write_csv(sys.stdout, first, names, found)
    elif output.suffix == ".csv":
        text = io.StringIO(newline="")
        _write_csv(text, first, names, found)
        write_whole_text(output, text.getvalue())
    elif output.suffix == ".parquet":
        _write_parquet(output, first, names, found)
    else:
        import numpy as np

        with whole_file(output) as file:
            np.save(file, found, allow_pickle=False)


def _write_csv(file: Any, first: dict[str, Any], names: list[str], found: np.ndarray) -> None:
    writer = csv.writer(file, lineterminator="\n")
    (column,) = first
    writer.writerow([column, *names])
    for label, row in zip(first[column], found, strict=True):
        writer.writerow([label, *("" if value != value else f"{value:.8g}" for value in row)])


def _write_parquet(output: Path, first: dict[str, Any], names: list[str], found: np.ndarray) -> None:
    from private_topics.corpus.texts.parquet import arrow

    pyarrow = arrow()
    (column,) = first
    if column in names:
        raise InputError(f"A topic is called {column!r}, too: a Parquet file needs another name for the ids.")
    arrays = [pyarrow.array(list(first[column])), *(pyarrow.array(values, from_pandas=True) for values in found.T)]
    with whole_file(output) as file:
        pyarrow.parquet.write_table(pyarrow.table(arrays, names=[column, *names]), file)

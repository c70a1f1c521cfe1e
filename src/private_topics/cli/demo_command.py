"""`demo`: text in, report out, on made-up letters with known topics; `reproduce`: the paper's figures and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from private_topics.cli import options
from private_topics.cli.screen import Screen


def demo(
    folder: Annotated[Path, typer.Option(help="Where everything is written.")] = Path("build/demo"),
    letters: Annotated[int, typer.Option(min=1_000, help="Letters to make up.")] = 50_000,
    one_each: Annotated[
        bool, typer.Option("--one-each", help="Every patient wrote one letter, not two on average.")
    ] = False,
    epsilon: options.Epsilon = 1.0,
    delta: options.Delta = 1e-6,
    no_knowledge: Annotated[
        bool,
        typer.Option("--no-knowledge", help="Without public word vectors; the vocabulary is a private one then."),
    ] = False,
    seed: options.LettersSeed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Make up letters of patients, learn their topics under differential privacy, and write a report."""
    from private_topics.cli.demo_run import run_demo

    run_demo(Screen(quiet), folder, letters, one_each, epsilon, delta, seed, None if no_knowledge else "english")


def reproduce_paper(
    name: Annotated[str | None, typer.Argument(help="A figure or table, or 'all'.")] = None,
    list_names: Annotated[bool, typer.Option("--list", help="Print the names and stop.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Small corpora: seconds instead of minutes.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for rows, pictures and pages.")] = Path("reproduction"),
    seed: options.PaperSeed = 0,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Measure this method of figure 2 or 4 again, keep the rows of the others. Repeatable."),
    ] = None,
    topics: Annotated[
        list[int] | None,
        typer.Option(help="Measure figure 4 again for this number of topics, keep the other rows. Repeatable."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes that share figures 2 and 4.")] = 1,
) -> None:
    """Measure a figure or table of the published method again, and compare."""
    from private_topics.paper.experiments import names, reproduce

    if list_names:
        for known, title in names().items():
            typer.echo(f"{known}\t{title}")
        return
    if name is None:
        raise typer.BadParameter("name a figure or table, or use --list", param_hint="NAME")
    for written in reproduce(name, quick=quick, out=out, seed=seed, methods=method, topics=topics, jobs=jobs):
        typer.echo(str(written))

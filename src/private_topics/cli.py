"""The `private-topics` command: results to standard output or files, messages to standard error.

Exit status 0, 1 (a run failed, with one line that says why) or 2 (bad usage).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from private_topics._version import __version__
from private_topics.corpus.block_source import CountBlocks
from private_topics.corpus.blocks import as_blocks
from private_topics.corpus.counts import stack_rows
from private_topics.corpus.synthetic import make_lda_corpus
from private_topics.errors import InputError, ModelFileError, PrivacyError
from private_topics.estimators import SpectralLDA, load
from private_topics.evaluation import match_topics, topic_error_l1, topic_error_l2, unigram_perplexity

HELD_OUT_SHARE = 10  # the demo keeps one document in ten for the perplexity

CountsPath = Annotated[
    str,
    typer.Argument(
        metavar="COUNTS",
        help="Documents × words: an .npz or .parquet file, a folder of such blocks, or a UCI docword.txt[.gz] file.",
        show_default=False,
    ),
]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by `fit`.", show_default=False)]
VocabularyPath = Annotated[
    Path | None, typer.Option("--vocabulary", help="Text file with one word per line, in the order of the columns.")
]


class _OneLineErrors(TyperGroup):
    """Expected errors end as one line on standard error and exit status 1, never as a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (InputError, ModelFileError, PrivacyError) as error:
            message = " ".join(str(error).split())
        except OSError as error:
            message = f"{error.strerror or type(error).__name__}: {error.filename}"
        typer.echo(f"error: {message}", err=True)
        raise typer.Exit(1)


app = typer.Typer(cls=_OneLineErrors, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def main() -> None:
    """Entry point of the installed command."""
    app()


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _about(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Topic models of word counts by a spectral algorithm."""


@app.command()
def demo(
    documents: Annotated[int, typer.Option(min=1, help="Documents of the synthetic corpus.")] = 20_000,
    words: Annotated[int, typer.Option(min=1, help="Words of its vocabulary.")] = 500,
    topics: Annotated[int, typer.Option(min=1, help="Topics it is drawn from.")] = 5,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the corpus.")] = 0,
) -> None:
    """Draw a corpus from known topics, learn them back, and show truth and estimate side by side."""
    _say(f"Drawing {documents:,} documents from {topics} topics over {words:,} words (seed {seed}) …")
    counts, truth, _ = make_lda_corpus(documents, words, topics, random_state=seed)
    held_out = max(1, documents // HELD_OUT_SHARE)
    train, test = counts[held_out:], counts[:held_out]
    _say(f"Fitting SpectralLDA to {documents - held_out:,} of them; {held_out:,} are held out …")
    model = SpectralLDA(topics, verbose=sys.stderr.isatty()).fit(train)
    console = Console()
    console.print(_demo_table(model.components_, truth))
    scores = Table(box=None, show_header=False, padding=(0, 2))
    scores.add_row("topic error (relative L2, matched)", f"{topic_error_l2(model.components_, truth):.4f}")
    scores.add_row("perplexity of held-out documents", f"{model.perplexity(test):.1f}")
    scores.add_row("  by the true topics", f"{_with_topics(model, truth).perplexity(test):.1f}")
    scores.add_row("  by word frequencies alone", f"{unigram_perplexity(train, test):.1f}")
    console.print(scores)


@app.command()
def fit(
    counts: CountsPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.", show_default=False)],
    topics: Annotated[int, typer.Option("--topics", "-k", min=1, help="Number of topics.")] = 10,
    alpha0: Annotated[float, typer.Option(help="Sum of the Dirichlet prior over topics.")] = 1.0,
    refine_steps: Annotated[int, typer.Option(min=0, help="Refinement passes after the spectral start.")] = 1,
    vocabulary: VocabularyPath = None,
    jobs: Annotated[int | None, typer.Option(help="Threads; all cores if not given.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the algorithm.")] = 0,
) -> None:
    """Learn topics from counts (without privacy) and write a model file."""
    corpus = as_blocks(counts)
    names = None if vocabulary is None else _read_vocabulary(vocabulary, corpus.n_words)
    model = SpectralLDA(
        topics,
        alpha0=alpha0,
        refine_steps=refine_steps,
        n_jobs=jobs,
        random_state=seed,
        verbose=sys.stderr.isatty(),
    ).fit(corpus)
    if names is not None:
        model.feature_names_in_ = np.asarray(names, dtype=object)
    model.set_params(verbose=False).save(output)
    _say(f"Wrote {topics} topics over {model.n_features_in_:,} words to {output}.")


@app.command("topics")
def show_topics(
    model: ModelPath,
    vocabulary: VocabularyPath = None,
    words: Annotated[int, typer.Option("--words", "-n", min=1, help="Words per topic.")] = 10,
) -> None:
    """Print the most probable words of each topic: a table on a terminal, tab-separated lines in a pipe."""
    fitted = load(model)
    names = None if vocabulary is None else _read_vocabulary(vocabulary, fitted.n_features_in_)
    weights = fitted.doc_topic_prior_ / fitted.doc_topic_prior_.sum()
    rows = [
        (str(i), f"{weight:.4f}", " ".join(top))
        for i, (weight, top) in enumerate(zip(weights, fitted.top_words(names, n=words), strict=True))
    ]
    console = Console()
    if not console.is_terminal:
        for row in rows:
            typer.echo("\t".join(row))
        return
    table = Table("topic", "share", "words", title=model.name)
    for row in rows:
        table.add_row(*row)
    console.print(table)


@app.command()
def transform(
    model: ModelPath,
    counts: CountsPath,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write (.npy or .csv); standard output if not given."),
    ] = None,
) -> None:
    """Topic proportions of each document, one row per document."""
    if output is not None and output.suffix not in (".npy", ".csv"):
        raise typer.BadParameter("give a name that ends in .npy or .csv", param_hint="--output")
    fitted = load(model)
    proportions = (fitted.transform(block) for block in _corpus_for(fitted, counts))
    if output is None:
        _write_csv(sys.stdout, proportions)
    elif output.suffix == ".csv":
        rows = list(proportions)
        with open(output, "w", encoding="utf-8") as file:
            _write_csv(file, iter(rows))
    else:
        rows = list(proportions)
        np.save(output, np.vstack(rows), allow_pickle=False)


@app.command()
def evaluate(model: ModelPath, counts: CountsPath) -> None:
    """Document-completion perplexity of held-out counts: half of each document predicts its other half."""
    fitted = load(model)
    held_out = stack_rows(list(_corpus_for(fitted, counts)))
    typer.echo(f"documents\t{held_out.shape[0]}")
    typer.echo(f"perplexity\t{fitted.perplexity(held_out):.4f}")


def _demo_table(estimate: np.ndarray, truth: np.ndarray, top: int = 6) -> Table:
    """True topics in order, the matched estimate beside each; words found in both are set in bold."""
    table = Table("topic", "true words", "matched", "estimated words", title="Truth beside estimate")
    table.add_column("L1 error", justify="right")
    for i, match in enumerate(match_topics(estimate, truth)):
        wanted = np.argsort(-truth[i], kind="stable")[:top]
        found = np.argsort(-estimate[match], kind="stable")[:top]
        error = topic_error_l1(estimate[match][None], truth[i][None])
        table.add_row(str(i), _marked(wanted, found), str(match), _marked(found, wanted), f"{error:.3f}")
    return table


def _marked(words: np.ndarray, others: np.ndarray) -> str:
    shared = set(others.tolist())
    return " ".join(f"[bold]w{word}[/bold]" if word in shared else f"[dim]w{word}[/dim]" for word in words.tolist())


def _with_topics(model: SpectralLDA, topics: np.ndarray) -> SpectralLDA:
    """A model with given topics, to score them by the same code."""
    other = SpectralLDA(len(topics))
    other.components_, other.doc_topic_prior_ = topics, model.doc_topic_prior_
    other.n_features_in_ = topics.shape[1]
    return other


def _corpus_for(model: Any, counts: str) -> CountBlocks:
    corpus = as_blocks(counts)
    if corpus.n_words != model.n_features_in_:
        raise InputError(
            f"The corpus has {corpus.n_words} words, the model {model.n_features_in_}: not the same vocabulary."
        )
    return corpus


def _read_vocabulary(path: Path, n_words: int) -> list[str]:
    try:
        names = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{path} is not a UTF-8 text file with one word per line.") from None
    if len(names) != n_words:
        raise InputError(
            f"{path} must hold one word per line for each of the {n_words} columns; it holds {len(names)}."
        )
    return names


def _write_csv(file: Any, proportions: Iterator[np.ndarray]) -> None:
    for rows in proportions:
        for row in rows:
            file.write(",".join(f"{value:.8g}" for value in row) + "\n")


def _say(message: str) -> None:
    typer.echo(message, err=True)

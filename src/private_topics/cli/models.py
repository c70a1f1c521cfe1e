"""What can be done with a fitted model: show its topics, score it, report on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from private_topics.cli import options
from private_topics.cli.screen import Screen, plain, print_json
from private_topics.cli.transform_command import NOT_COVERED

COHERENCE_WORDS, DIVERSITY_WORDS = 10, 25


def show_topics(
    model: options.ModelPath,
    vocabulary: Annotated[
        Path | None, typer.Option(help="Text file with one word per line, in the order of the columns.")
    ] = None,
    words: Annotated[int, typer.Option("--words", "-n", min=1, help="Words per topic.")] = 10,
    as_json: options.Json = False,
) -> None:
    """Print the most probable words of each topic: a table on a terminal, tab-separated lines in a pipe."""
    from private_topics.cli.sources import read_names
    from private_topics.estimators.saving import load

    fitted = load(model)
    names = None if vocabulary is None else read_names(vocabulary, fitted.n_features_in_)
    weights = fitted.doc_topic_prior_ / fitted.doc_topic_prior_.sum()
    found = list(zip(weights.tolist(), fitted.top_words(names, n=words), strict=True))
    if as_json:
        print_json([{"topic": i, "share": share, "words": top} for i, (share, top) in enumerate(found)])
        return
    rows = [(str(i), f"{share:.4f}", plain(" ".join(top))) for i, (share, top) in enumerate(found)]
    console = Console()
    if not console.is_terminal:
        for row in rows:
            typer.echo("\t".join(row))
        return
    table = Table("topic", "share", "words", title=model.name)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


@options.grouped
def evaluate(
    *,
    model: options.ModelPath,
    source: options.Source,
    reading: options.ReadingForModel,
    shown: options.Output,
) -> None:
    """Score a model on held-out documents: half of each document predicts its other half."""
    from private_topics.cli.sources import counts_for
    from private_topics.corpus.counts.matrix import stack_rows
    from private_topics.estimators.saving import load
    from private_topics.evaluation import npmi_coherence, topic_diversity, unigram_perplexity

    fitted = load(model)
    corpus = counts_for(fitted, source, reading)
    Screen(shown.quiet).say(NOT_COVERED)
    held_out = stack_rows(list(corpus))
    scores: dict[str, Any] = {"documents": held_out.shape[0], "perplexity": fitted.perplexity(held_out)}
    scores["unigram_perplexity"] = unigram_perplexity(marginal_of(fitted), held_out)
    if fitted.n_features_in_ >= COHERENCE_WORDS:
        coherence = npmi_coherence(fitted.components_, held_out, top_n=COHERENCE_WORDS)
        scores["npmi_coherence"] = float(coherence.mean())
        most = min(DIVERSITY_WORDS, fitted.n_features_in_)
        scores["topic_diversity"] = topic_diversity(fitted.components_, top_n=most)
    if shown.as_json:
        print_json(scores)
        return
    for name, value in scores.items():
        typer.echo(f"{name}\t{_number(value)}")


@options.grouped
def report(
    *,
    model: options.ModelPath,
    other: Annotated[Path | None, typer.Argument(help="A second model, to compare with the first.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    charged: options.LedgerOfCorpus,
    quiet: options.Quiet = False,
) -> None:
    """Write an HTML report on a model, or a comparison of two."""
    from private_topics.cli.sources import check_writable, ledger_of
    from private_topics.estimators.saving import load

    check_writable(output)
    heading = {} if title is None else {"title": title}
    if other is None:
        write_model_report(load(model), output, model, ledger_of(charged), **heading)
    else:
        from private_topics.reports import write_comparison

        write_comparison(load(model), load(other), output, names=(model.name, other.name), **heading)
    Screen(quiet).say(f"Wrote the report to {output}.")


def write_model_report(model: Any, path: Path, model_file: Path, ledger: Any, **extra: Any) -> None:
    """The HTML report of a model just saved, with what the ledger holds on its corpus."""
    from private_topics.reports import write_report

    if ledger is not None:
        extra |= {"ledger_entries": ledger.entries(), "ledger_total": ledger.total}
    write_report(model, path, tokeniser=getattr(model, "tokeniser_", None), model_file=model_file, **extra)


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4f}"


def marginal_of(model: Any) -> Any:
    """The word distribution of the model without telling topics apart."""
    marginal = model.doc_topic_prior_ @ model.components_
    return marginal / marginal.sum()

"""What can be done with a fitted model: show its topics, apply it, score it, report on it."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from private_topics.cli import options
from private_topics.cli.screen import Screen, plain, print_json
from private_topics.whole_files import whole_file, write_whole_text

NOT_COVERED = "The guarantee of a private model does not cover the documents it is applied to."
COHERENCE_WORDS, DIVERSITY_WORDS = 10, 25
REFITS = 20
COMES_AGAIN = (
    "How often a topic would come out again if the noise were drawn afresh, stated cautiously; at 90 % and above "
    "it is called reliable. A star marks words that are surely among the first of their topic. This costs no budget."
)


def show_topics(
    model: options.ModelPath,
    vocabulary: Annotated[
        Path | None, typer.Option(help="Text file with one word per line, in the order of the columns.")
    ] = None,
    words: Annotated[int, typer.Option("--words", "-n", min=1, help="Words per topic.")] = 10,
    reliability: options.Reliability = False,
    as_json: options.Json = False,
) -> None:
    """Print the most probable words of each topic: a table on a terminal, tab-separated lines in a pipe.

    With --reliability also how often a topic and its words come out again with fresh noise; sure words have a star.
    """
    from private_topics.cli.sources import read_names
    from private_topics.estimators.saving import load

    fitted = load(model)
    names = None if vocabulary is None else read_names(vocabulary, fitted.n_features_in_)
    weights = fitted.doc_topic_prior_ / fitted.doc_topic_prior_.sum()
    found = list(zip(weights.tolist(), fitted.top_words(names, n=words), strict=True))
    trusted = _trusted(fitted, names, words) if reliability else None
    if as_json:
        topics: list[dict[str, Any]] = [
            {"topic": i, "share": share, "words": top} for i, (share, top) in enumerate(found)
        ]
        for trust in trusted or ():
            topics[trust.topic] |= {
                "reliability": trust.reliability,
                "intervals": [word._asdict() for word in trust.words],
            }
        print_json(topics)
        return
    rows = [[str(i), f"{share:.4f}", plain(" ".join(top))] for i, (share, top) in enumerate(found)]
    heads = ["topic", "share", "words"]
    if trusted is not None:
        heads.insert(2, "comes again")
        rows = [
            [*row[:2], f"{trust.reliability:.0%}", _starred(trust)] for row, trust in zip(rows, trusted, strict=True)
        ]
    console = Console()
    if not console.is_terminal:
        for row in rows:
            typer.echo("\t".join(row))
        return
    table = Table(*heads, title=model.name)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def _trusted(model: Any, names: Any, words: int) -> Any:
    """The topics with their reliability; what it means is said on standard error."""
    from private_topics.reports.reliability import directions_explained, trusted_topics

    found = _reliability(model, words)
    screen = Screen()
    screen.say(COMES_AGAIN)
    screen.say(directions_explained(int(model.n_components), len(model.components_), model.supported_components_))
    if names is None:
        names = getattr(model, "feature_names_in_", [f"word{j}" for j in range(model.n_features_in_)])
    return trusted_topics(model, found, [str(name) for name in names], "topics")


def _reliability(model: Any, words: int = COHERENCE_WORDS, quiet: bool = False) -> Any:
    from private_topics.audit.reliability import reliability

    with Screen(quiet).progress(stages=REFITS, show_documents=False) as progress:
        return reliability(model, refits=REFITS, n_words=words, progress=progress)


def _starred(topic: Any) -> str:
    return plain(" ".join(word.name + "*" * word.sure for word in topic.words))


@options.grouped
def transform(
    *,
    model: options.ModelPath,
    source: options.Source,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write (.npy or .csv); standard output if not given."),
    ] = None,
    reading: options.ReadingForModel,
    quiet: options.Quiet = False,
) -> None:
    """Topic proportions of each document, one row per document. They are not private."""
    if output is not None and output.suffix not in (".npy", ".csv"):
        raise typer.BadParameter("give a name that ends in .npy or .csv", param_hint="--output")
    import numpy as np

    from private_topics.cli.sources import check_writable, counts_for
    from private_topics.estimators.saving import load

    check_writable(output)
    fitted = load(model)
    corpus = counts_for(fitted, source, reading)
    Screen(quiet).say(NOT_COVERED)
    proportions = (fitted.transform(block) for block in corpus)
    if output is None:
        _write_csv(sys.stdout, proportions)
    elif output.suffix == ".csv":
        text = io.StringIO()
        _write_csv(text, proportions)
        write_whole_text(output, text.getvalue())
    else:
        rows = np.vstack(list(proportions))
        with whole_file(output) as file:
            np.save(file, rows, allow_pickle=False)


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
    reliability: options.Reliability = False,
    charged: options.LedgerOfCorpus,
    quiet: options.Quiet = False,
) -> None:
    """Write an HTML report on a model, or a comparison of two."""
    if reliability and other is not None:
        raise typer.BadParameter("belongs to the report of one model", param_hint="--reliability")
    from private_topics.cli.sources import check_writable, ledger_of
    from private_topics.estimators.saving import load

    check_writable(output)
    heading = {} if title is None else {"title": title}
    if other is None:
        fitted = load(model)
        trust = {"reliability": _reliability(fitted, quiet=quiet)} if reliability else {}
        write_model_report(fitted, output, model, ledger_of(charged), **heading, **trust)
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


def _write_csv(file: Any, proportions: Iterator[Any]) -> None:
    for rows in proportions:
        for row in rows:
            file.write(",".join(f"{value:.8g}" for value in row) + "\n")

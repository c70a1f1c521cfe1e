"""What can be done with a fitted model: show its topics, apply it, score it, report on it."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from private_topics.cli import options
from private_topics.cli.edit_command import edits_line
from private_topics.cli.screen import Screen, plain, print_json
from private_topics.whole_files import whole_file, write_whole_text

NOT_COVERED = "The guarantee of a private model does not cover the documents it is applied to."
COHERENCE_WORDS, DIVERSITY_WORDS = 10, 25
SHOWN_NAMES = 10


def show_topics(
    model: options.ModelPath,
    vocabulary: Annotated[
        Path | None, typer.Option(help="Text file with one word per line, in the order of the columns.")
    ] = None,
    words: Annotated[int, typer.Option("--words", "-n", min=1, help="Words per topic.")] = 10,
    relevance: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.0, help="1: the most probable words; smaller: those that tell a topic from the others."
        ),
    ] = 1.0,
    find: Annotated[
        str | None,
        typer.Option(metavar="WORD", help="Only the topics that use this word, by their part of its uses."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Print the leading words of each topic: a table on a terminal, tab-separated lines in a pipe."""
    import numpy as np

    from private_topics.cli.sources import read_names
    from private_topics.estimators.saving import load

    fitted = load(model)
    if vocabulary is not None:
        fitted.feature_names_in_ = np.asarray(read_names(vocabulary, fitted.n_features_in_), dtype=object)
    top = fitted.top_words(n=words, relevance=relevance)
    facts = _facts(fitted, top, relevance, find)
    if as_json:
        print_json(facts)
        return
    shown = "share" if find is None else "part_of_its_uses"
    rows = [
        (str(fact["topic"]), f"{fact[shown]:.4f}", plain(" ".join(fact["words"])), plain(fact["label"]))
        for fact in facts
    ]
    _show(rows, ("topic", shown.replace("_", " "), "words", "label"), model.name)
    for line in filter(None, (edits_line(fitted), *looked_at(fitted, top))):
        typer.echo(line, err=True)


def _facts(model: Any, top: list[list[str]], weight: float, find: str | None) -> list[dict[str, Any]]:
    """What is shown of each topic; only of those that use a word, and how much of it, where one is to be found."""
    from private_topics.evaluation.labels import labels_of
    from private_topics.evaluation.released_words import possible_names
    from private_topics.evaluation.relevance import find_topics, lift, ranked

    shares, labels = model.doc_topic_prior_ / model.doc_topic_prior_.sum(), labels_of(model)
    lifts, order = lift(model.components_, shares), ranked(model.components_, shares, weight)
    facts: list[dict[str, Any]] = [
        {
            "topic": topic,
            "label": labels[topic],
            "share": float(shares[topic]),
            "words": words,
            "lift": lifts[topic, order[topic, : len(words)]].tolist(),
            "possible_names": possible_names(words),
        }
        for topic, words in enumerate(top)
    ]
    if find is None:
        return facts
    return [facts[found.topic] | {"part_of_its_uses": found.part} for found in find_topics(model, find)]


def _show(rows: Iterable[tuple[str, ...]], columns: tuple[str, ...], title: str) -> None:
    """A table on a terminal, lines with tabs elsewhere."""
    console = Console()
    if not console.is_terminal:
        for row in rows:
            typer.echo("\t".join(row))
        return
    table = Table(*columns, title=title)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def looked_at(model: Any, top: list[list[str]]) -> list[str]:
    """What a person should look at in released words, those shown first, a line each."""
    from private_topics.evaluation.released_words import hints, possible_names

    said = [f"hint: {hint}" for hint in hints(top)]
    names = list(dict.fromkeys(possible_names(top) + possible_names(getattr(model, "feature_names_in_", ()))))
    if names:
        more = f" and {len(names) - SHOWN_NAMES:,} more" if len(names) > SHOWN_NAMES else ""
        said.append(
            f"look: does any word name a person? A public list knows {', '.join(names[:SHOWN_NAMES])}{more}. "
            "Words are left out by: private-topics edit --block-words"
        )
    return [plain(line) for line in said]


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


def _write_csv(file: Any, proportions: Iterator[Any]) -> None:
    for rows in proportions:
        for row in rows:
            file.write(",".join(f"{value:.8g}" for value in row) + "\n")

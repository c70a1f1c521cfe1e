"""What can be done with a fitted model: show its topics, score it, report on it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from private_topics.cli import options
from private_topics.cli.edit_command import edits_line
from private_topics.cli.screen import Screen, plain, print_json
from private_topics.cli.transform_command import NOT_COVERED
from private_topics.errors import InputError

COHERENCE_WORDS, DIVERSITY_WORDS = 10, 25


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
    for line in filter(None, (edits_line(fitted), *looked_at(top))):
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


def looked_at(top: list[list[str]]) -> list[str]:
    """What a person should look at in the words of the topics, a line each."""
    from private_topics.evaluation.released_words import hints, possible_names

    said, names = [f"hint: {hint}" for hint in hints(top)], possible_names(top)
    if names:
        said.append(
            f"look: does any of these words name a person? {', '.join(names)}. "
            "Words are left out by: private-topics edit --block-words"
        )
    return [plain(line) for line in said]


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
    card: Annotated[
        Path | None, typer.Option(help="Write a model card too, to hand out with the model (.md or .html).")
    ] = None,
    purpose: Annotated[str | None, typer.Option(help="What the model is meant for, for its card.")] = None,
    evaluation: Annotated[
        Path | None, typer.Option(help="For the card: a file with what `evaluate --json` printed.")
    ] = None,
    charged: options.LedgerOfCorpus,
    quiet: options.Quiet = False,
) -> None:
    """Write an HTML report on a model, or a comparison of two."""
    from private_topics.cli.sources import check_writable, ledger_of
    from private_topics.estimators.saving import load

    if card is None and (purpose is not None or evaluation is not None):
        raise typer.BadParameter("--purpose and --evaluation are for a card: add --card", param_hint="--card")
    if card is not None and other is not None:
        raise typer.BadParameter("a card is for one model; leave out the second", param_hint="--card")
    check_writable(output, card)
    heading: dict[str, Any] = {} if title is None else {"title": title}
    if other is None:
        fitted = load(model)
        write_model_report(fitted, output, model, ledger_of(charged), **heading)
        if card is not None:
            from private_topics.reports import write_model_card

            scores = None if evaluation is None else read_scores(evaluation)
            write_model_card(fitted, card, model_file=model, purpose=purpose, evaluation=scores, **heading)
            Screen(quiet).say(f"Wrote the model card to {card}.")
    else:
        from private_topics.reports import write_comparison

        write_comparison(load(model), load(other), output, names=(model.name, other.name), **heading)
    Screen(quiet).say(f"Wrote the report to {output}.")


def read_scores(path: Path) -> dict[str, Any]:
    """What `evaluate --json` printed."""
    try:
        scores = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:  # of the encoding or of JSON
        scores = None
    if not isinstance(scores, dict):
        raise InputError(f"{str(path)!r} must hold a JSON object of scores, as `evaluate --json` prints it.")
    return scores


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

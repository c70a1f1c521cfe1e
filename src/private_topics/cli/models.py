"""What can be done with a fitted model: show its topics, score it, report on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from private_topics.cli import options
from private_topics.cli.screen import Screen, print_json
from private_topics.cli.topics_command import reliability_of
from private_topics.cli.transform_command import NOT_COVERED
from private_topics.errors import InputError

COHERENCE_WORDS, DIVERSITY_WORDS = 10, 25


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
    from private_topics.estimators.saving import load_estimator
    from private_topics.evaluation import npmi_coherence, topic_diversity, unigram_perplexity

    fitted = load_estimator(model)
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
    reliability: options.Reliability = False,
    charged: options.LedgerOfCorpus,
    quiet: options.Quiet = False,
) -> None:
    """Write an HTML report on a model, or a comparison of two."""
    from private_topics.cli.sources import check_writable, ledger_of
    from private_topics.estimators.saving import load_estimator

    if card is None and (purpose is not None or evaluation is not None):
        raise typer.BadParameter("--purpose and --evaluation are for a card: add --card", param_hint="--card")
    if card is not None and other is not None:
        raise typer.BadParameter("a card is for one model; leave out the second", param_hint="--card")
    if other is not None and other.suffix in (".html", ".htm"):
        raise typer.BadParameter("this is a second model, to compare with; -o names the page", param_hint="other")
    check_writable(output, card)
    heading: dict[str, Any] = {} if title is None else {"title": title}
    if other is None:
        fitted = load_estimator(model)
        trust = {"reliability": reliability_of(fitted, quiet=quiet)} if reliability else {}
        write_model_report(fitted, output, model, ledger_of(charged), **heading, **trust)
        if card is not None:
            from private_topics.reports import write_model_card

            scores = None if evaluation is None else read_scores(evaluation)
            write_model_card(fitted, card, model_file=model, purpose=purpose, evaluation=scores, **heading, **trust)
            Screen(quiet).say(f"Wrote the model card to {card}.")
    else:
        from private_topics.reports import write_comparison

        write_comparison(
            load_estimator(model), load_estimator(other), output, names=(model.name, other.name), **heading
        )
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

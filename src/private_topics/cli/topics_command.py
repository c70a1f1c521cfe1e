"""`topics`: the words of each topic of a model, with its label and, where asked for, how far to trust them."""

from __future__ import annotations

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

TOP_WORDS, SHOWN_NAMES = 10, 10
COMES_AGAIN = (
    "How often a topic would come out again if the noise were drawn afresh. From 90 % on it is called reliable; less "
    "does not say that the topic is wrong. A star marks words that are surely among the first of their topic. This "
    "costs no budget."
)


def show_topics(
    model: options.ModelPath,
    vocabulary: Annotated[
        Path | None, typer.Option(help="Text file with one word per line, in the order of the columns.")
    ] = None,
    words: Annotated[int, typer.Option("--words", "-n", min=1, help="Words per topic.")] = TOP_WORDS,
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
    reliability: options.Reliability = False,
    as_json: options.Json = False,
) -> None:
    """Print the leading words of each topic: a table on a terminal, tab-separated lines in a pipe.

    With --reliability also how often a topic and its words come out again with fresh noise; sure words have a star.
    """
    import numpy as np

    from private_topics.cli.sources import read_names
    from private_topics.estimators.saving import load_estimator

    fitted = load_estimator(model)
    if vocabulary is not None:
        fitted.feature_names_in_ = np.asarray(read_names(vocabulary, fitted.n_features_in_), dtype=object)
    top = fitted.top_words(n=words, relevance=relevance)
    facts = _facts(fitted, top, relevance)
    if reliability:
        for fact, trusted in zip(facts, _trusted(fitted, words, relevance), strict=True):
            fact["reliability"] = trusted.reliability
            fact["intervals"] = [word._asdict() for word in trusted.words]
    if find is not None:
        facts = _that_use(fitted, find, facts)
    if as_json:
        print_json(facts)
        return
    shares = ("share", "evidence", "seen", "reliability", "part_of_its_uses")
    columns = [name for name in shares if facts and name in facts[0] and (name != "share" or find is None)]
    rows = [
        [
            str(fact["topic"]),
            *(_shown(name, fact) for name in columns),
            plain(_words(fact)),
            plain(fact["label"]),
        ]
        for fact in facts
    ]
    heads = [name.replace("_", " ").replace("reliability", "comes again") for name in columns]
    _show(rows, ["topic", *heads, "words", "label"], model.name)
    for line in filter(None, (edits_line(fitted), *looked_at(fitted, top))):
        typer.echo(line, err=True)


def _facts(model: Any, top: list[list[str]], weight: float) -> list[dict[str, Any]]:
    """What is shown of each topic."""
    from private_topics.evaluation.labels import labels_of
    from private_topics.evaluation.released_words import possible_names
    from private_topics.evaluation.relevance import lift, ranked, shares_of

    shares, labels = shares_of(model.doc_topic_prior_), labels_of(model)
    evidence = getattr(model, "evidence_", None)
    lifts, order = lift(model.components_, shares), ranked(model.components_, shares, weight)
    return [
        {
            "topic": topic,
            "label": labels[topic],
            "share": float(shares[topic]),
            "words": words,
            "lift": lifts[topic, order[topic, : len(words)]].tolist(),
            "possible_names": possible_names(words),
        }
        | (
            {}
            if evidence is None
            else {"evidence": float(evidence.deviations[topic]), "seen": bool(evidence.seen[topic])}
        )
        for topic, words in enumerate(top)
    ]


def _that_use(model: Any, word: str, facts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of the topics those that use a word, and how much of it."""
    from private_topics.evaluation.relevance import find_topics

    return [facts[found.topic] | {"part_of_its_uses": found.part} for found in find_topics(model, word)]


def _trusted(model: Any, n_words: int, weight: float) -> Any:
    """The topics with their reliability; what it means is said on standard error."""
    from private_topics.evaluation.labels import word_names
    from private_topics.evaluation.relevance import ranked
    from private_topics.reports.reliability import directions_above, directions_explained, trusted_topics

    found = reliability_of(model, n_words)
    screen = Screen()
    screen.say(COMES_AGAIN)
    asked, used, supported = int(model.n_components), len(model.components_), model.supported_components_
    screen.say(directions_explained(asked, used, supported, directions_above(model)))
    names = word_names(model)
    order = ranked(model.components_, model.doc_topic_prior_, weight)
    return trusted_topics(model, found, names, "topics", order)


def reliability_of(model: Any, n_words: int = TOP_WORDS, quiet: bool = False) -> Any:
    """How far to trust a model, with progress."""
    from private_topics.audit.reliability import REFITS, reliability

    with Screen(quiet).progress(stages=REFITS, show_documents=False) as progress:
        return reliability(model, n_words=n_words, progress=progress)


def _shown(name: str, fact: dict[str, Any]) -> str:
    if name == "seen":
        return "yes" if fact[name] else "no"
    return {"reliability": f"{fact[name]:.0%}", "evidence": f"{fact[name]:.1f}"}.get(name, f"{fact[name]:.4f}")


def _words(fact: dict[str, Any]) -> str:
    """The words of a topic; a star marks the sure ones."""
    from private_topics.audit.reliability import RELIABLE

    stars = [word["top_share"] >= RELIABLE for word in fact.get("intervals", ())] or [False] * len(fact["words"])
    return " ".join(word + "*" * star for word, star in zip(fact["words"], stars, strict=True))


def _show(rows: Iterable[list[str]], columns: list[str], title: str) -> None:
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

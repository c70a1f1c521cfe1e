"""`edit`: a released model without some words, with topics renamed, merged or dropped. It costs no privacy."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from private_topics.cli import options
from private_topics.cli.screen import Screen, print_json
from private_topics.errors import InputError


@options.grouped
def edit(
    *,
    model: options.ModelPath,
    output: options.ModelOutput,
    block_words: options.BlockWords = None,
    rename: Annotated[
        list[str] | None, typer.Option(metavar='TOPIC="a label"', help="Name a topic; repeatable.")
    ] = None,
    merge: Annotated[
        list[str] | None,
        typer.Option(metavar="TOPIC,TOPIC,…", help="Put topics together, at the place of the first; repeatable."),
    ] = None,
    drop: Annotated[list[int] | None, typer.Option(metavar="TOPIC", help="Leave a topic out; repeatable.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the output file if there is one.")] = False,
    shown: options.Output,
) -> None:
    """Block words of a model, rename, merge and drop its topics: post-processing, which costs no privacy.

    Topics have the numbers that `topics` shows for MODEL, in all options. The statement of the model stays as it is.
    """
    from private_topics.cli.sources import check_writable, listed_words
    from private_topics.estimators.edits import block_words as without_words
    from private_topics.estimators.edits import regroup_topics, rename_topics
    from private_topics.estimators.saving import load_estimator

    if output.exists() and not force:
        raise InputError(f"{str(output)!r} exists: give another name, or --force.")
    check_writable(output)
    labels = dict(_renamed(item) for item in rename or ())
    groups = [_numbers(item) for item in merge or ()]
    words = () if block_words is None else listed_words(block_words, "--block-words")
    if not (labels or groups or drop or words):
        raise typer.BadParameter("give --block-words, --rename, --merge or --drop")
    found = load_estimator(model)
    if labels:
        found = rename_topics(found, labels)
    if groups or drop:
        found = regroup_topics(found, merged=groups, dropped=drop or ())
    if words:
        found = without_words(found, words)
    found.save(output)
    screen = Screen(shown.quiet)
    screen.say(f"Wrote {len(found.components_):,} topics over {found.n_features_in_:,} words to {output}.")
    screen.say(edits_line(found) or "No word of the model was on the list: nothing was changed.")
    if shown.as_json:
        print_json({"model": str(output), "topics": len(found.components_), "words": found.n_features_in_})


def edits_line(model: Any) -> str | None:
    """What was changed after the release; None where nothing was."""
    edits = getattr(model, "edits_", None)
    return None if edits is None else edits.text


def blocked(model: Any, words: tuple[str, ...], screen: Screen) -> Any:
    """A model just released without these words. Where nothing would be left of it, it stays as it was paid for."""
    from private_topics.estimators.edits import block_words

    try:
        found = block_words(model, words)
    except InputError:
        screen.say("warning: --block-words would leave no word of the model: it is written as it was released.")
        return model
    screen.say(edits_line(found) or "No released word is on the list of --block-words.")
    return found


def _renamed(item: str) -> tuple[int, str]:
    number, sign, label = item.partition("=")
    if not sign or not number.strip().isdecimal() or not label.strip():
        raise typer.BadParameter('write it as 3="heart failure"', param_hint="--rename")
    return int(number), label


def _numbers(item: str) -> list[int]:
    parts = [part.strip() for part in item.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise typer.BadParameter("write it as 2,5", param_hint="--merge")
    return [int(part) for part in parts]

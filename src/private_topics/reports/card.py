"""`write_model_card`: one or two pages to hand out with a model, as Markdown or HTML, from the same parts.

Like a report it is made from the fitted model alone: released values, public settings, and what its author says.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from private_topics._version import versions
from private_topics.audit.reliability import Reliability
from private_topics.errors import InputError
from private_topics.privacy.statement import PrivacyStatement
from private_topics.reports.attacker import plain_words
from private_topics.reports.page import date_text, number, percent, write_page
from private_topics.reports.sections import file_digest, settings_of
from private_topics.reports.topics import REPLACEMENT, Topic, printable, topics_of, word_names
from private_topics.reports.verdict import PrivacyVerdict, statement_of_model, verdict_of
from private_topics.whole_files import write_whole_text

WORDS = 8
PURPOSE = (
    "Seeing what a body of text is about, and how much of it: to read, to compare with later years, to decide where "
    "to look closer. Nobody has said anything more definite."
)
MISUSES = (
    "Deciding anything about a single person.",
    "Concluding that something was not in the text: rare topics and rare words drown in the noise.",
    "Taking the order of words of nearly equal probability, or a share to the last digit, for a finding.",
    "Text of another kind, language or time than it was learnt from, without a new evaluation.",
)
NOT_PRIVATE_MISUSE = "Publishing it, or anything computed from it: it carries no guarantee that holds."
SIGNED = {"requested_by": "Requested by", "approved_by": "Approved by", "reason": "Reason"}
BLANK = 20 * "…"
SUFFIXES = (".md", ".html", ".htm")


@dataclass(frozen=True)
class Table:
    heads: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Part:
    """A section of the card: paragraphs, then points, then a table."""

    title: str
    paragraphs: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    table: Table | None = None


def write_model_card(
    model: Any,
    path: str | os.PathLike[str],
    *,
    feature_names: Any = None,
    title: str = "Topic model",
    date: Any = None,
    purpose: str | None = None,
    data: str | None = None,
    evaluation: Mapping[str, float] | None = None,
    reliability: Reliability | None = None,
    model_file: str | os.PathLike[str] | None = None,
) -> Path:
    """Write the model card of a fitted model to `path`, Markdown (.md) or HTML (.html); returns the path.

    Parameters
    ----------
    model : a fitted estimator of this library. The card of one without a proved guarantee says so first.
    feature_names : a name for each word; those of the fit, or numbers, where not given.
    title : what the model is called.
    date : date of the card, a `datetime.date` or text; today where not given.
    purpose : what the model is meant for, in a sentence or two.
    data : what the corpus is, in a sentence or two. It is published with the card: nothing that only the text shows.
    evaluation : names and values of scores, such as `private-topics evaluate --json` prints them. They say something
        about the documents that were scored, and no guarantee covers that.
    reliability : what `reliability(model)` found.
    model_file : the saved model, whose SHA-256 is printed.
    """
    check_is_fitted(model, "components_")
    if Path(path).suffix not in SUFFIXES:
        raise InputError(
            "The 'path' parameter of write_model_card must end in .md or .html. "
            f"Got a name that ends in {Path(path).suffix!r} instead."
        )
    names = word_names(model, feature_names, "write_model_card")
    if reliability is not None:
        reliability.require(model, "write_model_card")
    statement = statement_of_model(model)
    verdict = verdict_of(statement)
    parts = [
        _what(model, topics_of(model, names, WORDS, reliability)),
        *_uses(purpose, verdict),
        _data(model, statement, data),
        *_privacy(statement, verdict),
        _evaluation(evaluation),
        _limits(model, statement),
        Part("Settings", table=Table(("Setting", "Value"), settings_of(model))),
        _sign_off(model, verdict),
        _how_to_check(model, model_file),
    ]
    context = {"title": f"Model card: {_one_line(title)}", "date": date_text(date, "write_model_card")}
    context |= {"kind": type(model).__name__}
    if Path(path).suffix == ".md":
        write_whole_text(path, _markdown(context, verdict, parts))
        return Path(path)
    return write_page(path, "card.html", {**context, "verdict": verdict, "parts_of_card": parts}, [])


def _what(model: Any, topics: list[Topic]) -> Part:
    reliable = any(topic.reliability is not None for topic in topics)
    heads = ("Topic", "Share", *(["Reliability"] if reliable else []), "Most probable words")
    rows = [
        (
            topic.name.removeprefix("Topic "),
            percent(topic.share),
            *([("–" if topic.reliability is None else percent(topic.reliability))] if reliable else []),
            ", ".join(word.name for word in topic.words),
        )
        for topic in topics
    ]
    text = (
        f"A topic model (latent Dirichlet allocation) of {len(topics)} topics over {model.n_features_in_:,} words. A "
        "topic is a probability for each word; its share is its part of an average document."
    )
    return Part("What it is", (text,), table=Table(heads, rows))


def _uses(purpose: str | None, verdict: PrivacyVerdict) -> list[Part]:
    misuses = MISUSES if verdict.private else (NOT_PRIVATE_MISUSE, *MISUSES)
    return [
        Part("Intended use", (PURPOSE if purpose is None else _one_line(purpose),)),
        Part("What it must not be used for", points=misuses),
    ]


def _data(model: Any, statement: PrivacyStatement | None, data: str | None) -> Part:
    said = () if data is None else (_one_line(data),)
    if statement is None:
        return Part("Data", (*said, f"Counts of {model.n_features_in_:,} words in documents."))
    text = f"{statement.units}; what is protected is one {statement.unit}. Taken as public:"
    return Part("Data", (*said, text[:1].upper() + text[1:]), points=statement.public)


def _privacy(statement: PrivacyStatement | None, verdict: PrivacyVerdict) -> list[Part]:
    if statement is None:
        return [Part("Privacy", (f"{verdict.headline}. {verdict.detail}",))]
    plain = plain_words(statement) if verdict.private else []
    rows = [
        (line.name, line.numbers, number(line.sensitivity), number(line.sigma), percent(line.share), line.proof)
        for line in statement.releases
    ]
    heads = ("Release", "Numbers", "Sensitivity", "Sigma", "Share", "Proof")
    where = "All that the model keeps of the corpus, each with the noise it was given."
    proofs = " The proofs are pages of docs/proofs of the source." if statement.proved else ""
    return [
        Part("Privacy", (*plain, statement.text)),
        Part("What was released", (where + proofs,), table=Table(heads, rows)),
    ]


def _evaluation(scores: Mapping[str, float] | None) -> Part:
    if not scores:
        return Part("Evaluation", ("None was given.",))
    for name, value in scores.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise InputError(
                "The 'evaluation' parameter of write_model_card must map names to finite numbers. "
                f"That of {printable(name)!r} is none."
            )
    text = "The scores say something about the documents that were scored; no guarantee covers those."
    rows = [
        (printable(name), f"{value:,}" if isinstance(value, int) else number(value)) for name, value in scores.items()
    ]
    return Part("Evaluation", (text,), table=Table(("Score", "Value"), rows))


def _limits(model: Any, statement: PrivacyStatement | None) -> Part:
    found, asked = len(model.components_), int(model.n_components)
    points = ["Topics summarise words that occur together. They are not claims, and have no meaning but their words."]
    if found < asked:
        points.append(f"{found} of {asked} topics asked for: the budget carries no more, the others would be noise.")
    if getattr(model, "evidence_", None) is not None:
        points.append(model.evidence_.sentence)
    if statement is not None:
        points.append("Probabilities and shares carry noise; a report shows what stands out from it.")
        points += [f"Not covered by the guarantee: {fact}." for fact in statement.not_covered]
    return Part("Limits", points=tuple(points))


def _sign_off(model: Any, verdict: PrivacyVerdict) -> Part:
    """Who asked for it, who approved it and why, where the model says so; lines to fill in where not."""
    if not verdict.private:
        return Part("Sign-off", (f"Nothing to sign. {verdict.headline}.",))
    said = getattr(model, "sign_off_", None)
    values = {what: getattr(said, name, "") for name, what in SIGNED.items()}
    rows = [(what, _one_line(str(value)) if value else BLANK) for what, value in values.items()]
    return Part("Sign-off", table=Table(("", ""), [*rows, ("Date, signature", BLANK)]))


def _how_to_check(model: Any, model_file: str | os.PathLike[str] | None) -> Part:
    name = "MODEL" if model_file is None else printable(Path(model_file).name)
    points = [f"private-topics report {name} writes the full report, with this statement and where the noise went."]
    if getattr(model, "sampler", "fast") == "fast":  # an audit plays against no other noise
        points.append(f"private-topics audit --model {name} attacks what the model claims, on made-up text.")
    if model_file is not None:
        points.insert(0, f"SHA-256 of the model file {name}: {file_digest(model_file)}")
    return Part("How to check", points=tuple(points))


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else REPLACEMENT for character in " ".join(text.split()))


def _markdown(context: Mapping[str, str], verdict: PrivacyVerdict, parts: Sequence[Part]) -> str:
    lines = [f"# {_escaped(context['title'])}", "", f"{context['kind']}, {_escaped(context['date'])}", ""]
    lines += [f"> **{_escaped(verdict.headline)}**  ", f"> {_escaped(verdict.detail)}"]
    for part in parts:
        lines += ["", f"## {part.title}"]
        for paragraph in part.paragraphs:
            lines += ["", _escaped(paragraph)]
        if part.points:
            lines += ["", *(f"- {_escaped(point)}" for point in part.points)]
        if part.table is not None:
            rows = [part.table.heads, ("---",) * len(part.table.heads), *part.table.rows]
            lines += ["", *("| " + " | ".join(map(_escaped, row)) + " |" for row in rows)]
    wrote = ", ".join(f"{package} {version}" for package, version in versions().items())
    return "\n".join([*lines, "", f"Written by {wrote}."]) + "\n"


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is: no element, link, emphasis, heading or cell begins in it."""
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, entity)
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", " ".join(text.split()))

"""`write_comparison`: two models side by side; which topics stayed, appeared or vanished, and at what price.

Models with vocabularies of their own are compared on the words they share: each topic is restricted to those words
and scaled to sum to one again, and the page says how much of each topic that leaves out.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from private_topics.errors import InputError
from private_topics.evaluation import match_topics
from private_topics.privacy.statement import PrivacyStatement
from private_topics.privacy.strength import Strength, strength_of
from private_topics.reports.charts import bar
from private_topics.reports.page import date_text, write_page
from private_topics.reports.sections import settings_of
from private_topics.reports.topics import Topic, hellinger, printable, topics_of, word_names
from private_topics.reports.verdict import PrivacyVerdict, statement_of_model, verdict_of

SAME_TOPIC = 0.5  # smallest cosine at which two topics count as the same
SHOWN_ALONE = 40


@dataclass(frozen=True)
class Words:
    """The words of one model: which columns it shares with the other, and its own, the most frequent first."""

    names: list[str]
    shared: np.ndarray
    alone: list[str]
    """At most `SHOWN_ALONE` of them."""
    n_alone: int
    covered: float
    """The part of the model's text that is in shared words."""

    @property
    def own(self) -> frozenset[str]:
        """Words that the other model does not have."""
        return frozenset(self.names) - {self.names[column] for column in self.shared}


@dataclass(frozen=True)
class Side:
    """One of the two models."""

    name: str
    kind: str
    statement: PrivacyStatement | None
    verdict: PrivacyVerdict
    topics: dict[int, Topic]
    words: Words


@dataclass(frozen=True)
class Pair:
    """Two topics treated as the same; distances are 0 for equal topics and 1 for topics without a common word."""

    first: Topic
    second: Topic
    cosine: float
    distance: float
    appeared: tuple[str, ...]
    vanished: tuple[str, ...]

    @property
    def shared(self) -> frozenset[str]:
        return frozenset(word.name for word in self.first.words) & frozenset(word.name for word in self.second.words)


def write_comparison(
    model_a: Any,
    model_b: Any,
    path: str | os.PathLike[str],
    *,
    feature_names: Any = None,
    names: tuple[str, str] = ("Model A", "Model B"),
    title: str = "Two topic models compared",
    date: Any = None,
) -> Path:
    """Write a page that compares two fitted models; returns the path.

    Topics are matched one to one (`evaluation.match_topics`). A pair whose cosine is below one half is not treated as
    the same topic: one vanished, the other appeared. `names` are shown for the two models. Models with different
    words are compared on those they share. Without names of words the columns must be the same in both;
    `feature_names` names them.
    """
    if isinstance(names, str) or len(names) != 2:
        raise InputError("The 'names' parameter of write_comparison must be two names.")
    words = _words(model_a, model_b, feature_names)
    sides = [_side(*found) for found in zip((model_a, model_b), names, words, strict=True)]
    pairs = _pairs(_on_shared(model_a, words[0]), _on_shared(model_b, words[1]), *sides)
    matched_a, matched_b = ({getattr(pair, which).index for pair in pairs} for which in ("first", "second"))
    together = _together(sides[0].statement, sides[1].statement)
    context = {
        "title": title,
        "date": date_text(date, "write_comparison"),
        "sides": sides,
        "n_shared": len(words[0].shared),
        "same_words": not any(found.n_alone for found in words),
        "pairs": pairs,
        "vanished": [topic for topic in sides[0].topics.values() if topic.index not in matched_a],
        "appeared": [topic for topic in sides[1].topics.values() if topic.index not in matched_b],
        "same_topic": SAME_TOPIC,
        "together": together,
        "joint": None if together is None else _worth(together, sides[0].statement, sides[1].statement),
        "settings": _both_settings(model_a, model_b),
        "bar": bar,
    }
    return write_page(path, "comparison.html", context, [])


def _words(model_a: Any, model_b: Any, feature_names: Any) -> tuple[Words, Words]:
    models = model_a, model_b
    for model in models:
        check_is_fitted(model, "components_")
    fitted = [list(map(str, model.feature_names_in_)) for model in models if hasattr(model, "feature_names_in_")]
    if feature_names is None and len(fitted) == 2:
        return _shared_words((model_a, fitted[0]), (model_b, fitted[1]))
    known = {tuple(names) for names in fitted}
    if model_a.n_features_in_ != model_b.n_features_in_ or (feature_names is not None and len(known) > 1):
        raise InputError(
            "write_comparison needs to know which words two models share: both must have been fitted with the names "
            "of their words, or have the same columns."
        )
    names = word_names(model_a, known.pop() if feature_names is None and known else feature_names, "write_comparison")
    return _same_columns(names)


def _same_columns(names: list[str]) -> tuple[Words, Words]:
    words = Words(names, np.arange(len(names)), [], 0, 1.0)
    return words, words


def _shared_words(first: tuple[Any, list[str]], second: tuple[Any, list[str]]) -> tuple[Words, Words]:
    """Columns of the words that both models have, in the order of the first model's words."""
    if first[1] == second[1]:
        return _same_columns([printable(name) for name in first[1]])
    places = [_first_columns(names) for _, names in (first, second)]
    shared = [name for name in places[0] if name in places[1]]
    if not shared:
        raise InputError("The two models have no word in common: there is nothing to compare.")
    found = []
    for (model, names), place in zip((first, second), places, strict=True):
        columns = np.array([place[name] for name in shared])
        frequency = model.doc_topic_prior_ @ model.components_ / model.doc_topic_prior_.sum()
        others = np.setdiff1d(np.arange(len(names)), columns)
        order = others[np.argsort(-frequency[others], kind="stable")]
        alone = [printable(names[column]) for column in order[:SHOWN_ALONE]]
        shown = [printable(name) for name in names]
        found.append(Words(shown, columns, alone, len(others), float(frequency[columns].sum())))
    return found[0], found[1]


def _first_columns(names: list[str]) -> dict[str, int]:
    places: dict[str, int] = {}
    for column, name in enumerate(names):
        places.setdefault(name, column)
    return places


def _on_shared(model: Any, words: Words) -> np.ndarray:
    """The topics on the shared words, rows sum to one; a topic without any of them is a row of zeros."""
    components: np.ndarray = model.components_[:, words.shared]
    mass = components.sum(axis=1, keepdims=True)
    return np.divide(components, mass, out=np.zeros_like(components), where=mass > 0)


def _side(model: Any, name: str, words: Words) -> Side:
    statement = statement_of_model(model)
    topics = {topic.index: topic for topic in topics_of(model, words.names)}
    return Side(str(name), type(model).__name__, statement, verdict_of(statement), topics, words)


def _pairs(found_a: np.ndarray, found_b: np.ndarray, side_a: Side, side_b: Side) -> list[Pair]:
    """Matched topics, the most alike first."""
    match = match_topics(found_b, found_a)
    distances = hellinger(found_a, found_b)
    norms = np.linalg.norm(found_a, axis=1)[:, None] * np.linalg.norm(found_b, axis=1)
    cosines = np.divide(found_a @ found_b.T, norms, out=np.zeros_like(norms), where=norms > 0)
    pairs = [
        _pair(side_a.topics[i], side_b.topics[int(j)], float(cosines[i, j]), float(distances[i, j]))
        for i, j in enumerate(match)
        if j >= 0 and cosines[i, j] >= SAME_TOPIC
    ]
    return sorted(pairs, key=lambda pair: (pair.distance, pair.first.index))


def _pair(first: Topic, second: Topic, cosine: float, distance: float) -> Pair:
    before, after = ([word.name for word in topic.words] for topic in (first, second))
    appeared = tuple(name for name in after if name not in before)
    vanished = tuple(name for name in before if name not in after)
    return Pair(first, second, cosine, distance, appeared, vanished)


def _together(first: PrivacyStatement | None, second: PrivacyStatement | None) -> tuple[float, float] | None:
    """What both models together cost a unit that is in both corpora, by adding up; None without two guarantees."""
    if first is None or second is None or not all(s.private and s.proved for s in (first, second)):
        return None
    if first.relation != second.relation:  # of other neighbours: the two do not add up
        return None
    return first.epsilon + second.epsilon, first.delta + second.delta


def _worth(together: tuple[float, float], *statements: PrivacyStatement | None) -> Strength:
    """Of both together, for a unit that is in both corpora: a document where the units differ."""
    found = [statement for statement in statements if statement is not None]
    unit = found[0].unit if len({statement.unit for statement in found}) == 1 else "document"
    return strength_of(*together, max(statement.n_units for statement in found), unit, found[0].relation)


def _both_settings(model_a: Any, model_b: Any) -> list[tuple[str, str, str]]:
    """Settings that one of the models has, side by side; those that differ first."""
    first, second = dict(settings_of(model_a)), dict(settings_of(model_b))
    rows = [(name, first.get(name, "–"), second.get(name, "–")) for name in sorted(first | second)]
    return sorted(rows, key=lambda row: row[1] == row[2])

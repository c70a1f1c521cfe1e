"""`write_comparison`: two models side by side; which topics stayed, appeared or vanished, and at what price."""

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
from private_topics.reports.charts import bar
from private_topics.reports.page import date_text, write_page
from private_topics.reports.sections import settings_of
from private_topics.reports.topics import Topic, hellinger, topics_of, word_names
from private_topics.reports.verdict import Verdict, statement_of_model, verdict_of

SAME_TOPIC = 0.5  # cosine of two topics that are still the same


@dataclass(frozen=True)
class Side:
    """One of the two models."""

    name: str
    kind: str
    statement: PrivacyStatement | None
    verdict: Verdict
    topics: dict[int, Topic]


@dataclass(frozen=True)
class Pair:
    """Two topics taken for the same; distances are 0 for equal topics and 1 for topics without a common word."""

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
    """Write a page that compares two fitted models over the same vocabulary; returns the path.

    Topics are matched one to one (`evaluation.match_topics`). A pair whose cosine is below one half is not taken for
    the same topic: the one vanished, the other appeared. `names` are shown for the two models.
    """
    words = _common_words(model_a, model_b, feature_names)
    sides = [_side(model, name, words) for model, name in zip((model_a, model_b), names, strict=True)]
    pairs = _pairs(model_a.components_, model_b.components_, *sides)
    matched_a, matched_b = ({getattr(pair, which).index for pair in pairs} for which in ("first", "second"))
    context = {
        "title": title,
        "date": date_text(date, "write_comparison"),
        "sides": sides,
        "pairs": pairs,
        "vanished": [topic for topic in sides[0].topics.values() if topic.index not in matched_a],
        "appeared": [topic for topic in sides[1].topics.values() if topic.index not in matched_b],
        "same_topic": SAME_TOPIC,
        "together": _together(sides[0].statement, sides[1].statement),
        "settings": _both_settings(model_a, model_b),
        "bar": bar,
    }
    return write_page(path, "comparison.html", context, [])


def _common_words(model_a: Any, model_b: Any, feature_names: Any) -> list[str]:
    for model in (model_a, model_b):
        check_is_fitted(model, "components_")
    fitted = {tuple(model.feature_names_in_) for model in (model_a, model_b) if hasattr(model, "feature_names_in_")}
    if model_a.n_features_in_ != model_b.n_features_in_ or len(fitted) > 1:
        raise InputError("write_comparison needs two models over the same vocabulary, in the same order.")
    if feature_names is None and fitted:
        feature_names = fitted.pop()
    return word_names(model_a, feature_names, "write_comparison")


def _side(model: Any, name: str, words: list[str]) -> Side:
    statement = statement_of_model(model)
    topics = {topic.index: topic for topic in topics_of(model, words)}
    return Side(str(name), type(model).__name__, statement, verdict_of(statement), topics)


def _pairs(found_a: np.ndarray, found_b: np.ndarray, side_a: Side, side_b: Side) -> list[Pair]:
    """Matched topics, the most alike first."""
    match = match_topics(found_b, found_a)
    distances = hellinger(found_a, found_b)
    norms = np.linalg.norm(found_a, axis=1)[:, None] * np.linalg.norm(found_b, axis=1)
    cosines = found_a @ found_b.T / norms
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
    return first.epsilon + second.epsilon, first.delta + second.delta


def _both_settings(model_a: Any, model_b: Any) -> list[tuple[str, str, str]]:
    """Settings that one of the models has, side by side; those that differ first."""
    first, second = dict(settings_of(model_a)), dict(settings_of(model_b))
    rows = [(name, first.get(name, "–"), second.get(name, "–")) for name in sorted(first | second)]
    return sorted(rows, key=lambda row: row[1] == row[2])

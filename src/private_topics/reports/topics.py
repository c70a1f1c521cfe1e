"""Topics as a report shows them: top words, shares, distinctive words, and a map of the distances between topics.

Everything here is a function of the fitted topics and prior, which are released values.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from private_topics.audit.reliability import Reliability
from private_topics.errors import InputError
from private_topics.evaluation.labels import word_names as model_words
from private_topics.evaluation.relevance import shares_of

TOP_WORDS = 10
CANDIDATES, DISTINCTIVE, LIKELY = 30, 5, 0.5
LONGEST_NAME = 40
REPLACEMENT = "\ufffd"
DIRECTION_CHANGES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Word(NamedTuple):
    """A word with its probability in the topic, or with the probability of the topic given the word.

    `usual`: its probability in the text as a whole; `low`, `high`: an interval for its probability.
    """

    name: str
    weight: float
    usual: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Topic:
    """One topic of a model; `words` are its leading ones, `distinctive` those that, seen alone, point to it."""

    index: int
    share: float
    words: tuple[Word, ...]
    distinctive: tuple[Word, ...]
    label: str | None = None
    reliability: float | None = None
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    deviations: float | None = None
    seen: bool | None = None

    @property
    def name(self) -> str:
        return f"Topic {self.index}" if self.label is None else f"Topic {self.index}: {self.label}"


@dataclass(frozen=True)
class TopicMap:
    """Places (k × 2) of the topics in the plane, the part of all distances that it shows, and the closest pair."""

    places: np.ndarray
    shown: float
    closest: tuple[int, int]
    nearest: float


def word_names(model: Any, feature_names: Any, caller: str) -> list[str]:
    """A printable name for each word: as given, else as fitted, else by number."""
    names = [printable(name) for name in (model_words(model) if feature_names is None else feature_names)]
    if len(names) != model.components_.shape[1]:
        raise InputError(
            f"The 'feature_names' parameter of {caller} must have one name for each of the "
            f"{model.components_.shape[1]} words. Got {len(names)} names."
        )
    return names


def printable(name: Any) -> str:
    """A name that cannot rearrange or break the page: no control characters, no change of direction, not too long."""
    text = "".join(REPLACEMENT if _disturbs(character) else character for character in str(name))
    if len(text) > LONGEST_NAME:
        text = text[: LONGEST_NAME - 1] + "…"
    return text if text.strip() else "(blank)"


def _disturbs(character: str) -> bool:
    return character in DIRECTION_CHANGES or unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")


def topics_of(
    model: Any, names: list[str], n_words: int = TOP_WORDS, reliability: Reliability | None = None
) -> list[Topic]:
    """The topics of a model with labels that people gave and how far to trust them.

    The most common come first; where the fit has tested its topics, those that the texts show most.
    """
    components, shares = model.components_, shares_of(model.doc_topic_prior_)
    labels = getattr(model, "topic_labels_", None) or [None] * len(components)
    mass = shares[:, None] * components
    usual = mass.sum(axis=0)
    posterior = mass / np.maximum(usual, np.finfo(float).tiny)
    topics = []
    evidence = getattr(model, "evidence_", None)
    for i, row in enumerate(components):
        shown = () if evidence is None else (float(evidence.deviations[i]), bool(evidence.seen[i]))
        trust = () if reliability is None else (reliability.low[i], reliability.high[i])
        topics.append(
            Topic(
                i,
                float(shares[i]),
                top_words(row, names, n_words, usual, *trust),
                _distinctive(row, posterior[i], names) if len(components) > 1 else (),
                None if labels[i] is None else printable(labels[i]),
                None if reliability is None else float(reliability.topics[i]),
                *(trust or (None, None)),
                *shown,
            )
        )
    return sorted(topics, key=lambda topic: (-(topic.deviations or 0.0), -topic.share, topic.index))


def top_words(topic: np.ndarray, names: list[str], n_words: int, *others: np.ndarray) -> tuple[Word, ...]:
    """The leading words; `others`: of each its probability in the text as a whole, and the ends of an interval."""
    order = np.argsort(-topic, kind="stable")[:n_words]
    return tuple(Word(names[j], *(float(values[j]) for values in (topic, *others))) for j in order)


def _distinctive(topic: np.ndarray, posterior: np.ndarray, names: list[str]) -> tuple[Word, ...]:
    """The words among the topic's leading ones that most surely belong to it alone."""
    leading = np.argsort(-topic, kind="stable")[:CANDIDATES]
    order = leading[np.argsort(-posterior[leading], kind="stable")][:DISTINCTIVE]
    return tuple(Word(names[j], float(posterior[j])) for j in order if posterior[j] > LIKELY)


def hellinger(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Distances between rows: 0 for equal topics, 1 for topics without a common word."""
    affinity = np.sqrt(first) @ np.sqrt(second).T
    distances: np.ndarray = np.sqrt(np.clip(1.0 - affinity, 0.0, 1.0))
    return distances


def topic_map(components: np.ndarray) -> TopicMap:
    """Classical multidimensional scaling of the Hellinger distances (Torgerson 1952)."""
    k = len(components)
    distances = hellinger(components, components)
    centring = np.eye(k) - 1.0 / k
    values, vectors = np.linalg.eigh(-0.5 * centring @ distances**2 @ centring)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    places = np.zeros((k, 2))
    axes = min(2, k)
    places[:, :axes] = vectors[:, :axes] * np.sqrt(values[:axes])
    largest = np.abs(places).argmax(axis=0)
    places *= np.where(places[largest, [0, 1]] < 0, -1.0, 1.0)  # one of the two mirror images of each axis
    apart = distances + 2.0 * np.tri(k)
    first, second = divmod(int(apart.argmin()), k)
    total = float(values.sum())
    shown = float(values[:2].sum()) / total if total > 0 else 1.0
    return TopicMap(places, shown, (first, second), float(distances[first, second]))

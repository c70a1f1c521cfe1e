"""The topics of a model, one object each: what a table, a data frame, an export or a notebook shows of them.

Everything here is a function of the fitted topics and prior, which are released values.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from private_topics.parameters import check_integer

LABEL_WORDS, LEADING, RELEVANCE = 3, 30, 0.3
"""Words of a label, out of the most probable ones; how much their probability counts beside their lift."""


@dataclass(frozen=True)
class TopicWord:
    """A word of a topic, with an interval for its probability where one is known."""

    word: str
    probability: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Topic:
    """One topic: its words, most probable first; how common it is; how surely it would come out again, if known.

    `number` is its row in `components_`, from 0.
    """

    number: int
    label: str
    words: tuple[TopicWord, ...]
    share: float
    reliability: float | None = None

    def __str__(self) -> str:
        return f"{self.label} ({self.share:.1%}): {' '.join(word.word for word in self.words)}"


def topics_of(model: Any, n: int = 10) -> tuple[Topic, ...]:
    """The topics of a fitted model with their `n` most probable words, in the order of its rows.

    Intervals and reliabilities join here.
    """
    check_integer(n, "n", "topics_of", 1)
    names, components, shares = word_names(model), model.components_, shares_of(model)
    return tuple(
        Topic(number, label, _top_words(row, names, n), float(share))
        for number, (label, row, share) in enumerate(zip(labels_of(model), components, shares, strict=True))
    )


def labels_of(model: Any) -> list[str]:
    """A label for each topic: the words that are probable in it and more so than elsewhere. No two are equal."""
    names, components = word_names(model), model.components_
    marginal = np.maximum(shares_of(model) @ components, np.finfo(float).tiny)
    labels = []
    for row in components:
        leading = np.argsort(-row, kind="stable")[:LEADING]
        leading = leading[row[leading] > 0]
        weight = np.log(row[leading])
        relevance = weight - (1.0 - RELEVANCE) * np.log(marginal[leading])
        chosen = leading[np.argsort(-relevance, kind="stable")[:LABEL_WORDS]]
        labels.append(", ".join(names[j] for j in chosen))
    return _distinct(labels)


def shares_of(model: Any) -> np.ndarray:
    """How common each topic is: its part of the Dirichlet prior."""
    shares: np.ndarray = model.doc_topic_prior_ / model.doc_topic_prior_.sum()
    return shares


def word_names(model: Any) -> list[str]:
    """The words of the columns; their numbers where the model was fitted to counts without names."""
    names = getattr(model, "feature_names_in_", None)
    return [f"word{j}" for j in range(model.components_.shape[1])] if names is None else list(map(str, names))


def _top_words(row: np.ndarray, names: list[str], n: int) -> tuple[TopicWord, ...]:
    order = np.argsort(-row, kind="stable")[:n]
    return tuple(TopicWord(names[j], float(row[j])) for j in order)


def _distinct(labels: list[str]) -> list[str]:
    """The labels, those that occur again with a number."""
    seen: Counter[str] = Counter()
    found = []
    for label in labels:
        seen[label] += 1
        found.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return found

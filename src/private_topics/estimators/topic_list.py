"""The topics of a model, one object each: what a table, a data frame, an export or a notebook shows of them.

Everything here is a function of the fitted topics and prior, which are released values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from private_topics.evaluation.labels import labels_of, word_names
from private_topics.evaluation.relevance import shares_of
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

    `number` is its row in `components_`, from 0. `evidence` is in standard deviations of the noise, `seen` whether
    it is beyond doubt that the texts show the topic; both None where the fit was not asked to test its topics.
    """

    number: int
    label: str
    words: tuple[TopicWord, ...]
    share: float
    reliability: float | None = None
    evidence: float | None = None
    seen: bool | None = None

    def __str__(self) -> str:
        return f"{self.label} ({self.share:.1%}): {' '.join(word.word for word in self.words)}"


def topics_of(model: Any, n: int = 10, reliability: Any = None) -> tuple[Topic, ...]:
    """The topics of a fitted model with their `n` most probable words, in the order of its rows.

    `reliability`: what `private_topics.reliability(model)` found, for intervals and how surely a topic comes again.
    """
    check_is_fitted(model)
    check_integer(n, "n", "topics_of", 1)
    names, components, shares = word_names(model), model.components_, shares_of(model.doc_topic_prior_)
    if reliability is not None:
        reliability.require(model, "topics_of")
    evidence = getattr(model, "evidence_", None)
    return tuple(
        Topic(
            number,
            label,
            tuple(_word(number, j, names, components, reliability) for j in np.argsort(-row, kind="stable")[:n]),
            float(share),
            None if reliability is None else float(reliability.topics[number]),
            None if evidence is None else float(evidence.deviations[number]),
            None if evidence is None else bool(evidence.seen[number]),
        )
        for number, (label, row, share) in enumerate(zip(labels_of(model), components, shares, strict=True))
    )


def _word(topic: int, j: int, names: list[str], components: np.ndarray, reliability: Any) -> TopicWord:
    between = () if reliability is None else (float(reliability.low[topic, j]), float(reliability.high[topic, j]))
    return TopicWord(names[j], float(components[topic, j]), *between)

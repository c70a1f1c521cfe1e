"""The numbers behind the controls of a report: leading words of each topic, for its script to rank, find and compare.

All of them are released values, as on the rest of the page. They stand in a block of JSON that is never run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from private_topics.evaluation.relevance import shares_of
from private_topics.reports.topics import Topic, hellinger

LEADING = 60
"""Words of a topic that can be ranked: noise decides what is most distinctive among the rarest."""
FIGURES = 8


def explorer_data(model: Any, names: list[str], topics: list[Topic]) -> Markup:
    """Words with their probability in the text as a whole, topics with those of their leading words."""
    components = np.asarray(model.components_)
    usual = shares_of(model.doc_topic_prior_) @ components
    leading = {topic.index: np.argsort(-components[topic.index], kind="stable")[:LEADING] for topic in topics}
    listed = sorted({int(j) for columns in leading.values() for j in columns})
    number = {column: i for i, column in enumerate(listed)}
    data = {
        "words": [names[j] for j in listed],
        "usual": [_short(usual[j]) for j in listed],
        "longest": _short(max(topic.words[0].weight for topic in topics)),
        "topics": [
            {
                "index": topic.index,
                "name": topic.name,
                "label": topic.label,
                "share": topic.share,
                "reliability": topic.reliability,
                **({} if topic.deviations is None else {"deviations": _short(topic.deviations)}),
                "words": [
                    [number[int(j)], *(_short(values[j]) for values in _known(topic, components[topic.index]))]
                    for j in leading[topic.index]
                ],
            }
            for topic in topics
        ],
        "distances": [[round(float(value), 2) for value in row] for row in hellinger(components, components)],
    }
    return htmlsafe_json_dumps(data, separators=(",", ":"), ensure_ascii=True, sort_keys=False)


def _known(topic: Topic, probabilities: np.ndarray) -> list[np.ndarray]:
    """Of each word its probability and, where they are known, the ends of its interval."""
    return [values for values in (probabilities, topic.low, topic.high) if values is not None]


def _short(value: float) -> float:
    return float(f"{float(value):.{FIGURES}g}")

"""How far to trust the topics, as a page or a terminal shows it: numbers of `Reliability` and plain words."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from private_topics.audit.reliability import RELIABLE, Reliability


class SureWord(NamedTuple):
    """One of a topic's first words: its probability, that in nine of ten fits, and how often it is a first one."""

    name: str
    probability: float
    low: float
    high: float
    top_share: float

    @property
    def sure(self) -> bool:
        return self.top_share >= RELIABLE


class TrustedTopic(NamedTuple):
    """A topic, the share of fits in which it is expected to come out again, and its first words."""

    topic: int
    reliability: float
    words: tuple[SureWord, ...]

    @property
    def reliable(self) -> bool:
        return self.reliability >= RELIABLE


def trusted_topics(
    model: Any, found: Reliability, names: list[str], caller: str, order: np.ndarray | None = None
) -> list[TrustedTopic]:
    """The topics of a model, as it numbers them; `names` and `order` of all its words, by probability if None."""
    components = model.components_
    found.require(model, caller)
    order = np.argsort(-components, axis=1, kind="stable") if order is None else order
    return [
        TrustedTopic(
            i,
            float(found.topics[i]),
            tuple(
                SureWord(names[j], *(float(a[i, j]) for a in (components, found.low, found.high, found.top_share)))
                for j in row
            ),
        )
        for i, row in enumerate(order[:, : found.n_words])
    ]


def directions_above(model: Any) -> int:
    """Directions above the noise of a private model that counts them."""
    return int(model.supported_components_ if model.spectrum_ is None else model.spectrum_.above)


def directions_explained(asked: int, used: int, supported: int, above: int) -> str:
    """Why there are as many topics as there are, in plain words.

    `above` directions stand above the noise. They tell `supported` topics apart: as many, or one more where they are
    directions around the mean.
    """
    seen = f"{above or 'no'} {'directions' if above > 1 else 'direction'}"
    seen += " around their mean" if supported > above else ""
    if used > max(supported, 1):
        return (
            f"Documents differ visibly in {seen}, fewer than there are topics: the others are told apart by what is "
            "publicly known of words, and fresh noise may well draw them otherwise."
        )
    if used == asked:
        return f"Documents differ visibly in {seen}: enough for the topics asked for."
    if used == 1 and supported <= 1:
        return f"Documents differ visibly in {seen}: too few for topics, so there is one, the word frequencies."
    if used == supported:
        return f"Documents differ visibly in {seen}. Topics need one each, so the model has no more."
    return (
        f"Documents differ visibly in {seen}, but that is the easy part: to say which words a topic has takes more "
        f"budget, and here it suffices for {used} {'topic' if used == 1 else 'topics'}. The words of more would be "
        "noise. More documents or a larger epsilon give more topics."
    )

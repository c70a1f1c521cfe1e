"""A number between zero and one for every unit: how well public topics explain it, whether it has words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from private_topics.inference.document_likelihood import mean_log_likelihoods
from private_topics.sums.parts import Part
from private_topics.sums.quantised import SAFETY, truncated
from private_topics.sums.unit_sums import AddedUp, Totals


@dataclass(frozen=True)
class ClippedLikelihoods(AddedUp):
    """`Σ max(0, 1 + L/floor)`, `L` the mean log-likelihood of a document's words.

    A document without words adds nothing, and neither does one whose `L` is not a finite number.
    """

    word_topics: np.ndarray
    prior: np.ndarray
    floor: float
    step: float

    def zeros(self) -> Totals:
        return (np.zeros(1, np.int64),)

    def add(self, part: Part, totals: Totals) -> None:
        found = mean_log_likelihoods(part.on_all_words(), self.word_topics, self.prior)
        scored = (part.lengths > 0) & np.isfinite(found)
        scores = np.clip(1.0 + np.where(scored, found, -self.floor) / self.floor, 0.0, 1.0)
        totals[0][0] += truncated(SAFETY * part.share * scores, self.step).sum()


@dataclass(frozen=True)
class WithWords(AddedUp):
    """The number of documents that have a word, a user's counted as the part of them that have one."""

    step: float

    def zeros(self) -> Totals:
        return (np.zeros(1, np.int64),)

    def add(self, part: Part, totals: Totals) -> None:
        totals[0][0] += truncated(SAFETY * part.share * (part.lengths > 0), self.step).sum()

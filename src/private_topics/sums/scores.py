"""A number between zero and one for every unit: how well public topics explain it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from private_topics.inference.document_likelihood import mean_log_likelihoods
from private_topics.sums.parts import Part
from private_topics.sums.quantised import SAFETY, truncated
from private_topics.sums.unit_sums import AddedUp, Totals


@dataclass(frozen=True)
class ClippedLikelihoods(AddedUp):
    """`Σ max(0, 1 + L/floor)`, `L` the mean log-likelihood of a document's words; nothing for an empty document."""

    word_topics: np.ndarray
    prior: np.ndarray
    floor: float
    step: float

    def zeros(self) -> Totals:
        return (np.zeros(1, np.int64),)

    def add(self, part: Part, totals: Totals) -> None:
        found = mean_log_likelihoods(part.on_all_words(), self.word_topics, self.prior)
        scores = np.where(part.lengths > 0, np.clip(1.0 + found / self.floor, 0.0, 1.0), 0.0)
        totals[0][0] += truncated(SAFETY * part.share * scores, self.step).sum()

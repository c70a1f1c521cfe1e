"""Figure 2: distance to the true topics against composite epsilon, for three corpora drawn from LDA.

The paper prints neither the number of words nor the definition of its error. `WORDS`: its text has N = 100,000 exceed
d², and figure 3b has 300 topics, so d is 300 to 316, if it is one number. `paper_error`: figure 3a has k = 3, and the
plotted plateau of 1.73 = √3 is the error of zeros in place of three topics of unit length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from private_topics.corpus.made_up.synthetic import make_lda_corpus
from private_topics.evaluation import match_topics, topic_error_l2
from private_topics.paper.experiments.methods import (
    NOT_PRIVATE,
    PRIVATE,
    SCALED,
    VARIATIONAL,
    Attempt,
    Task,
    attempt,
)
from private_topics.paper.experiments.rows import Row

WORDS, TOPICS, DELTA = 300, 3, 1e-7
EPSILONS = (0.1, 1.0, 2.0, 3.0)  # the paper has 0 for the first, where its noise is infinite
DRAWS = 3
LARGE_CORPUS: dict[str, Any] = {"draws": 1, "variational_epsilons": (1.0, 3.0)}
LARGE_ALPHA = 10.0
NO_PARTNER_SQUARED = 2.0  # a topic of equal length that shares no word


@dataclass(frozen=True)
class Setting:
    """A corpus drawn from LDA, and what is measured on it."""

    alpha0: float
    documents: int
    words: int = WORDS
    topics: int = TOPICS
    epsilons: tuple[float, ...] = EPSILONS
    variational_epsilons: tuple[float, ...] = EPSILONS
    draws: int = DRAWS

    @property
    def methods(self) -> tuple[str, ...]:
        """The scaled moments, which explain figure 2c, are of interest where the scale is large."""
        return (*PRIVATE, *(SCALED if self.alpha0 > LARGE_ALPHA else ()), *NOT_PRIVATE)

    def drawn(self, seed: int) -> tuple[Task, np.ndarray]:
        """The corpus as a task, and its true topics."""
        size = self.documents, self.words, self.topics
        counts, truth, _ = make_lda_corpus(*size, alpha0=self.alpha0, random_state=seed)
        return Task(counts, self.topics, self.alpha0, DELTA), truth


SETTINGS = {
    "figure-2a": Setting(0.1, 100_000, **LARGE_CORPUS),
    "figure-2b": Setting(1000.0, 1_000),
    "figure-2c": Setting(1000.0, 100_000, **LARGE_CORPUS),
}
SMALL_CORPUS: dict[str, Any] = {"words": 60, "draws": 1, "epsilons": (1.0, 3.0), "variational_epsilons": (3.0,)}
QUICK = {
    "figure-2a": Setting(0.1, 2_000, **SMALL_CORPUS),
    "figure-2b": Setting(1000.0, 1_000, **SMALL_CORPUS),
    "figure-2c": Setting(1000.0, 2_000, **SMALL_CORPUS),
}


def paper_error(estimate: Any, truth: Any) -> float:
    """Root of the sum over topics of `||estimate_i - truth_i||² / ||truth_i||²`, matched. Our reading of the paper.

    A true topic without a partner counts as one estimated by a topic of equal length that shares no word with it.
    """
    found, wanted = np.asarray(estimate), np.asarray(truth)
    match = match_topics(found, wanted)
    squares = np.full(len(wanted), NO_PARTNER_SQUARED)
    matched = match >= 0
    lengths = (wanted[matched] ** 2).sum(axis=1)
    squares[matched] = ((found[match[matched]] - wanted[matched]) ** 2).sum(axis=1) / lengths
    return float(np.sqrt(squares.sum()))


def measure(setting: Setting, seed: int) -> list[Row]:
    """One row for every method, epsilon and draw of the noise, all on one corpus."""
    task, truth = setting.drawn(seed)
    rows = []
    for method in setting.methods:
        for epsilon in _epsilons(method, setting):
            for draw in range(_draws(method, setting)):
                fitted = attempt(method, task, epsilon or 1.0, seed + draw)
                rows.append(_row(setting, method, epsilon, draw, fitted, truth))
    return rows


def _draws(method: str, setting: Setting) -> int:
    return 1 if method == VARIATIONAL or method in NOT_PRIVATE else setting.draws


def _epsilons(method: str, setting: Setting) -> Sequence[float | None]:
    """Variational inference takes longer than all others together, so it has fewer points on a large corpus."""
    if method in NOT_PRIVATE:
        return (None,)
    return setting.variational_epsilons if method == VARIATIONAL else setting.epsilons


def _row(setting: Setting, method: str, epsilon: float | None, draw: int, fitted: Attempt, truth: np.ndarray) -> Row:
    topics = fitted.topics
    return {
        "method": method,
        "epsilon": epsilon,
        "draw": draw,
        "status": fitted.status,
        "topics_used": None if topics is None else len(topics),
        "error": None if topics is None else paper_error(topics, truth),
        "error_l2": None if topics is None else topic_error_l2(topics, truth),
        "alpha0": setting.alpha0,
        "documents": setting.documents,
        "words": setting.words,
        "topics": setting.topics,
    }

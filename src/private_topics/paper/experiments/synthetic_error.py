"""Figure 2: distance to the true topics against composite epsilon, for corpora drawn from LDA, in two settings.

The paper prints neither the number of words nor the length of its documents.

- Text: N = 100,000 is said to exceed d², and figure 3b has 300 topics, so d is 300 to 316, if it is one number;
  documents of 100 words. Error: `paper_error`; zeros in place of three topics score √3 = 1.73, the plotted plateau.
- Authors: their public code has d = 10 words and documents of 100,000 to 200,000 words, an older notebook d = 50 and
  500 to 10,000. Error: the sum of L1 distances, `summed_l1`; random topics of that code score 1.7 there, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from private_topics.corpus.made_up.synthetic import make_lda_corpus
from private_topics.evaluation import match_topics, topic_error_l2
from private_topics.paper.experiments.losses import loss_of
from private_topics.paper.experiments.methods import (
    CODE,
    NOT_PRIVATE,
    ORACLE,
    PRINTED,
    PRIVATE,
    SCALED,
    UNSCALED,
    Attempt,
    attempt,
)
from private_topics.paper.experiments.oracle import grid
from private_topics.paper.experiments.readings import Task
from private_topics.paper.experiments.rows import MEASURED, REFUSED, Row
from private_topics.paper.experiments.running import rows_of_parts

WORDS, TOPICS, DELTA = 300, 3, 1e-7
EPSILONS = (0.1, 1.0, 2.0, 3.0)  # the paper has 0 for the first, where its noise is infinite
DRAWS = 5
LARGE_ALPHA = 10.0
NO_PARTNER_SQUARED = 2.0  # a topic of equal length that shares no word
NO_PARTNER_L1 = 2.0


@dataclass(frozen=True)
class Setting:
    """A corpus drawn from LDA, and what is measured on it; `lengths` (least, most) are those of the authors' code."""

    alpha0: float
    documents: int
    words: int = WORDS
    topics: int = TOPICS
    epsilons: tuple[float, ...] = EPSILONS
    draws: int = DRAWS
    lengths: tuple[int, int] | None = None

    @property
    def methods(self) -> tuple[str, ...]:
        """The authors' code exists in its own setting; scaled moments are of interest where the scale is large."""
        if self.lengths is not None:
            return (*PRINTED, *CODE, *UNSCALED, *ORACLE, *PRIVATE, *NOT_PRIVATE)
        return (*PRINTED, *ORACLE, *PRIVATE, *(SCALED if self.alpha0 > LARGE_ALPHA else ()), *NOT_PRIVATE)

    @lru_cache(maxsize=1)  # noqa: B019 - one corpus, for all methods of a draw
    def drawn(self, seed: int) -> tuple[Task, np.ndarray]:
        """The corpus as a task, and its true topics."""
        if self.lengths is not None:
            counts, truth = authors_corpus(self, seed)
        else:
            size = self.documents, self.words, self.topics
            counts, truth, _ = make_lda_corpus(*size, alpha0=self.alpha0, random_state=seed)
        return Task(counts, self.topics, self.alpha0, DELTA), truth


def authors_corpus(setting: Setting, seed: int) -> tuple[sp.csr_array, np.ndarray]:
    """Long documents over few words: topics and prior are uniform numbers, normalised; lengths are uniform."""
    assert setting.lengths is not None
    generator = np.random.default_rng(seed)
    topics = generator.random((setting.topics, setting.words))
    topics /= topics.sum(axis=1, keepdims=True)
    alpha = generator.random(setting.topics)
    weights = generator.dirichlet(setting.alpha0 * alpha / alpha.sum(), setting.documents)
    lengths = generator.integers(*setting.lengths, setting.documents)
    chances = weights @ topics
    counts = generator.multinomial(lengths, chances / chances.sum(axis=1, keepdims=True))
    return sp.csr_array(counts.astype(np.int32)), topics


SETTINGS = {
    "figure-2a": Setting(0.1, 100_000),
    "figure-2b": Setting(1000.0, 1_000),
    "figure-2c": Setting(1000.0, 100_000),
}
LONG: dict[str, Any] = {"words": 10, "lengths": (100_000, 200_000)}
AUTHORS = {
    "figure-2a-authors": Setting(0.1, 100_000, **LONG),
    "figure-2b-authors": Setting(1000.0, 1_000, **LONG),
    "figure-2c-authors": Setting(1000.0, 100_000, **LONG),
    "figure-2c-notebook": Setting(1000.0, 100_000, words=50, lengths=(500, 10_000)),
}
SMALL_CORPUS: dict[str, Any] = {"words": 60, "draws": 1, "epsilons": (1.0, 3.0)}
SMALL_LONG: dict[str, Any] = SMALL_CORPUS | {"words": 10, "lengths": (1_000, 2_000)}
QUICK = {
    "figure-2a": Setting(0.1, 2_000, **SMALL_CORPUS),
    "figure-2b": Setting(1000.0, 1_000, **SMALL_CORPUS),
    "figure-2c": Setting(1000.0, 2_000, **SMALL_CORPUS),
    "figure-2a-authors": Setting(0.1, 2_000, **SMALL_LONG),
    "figure-2b-authors": Setting(1000.0, 1_000, **SMALL_LONG),
    "figure-2c-authors": Setting(1000.0, 2_000, **SMALL_LONG),
    "figure-2c-notebook": Setting(1000.0, 2_000, **SMALL_LONG),
}


def error_key(name: str) -> str:
    """The column that a figure is judged by."""
    return "error_l1" if name in AUTHORS else "error"


Error = Callable[[Any, Any], float]

# -- errors ---------------------------------------------------------------------------------------------------------


def paper_error(estimate: Any, truth: Any) -> float:
    """Root of the sum over topics of `||estimate_i - truth_i||² / ||truth_i||²`, matched: App. B's error, relative.

    A true topic without a partner counts as one estimated by a topic of equal length that shares no word with it.
    """
    found, wanted = np.asarray(estimate), np.asarray(truth)
    match = match_topics(found, wanted)
    squares = np.full(len(wanted), NO_PARTNER_SQUARED)
    matched = match >= 0
    lengths = (wanted[matched] ** 2).sum(axis=1)
    squares[matched] = ((found[match[matched]] - wanted[matched]) ** 2).sum(axis=1) / lengths
    return float(np.sqrt(squares.sum()))


def summed_l1(estimate: Any, truth: Any) -> float:
    """The error of the authors' code: least sum of L1 distances of matched topics; 2 for one without a partner."""
    found, wanted = np.asarray(estimate), np.asarray(truth)
    distances = np.abs(found[:, None, :] - wanted[None, :, :]).sum(axis=2)
    chosen = linear_sum_assignment(distances)
    return float(distances[chosen].sum() + NO_PARTNER_L1 * (len(wanted) - len(chosen[0])))


def tiled(topics: np.ndarray, n_topics: int) -> np.ndarray:
    """Fewer topics than wanted, repeated until there are enough: an owner who asks for three and shows one thrice."""
    return topics[np.arange(max(n_topics, len(topics))) % len(topics)]


# -- measurements ---------------------------------------------------------------------------------------------------


def measure(setting: Setting, seed: int, methods: Sequence[str] | None = None, jobs: int = 1) -> list[Row]:
    """One row for every method, epsilon and draw; every draw has its own corpus."""
    chosen = setting.methods if methods is None else methods
    draws = range(seed, seed + setting.draws)
    parts = ((setting, method, draw - seed, draw) for draw in draws for method in chosen)
    return rows_of_parts(_method_rows, parts, jobs)


def _method_rows(setting: Setting, method: str, draw: int, seed: int) -> list[Row]:
    task, truth = setting.drawn(seed)
    error = paper_error if setting.lengths is None else summed_l1
    rows = []
    for epsilon in (None,) if method in NOT_PRIVATE else setting.epsilons:
        start = time.perf_counter()
        fitted = _fitted(method, task, epsilon or 1.0, seed, truth, error)
        seconds = time.perf_counter() - start
        rows.append(_row(setting, method, epsilon, draw, fitted, truth) | {"seconds": seconds})
    return rows


def _fitted(method: str, task: Task, epsilon: float, seed: int, truth: np.ndarray, error: Error) -> Attempt:
    if method not in ORACLE:
        return attempt(method, task, epsilon, seed)
    found = grid(task, int(method.split()[1]), epsilon, seed)
    if not found:
        return Attempt(REFUSED, None)
    return Attempt(MEASURED, min(found, key=lambda topics: error(topics, truth)))


def _row(setting: Setting, method: str, epsilon: float | None, draw: int, fitted: Attempt, truth: np.ndarray) -> Row:
    topics = fitted.topics
    errors = (paper_error, topic_error_l2, summed_l1)
    found = [None if topics is None else error(topics, truth) for error in errors]
    full = None if topics is None else tiled(topics, setting.topics)
    row = {
        "method": method,
        "epsilon": epsilon,
        "draw": draw,
        "status": fitted.status,
        "topics_used": None if topics is None else len(topics),
        "error": found[0],
        "error_l2": found[1],
        "error_l1": found[2],
        "error_tiled": None if full is None else paper_error(full, truth),
        "error_l1_tiled": None if full is None else summed_l1(full, truth),
        "alpha0": setting.alpha0,
        "documents": setting.documents,
        "words": setting.words,
        "topics": setting.topics,
    }
    return row | {"true_epsilon": loss_of(row, DELTA)}

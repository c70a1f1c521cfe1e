"""What we promise of the sequential release, held against the measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from private_topics.paper.experiments.methods import PROVED, PUBLISHED, SEQUENTIAL, VARIATIONAL
from private_topics.paper.experiments.rows import Row, best, markdown_table, median

THIRD = 1.0 / 3.0
PROMISED_EPSILONS = (1.0, 3.0)
WIKIPEDIA_TOPICS = 25


@dataclass(frozen=True)
class Promise:
    """One comparison: `ours` should be at most `factor` times `rival`; None for a rival that refused throughout."""

    setting: str
    epsilon: float
    rival_name: str
    factor: float
    ours: float | None
    rival: float | None

    @property
    def kept(self) -> bool:
        """At most a third, or strictly less where no factor was promised."""
        if self.ours is None or self.rival is None:
            return self.ours is not None
        return self.ours <= self.factor * self.rival if self.factor < 1.0 else self.ours < self.rival


def promises(rows_of: Mapping[str, Sequence[Row]], error: str = "error") -> list[Promise]:
    """All comparisons for which there are rows; `error` is "error" or "error_l2"."""
    found: list[Promise] = []
    for name in ("figure-2a", "figure-2b", "figure-2c"):
        if name in rows_of:
            found += _compared(name, rows_of[name], error, THIRD)
    if "figure-4" in rows_of:
        rows = [row for row in rows_of["figure-4"] if row["topics"] == WIKIPEDIA_TOPICS]
        if rows:
            found += _compared("figure-4", rows, "perplexity", 1.0)
    return found


def _compared(name: str, rows: Sequence[Row], key: str, factor: float) -> list[Promise]:
    found = []
    for epsilon in PROMISED_EPSILONS:
        ours = median(rows, key, method=SEQUENTIAL, epsilon=epsilon)
        for methods, word in ((PUBLISHED, "best as published"), (PROVED, "best proved by us")):
            rival = best(rows, key, methods, epsilon=epsilon)
            label = word if rival is None else f"{word}: {rival[0]}"
            found.append(Promise(name, epsilon, label, factor, ours, None if rival is None else rival[1]))
        rival_value = median(rows, key, method=VARIATIONAL, epsilon=epsilon)
        found.append(Promise(name, epsilon, "vi", 1.0, ours, rival_value))
    return found


def promise_table(found: Sequence[Promise]) -> str:
    return markdown_table(
        ("setting", "epsilon", "rival", "rival's figure", "sequential", "asked for", "kept"),
        [
            (
                promise.setting,
                f"{promise.epsilon:g}",
                promise.rival_name,
                "refused" if promise.rival is None else f"{promise.rival:.4g}",
                "-" if promise.ours is None else f"{promise.ours:.4g}",
                "at most a third" if promise.factor < 1.0 else "less",
                "yes" if promise.kept else "**no**",
            )
            for promise in found
        ],
    )

"""`ClassShares`: how much of each class every topic takes up, with intervals, as a table for people and machines.

It holds released values, what follows from them, and public settings.
"""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from private_topics.inference.class_shares import COVERAGE, Estimates, estimates
from private_topics.privacy.statement import PrivacyStatement

TOO_FEW = "too few to say"


@dataclass(frozen=True, eq=False)
class ClassShares:
    """Topic shares of public classes.

    Attributes
    ----------
    classes : the public list, in its order.
    words : the most probable words of each topic.
    labels : the label of each topic, as everywhere else.
    released : the noisy sums, classes × topics: of topic proportions, so a row adds up to the size of its class.
    sigma : the standard deviation of the noise on each of them.
    privacy : `PrivacyStatement` of this release.
    by : the field that held the class; None where labels were given.
    shares, low, high : classes × topics, the share of each topic and the ends of its interval; NaN for a class that
        is too small to say.
    sizes, sizes_low, sizes_high : the units of each class with a word of the vocabulary, noisy; a user with
        documents in several classes counts in parts.
    enough : whether a class is large enough to tell its shares from the noise.
    coverage : the probability with which an interval holds what would have been computed without noise.
    """

    classes: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    labels: tuple[str, ...]
    released: np.ndarray
    sigma: float
    privacy: PrivacyStatement
    by: str | None = None
    coverage: float = field(default=COVERAGE)

    @cached_property
    def _estimates(self) -> Estimates:
        return estimates(self.released, self.sigma, self.coverage)

    def __getattr__(self, name: str) -> Any:
        if name in Estimates.__dataclass_fields__:
            return getattr(self._estimates, name)
        raise AttributeError(f"ClassShares has no attribute {name!r}.")

    def rows(self) -> list[list[str]]:
        """Class, size and a cell for each topic, as text; no cells for a class that is too small to say."""
        found, rows = self._estimates, []
        for row, name in enumerate(self.classes):
            size = f"{found.sizes[row]:,.0f} ({found.sizes_low[row]:,.0f}–{found.sizes_high[row]:,.0f})"
            cells = zip(found.shares[row], found.low[row], found.high[row], strict=True)
            shown = [f"{100 * share:.1f}% ({100 * low:.1f}–{100 * high:.1f})" for share, low, high in cells]
            rows.append([name, size, *(shown if found.enough[row] else [])])
        return rows

    def to_dict(self) -> dict[str, Any]:
        """For machines; None stands where a class is too small to say."""
        found = self._estimates
        classes = [
            {
                "class": name,
                "size": float(found.sizes[row]),
                "size_interval": [float(found.sizes_low[row]), float(found.sizes_high[row])],
                "enough": bool(found.enough[row]),
                "shares": _numbers(found.shares[row]),
                "low": _numbers(found.low[row]),
                "high": _numbers(found.high[row]),
                "released": _numbers(self.released[row]),
            }
            for row, name in enumerate(self.classes)
        ]
        return {
            "by": self.by,
            "coverage": self.coverage,
            "sigma": self.sigma,
            "topics": [
                {"topic": index, "label": label, "words": list(words)}
                for index, (label, words) in enumerate(zip(self.labels, self.words, strict=True))
            ],
            "classes": classes,
            "privacy": self.privacy.to_dict(),
        }

    def to_json(self) -> str:
        """The text of a JSON file, whose SHA-256 a ledger notes."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def to_csv(self) -> str:
        """A line for each class and topic; shares are left empty for a class that is too small to say."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["class", "size", "size_low", "size_high", "topic", "label", "words", "share", "low", "high"])
        found = self._estimates
        for row, name in enumerate(self.classes):
            sizes = [f"{value:.1f}" for value in (found.sizes[row], found.sizes_low[row], found.sizes_high[row])]
            for topic, (label, words) in enumerate(zip(self.labels, self.words, strict=True)):
                shares = found.shares[row, topic], found.low[row, topic], found.high[row, topic]
                shown = ["" if math.isnan(value) else f"{value:.5f}" for value in shares]
                writer.writerow([name, *sizes, topic, label, " ".join(words), *shown])
        return file.getvalue()


def _numbers(values: np.ndarray) -> list[float] | None:
    return None if np.isnan(values).any() else [float(value) for value in values]

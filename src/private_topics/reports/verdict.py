"""What a reader may rely on, in one line: proved, not proved, not private, or no guarantee at all."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from private_topics.privacy.statement import PrivacyStatement


@dataclass(frozen=True)
class PrivacyVerdict:
    """`kind` is "private", or what is wrong: "unproved", "seeded" or "none"."""

    kind: str
    headline: str
    detail: str

    @property
    def private(self) -> bool:
        return self.kind == "private"

    @property
    def stamp(self) -> str:
        """A word to print across every page of a report that certifies nothing."""
        return {"private": "", "unproved": "NOT PROVED"}.get(self.kind, "NOT PRIVATE")


def statement_of_model(model: Any) -> PrivacyStatement | None:
    """The privacy statement of a fitted model; None for one that has none."""
    statement = getattr(model, "privacy_", None)
    return statement if isinstance(statement, PrivacyStatement) else None


def verdict_of(statement: PrivacyStatement | None) -> PrivacyVerdict:
    if statement is None:
        return PrivacyVerdict(
            "none",
            "NOT PRIVATE: no privacy guarantee",
            "This model was learnt without noise. Its topics may reveal what single documents say. "
            "Do not publish it if the documents are sensitive.",
        )
    guarantee = f"({statement.epsilon:g}, {statement.delta:g})"
    if not statement.private:
        return PrivacyVerdict(
            "seeded",
            "NOT PRIVATE: the noise comes from a known seed",
            "Anyone who knows the seed can remove the noise. This model is for tests. "
            "Fit again without noise_seed before anything is published.",
        )
    if not statement.proved:
        return PrivacyVerdict(
            "unproved",
            f"NOT PROVED: aims at {guarantee}-differential privacy",
            "The published calibration that this model uses does not give the guarantee it aims at. "
            "Treat the model as not private.",
        )
    return PrivacyVerdict(
        "private",
        f"{guarantee}-differentially private · unit: one {statement.unit} · proved",
        f"Holds {statement.neighbours}, for all {statement.units}.",
    )


def best_guess(epsilon: float, delta: float) -> float:
    """How often, at most, one can tell from the model which of two equally likely units was in the corpus.

    By (epsilon, delta) for an event and its complement, P(A) - Q(A) is at most t with (1 + e^epsilon) t =
    e^epsilon - 1 + 2 delta; the best test between equally likely P and Q is right with probability (1 + t)/2.
    """
    odds = math.exp(-epsilon)
    return min(1.0, (1.0 + delta * odds) / (1.0 + odds))

"""What a reader may rely on, in one line: proved, not proved, not private, or no guarantee at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from private_topics.privacy.statement import PrivacyStatement
from private_topics.privacy.strength import USUAL, VERY_WEAK, WEAK

HEADLINES = {USUAL: "", WEAK: "WEAK: ", VERY_WEAK: "NEXT TO NO PROTECTION: "}


@dataclass(frozen=True)
class PrivacyVerdict:
    """`kind` is "private", or what is wrong: "unproved", "seeded" or "none"; `level`: what a private one is worth."""

    kind: str
    headline: str
    detail: str
    level: str = VERY_WEAK

    @property
    def private(self) -> bool:
        return self.kind == "private"

    @property
    def tone(self) -> str:
        """How a page shows it: a class of the style sheet, empty where nothing is wrong."""
        return {USUAL: "", WEAK: "caution"}.get(self.level, "alarm")

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
    strength = statement.strength
    holds = f"Holds {statement.neighbours}, for all {statement.units}."
    return PrivacyVerdict(
        "private",
        f"{HEADLINES[strength.level]}{guarantee}-differentially private · unit: one {statement.unit} · proved",
        f"{holds} {strength.risk} {strength.handling}".strip(),
        strength.level,
    )

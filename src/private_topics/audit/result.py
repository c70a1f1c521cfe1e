"""What an audit found: plain numbers and verdicts, ready for a table, a page or JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from private_topics.audit.neighbours import Base

SETTINGS = ("n_components", "epsilon", "delta", "alpha0", "configuration", "refine_steps", "random_state")


@dataclass(frozen=True)
class ReleaseAudit:
    """One release: distance of neighbours, distinguishing game, noise. mu and epsilon are for one unit."""

    name: str
    sensitivity: float
    attained: float
    pair: tuple[str, str]
    within: bool
    copies: int
    mu: float
    mu_bound: float
    epsilon: float
    epsilon_bound: float
    noise: float
    noise_draws: int
    noise_as_recorded: bool

    @property
    def passed(self) -> bool:
        return self.within and self.mu_bound <= self.mu and self.noise_as_recorded


@dataclass(frozen=True)
class WholeAudit:
    """An attack on more than one release: on all of them, on the final model, on many canaries of one run."""

    name: str
    mu: float
    mu_bound: float
    epsilon: float
    epsilon_bound: float
    copies: int
    trials: int
    detail: str

    @property
    def passed(self) -> bool:
        return self.mu_bound <= self.mu


@dataclass(frozen=True)
class AuditResult:
    """The whole audit. `trouble`: what moved besides the aggregates when a neighbour was replayed."""

    settings: dict[str, Any]
    statement: dict[str, Any]
    confidence: float
    neighbours: tuple[str, ...]
    trouble: tuple[str, ...]
    releases: tuple[ReleaseAudit, ...]
    whole: tuple[WholeAudit, ...]

    @property
    def parts(self) -> list[ReleaseAudit | WholeAudit]:
        return [*self.releases, *self.whole]

    @property
    def passed(self) -> bool:
        return not self.trouble and all(part.passed for part in self.parts)

    @property
    def exceeded(self) -> tuple[str, ...]:
        """The games whose lower bound is above the claim."""
        return tuple(part.name for part in self.parts if part.mu_bound > part.mu)

    def to_dict(self) -> dict[str, Any]:
        parts = {
            name: [asdict(part) | {"passed": part.passed} for part in getattr(self, name)]
            for name in ("releases", "whole")
        }
        plain = {name: getattr(self, name) for name in ("settings", "statement", "confidence")}
        lists = {"neighbours": list(self.neighbours), "trouble": list(self.trouble)}
        return {**plain, **lists, **parts, "passed": self.passed}


def public_settings(settings: dict[str, Any], base: Base, trials: int, fits: int) -> dict[str, Any]:
    """Settings of the fit and of the audit, and the size of the corpus."""
    split = settings["budget_split"]
    found = {name: settings[name] for name in SETTINGS}
    found |= {"budget_split": None if split is None else split.as_dict(), "trials": trials, "fits": fits}
    found |= {"seeded": settings["noise_seed"] is not None, "unit": "document" if base.unit is None else "user"}
    return found | {"n_units": base.n_units, "n_documents": int(base.counts.shape[0]), "n_words": base.n_words}

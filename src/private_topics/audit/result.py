"""What an audit found: plain numbers and verdicts, ready for a table, a page or JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from private_topics.audit.lonely import LonelyWords
from private_topics.audit.neighbours import Base
from private_topics.audit.recording import Fitted
from private_topics.fits.private import known_digests
from private_topics.privacy.neighbours import REPLACE
from private_topics.releases.moments import UNIGRAM

SETTINGS = ("n_components", "epsilon", "delta", "alpha0", "configuration", "refine_steps", "neighbours",
            "random_state")  # fmt: skip


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
    lonely: LonelyWords | None = None
    """Of a private vocabulary: whether the words that one unit alone has stay hidden."""

    @property
    def passed(self) -> bool:
        hidden = self.lonely is None or self.lonely.passed
        return self.within and self.mu_bound <= self.mu and self.noise_as_recorded and hidden


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
    """The whole audit. `trouble`: what moved apart from the aggregates when a neighbour was replayed."""

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


def public_settings(settings: dict[str, Any], base: Base, fitted: Fitted, trials: int, fits: int) -> dict[str, Any]:
    """Settings of the fit and of the audit, and the size of the corpus."""
    split = settings["budget_split"]
    found = {name: settings[name] for name in SETTINGS}
    found |= {"budget_split": None if split is None else split.as_dict(), "trials": trials, "fits": fits}
    found |= {"seeded": settings["noise_seed"] is not None, "unit": "document" if base.unit is None else "user"}
    found |= {"knowledge": "none" if fitted.knowledge is None else fitted.knowledge.name}
    return found | {"n_units": base.n_units, "n_documents": int(base.counts.shape[0]), "n_words": len(fitted.columns)}


SAME_SETTINGS = ("epsilon", "delta", "configuration", "sampler")
SAME_NOISE = 1e-6


def coverage(result: AuditResult, model: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that the page states; `complete` where the audit attacked all that the model's statement lists."""
    audited = result.statement
    attacked = [release.name for release in result.releases]
    claimed = [str(release["name"]) for release in model.get("releases", ())]
    found: dict[str, Any] = {
        name: {"model": model.get(name), "audit": audited.get(name)} for name in ("unit", "n_units")
    }
    found["n_words"] = {"model": _words(model), "audit": result.settings.get("n_words")}
    found["releases"] = {"model": len(claimed), "audit": len(attacked)}
    found["not_attacked"] = [name for name in claimed if name not in attacked]
    found["not_in_model"] = [name for name in attacked if name not in claimed]
    found["same_order"] = _among(claimed, attacked) == _among(attacked, claimed)
    found["other_settings"] = [name for name in SAME_SETTINGS if model.get(name) != audited.get(name)]
    found["knowledge"] = {
        name: known_digests(of.get("public", ())) for name, of in (("model", model), ("audit", audited))
    }
    if model.get("relation", REPLACE) != audited.get("relation", REPLACE):
        found["other_settings"].append("neighbours")
    found["noise"] = _noise(audited, model)
    found["same_noise"] = all(abs(ratio - 1.0) <= SAME_NOISE for ratio in found["noise"] or [])
    return found | {"complete": _complete(found)}


def _complete(found: Mapping[str, Any]) -> bool:
    unit = found["unit"]
    return bool(
        unit["model"] is not None
        and unit["model"] == unit["audit"]
        and found["releases"]["model"]
        and not found["not_attacked"]
        and not found["other_settings"]
        and found["knowledge"]["model"] == found["knowledge"]["audit"]
        and found["same_order"]
        and found["same_noise"]
    )


def _words(statement: Mapping[str, Any]) -> int | None:
    numbers = {release["name"]: int(release["coordinates"]) for release in statement.get("releases", ())}
    return numbers.get(UNIGRAM.name)


def _among(names: list[str], others: list[str]) -> list[str]:
    return [name for name in names if name in others]


def _noise(audited: Mapping[str, Any], model: Mapping[str, Any]) -> list[float] | None:
    """The least and the most noise of a common release, in units of its sensitivity, over the model's."""
    ours, theirs = (
        {str(one["name"]): one["sigma"] / one["sensitivity"] for one in statement.get("releases", ())}
        for statement in (audited, model)
    )
    ratios = [ours[name] / theirs[name] for name in ours if name in theirs]
    return [float(min(ratios)), float(max(ratios))] if ratios else None

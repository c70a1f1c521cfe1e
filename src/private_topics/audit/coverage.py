"""Which of a model's claims an audit attacked: its statement beside that of the audited fit.

A claim of a model is that of its releases for its unit. Where the audited fit replaced another unit, made other
releases or had other noise, that much of the model was not attacked, and the page says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from private_topics.audit.result import AuditResult
from private_topics.releases.unigram import UNIGRAM

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

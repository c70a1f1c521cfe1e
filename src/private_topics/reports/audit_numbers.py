"""The numbers of an audit as cells of tables and as bars: one number of decimals for all of epsilon and mu."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

FEWEST_DECIMALS, MOST_DECIMALS, FIGURES = 2, 6, 3
CLAIM_AT = 85.0
"""Where the claim stands in a bar, of its width; what is beyond has been refuted."""
HEADS = ("Release", "Distance / sensitivity", "ε claimed", "ε at least", "Noise / recorded", "Verdict")
WHOLE_HEADS = ("Attack", "ε claimed", "ε at least", "μ claimed", "μ at least", "Canaries", "Trials", "Verdict")

Number = Callable[[float], str]


def number_of(audit: dict[str, Any]) -> Number:
    """How epsilon and mu are written: decimals enough for three figures of the smallest claim, the same for all."""
    parts = [*audit["releases"], *audit["whole"]]
    claims = [claim for part in parts for claim in (part["epsilon"], part["mu"]) if claim > 0]
    decimals = max(FEWEST_DECIMALS, FIGURES - 1 - math.floor(math.log10(min(claims, default=1.0))))
    if decimals > MOST_DECIMALS or max(claims, default=1.0) >= 10.0 ** (2 * MOST_DECIMALS):
        return lambda value: f"{value:.{FIGURES - 1}e}"
    return lambda value: f"{value:,.{decimals}f}"


def release_cells(release: dict[str, Any], number: Number) -> tuple[str, ...]:
    return (
        release["name"],
        f"{release['attained']:.4f}",
        number(release["epsilon"]),
        number(release["epsilon_bound"]),
        f"{release['noise']:.4f}",
        verdict(release),
    )


def whole_cells(attack: dict[str, Any], number: Number) -> tuple[str, ...]:
    numbers = (attack[name] for name in ("epsilon", "epsilon_bound", "mu", "mu_bound"))
    counts = f"{attack['copies']:,}", f"{attack['trials']:,}"
    return (attack["name"], *map(number, numbers), *counts, verdict(attack))


def verdict(part: dict[str, Any]) -> str:
    """What failed, in a few words; "passed" where nothing did."""
    wrong = []
    if not part.get("within", True):
        wrong.append("beyond the sensitivity")
    if part["mu_bound"] > part["mu"]:
        wrong.append("bound above the claim")
    if not part.get("noise_as_recorded", True):
        wrong.append("noise not as recorded")
    return "FAILED: " + ", ".join(wrong) if wrong else "passed"


@dataclass(frozen=True)
class ClaimBar:
    """What an attack shows beside what is claimed: a picture for a text that says the same."""

    name: str
    text: str
    exceeded: bool
    picture: Markup


def claim_bar(part: dict[str, Any], number: Number) -> ClaimBar:
    """A bar as long as the part of the claimed epsilon that the attack could show, and a mark where the claim is."""
    exceeded = part["mu_bound"] > part["mu"]
    ratio = part["epsilon_bound"] / part["epsilon"] if part["epsilon"] > 0 else float(exceeded)
    width = min(max(CLAIM_AT * ratio, 0.0), 100.0)
    picture = Markup(
        '<svg class="claim{}" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true" focusable="false">'
        '<rect class="track" y="2" width="{}" height="8"/><rect class="value" y="2" width="{}" height="8"/>'
        '<rect class="mark" x="{}" width="0.5" height="12"/></svg>'
    ).format(" beyond" if exceeded else "", f"{CLAIM_AT:g}", f"{width:.2f}", f"{CLAIM_AT - 0.25:g}")
    text = f"{number(part['epsilon_bound'])} of {number(part['epsilon'])}"
    return ClaimBar(part["name"], text, exceeded, picture)

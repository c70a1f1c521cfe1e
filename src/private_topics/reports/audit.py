"""The section of a report on an audit, as HTML or Markdown, together with what its digest covers.

It is made from the sealed content of `private_topics.audit` alone, plain values, and states no other number. All
values of epsilon and mu have the same number of decimals.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from private_topics.audit.lonely import LonelyWords
from private_topics.audit.seal import BEGIN, END, SEAL, canonical, seal
from private_topics.errors import InputError
from private_topics.reports.audit_scope import Scope, headline, scope_of
from private_topics.reports.page import date_text, write_page
from private_topics.reports.sections import setting_text
from private_topics.whole_files import write_whole_text

CHECK = "private-topics audit --check FILE"
EXPLANATION = (
    "Distance / sensitivity: how far the farthest of all replayed neighbours move what enters the release, over the "
    "declared sensitivity; 1 is allowed. ε claimed is that of the release alone. ε at least: a lower confidence "
    "bound from a distinguishing game, by Clopper and Pearson on the two error rates, read as Gaussian differential "
    "privacy, which is what is claimed. Noise / recorded: the measured size of the noise, tested by chi-squared."
)
WEAK = (
    "The attacks on the final model and in one run are weak by nature, and a bound of 0 is common: a model shows "
    "less than the released values that it is made of, and fits and coins are few. They are there to find a path "
    "around the releases."
)
MEANING = (
    "The digest is computed over the canonical JSON below: result, settings, versions, privacy statements and which "
    "claims of a model were attacked.",
    "computes it again. There is no key: the digest shows that nothing was changed since it was noted, not who noted "
    "it. An audit can refute a guarantee; it cannot prove one.",
)
"""Before and after the command that checks it."""
FEWEST_DECIMALS, MOST_DECIMALS, FIGURES = 2, 6, 3
CLAIM_AT = 85.0
"""Where the claim stands in a bar, of its width; what is beyond has been refuted."""
HEADS = ("Release", "Distance / sensitivity", "ε claimed", "ε at least", "Noise / recorded", "Verdict")
WHOLE_HEADS = ("Attack", "ε claimed", "ε at least", "μ claimed", "μ at least", "Canaries", "Trials", "Verdict")

Number = Callable[[float], str]


def write_audit(
    content: dict[str, Any], path: str | os.PathLike[str], *, title: str = "Privacy audit", date: Any = None
) -> Path:
    """Write the sealed content of an audit as a page: HTML, or Markdown where the name ends in .md."""
    target = Path(path)
    if target.suffix.lower() in (".md", ".markdown"):
        write_whole_text(target, markdown(content, title, date_text(date, "write_audit")))
        return target
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError("The page of an audit must have a name that ends in .html or .md.")
    context = {"title": title, "date": date_text(date, "write_audit"), "audit": audit_context(content)}
    return write_page(target, "audit.html", context, [])


def audit_context(content: dict[str, Any]) -> dict[str, Any]:
    """What the template of the section shows."""
    audit, scope = content["audit"], scope_of(content)
    number = number_of(audit)
    return {
        "passed": audit["passed"],
        "scope": scope,
        "headline": headline(audit, scope),
        "confidence": f"{audit['confidence']:.6g}",
        "trouble": audit["trouble"],
        "releases": [_release_cells(release, number) for release in audit["releases"]],
        "whole": [_whole_cells(attack, number) for attack in audit["whole"]],
        "bars": [[claim_bar(part, number) for part in audit[kind]] for kind in ("releases", "whole")],
        "heads": HEADS,
        "whole_heads": WHOLE_HEADS,
        "settings": _settings(audit["settings"]),
        "versions": sorted(content["versions"].items()),
        "neighbours": audit["neighbours"],
        "explanation": EXPLANATION,
        "lonely": lonely_text(audit["releases"]),
        "weak": WEAK,
        "meaning": MEANING,
        "check": CHECK,
        "digest": seal(content),
        "seal": f"{SEAL} {seal(content)}",
        "sealed": f"{BEGIN}\n{canonical(content)}\n{END}",
    }


def markdown(content: dict[str, Any], title: str, date: str) -> str:
    shown = audit_context(content)
    scope: Scope = shown["scope"]
    lines = [f"# {title}", "", f"{date}. **{shown['headline']}** (confidence {shown['confidence']}).", ""]
    lines += [f"- FAILED: {trouble}" for trouble in shown["trouble"]]
    lines += [f"- **{gap}**" for gap in scope.gaps or []]
    lines += [""] * bool(shown["trouble"] or scope.gaps) + [" ".join([scope.lead, *scope.sentences]), ""]
    lines += [*_table(HEADS, shown["releases"]), "", EXPLANATION, ""]
    lines += [shown["lonely"], ""] if shown["lonely"] else []
    lines += [*_table(WHOLE_HEADS, shown["whole"]), "", WEAK, ""]
    lines += [*_table(("Setting", "Value"), [*shown["settings"], *shown["versions"]]), ""]
    lines += [shown["seal"], "", f"{MEANING[0]} `{CHECK}` {MEANING[1]}", "", "```text", shown["sealed"], "```", ""]
    return "\n".join(lines)


def _settings(settings: dict[str, Any]) -> list[tuple[str, str]]:
    named = {name: setting_text(value) for name, value in sorted(settings.items())}
    if named.get("budget_split") == "None":
        named["budget_split"] = "default"
    return list(named.items())


def _table(heads: tuple[str, ...], rows: list[Any]) -> list[str]:
    """Numbers, which stand between the first column and the last, to the right."""
    cells = [heads, ("---", *("---:",) * (len(heads) - 2), "---"), *rows]
    return ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in cells]


def number_of(audit: dict[str, Any]) -> Number:
    """How epsilon and mu are written: decimals enough for three figures of the smallest claim, the same for all."""
    parts = [*audit["releases"], *audit["whole"]]
    claims = [claim for part in parts for claim in (part["epsilon"], part["mu"]) if claim > 0]
    decimals = max(FEWEST_DECIMALS, FIGURES - 1 - math.floor(math.log10(min(claims, default=1.0))))
    if decimals > MOST_DECIMALS or max(claims, default=1.0) >= 10.0 ** (2 * MOST_DECIMALS):
        return lambda value: f"{value:.{FIGURES - 1}e}"
    return lambda value: f"{value:,.{decimals}f}"


def _release_cells(release: dict[str, Any], number: Number) -> tuple[str, ...]:
    return (
        release["name"],
        f"{release['attained']:.4f}",
        number(release["epsilon"]),
        number(release["epsilon_bound"]),
        f"{release['noise']:.4f}",
        _verdict(release),
    )


def lonely_text(releases: list[dict[str, Any]]) -> str | None:
    """What was found about words that one unit alone has; None where no release names words."""
    found = next((release["lonely"] for release in releases if release.get("lonely") is not None), None)
    if found is None:
        return None
    return (
        "Words that one unit alone has: among all neighbours, the private vocabulary names one of them with at most "
        f"{found['computed']:.4f} of the probability that it may; in releases that may name one with probability "
        f"{found['allowed']:g}, it did in at most {max(found['named']):,} of {found['trials']:,}."
    )


def _whole_cells(attack: dict[str, Any], number: Number) -> tuple[str, ...]:
    numbers = (attack[name] for name in ("epsilon", "epsilon_bound", "mu", "mu_bound"))
    counts = f"{attack['copies']:,}", f"{attack['trials']:,}"
    return (attack["name"], *map(number, numbers), *counts, _verdict(attack))


def _verdict(part: dict[str, Any]) -> str:
    """What failed, in short; "passed" where nothing did."""
    wrong = []
    if not part.get("within", True):
        wrong.append("beyond the sensitivity")
    if part["mu_bound"] > part["mu"]:
        wrong.append("bound above the claim")
    if not part.get("noise_as_recorded", True):
        wrong.append("noise not as recorded")
    if part.get("lonely") is not None and not LonelyWords(**part["lonely"]).passed:
        wrong.append("names words of one unit alone")
    return "FAILED: " + ", ".join(wrong) if wrong else "passed"


@dataclass(frozen=True)
class ClaimBar:
    """What an attack shows and what is claimed: a picture, with text that says the same."""

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

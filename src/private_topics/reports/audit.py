"""The section of a report on an audit, as HTML or Markdown, with what its digest covers beside it.

It is made of the sealed content of `private_topics.audit` alone, plain values, and states no number besides.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from private_topics.errors import InputError
from private_topics.reports.page import date_text, write_page
from private_topics.reports.sections import setting_text
from private_topics.whole_files import write_whole_text

BEGIN, END = "----- begin sealed audit -----", "----- end sealed audit -----"
SEAL = "Audit seal, SHA-256:"
HEADS = ("Release", "Distance / sensitivity", "ε claimed", "ε at least", "Noise / recorded", "Verdict")
WHOLE_HEADS = ("Attack", "ε claimed", "ε at least", "μ claimed", "μ at least", "Canaries", "Trials", "Verdict")
EXPLANATION = (
    "Distance / sensitivity: how far the farthest of all replayed neighbours move what enters the release, over the "
    "declared sensitivity; 1 is allowed. ε claimed is that of the release alone. ε at least: a lower confidence "
    "bound from a distinguishing game, by Clopper and Pearson on the two error rates, read as Gaussian differential "
    "privacy, which is what is claimed. Noise / recorded: the measured size of the noise, tested by chi-squared."
)
MEANING = (
    "The digest is computed over the canonical JSON below: result, settings, versions and privacy statements. "
    "`private-topics audit --check FILE` computes it again. There is no key: the digest shows that nothing was "
    "changed since it was noted, not who noted it. An audit can refute a guarantee; it cannot prove one."
)


def write_audit(
    content: dict[str, Any],
    path: str | os.PathLike[str],
    *,
    title: str = "Privacy audit",
    date: Any = None,
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
    audit = content["audit"]
    return {
        "passed": audit["passed"],
        "headline": headline(audit),
        "confidence": f"{audit['confidence']:.6g}",
        "trouble": audit["trouble"],
        "releases": [release_cells(release) for release in audit["releases"]],
        "whole": [whole_cells(attack) for attack in audit["whole"]],
        "heads": HEADS,
        "whole_heads": WHOLE_HEADS,
        "settings": [(name, setting_text(value)) for name, value in sorted(audit["settings"].items())],
        "versions": sorted(content["versions"].items()),
        "neighbours": audit["neighbours"],
        "explanation": EXPLANATION,
        "meaning": MEANING,
        "seal": f"{SEAL} {seal(content)}",
        "sealed": f"{BEGIN}\n{canonical(content)}\n{END}",
    }


def canonical(content: dict[str, Any]) -> str:
    """One spelling: sorted names, no spaces, ASCII, the shortest digits of every float."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def seal(content: dict[str, Any]) -> str:
    """The digest of the sealed content."""
    return hashlib.sha256(canonical(content).encode("ascii")).hexdigest()


def headline(audit: dict[str, Any]) -> str:
    if not audit["passed"]:
        return "The audit FAILED: at least one claim does not hold"
    return "The audit found nothing against the claims"


def release_cells(release: dict[str, Any]) -> tuple[str, ...]:
    return (
        release["name"],
        f"{release['attained']:.4f}",
        f"{release['epsilon']:.4g}",
        f"{release['epsilon_bound']:.4g}",
        f"{release['noise']:.4f}",
        verdict(release),
    )


def whole_cells(attack: dict[str, Any]) -> tuple[str, ...]:
    numbers = (attack[name] for name in ("epsilon", "epsilon_bound", "mu", "mu_bound"))
    counts = f"{attack['copies']:,}", f"{attack['trials']:,}"
    return (attack["name"], *(f"{number:.4g}" for number in numbers), *counts, verdict(attack))


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


def markdown(content: dict[str, Any], title: str, date: str) -> str:
    shown = audit_context(content)
    lines = [f"# {title}", "", f"{date}. **{shown['headline']}** (confidence {shown['confidence']}).", ""]
    lines += [f"- FAILED: {trouble}" for trouble in shown["trouble"]] + [""] * bool(shown["trouble"])
    lines += [*_table(HEADS, shown["releases"]), "", EXPLANATION, "", *_table(WHOLE_HEADS, shown["whole"]), ""]
    lines += [*_table(("Setting", "Value"), [*shown["settings"], *shown["versions"]]), ""]
    lines += [shown["seal"], "", MEANING, "", "```text", shown["sealed"], "```", ""]
    return "\n".join(lines)


def _table(heads: tuple[str, ...], rows: list[Any]) -> list[str]:
    cells = [heads, ("---",) * len(heads), *rows]
    return ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in cells]

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
from private_topics.reports.audit_numbers import HEADS, WHOLE_HEADS, claim_bar, number_of, release_cells, whole_cells
from private_topics.reports.audit_scope import Scope, headline, scope_of
from private_topics.reports.page import date_text, write_page
from private_topics.reports.sections import setting_text
from private_topics.whole_files import write_whole_text

BEGIN, END = "----- begin sealed audit -----", "----- end sealed audit -----"
SEAL = "Audit seal, SHA-256:"
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
    "The digest is computed over the canonical JSON below: result, settings, versions, privacy statements and what "
    "of a model was attacked.",
    "computes it again. There is no key: the digest shows that nothing was changed since it was noted, not who noted "
    "it. An audit can refute a guarantee; it cannot prove one.",
)
"""Before and after the command that checks it."""


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
    audit, scope = content["audit"], scope_of(content)
    number = number_of(audit)
    return {
        "passed": audit["passed"],
        "scope": scope,
        "headline": headline(audit, scope),
        "confidence": f"{audit['confidence']:.6g}",
        "trouble": audit["trouble"],
        "releases": [release_cells(release, number) for release in audit["releases"]],
        "whole": [whole_cells(attack, number) for attack in audit["whole"]],
        "bars": [[claim_bar(part, number) for part in audit[kind]] for kind in ("releases", "whole")],
        "heads": HEADS,
        "whole_heads": WHOLE_HEADS,
        "settings": _settings(audit["settings"]),
        "versions": sorted(content["versions"].items()),
        "neighbours": audit["neighbours"],
        "explanation": EXPLANATION,
        "weak": WEAK,
        "meaning": MEANING,
        "check": CHECK,
        "digest": seal(content),
        "seal": f"{SEAL} {seal(content)}",
        "sealed": f"{BEGIN}\n{canonical(content)}\n{END}",
    }


def canonical(content: dict[str, Any]) -> str:
    """One spelling: sorted names, no spaces, ASCII, the shortest digits of every float."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def seal(content: dict[str, Any]) -> str:
    """The digest of the sealed content."""
    return hashlib.sha256(canonical(content).encode("ascii")).hexdigest()


def markdown(content: dict[str, Any], title: str, date: str) -> str:
    shown = audit_context(content)
    scope: Scope = shown["scope"]
    lines = [f"# {title}", "", f"{date}. **{shown['headline']}** (confidence {shown['confidence']}).", ""]
    lines += [f"- FAILED: {trouble}" for trouble in shown["trouble"]]
    lines += [f"- **{gap}**" for gap in scope.gaps or []]
    lines += [""] * bool(shown["trouble"] or scope.gaps) + [" ".join([scope.lead, *scope.sentences]), ""]
    lines += [*_table(HEADS, shown["releases"]), "", EXPLANATION, ""]
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

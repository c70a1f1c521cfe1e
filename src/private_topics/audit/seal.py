"""The seal of an audit: a SHA-256 digest over its canonical JSON, which anybody can compute again.

There is no key. The digest shows that result, settings, versions and privacy statement are the ones that were sealed
together; it does not say who sealed them. Keep it apart from the page, or sign it with
the tool your organisation uses.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
from pathlib import Path
from typing import Any

from private_topics._version import versions
from private_topics.audit.result import AuditResult, coverage
from private_topics.errors import InputError

BEGIN, END = "----- begin sealed audit -----", "----- end sealed audit -----"
SEAL = "Audit seal, SHA-256:"
_DIGEST = re.compile(re.escape(SEAL) + r"\s*([0-9a-f]{64})")


def sealed(result: AuditResult, model_statement: dict[str, Any] | None = None) -> dict[str, Any]:
    """All that the digest covers; `model_statement` is that of a model for whose settings the audit was run.

    It is compared with the audited fit: which of its claims were attacked is part of the content.
    """
    return {
        "format": "private-topics audit 1",
        "versions": versions(),
        "audit": result.to_dict(),
        "model_statement": model_statement,
        "coverage": None if model_statement is None else coverage(result, model_statement),
    }


def canonical(content: dict[str, Any]) -> str:
    """One canonical form: sorted names, no spaces, ASCII, the shortest digits of every float."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def seal(content: dict[str, Any]) -> str:
    """The digest of the sealed content."""
    return hashlib.sha256(canonical(content).encode("ascii")).hexdigest()


def verify(path: str | os.PathLike[str], digest: str | None = None) -> bool:
    """Whether a page (or the JSON of `private-topics audit --json`) still is what was sealed.

    `digest` is the one noted elsewhere; the page's own where it is not given, which detects damage but not forgery.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{str(path)!r} is not a page of an audit.") from None
    computed, stated = _digests(text, str(path))
    return computed == (stated if digest is None else digest.strip().lower())


def _digests(text: str, name: str) -> tuple[str, str]:
    """The digest of the sealed content, and the one that the page states."""
    try:
        if text.lstrip().startswith("{"):
            whole = json.loads(text)
            return seal(whole["sealed"]), str(whole["sha256"])
        content, stated = text.split(BEGIN, 1)[1], _DIGEST.search(text)
        if stated is not None:
            return seal(json.loads(html.unescape(content[: content.index(END)].strip()))), stated.group(1)
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    raise InputError(f"{name!r} holds no sealed audit.")

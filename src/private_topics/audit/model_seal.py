"""Whether a model, the report on it and its row of a ledger belong together and are as they were written.

A model's seal is the SHA-256 of its file, which the row of its ledger notes at the end of the fit and its report
prints. A page has a seal of its own, over all of its bytes. Like the seal of an audit they have no key: they find an
alteration, and prove no author. Who can rewrite all three files can make them agree; note the seal elsewhere.
"""

from __future__ import annotations

import hashlib
import html
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from private_topics.errors import InputError
from private_topics.estimators.saving import load_estimator
from private_topics.privacy.ledger.durable import DurableLedger, LedgerEntry
from private_topics.privacy.ledger.request import Request
from private_topics.privacy.statement import PrivacyStatement
from private_topics.whole_files import encoded

PAGE_SEAL = "Page seal, SHA-256:"
UNSEALED = f"{PAGE_SEAL} {64 * '0'}"
"""What a template prints where the seal of its page is to stand."""
_SEALS = re.compile(re.escape(PAGE_SEAL) + r" ([0-9a-f]{64})")


@dataclass(frozen=True)
class Check:
    """One thing that was looked at, and whether it is as it should be."""

    what: str
    holds: bool


def seal_page(page: str) -> str:
    """The page with its seal in place of `UNSEALED`, the last if there are several."""
    before, found, after = page.rpartition(UNSEALED)
    return f"{before}{PAGE_SEAL} {_digest(page)}{after}" if found else page


def is_sealed(page: str) -> bool:
    """Whether a page has a seal and is what was sealed."""
    for seal in _SEALS.finditer(page):
        blank = page[: seal.start()] + UNSEALED + page[seal.end() :]
        if _digest(blank) == seal.group(1):
            return True
    return False


def model_seal(path: str | os.PathLike[str]) -> str:
    """The seal of a model: the SHA-256 of its file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify_model(
    path: str | os.PathLike[str],
    *,
    report: str | os.PathLike[str] | None = None,
    ledger: DurableLedger | None = None,
    seal: str | None = None,
) -> tuple[Check, ...]:
    """Compare a model file with its report, its row in a ledger and a seal noted elsewhere, as far as they are given.

    An altered model file or ledger raises (`ModelFileError`, `LedgerError`); all else is in the checks. All of them
    hold where nothing was altered. They find alterations; they prove no author.
    """
    model, digest = load_estimator(path), model_seal(path)
    statement = getattr(model, "privacy_", None)
    checks = [Check("the model file is as it was written", True)]
    if seal is not None:
        checks.append(Check("the model has the seal that was noted", digest == seal.strip().lower()))
    if report is not None:
        checks += _checks_of_report(_page(report), digest, statement)
    if ledger is not None:
        checks += _checks_of_ledger(ledger.entries(), digest, model)
    return tuple(checks)


def _checks_of_report(page: str, digest: str, statement: PrivacyStatement | None) -> list[Check]:
    shown = html.unescape(page)
    checks = [
        Check("the report is as it was written", is_sealed(page)),
        Check("the report is on this model file", f"SHA-256 {digest}" in shown),
    ]
    if statement is not None:
        checks.append(Check("the report has the model's privacy statement", statement.text in shown))
    return checks


def _checks_of_ledger(entries: Sequence[LedgerEntry], digest: str, model: Any) -> list[Check]:
    rows, made = [entry for entry in entries if entry.digest == digest], "this model file"
    if not rows and hasattr(model, "edits_"):
        rows = [entry for entry in entries if entry.digest == model.edits_.released]
        made = "the file which this one says it was edited from"
    checks = [Check(f"the ledger has a finished run that made {made}", bool(rows))]
    if rows:
        checks.append(
            Check(
                "that run was charged what the model states", _is_charged(rows[0], getattr(model, "privacy_", None))
            )
        )
        signed = getattr(model, "sign_off_", Request())
        checks.append(Check("request and approval are those of that run", rows[0].request == signed))
    return checks


def _is_charged(row: LedgerEntry, statement: Any) -> bool:
    if statement is None:
        return False
    budget, protects = row.reservation.budget, (row.unit, row.neighbours)
    stated = statement.epsilon, statement.delta
    return (budget.epsilon, budget.delta) == stated and protects == (statement.unit, statement.relation)


def _page(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_bytes().decode()
    except UnicodeDecodeError:
        raise InputError(f"{str(path)!r} is not a report.") from None


def _digest(page: str) -> str:
    return hashlib.sha256(encoded(page)).hexdigest()

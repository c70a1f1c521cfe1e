"""What the tests of ledgers share."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.curves import mu_of_budget
from private_topics.privacy.ledger.file import DIGESTED, SCHEMA, digest
from private_topics.privacy.ledger.reservations import Reservation

SMALL = PrivacyBudget(0.01, 1e-9)
MARK = int.from_bytes(b"ptLg", "big")
"""By which a file of any version is known as a ledger."""


def places_in(epsilon: float, delta: float, budget: PrivacyBudget) -> int:
    """How many Gaussian fits a total holds, from the curve alone; one per cent of delta is set aside, twice."""
    room = mu_of_budget(epsilon, delta * 0.99 * 0.99) ** 2
    return int(room * (1 + 1e-7) / mu_of_budget(budget.epsilon, budget.delta) ** 2)


def old_ledger(path: Path, *settings: dict[str, Any], corpora: tuple[str, ...] = ("notes",)) -> None:
    """A file as version 2 of the tables had it: times in milliseconds, no bindings, a row for each of `settings`."""
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.execute(f"PRAGMA application_id = {MARK}")
        connection.execute("PRAGMA user_version = 2")
        for name in ("corpus", "reservation"):
            connection.execute(SCHEMA[name])
        for corpus in corpora:
            total = corpus, 3.0, 1e-6, 0.01, "2025-01-02T03:04:05.678+00:00"
            last = digest(*total)
            for noted in settings:
                cost = "gaussian", SMALL.epsilon, SMALL.delta, 0.0, Reservation(SMALL).rho
                fields = "2025-02-03T04:05:06.789+00:00", "then", *cost, json.dumps(noted, sort_keys=True)
                last = digest(last, *fields)
                connection.execute(
                    f"INSERT INTO reservation (corpus, {DIGESTED}, digest, state, results) "
                    f"VALUES ({', '.join('?' * 12)})",
                    (corpus, *fields, last, "finished", '{"n_words": 7}'),
                )
            connection.execute("INSERT INTO corpus VALUES (?, ?, ?, ?, ?, ?)", (*total, last))
    connection.close()

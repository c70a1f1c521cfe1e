"""Who asked for a fit, who approved it, and why: for the ledger, the model and those who sign for it.

Written by people, not read off the corpus, and shown wherever the ledger is: nobody who is in the corpus is named
here. Nothing checks that the persons named agree; for that there are signatures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from private_topics.errors import LedgerError

LONGEST = {"requested_by": 200, "approved_by": 200, "reason": 1_000}
"""Characters of each entry."""


@dataclass(frozen=True)
class Request:
    """Who asked for a fit, who approved it and why; empty where nobody says."""

    requested_by: str = ""
    approved_by: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        for name, longest in LONGEST.items():
            if not is_entry(name, getattr(self, name)):
                raise LedgerError(
                    f"The {name!r} of a fit must be printable text on one line, of at most {longest} characters."
                )

    def __bool__(self) -> bool:
        return any(self.said.values())

    @property
    def said(self) -> dict[str, str]:
        """The entries that are not empty, by name."""
        return {name: value for name, value in asdict(self).items() if value}

    @property
    def text(self) -> str:
        """One sentence for a reader; empty where nobody says anything."""
        people = {"requested by": self.requested_by, "approved by": self.approved_by}
        named = ", ".join(f"{what} {who}" for what, who in people.items() if who)
        parts = [named[:1].upper() + named[1:], self.reason and f"Reason: {self.reason}"]
        return ". ".join(part for part in parts if part)

    @classmethod
    def from_dict(cls, stored: Any) -> Self:
        """From what `said` gave; refuses anything else."""
        if not isinstance(stored, Mapping) or not set(stored) <= {field.name for field in fields(cls)}:
            raise LedgerError("Who asked for a fit is not stored as this version stores it.")
        return cls(**stored)


def is_entry(name: str, value: Any) -> bool:
    """Whether `value` is what this version writes under `name`; a file may hold anything."""
    return isinstance(value, str) and len(value) <= LONGEST[name] and value.isprintable()

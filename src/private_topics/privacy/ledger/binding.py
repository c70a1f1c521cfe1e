"""What a corpus's total is a promise about: whose data is exchanged, for what, and whose data it is.

A total bounds what one *unit* may lose under one *relation of neighbours*. A fit with other units, or under another
relation, costs something else and is refused. Where users are units, their ids can be fixed too, by a fingerprint:
HMAC-SHA256 of all of them under a key that the curator keeps and the ledger does not hold, with a new salt at each
registration. Without the key it tells nothing about the ids, not even whether two registrations had the same.
"""

from __future__ import annotations

import getpass
import hashlib
import hmac
import os
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from private_topics.errors import LedgerError, PrivacyError
from private_topics.privacy.neighbours import NEIGHBOURS, REPLACE

UNITS = ("document", "user")
WHO = "PRIVATE_TOPICS_WHO"
"""The environment variable that says who runs a fit, in place of the login name."""
FEWEST_KEY_BYTES = 16
_SALT_BYTES = 8
NAME_IT = "private-topics budget register … --unit user (or document), or DurableLedger.register(…, unit=…)"


@dataclass(frozen=True)
class Binding:
    """What a corpus was registered for. `unit` is empty until it is named or a fit fixes it; so are `ids`."""

    unit: str = ""
    neighbours: str = REPLACE
    ids: str = ""

    def __post_init__(self) -> None:
        if self.unit not in ("", *UNITS) or self.neighbours not in NEIGHBOURS or not _is_fingerprint(self.ids):
            raise ValueError("not a binding")

    def unit_given(self, rows: Sequence[str]) -> str | None:
        """The unit of the corpus: as registered, else that of its rows; empty if it is open, None if unknown."""
        if self.unit or not rows:
            return self.unit
        return rows[0] or None

    def require(self, rows: Sequence[str], unit: str, neighbours: str) -> tuple[str, str]:
        """The unit and the relation of a fit, or a refusal. A fit that does not say takes those of the corpus."""
        fixed = self.unit_given(rows)
        if unit and fixed is None:
            raise LedgerError(
                "The ledger does not say whether the earlier runs on this corpus protect documents or users. Nothing "
                f"was released. Name it once: {NAME_IT}."
            )
        if unit and fixed and unit != fixed:
            raise PrivacyError(
                f"The total of this corpus is for {fixed}s, and this fit protects {unit}s: the two do not add up. "
                "Nothing was released. Fit with the units of the corpus."
            )
        if neighbours and neighbours != self.neighbours:
            raise PrivacyError(
                f"The total of this corpus is for neighbours={self.neighbours!r}, and this fit is private for "
                f"neighbours={neighbours!r}: the two do not add up. Nothing was released."
            )
        return unit or fixed or "", self.neighbours

    def require_ids(self, ids: Iterable[Any] | None, key: bytes | None) -> None:
        """Refuse a corpus of other people than those registered. Which ids differ is not said, nor how many."""
        if not self.ids:
            return
        if key is None:
            raise LedgerError(
                "The ids of this corpus are registered, and comparing them needs the key: --ids-key, or "
                "DurableLedger(…, key=…). Nothing was released."
            )
        if ids is None:
            raise LedgerError(
                "The ids of this corpus are registered, and this fit does not know the ids of its units: the data "
                "frame of a cluster keeps them there. Nothing was released."
            )
        if not hmac.compare_digest(self.ids, fingerprint(ids, key, bytes.fromhex(self.ids.partition(":")[0]))):
            raise LedgerError(
                "These are not the ids that were registered for this corpus, or the key is another one. Nothing was "
                "released. If the corpus has grown, register its ids anew: budget register --renew-ids, or "
                "DurableLedger.register(…, ids=…, key=…, renew_ids=True)."
            )


def checked_unit(unit: str | None) -> str:
    if unit is not None and (not isinstance(unit, str) or unit not in UNITS):
        raise PrivacyError(f"The 'unit' of a ledger must be 'document', 'user' or None. Got {unit!r} instead.")
    return unit or ""


def checked_neighbours(neighbours: str | None) -> str:
    if neighbours is not None and (not isinstance(neighbours, str) or neighbours not in NEIGHBOURS):
        raise PrivacyError(f"The 'neighbours' of a ledger must be one of {NEIGHBOURS}. Got {neighbours!r} instead.")
    return neighbours or ""


def checked_key(key: bytes | None) -> bytes | None:
    if key is not None and (not isinstance(key, bytes) or len(key) < FEWEST_KEY_BYTES):
        raise LedgerError(f"The 'key' of a ledger's ids must be at least {FEWEST_KEY_BYTES} bytes, kept secret.")
    return key


def fingerprint(ids: Iterable[Any], key: bytes, salt: bytes | None = None) -> str:
    """The set of ids under the key: in any order, however often each occurs, numbers as their digits.

    Blanks around an id and its Unicode form do not count, as they do not where texts are read.
    """
    salt = os.urandom(_SALT_BYTES) if salt is None else salt
    mac = hmac.new(key, b"private-topics ids" + salt, hashlib.sha256)
    known = (unicodedata.normalize("NFC", f"{one}").strip() for one in ids)
    for spelled in sorted({one.encode("utf-8", "surrogatepass") for one in known}):
        mac.update(len(spelled).to_bytes(8, "big") + spelled)
    return f"{salt.hex()}:{mac.hexdigest()}"


def _is_fingerprint(text: str) -> bool:
    salt, colon, mac = text.partition(":")
    hexadecimal = set(salt + mac) <= set("0123456789abcdef")
    return text == "" or (hexadecimal and bool(colon) and (len(salt), len(mac)) == (2 * _SALT_BYTES, 64))


def who_runs() -> str:
    """The environment's answer, else the login name, else nothing; printable and not too long."""
    try:
        name = os.environ[WHO] if WHO in os.environ else getpass.getuser()
    except (OSError, KeyError, ImportError):  # no login name: a container, a service
        name = ""
    return "".join(character if character.isprintable() else "?" for character in name[:200])


def today() -> str:
    """A day in UTC. A finer time, next to that of a model, would say how long a fit took."""
    return datetime.now(UTC).date().isoformat()

"""One round at a site, as a machine without a network: a message in, an answer out.

A site believes its own file of keys, its own settings and what was added up before. It sends integers once in an
attempt, and only after it has seen, signed by every other site of the attempt, a fresh key and the digest that it has
itself. Whatever else it is told it refuses, and stays as it was; a message that comes twice has one answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from private_topics.engines.sites.identities import KEY_BYTES, SiteDirectory, SiteIdentity
from private_topics.engines.sites.masking import RoundKey, masked
from private_topics.engines.sites.messages import GarbageError, Message, unpacked, verified, words_body
from private_topics.errors import EngineError

Integers = npt.NDArray[np.int64]
DIGEST_BYTES = 32
DIFFERS, LATE, TOO_FEW = "differs", "late", "too few"
WHY = {
    DIFFERS: "This site was left out: its vocabulary, settings, versions, processor or file of sites differ from "
    "those of most sites.",
    LATE: "This site was left out: the others did not hear of it in time, or not what they should.",
    TOO_FEW: "The coordinator has ended the fit: too few sites are left.",
}
"""What a coordinator may say for a stop. It need not be true."""
LARGEST_TOTAL = 2**62
"""Sums and noise stay below; a total beyond shows that a site sent something else."""


class StoppedError(EngineError):
    """The coordinator wants nothing more of this site."""


@dataclass
class SiteRound:
    """A round at one site. `agreed` says what all sites must agree on; `own` gives the integers to send, for so many
    sites in the round, and is called at most once for each attempt."""

    identity: SiteIdentity
    directory: SiteDirectory
    number: int
    size: int
    agreed: Callable[[], bytes]
    own: Callable[[int], Integers]
    total: Integers | None = None
    context: bytes = b""
    _attempt: int = -1
    _key: RoundKey | None = None
    _announced: bytes = b""
    present: list[str] = field(default_factory=list)
    """The sites of the attempt."""
    _last: tuple[bytes, bytes] = b"", b""

    def receive(self, data: bytes) -> bytes:
        """The answer to a message of the coordinator."""
        if data == self._last[0]:
            return self._last[1]
        try:
            message = unpacked(data, "begin", "keys", "total", "stop")
            answers = {"begin": self._begin, "keys": self._send, "total": self._finish, "stop": self._stop}
            answer = answers[message.kind](message)
        except GarbageError:
            return self._say("refused")
        self._last = data, answer
        return answer

    def _begin(self, message: Message) -> bytes:
        """A fresh key for a new attempt; that of the attempt before is forgotten."""
        present, attempt = message.texts("sites"), message.number("attempt")
        if message.number("round") != self.number or attempt <= self._attempt or self.total is not None:
            raise GarbageError
        known = set(self.directory.names)
        if present != sorted(set(present)) or not {self.identity.name} <= set(present) <= known:
            raise GarbageError
        if len(present) < self.directory.fewest:
            raise GarbageError
        self._attempt, self.present, self._key, self.context = attempt, present, RoundKey(), b""
        self._announced = self._say("key", key=self._key.public.hex(), agreed=self._digest().hex())
        return self._announced

    def _send(self, message: Message) -> bytes:
        """The site's own integers under masks, once every key of the attempt is known to be of the site it names."""
        key = self._key
        if key is None:
            raise GarbageError
        keys, context = self._verified_keys(message)
        if not all(key.accepts(public) for public in keys.values()):
            raise GarbageError  # before anything is charged
        self._key, self.context = None, context
        values = self.own(len(self.present))
        if values.size != self.size:
            raise EngineError("A site has another number of integers than it has announced.")
        words = masked(values, self.identity.name, key, keys, context)
        return self._say("masked", words_body(words), context=context.hex())

    def _verified_keys(self, message: Message) -> tuple[dict[str, bytes], bytes]:
        """The keys of all sites of the attempt, and the digest of everything that they agree on."""
        announced = message.fields.get("keys")
        if not isinstance(announced, dict) or sorted(announced) != self.present:
            raise GarbageError
        keys, context = {}, hashlib.sha256(self.directory.digest)
        for name in self.present:
            try:
                signed = bytes.fromhex(announced[name])
            except (TypeError, ValueError):
                raise GarbageError from None
            said = verified(signed, self.directory, name, "key")
            if (said.number("round"), said.number("attempt")) != (self.number, self._attempt):
                raise GarbageError
            if said.octets("agreed", DIGEST_BYTES) != self._digest():
                raise GarbageError
            keys[name] = said.octets("key", KEY_BYTES)
            context.update(len(signed).to_bytes(8, "big") + signed)
        if bytes.fromhex(announced[self.identity.name]) != self._announced:
            raise GarbageError
        return keys, context.digest()

    def _finish(self, message: Message) -> bytes:
        if not self.context or message.octets("context", DIGEST_BYTES) != self.context:
            raise GarbageError
        total = message.words(self.size).view(np.int64)
        if int(total.max()) > LARGEST_TOTAL or int(total.min()) < -LARGEST_TOTAL:
            raise EngineError("The sum over the sites is not one: a site, or the coordinator, sent something else.")
        self.total = total
        return self._say("heard")

    def _stop(self, message: Message) -> bytes:
        raise StoppedError(WHY.get(str(message.fields.get("why")), "The coordinator has ended the fit."))

    def _digest(self) -> bytes:
        """What this site holds to be agreed, for this attempt."""
        said = repr((self.number, self._attempt, self.size, self.present)).encode()
        return hashlib.sha256(self.directory.digest + hashlib.sha256(self.agreed()).digest() + said).digest()

    def _say(self, kind: str, body: bytes = b"", **fields: str) -> bytes:
        fixed = {"site": self.identity.name, "round": self.number, "attempt": self._attempt}
        return Message(kind, fixed | fields, body).signed(self.identity)

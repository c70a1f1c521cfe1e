"""What the coordinator and the sites say to each other: a short header, integers, and the sender's signature.

    coordinator                          site
    begin   round, attempt, sites    →   key     of this attempt, and a digest of what the site holds to be agreed
    keys    the signed keys of all   →   masked  integers
    total   integers                 →   heard
    stop    why                      →   ended
    hello   a fresh number           →   hello   who it is, and the number

Instead of any of these a site may answer "refused", where it was told something wrong, or "ended", after its fit.
Everything but the coordinator's own words is signed. The coordinator is not believed in anything that matters.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from private_topics.engines.sites.identities import SIGNATURE_BYTES, SiteDirectory, SiteIdentity

LARGEST_HEADER = 1 << 20
FAREWELL = 10.0
"""Seconds: nobody waits longer for the answer to a stop."""
_LENGTH_BYTES, _NONCE_BYTES = 4, 32


class GarbageError(Exception):
    """Bytes that are no message, or not the one that they should be."""


@dataclass(frozen=True)
class Message:
    """A kind, some named strings and whole numbers, and a body."""

    kind: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    body: bytes = b""

    def text(self, name: str) -> str:
        return self._typed(name, str)

    def number(self, name: str) -> int:
        return self._typed(name, int)

    def texts(self, name: str) -> list[str]:
        found = self._typed(name, list)
        if not all(isinstance(one, str) for one in found):
            raise GarbageError
        return list(found)

    def octets(self, name: str, size: int) -> bytes:
        try:
            found = bytes.fromhex(self.text(name))
        except ValueError:
            raise GarbageError from None
        if len(found) != size:
            raise GarbageError
        return found

    def words(self, size: int | None = None) -> npt.NDArray[np.uint64]:
        """The body as 64-bit words."""
        if len(self.body) % 8 or (size is not None and len(self.body) != 8 * size):
            raise GarbageError
        return np.frombuffer(self.body, dtype="<u8").astype(np.uint64)

    def _typed(self, name: str, kind: type) -> Any:
        found = self.fields.get(name)
        if not isinstance(found, kind) or isinstance(found, bool):
            raise GarbageError
        return found

    def packed(self) -> bytes:
        header = json.dumps([self.kind, dict(self.fields)], sort_keys=True).encode()
        return len(header).to_bytes(_LENGTH_BYTES, "big") + header + self.body

    def signed(self, identity: SiteIdentity) -> bytes:
        packed = self.packed()
        return packed + identity.sign(packed)


def words_body(words: npt.NDArray[Any]) -> bytes:
    return words.astype("<u8" if words.dtype == np.uint64 else "<i8").tobytes()


def unpacked(data: bytes, *kinds: str) -> Message:
    """A message of one of these kinds."""
    length = int.from_bytes(data[:_LENGTH_BYTES], "big")
    end = _LENGTH_BYTES + length
    if length > LARGEST_HEADER or len(data) < end:
        raise GarbageError
    try:
        header = json.loads(data[_LENGTH_BYTES:end])
    except (ValueError, RecursionError):
        raise GarbageError from None
    if not (isinstance(header, list) and len(header) == 2 and header[0] in kinds and isinstance(header[1], dict)):
        raise GarbageError
    return Message(header[0], header[1], data[end:])


def verified(data: bytes, directory: SiteDirectory, site: str, *kinds: str) -> Message:
    """A message of one of these kinds that this site has signed."""
    packed, signature = data[:-SIGNATURE_BYTES], data[-SIGNATURE_BYTES:]
    message = unpacked(packed, *kinds)
    if message.text("site") != site or not directory.signed_by(site, packed, signature):
        raise GarbageError
    return message


def patience_for(messages: Mapping[str, bytes], usual: float) -> float:
    """How many seconds the answers to these messages are worth waiting for."""
    return min(usual, FAREWELL) if all(_is_stop(data) for data in messages.values()) else usual


def _is_stop(data: bytes) -> bool:
    try:
        unpacked(data, "stop")
    except GarbageError:
        return False
    return True


class Greeting:
    """The question who is there: a fresh number, to be signed."""

    def __init__(self) -> None:
        self._nonce = os.urandom(_NONCE_BYTES).hex()

    @property
    def question(self) -> bytes:
        return Message("hello", {"nonce": self._nonce}).packed()

    def name_in(self, answer: bytes, directory: SiteDirectory) -> str | None:
        """The site that signed this number; none where it is another number, or nobody of the directory."""
        try:
            name = unpacked(answer[:-SIGNATURE_BYTES], "hello").text("site")
            return name if verified(answer, directory, name, "hello").text("nonce") == self._nonce else None
        except GarbageError:
            return None


def greeted(question: bytes, identity: SiteIdentity) -> bytes | None:
    """A site's answer where the question is who is there."""
    try:
        nonce = unpacked(question, "hello").octets("nonce", _NONCE_BYTES).hex()
    except GarbageError:
        return None
    return Message("hello", {"site": identity.name, "nonce": nonce}).signed(identity)

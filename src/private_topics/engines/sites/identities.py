"""Who the sites are: each signs with a key of its own, and all hold the same file of everybody's public keys.

The file is exchanged outside the coordinator, who could otherwise put a key of its own in place of a site's. It also
says how many sites are taken to be honest, so that nobody can be told another number.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from private_topics.errors import InputError, require

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY_BYTES, SIGNATURE_BYTES = 32, 64
MOST_SITES, LARGEST_FILE = 1000, 1 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def require_cryptography() -> None:
    require("cryptography", "Several sites need the package cryptography", "sites")


def checked_name(name: Any) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(
            "The name of a site must be 1 to 64 letters, digits, dots, dashes or underscores, the first of them a "
            f"letter or a digit. Got {name!r} instead."
        )
    return name


class SiteIdentity:
    """A site's name and the private key with which it signs."""

    def __init__(self, name: str, key: Ed25519PrivateKey) -> None:
        self.name, self._key = checked_name(name), key

    @classmethod
    def new(cls, name: str) -> Self:
        require_cryptography()
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return cls(name, Ed25519PrivateKey.generate())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """From a file that `write` made."""
        require_cryptography()
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        stored = _object(path)
        return cls(stored.get("name", ""), Ed25519PrivateKey.from_private_bytes(_key(stored.get("private_key"))))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Into a new file that only its owner may read."""
        stored = {"name": self.name, "private_key": self._key.private_bytes_raw().hex()}
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(stored, file)

    @property
    def public_key(self) -> bytes:
        return self._key.public_key().public_bytes_raw()

    def sign(self, data: bytes) -> bytes:
        return self._key.sign(data)

    def __repr__(self) -> str:
        return f"SiteIdentity({self.name!r})"


@dataclass(frozen=True)
class SiteDirectory:
    """The public keys of all sites by name, and how many sites are honest. The same file at every site."""

    keys: Mapping[str, bytes]
    honest: int

    def __post_init__(self) -> None:
        require_cryptography()
        keys = {checked_name(name): _key(key) for name, key in sorted(self.keys.items())}
        if not 2 <= len(keys) <= MOST_SITES or len(set(keys.values())) < len(keys):
            raise InputError(f"A directory of sites must have 2 to {MOST_SITES} sites, each with a key of its own.")
        if isinstance(self.honest, bool) or not isinstance(self.honest, int) or not 1 <= self.honest <= len(keys):
            raise InputError(
                "The 'honest' parameter of a directory of sites must be an int from 1 to the number of sites. Got "
                f"{self.honest!r} instead."
            )
        object.__setattr__(self, "keys", MappingProxyType(keys))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        return cls.parsed(_object(path))

    @classmethod
    def parsed(cls, stored: Mapping[str, Any]) -> Self:
        """From what `as_json` gave."""
        keys = stored.get("sites")
        if not isinstance(keys, dict):
            raise InputError("The file of sites must have an object 'sites' with the public key of each.")
        return cls(keys, stored.get("honest", 0))

    def as_json(self) -> dict[str, Any]:
        return {"honest": self.honest, "sites": {name: key.hex() for name, key in self.keys.items()}}

    def write(self, path: str | os.PathLike[str]) -> None:
        Path(path).write_text(json.dumps(self.as_json(), indent=2) + "\n", encoding="utf-8")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.keys)

    @property
    def fewest(self) -> int:
        """With fewer sites no round is made: as many as are honest, and one more than the others."""
        return max(self.honest, len(self.keys) - self.honest + 1)

    @cached_property
    def digest(self) -> bytes:
        listed = [self.honest, *((name, key.hex()) for name, key in self.keys.items())]
        return hashlib.sha256(json.dumps(listed).encode()).digest()

    def signed_by(self, name: str, data: bytes, signature: bytes) -> bool:
        """Whether the site of this name signed the data."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        if name not in self.keys:
            return False
        try:
            Ed25519PublicKey.from_public_bytes(self.keys[name]).verify(signature, data)
        except InvalidSignature:
            return False
        return True


def _object(path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            stored = json.loads(file.read(LARGEST_FILE))
    except OSError as error:
        raise InputError(f"The file {os.fspath(path)!r} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise InputError(f"The file {os.fspath(path)!r} is not JSON.") from None
    if not isinstance(stored, dict):
        raise InputError(f"The file {os.fspath(path)!r} must hold a JSON object.")
    return stored


def _key(key: Any) -> bytes:
    try:
        found = bytes.fromhex(key) if isinstance(key, str) else bytes(key)
    except (TypeError, ValueError):
        found = b""
    if len(found) != KEY_BYTES:
        raise InputError(f"The key of a site must be {KEY_BYTES} bytes, in hexadecimal digits in a file.")
    return found

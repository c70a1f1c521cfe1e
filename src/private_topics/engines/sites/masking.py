"""Pairwise masks modulo 2^64: what one of two sites adds, the other subtracts, and the sum over all sites is bare.

Two sites agree on a secret (X25519) with keys that serve one attempt at one round; HKDF turns it, with a digest of
all that the sites of the round agree on and the names of the two, into a key and a nonce of ChaCha20, whose stream is
the mask. Sites that do not agree on everything have masks that do not cancel: their sum is noise. A site that shows
another one's key as its own has the same secret with everybody, but under its own name another mask. Proof:
docs/proofs/sites.md.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from private_topics.engines.sites.identities import KEY_BYTES, require_cryptography
from private_topics.errors import EngineError

Words = npt.NDArray[np.uint64]
_PURPOSE = "private-topics mask 2"
_NONCE_BYTES = 12


class RoundKey:
    """A key for one attempt at one round, known to nobody else and kept nowhere."""

    def __init__(self) -> None:
        require_cryptography()
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        self._key = X25519PrivateKey.generate()

    @property
    def public(self) -> bytes:
        return self._key.public_key().public_bytes_raw()

    def secret(self, other: bytes) -> bytes:
        """What this key and another site's public one have in common."""
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

        try:
            return self._key.exchange(X25519PublicKey.from_public_bytes(other))
        except ValueError:
            raise EngineError("The key of a site for this round is not a valid one.") from None

    def accepts(self, other: bytes) -> bool:
        """Whether the two have a secret; with a point of small order everybody has the same one."""
        try:
            return bool(self.secret(other))
        except EngineError:
            return False


def masked(
    values: npt.NDArray[np.int64], own: str, key: RoundKey, keys: Mapping[str, bytes], context: bytes
) -> Words:
    """The values modulo 2^64 under the masks of this site with all others of the round.

    `keys` are the public keys of all sites of the round by name, `context` the digest of what they agree on.
    """
    words = values.reshape(-1).astype(np.int64).view(np.uint64)
    for name, public in keys.items():
        if name != own:
            mask = stream(key.secret(public), context, (own, name), words.size)
            words = words + mask if own < name else words - mask
    return words


def stream(secret: bytes, context: bytes, two: tuple[str, str], size: int) -> Words:
    """So many 64-bit words of the ChaCha20 stream of two sites, in any order, in one attempt at one round."""
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    purpose = "\n".join([_PURPOSE, *sorted(two)]).encode()
    derived = HKDF(SHA256(), KEY_BYTES + _NONCE_BYTES, salt=context, info=purpose).derive(secret)
    counter_and_nonce = bytes(4) + derived[KEY_BYTES:]
    encryptor = Cipher(ChaCha20(derived[:KEY_BYTES], counter_and_nonce), mode=None).encryptor()
    return np.frombuffer(encryptor.update(bytes(8 * size)), dtype="<u8").astype(np.uint64)


def added(parts: list[Words]) -> npt.NDArray[np.int64]:
    """The sum modulo 2^64, as signed integers."""
    total = np.zeros_like(parts[0])
    for part in parts:
        total += part
    return total.view(np.int64)

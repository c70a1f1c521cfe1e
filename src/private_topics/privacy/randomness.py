"""The noise stream: cryptographic bits, and integers distributed exactly as a rounded Gaussian.

`NoiseStream.rounded_gaussian` returns floor(r Z + 1/2) for a standard normal Z: the cell of the integer
lattice in which r Z falls. Z is the inverse distribution function at a uniform number of *unboundedly many*
bits, of which only as many are drawn as the cell needs. The first 64 bits and float64 arithmetic decide the
cell unless the result is closer to a border than a certified error bound; the few draws in doubt (and the
far tails) are decided with more bits and as many digits as it takes. Nothing is approximated, so the
sampler adds nothing to delta (docs/proofs/lattice.md).

Only privacy/mechanisms.py may import this module.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from typing import Any, NoReturn

import mpmath
import numpy as np
import numpy.typing as npt
from randomgen import ChaCha
from scipy.special import ndtri

from private_topics.errors import PrivacyError

# Total-variation distance of one drawn integer from its law, under the assumptions of docs/proofs/lattice.md.
DISTANCE_PER_DRAW = 0.0

# Within [-TAIL, TAIL] the float64 value of Z is certified to this absolute error; beyond, every draw is in
# doubt.
CERTIFIED_ERROR = 2.0**-45
TAIL = 4.75
# Larger ratios are refused: too many draws would be in doubt, and int64 is to hold aggregate plus noise.
LARGEST_RATIO = 2.0**33

_BLOCK = 1 << 13  # the working set stays in cache
_TOP_BIT = np.uint64(1 << 63)
_LOW_63_BITS = np.uint64((1 << 63) - 1)


class NoiseStream:
    """Noise that is never used twice: keyed by the operating system, not copyable, re-keyed after a fork.

    `NoiseStream.seeded` gives a reproducible one for tests; it protects nobody and says so (``secure`` is
    False).
    """

    def __init__(self) -> None:
        self._secure = True
        self._set_keys(secrets.randbits(256), secrets.randbits(256))

    @classmethod
    def seeded(cls, seed: int) -> NoiseStream:
        """A reproducible stream, for tests only."""
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise PrivacyError(f"The 'seed' of NoiseStream.seeded must be an int. Got {type(seed).__name__} instead.")
        stream = cls.__new__(cls)
        stream._secure = False
        stream._set_keys(_hashed(f"noise {int(seed)}"), _hashed(f"doubt {int(seed)}"))
        return stream

    @property
    def secure(self) -> bool:
        """True when the keys came from the operating system and nobody knows them."""
        return self._secure

    def rounded_gaussian(self, count: int, ratio: float) -> npt.NDArray[np.int64]:
        """``count`` independent integers floor(ratio Z + 1/2), Z standard normal, ratio = sigma / step."""
        if not 0.0 < ratio <= LARGEST_RATIO:
            raise PrivacyError(
                f"The noise must be at most 2**33 lattice steps wide. Got {ratio!r}: choose a coarser step."
            )
        self._rekey_after_fork()
        out = np.empty(count, dtype=np.int64)
        for start in range(0, count, _BLOCK):
            block = out[start : start + _BLOCK]
            self._fill(block, ratio)
        return out

    def _fill(self, out: npt.NDArray[np.int64], ratio: float) -> None:
        """One block. Of 64 bits the top one is the sign, the others lead a uniform number below 1/2."""
        words = self._bits.random_raw(out.size)
        value = (words & _LOW_63_BITS).view(np.int64).astype(np.float64)
        value += 0.5
        value *= 2.0**-64
        ndtri(value, out=value)  # the lower half of a normal variable, above -9.2
        in_doubt = value < -TAIL
        value.view(np.uint64)[:] ^= words & _TOP_BIT
        value *= ratio
        value += 0.5
        cell = np.floor(value)
        out[:] = cell
        value -= cell
        value -= 0.5  # position within the cell, in [-1/2, 1/2)
        np.abs(value, out=value)
        in_doubt |= value > 0.5 - CERTIFIED_ERROR * (ratio + 1.0)
        for index in np.flatnonzero(in_doubt):
            out[index] = self._decide(int(words[index]), ratio)

    def _decide(self, word: int, ratio: float) -> int:
        """The same integer from the same leading bits, with as many further bits and digits as it takes."""
        uniform, length = word & int(_LOW_63_BITS), 64
        sign = -1 if word >> 63 else 1
        while True:
            uniform, length = (uniform << 64) | int(self._further_bits.random_raw()), length + 64
            cell = _cell(uniform, length, sign, ratio, self._digits)
            if cell is not None:
                return cell

    def _set_keys(self, key: int, further_key: int) -> None:
        self._bits = ChaCha(key=key, rounds=20)
        self._further_bits = ChaCha(key=further_key, rounds=20)
        self._digits = mpmath.MPContext()  # the stream's own: precision is state
        self._process = os.getpid()

    def _rekey_after_fork(self) -> None:
        """A forked child holds the parent's keys: give it its own, so that no noise is used twice."""
        if self._secure and os.getpid() != self._process:
            self._set_keys(secrets.randbits(256), secrets.randbits(256))

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise PrivacyError("A NoiseStream cannot be copied or pickled: noise used twice protects nothing.")


def _hashed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest(), "little")


def _cell(uniform: int, length: int, sign: int, ratio: float, digits: mpmath.MPContext) -> int | None:
    """floor(sign ratio z + 1/2) for all z with Phi(z) in [uniform, uniform + 1] / 2^length, or None.

    Newton's method at the midpoint, started in float64. As Phi(z) <= 1.26 phi(z) for z <= 0, the ends of
    the interval are within 1/uniform of the value at its midpoint (lattice.md, step 4); twice that is
    allowed for.
    """
    if uniform == 0:
        return None
    with digits.workprec(length + 64):
        target = digits.ldexp(digits.mpf(2 * uniform + 1), -length - 1)
        z = digits.mpf(float(ndtri(float(target))))
        move = digits.inf
        while abs(move) > digits.ldexp(1, -length - 8):
            move = (digits.ncdf(z) - target) / digits.npdf(z)
            z -= move
        error = digits.mpf(2) / uniform + digits.ldexp(1, -length)
        low, high = (int(digits.floor(ratio * (sign * z + end) + 0.5)) for end in (-error, error))
        return low if low == high else None

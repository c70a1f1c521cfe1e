"""The noise stream: cryptographic bits, and integers distributed exactly as a rounded Gaussian or Laplace variable.

`NoiseStream.rounded_gaussian` returns floor(r Z + 1/2) for a standard normal Z: the cell of the integer
lattice in which r Z falls; `rounded_laplace` does so for Z of density exp(-|z|)/2. Z is the inverse
distribution function at a uniform number of *unboundedly many* bits, of which only as many are drawn as the
cell needs. The first 64 bits and float64 arithmetic decide the cell unless the result is closer to a border
than a certified error bound; the few draws in doubt (and the far tails) are decided with more bits and as
many digits as it takes. Nothing is approximated, so the sampler adds nothing to delta
(docs/proofs/lattice.md; docs/proofs/pure_epsilon.md for Laplace noise).
`discrete_gaussian` and `discrete_laplace` are OpenDP's samplers, for runs that ask for them. Those of some versions
divide wrongly and are refused (`require_opendp`).

Only privacy/mechanisms.py may import this module.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, NoReturn

import mpmath
import numpy as np
import numpy.typing as npt
from randomgen import ChaCha
from scipy.special import ndtri

from private_topics.errors import PrivacyError, require
from private_topics.threads import allowed_threads, in_order

# Within [-TAIL, TAIL] the float64 value of Z is certified to this absolute error; beyond, every draw is in
# doubt.
CERTIFIED_ERROR = 2.0**-45
TAIL, LAPLACE_TAIL = 4.75, 11.0
# Larger ratios are refused: too many draws would be in doubt, and int64 is to hold aggregate plus noise.
LARGEST_RATIO = 2.0**33
# From 0.9.0 to 0.14.1 a division in OpenDP's samplers goes wrong: their law is not the one that is accounted for.
FIRST_OPENDP = (0, 14, 2)

_BLOCK = 1 << 15  # the working set of a thread stays in cache
_FEW_BLOCKS = 1  # of which one thread is faster
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
        return self._rounded(count, ratio, _GAUSSIAN)

    def rounded_laplace(self, count: int, ratio: float) -> npt.NDArray[np.int64]:
        """``count`` independent integers floor(ratio Z + 1/2), Z of density exp(-|z|)/2, ratio = scale / step."""
        return self._rounded(count, ratio, _LAPLACE)

    def coins(self, count: int, heads: int) -> npt.NDArray[np.bool_]:
        """``count`` independent events of probability exactly ``heads`` / 2^53."""
        if not 0 <= heads <= 2**53:
            raise PrivacyError(f"The 'heads' of a coin must lie in [0, 2**53]. Got {heads!r} instead.")
        return (self.words(count) >> np.uint64(11)) < np.uint64(heads)

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        """``count`` independent uniform numbers below 2^64."""
        self._rekey_after_fork()
        return self._bits.random_raw(count)

    def _rounded(self, count: int, ratio: float, law: _Law) -> npt.NDArray[np.int64]:
        if not 0.0 < ratio <= LARGEST_RATIO:
            raise PrivacyError(
                f"The noise must be at most 2**33 lattice steps wide. Got {ratio!r}: choose a coarser step."
            )
        self._rekey_after_fork()
        out = np.empty(count, dtype=np.int64)
        blocks = [out[start : start + _BLOCK] for start in range(0, count, _BLOCK)]
        drawn = ((self._bits.random_raw(block.size), block) for block in blocks)  # while threads fill those before
        threads = allowed_threads() if len(blocks) > _FEW_BLOCKS else 1
        for words, block, in_doubt in in_order(lambda both: _fill(*both, ratio, law), drawn, threads):
            for index in np.flatnonzero(in_doubt):
                block[index] = self._decide(int(words[index]), ratio, law)
        return out

    def _decide(self, word: int, ratio: float, law: _Law) -> int:
        """The same integer from the same leading bits, with as many further bits and digits as it takes."""
        uniform, length = word & int(_LOW_63_BITS), 64
        sign = -1 if word >> 63 else 1
        while True:
            uniform, length = (uniform << 64) | int(self._further_bits.random_raw()), length + 64
            cell = law.cell(uniform, length, sign, ratio, self._digits)
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


def _fill(
    words: npt.NDArray[np.uint64], out: npt.NDArray[np.int64], ratio: float, law: _Law
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Of 64 bits the top one is the sign, the others lead a uniform number below 1/2. Says which are in doubt."""
    value = (words & _LOW_63_BITS).view(np.int64).astype(np.float64)
    value += 0.5
    value *= 2.0**-64
    law.lower_half(value)
    in_doubt = value < -law.tail
    value.view(np.uint64)[:] ^= words & _TOP_BIT
    value *= ratio
    value += 0.5
    cell = np.floor(value)
    out[:] = cell
    value -= cell
    value -= 0.5  # position within the cell, in [-1/2, 1/2)
    np.abs(value, out=value)
    in_doubt |= value > 0.5 - CERTIFIED_ERROR * (ratio + 1.0)
    return words, out, in_doubt


def _hashed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest(), "little")


def _cell(uniform: int, length: int, sign: int, ratio: float, digits: mpmath.MPContext) -> int | None:
    """floor(sign ratio z + 1/2) for all z with Phi(z) in [uniform, uniform + 1] / 2^length, or None.

    Newton's method at the midpoint, started in float64. A move of m leaves less than |z| m^2, which is far below
    2^-length where it ends. As Phi(z) <= 1.26 phi(z) for z <= 0, the ends of the interval are within 1/uniform of
    the value at its midpoint (lattice.md, step 4); twice that is allowed for.
    """
    if uniform == 0:
        return None
    with digits.workprec(length + 64):
        target = digits.ldexp(digits.mpf(2 * uniform + 1), -length - 1)
        z = digits.mpf(float(ndtri(float(target))))
        move = digits.inf
        while abs(move) > digits.ldexp(1, -length // 2 - 8):
            move = (digits.ncdf(z) - target) / digits.npdf(z)
            z -= move
        error = digits.mpf(2) / uniform + digits.ldexp(1, -length)
        low, high = (int(digits.floor(ratio * (sign * z + end) + 0.5)) for end in (-error, error))
        return low if low == high else None


def _laplace_cell(uniform: int, length: int, sign: int, ratio: float, digits: mpmath.MPContext) -> int | None:
    """floor(sign ratio z + 1/2) for all z = ln(2u) with u in [uniform, uniform + 1] / 2^length, or None."""
    if uniform == 0:
        return None
    with digits.workprec(length + 64):
        error = digits.ldexp(1, -length)
        ends = [digits.log(digits.ldexp(digits.mpf(end), 1 - length)) for end in (uniform, uniform + 1)]
        reach = [sign * (ends[0] - error), sign * (ends[1] + error)]
        low, high = (int(digits.floor(ratio * z + 0.5)) for z in sorted(reach))
        return low if low == high else None


@dataclass(frozen=True)
class _Law:
    """A symmetric law: its inverse distribution function on (0, 1/2), in place, and the digits behind it."""

    lower_half: Callable[[npt.NDArray[np.float64]], Any]
    tail: float
    cell: Callable[[int, int, int, float, mpmath.MPContext], int | None]


def _normal_lower_half(uniform: npt.NDArray[np.float64]) -> None:
    ndtri(uniform, out=uniform)  # above -9.2


def _laplace_lower_half(uniform: npt.NDArray[np.float64]) -> None:
    uniform *= 2.0
    np.log(uniform, out=uniform)  # above -44.4


_GAUSSIAN = _Law(_normal_lower_half, TAIL, _cell)
_LAPLACE = _Law(_laplace_lower_half, LAPLACE_TAIL, _laplace_cell)


def discrete_gaussian(count: int, ratio: float) -> npt.NDArray[np.int64]:
    """OpenDP's exact discrete Gaussian of this scale (Canonne, Kamath and Steinke 2020, algorithm 3)."""
    return _by_opendp("make_gaussian", ("l2_distance", "f64"), count, ratio)


def discrete_laplace(count: int, ratio: float) -> npt.NDArray[np.int64]:
    """OpenDP's exact discrete Laplace of this scale (Canonne, Kamath and Steinke 2020, algorithm 2)."""
    return _by_opendp("make_laplace", ("l1_distance", "i64"), count, ratio)


def require_opendp() -> None:
    """Refuse where OpenDP is missing or older than `FIRST_OPENDP`. It is not imported."""
    require("opendp", "sampler='exact' needs OpenDP", "exact")
    found = version("opendp")
    if tuple(int(number) for number in re.findall(r"\d+", found)[:3]) < FIRST_OPENDP:
        wanted = ".".join(map(str, FIRST_OPENDP))
        raise PrivacyError(
            f"sampler='exact' needs OpenDP {wanted} or later, and {found} is installed, whose noise has another law "
            "than the one accounted for. Nothing was released. Update it: pip install -U 'private-topics[exact]'."
        )


def _by_opendp(mechanism: str, distance: tuple[str, str], count: int, ratio: float) -> npt.NDArray[np.int64]:
    require_opendp()
    import opendp.prelude as opendp

    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T="i64")), getattr(opendp, distance[0])(T=distance[1])
    return np.array(getattr(opendp.m, mechanism)(*space, scale=ratio)([0] * count), dtype=np.int64)

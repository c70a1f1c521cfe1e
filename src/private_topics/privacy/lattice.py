"""The integer lattice: contributions become whole numbers of a public step, and their sum is exact.

On integers, neighbours differ by integers, so adding rounded noise is the same as rounding a noisy real
sum, and the released value has no low-order digits left to tell one corpus from another (Mironov 2012;
Casacuberta et al. 2022). A step depends on public numbers only. Proof: docs/proofs/lattice.md.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from private_topics.errors import InputError

# Aggregates stay below this many steps, so that int64 holds the aggregate plus the noise with room to spare.
LARGEST_INTEGER = 2**61
FINEST_BITS = 28
COARSEST_BITS = 20


def step_for(sigma: float, n_units: int, largest_sum: float) -> float:
    """A public lattice spacing for a release with noise ``sigma``: a power of two far below the noise.

    sigma / 2^20 for small corpora, finer for large ones: truncating the contribution of each of ``n_units``
    units loses up to ``n_units`` steps, which sigma / 2^(10 + log2 n_units) keeps below sigma / 1000, as
    long as the limit of sigma / 2^28, reached at 262,144 units, allows. ``largest_sum`` is a public bound
    on the absolute value of an entry of the sum, say n_units * C; the step is coarsened where int64 could
    not hold the sum otherwise.
    """
    for name, value in (("sigma", sigma), ("n_units", n_units), ("largest_sum", largest_sum)):
        if not math.isfinite(value) or value <= 0:
            raise InputError(
                f"The {name!r} parameter of step_for must be finite and positive. Got {value!r} instead."
            )
    bits = min(FINEST_BITS, max(COARSEST_BITS, 10 + math.ceil(math.log2(n_units))))
    fine = math.frexp(sigma)[1] - 1 - bits
    holds = math.frexp(largest_sum)[1] - 61
    exponent = max(fine, holds, -1022)
    if math.ldexp(1.0, exponent) > sigma:
        raise InputError(
            "No lattice step below the noise can hold a sum of this size in 64 bits: "
            "the bound 'largest_sum' is more than 2**60 times 'sigma'. Clip the contributions more tightly."
        )
    return math.ldexp(1.0, exponent)


def quantise_down(values: npt.ArrayLike, step: float) -> npt.NDArray[np.int64]:
    """The values in whole steps, truncated towards zero: no entry, and so no norm, grows."""
    return _integers(np.trunc(_in_steps(values, step)))


def quantise_nearest(values: npt.ArrayLike, step: float) -> npt.NDArray[np.int64]:
    """The values in whole steps, rounded half up. For an aggregate; the sensitivity grows by `widened`."""
    return _integers(_floor_half_up(_in_steps(values, step)))


def floor_half_up(values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """floor(x + 1/2), the rounding that commutes with integer shifts (rounding half to even does not)."""
    return _integers(_floor_half_up(np.asarray(values, dtype=np.float64)))


def widened(sensitivity: float, *, float_error: float = 0.0, step: float = 0.0, entries: int = 0) -> float:
    """The sensitivity of a sum that is not exact.

    Each of two neighbours is off by at most ``float_error`` (certified, in the norm of the sensitivity),
    and, where the aggregate rather than the contributions is rounded to the lattice, by half a step in each
    of its ``entries`` (all of them for a symmetric array): sensitivity + 2 float_error + step
    sqrt(entries), rounded up.
    """
    for name, value in (("sensitivity", sensitivity), ("float_error", float_error), ("step", step)):
        if not math.isfinite(value) or value < 0:
            raise InputError(
                f"The {name!r} parameter of widened must be finite and at least 0. Got {value!r} instead."
            )
    return (sensitivity + 2.0 * float_error + step * math.sqrt(entries)) * (1.0 + 2.0**-50)


def exact_sum(integers: npt.NDArray[np.int64], largest_entry: int, axis: int = 0) -> npt.NDArray[np.int64]:
    """The sum of integer contributions, none larger than the public ``largest_entry`` in absolute value.

    Refuses when the public bound does not exclude an overflow; entries beyond the bound are clamped to it,
    so that a broken promise costs accuracy and not privacy.
    """
    if integers.dtype != np.int64:
        raise InputError("exact_sum takes an array of dtype int64.")
    if largest_entry * integers.shape[axis] > LARGEST_INTEGER:
        raise InputError("The sum could exceed 64 bits. Choose a coarser lattice step.")
    return np.clip(integers, -largest_entry, largest_entry).sum(axis=axis, dtype=np.int64)


def _in_steps(values: npt.ArrayLike, step: float) -> npt.NDArray[np.float64]:
    if not step > 0 or not math.isfinite(step) or math.frexp(step)[0] != 0.5:
        raise InputError(f"The 'step' of a lattice must be a power of two. Got {step!r} instead.")
    return np.asarray(values, dtype=np.float64) / step  # exact, but for overflow and the smallest floats


def _floor_half_up(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """floor(x + 1/2) without rounding x + 1/2, which would send the float just below 1/2 to 1."""
    below = np.floor(values)
    return below + (values - below >= 0.5)


def _integers(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    if not np.all(np.abs(values) <= LARGEST_INTEGER):  # also False for NaN
        raise InputError("A value is not finite or does not fit the lattice. Check the public bounds.")
    return values.astype(np.int64)

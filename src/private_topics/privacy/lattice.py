"""The integer lattice: what is summed, or its sum, becomes whole numbers of a public step.

On integers, neighbours differ by integers, so adding rounded noise is the same as rounding a noisy real
sum, and the released value has no low-order digits left to tell one corpus from another (Mironov 2012;
Casacuberta et al. 2022). A step depends on public numbers only. Proof: docs/proofs/lattice.md.
"""

from __future__ import annotations

import math

from private_topics.errors import InputError

# Aggregates stay below this many steps, so that int64 holds the aggregate plus the noise with room to spare.
LARGEST_INTEGER = 2**61
FINEST_BITS = 28
COARSEST_BITS = 20
COARSE_BITS = 31  # the noise is drawn for at most 2^32 steps


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


def coarse_enough(sigma: float) -> float:
    """A step on which the noise ``sigma`` has at most 31 bits: with a small share it is far above the sensitivity."""
    return math.ldexp(1.0, math.frexp(sigma)[1] - COARSE_BITS)


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

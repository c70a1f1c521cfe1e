"""Integer noise on an aggregate of integers, and its value in real units.

The draw function is handed in by privacy/mechanisms.py, which has charged for it; this module knows no generator.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from private_topics.privacy.queries import Integers, Query
from private_topics.privacy.symmetric import Draw, add_symmetric_matrix_noise, add_symmetric_tensor_noise

_CHUNK = 1 << 20


def with_noise(query: Query, integers: Integers, sigma: float, draw: Draw, consume: bool) -> Integers:
    """The aggregate plus integer noise, in lattice steps."""
    total = integers if consume else np.array(integers, order="C")
    ratio = sigma / query.step * (1 + 2.0**-50)
    if query.kind == "symmetric_matrix":
        add_symmetric_matrix_noise(total, ratio, draw)
    elif query.kind == "symmetric_tensor":
        add_symmetric_tensor_noise(total, ratio, draw)
    else:
        add_noise(total.reshape(-1), ratio, draw)
    return total


def in_real_units(query: Query, total: Integers) -> npt.NDArray[np.float64]:
    """The value of whole lattice steps, in their own memory; in chunks, without a full-size temporary."""
    value = total.view(np.float64)
    flat_total, flat_value = total.reshape(-1), value.reshape(-1)
    for start in range(0, flat_total.size, _CHUNK):
        flat_value[start : start + _CHUNK] = flat_total[start : start + _CHUNK] * query.step
    return value


def add_noise(flat: Integers, ratio: float, draw: Draw) -> None:
    """Noise of this many steps on every integer, in place."""
    for start in range(0, flat.size, _CHUNK):
        chunk = flat[start : start + _CHUNK]
        chunk += draw(chunk.size, ratio)

"""Symmetric arrays of three indices."""

from __future__ import annotations

import numpy as np


def three_placements(mixed: np.ndarray) -> np.ndarray:
    """`mixed[a,b,c]` is symmetric in (a, b); the sum over the three places of the odd index c."""
    result: np.ndarray = mixed + mixed.transpose(0, 2, 1) + mixed.transpose(2, 1, 0)
    return result


def symmetric_part(tensor: np.ndarray) -> np.ndarray:
    """Average of a 3-tensor over the six orders of its indices."""
    half = tensor + tensor.transpose(0, 2, 1)
    result: np.ndarray = (half + half.transpose(1, 0, 2) + half.transpose(2, 1, 0)) / 6.0
    return result


def mirror_sorted(cube: np.ndarray) -> None:
    """Copy the entries with `a <= b <= c` to the other orders of their indices, in place."""
    upper = np.tri(len(cube), dtype=bool).T
    a, b, c = np.nonzero(upper[:, :, None] & upper[None, :, :])
    values = cube[a, b, c]
    for places in ((a, c, b), (b, a, c), (b, c, a), (c, a, b), (c, b, a)):
        cube[places] = values

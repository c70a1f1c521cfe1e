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

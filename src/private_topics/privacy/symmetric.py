"""Isometric noise on symmetric arrays: standard normal in an orthonormal basis of the symmetric subspace.

The Frobenius norm counts an entry once per permutation of its indices, so an entry with p distinct
permutations gets variance sigma^2 / p: 1 and 2 for a matrix, 1, 3 and 6 for a tensor. The draw function is
handed in by privacy/mechanisms.py; this module knows no generator.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Draw = Callable[[int, float], Integers]

_CHUNK = 1 << 20
_TILE = 512


def is_symmetric_matrix(matrix: Integers) -> bool:
    """Square, and equal to its transpose in every entry; compared tile by tile."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        return False
    return all(
        np.array_equal(matrix[rows, columns], matrix[columns, rows].T) for rows, columns in _tiles(len(matrix))
    )


def is_symmetric_tensor(tensor: Integers) -> bool:
    """Unchanged, also in its three lengths, by two transpositions, which generate all permutations of the indices."""
    return np.array_equal(tensor, tensor.transpose(1, 0, 2)) and np.array_equal(tensor, tensor.transpose(0, 2, 1))


def add_symmetric_matrix_noise(matrix: Integers, ratio: float, draw: Draw) -> None:
    """Add symmetric noise in place: ``ratio`` on the diagonal, ratio / sqrt(2) off it, mirrored.

    The diagonal is drawn first, then the strict upper triangle row by row, so that the noise does not
    depend on the chunk size; the lower triangle is copied from the upper one at the end.
    """
    size = len(matrix)
    diagonal = np.einsum("ii->i", matrix)  # a writable view
    diagonal += draw(size, ratio)
    off_diagonal = _over_root(ratio, 2)
    rows_at_once = max(1, _CHUNK // size)
    for first in range(0, size - 1, rows_at_once):
        rows = range(first, min(first + rows_at_once, size - 1))
        noise = draw(sum(size - 1 - row for row in rows), off_diagonal)
        start = 0
        for row in rows:
            matrix[row, row + 1 :] += noise[start : start + size - 1 - row]
            start += size - 1 - row
    _mirror(matrix)


def add_symmetric_tensor_noise(tensor: Integers, ratio: float, draw: Draw) -> None:
    """Add symmetric noise in place: ``ratio`` over the root of the number of permutations of the index."""
    size = len(tensor)
    first, second, third = (index.astype(np.intp) for index in np.unravel_index(np.arange(size**3), tensor.shape))
    for distinct, permutations in ((1, 1), (2, 3), (3, 6)):
        ordered = (first <= second) & (second <= third)
        ordered &= 1 + (first < second).astype(int) + (second < third) == distinct
        index = (first[ordered], second[ordered], third[ordered])
        if not index[0].size:
            continue
        total = tensor[index] + draw(index[0].size, _over_root(ratio, permutations))
        for permutation in itertools.permutations(index):
            tensor[permutation] = total


def spread(values: Integers, places: tuple[npt.NDArray[np.int64], ...]) -> Integers:
    """The symmetric array with these values at these indices, and at all permutations of them."""
    array = np.zeros((int(places[0].max()) + 1,) * len(places), np.int64)
    for permutation in itertools.permutations(places):
        array[permutation] = values
    return array


def upper_triangle(matrix: Integers) -> Integers:
    """The entries on and above the diagonal, row by row."""
    return np.concatenate([row[place:] for place, row in enumerate(matrix)])


def from_upper_triangle(values: Integers, size: int) -> Integers:
    """The symmetric matrix of so many rows with these entries on and above its diagonal."""
    matrix, start = np.zeros((size, size), np.int64), 0
    for row in range(size):
        matrix[row, row:] = values[start : start + size - row]
        start += size - row
    _mirror(matrix)
    return matrix


def symmetric_std(shape: tuple[int, ...], sigma: float) -> npt.NDArray[np.float64]:
    """The standard deviation of the noise in every entry of a symmetric matrix or 3-tensor."""
    indices = np.sort(np.indices(shape, dtype=np.int32), axis=0)
    distinct = 1 + np.count_nonzero(np.diff(indices, axis=0), axis=0)
    permutations = {2: np.array([0, 1, 2]), 3: np.array([0, 1, 3, 6])}[len(shape)]
    return sigma / np.sqrt(permutations[distinct])


def _over_root(ratio: float, permutations: int) -> float:
    """ratio / sqrt(permutations), not below the exact value: rounding must not take noise away."""
    return ratio / math.sqrt(permutations) * (1 + 2.0**-50) if permutations > 1 else ratio


def _mirror(matrix: Integers) -> None:
    """Copy the upper triangle onto the lower one, tile by tile."""
    for rows, columns in _tiles(len(matrix)):
        if rows == columns:
            tile = matrix[rows, rows]
            tile[...] = np.triu(tile) + np.triu(tile, 1).T
        else:
            matrix[columns, rows] = matrix[rows, columns].T


def _tiles(size: int) -> Iterator[tuple[slice, slice]]:
    """The tiles on and above the diagonal."""
    starts = range(0, size, _TILE)
    for first in starts:
        for second in starts[first // _TILE :]:
            yield slice(first, first + _TILE), slice(second, second + _TILE)

"""Second moment → frame and back. The same object whitens and un-whitens, so the two directions cannot disagree.

`M ≈ U Λ U'` (top r), frame `W = U Λ^-1/2`, inverse `W† = Λ^1/2 U'`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

DENSE_LIMIT = 400
SUBSPACE_EXTRA = 12


@dataclass(frozen=True)
class Whitening:
    """Orthonormal `basis` (words × r) and positive `values` (r,), descending."""

    basis: np.ndarray
    values: np.ndarray

    @property
    def frame(self) -> np.ndarray:
        """`W = U Λ^-1/2`: `W' M W = I`."""
        result: np.ndarray = self.basis / np.sqrt(self.values)
        return result

    def unwhiten(self, vectors: np.ndarray) -> np.ndarray:
        """Columns of whitened coordinates back to word coordinates: `U Λ^1/2 v`."""
        result: np.ndarray = (self.basis * np.sqrt(self.values)) @ vectors
        return result


def whitening_of(matrix: np.ndarray, rank: int, *, floor: float = 0.0) -> Whitening:
    """Whitening from the top `rank` eigenpairs of a symmetric matrix, eigenvalues floored at `floor`."""
    values, vectors = top_eigenpairs(matrix, rank)
    smallest = max(floor, np.finfo(np.float64).tiny, 1e-14 * float(np.abs(values).max(initial=0.0)))
    return Whitening(vectors, np.maximum(values, smallest))


def top_eigenpairs(matrix: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """The `rank` largest (signed) eigenvalues, descending, with vectors whose largest entry is positive."""
    n = len(matrix)
    if n <= DENSE_LIMIT or rank + SUBSPACE_EXTRA > n // 4:
        values, vectors = scipy.linalg.eigh(matrix, subset_by_index=[n - rank, n - 1])
        values, vectors = values[::-1], vectors[:, ::-1]
    else:
        values, vectors = _lanczos(matrix, rank)
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(rank)])
    return values, vectors * np.where(signs == 0, 1.0, signs)


def _lanczos(matrix: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    from scipy.sparse.linalg import eigsh

    start = np.abs(matrix).sum(axis=0)
    values, vectors = eigsh(matrix, k=rank, which="LA", v0=start, ncv=min(len(matrix), 2 * rank + 20), tol=0)
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]

"""The second moment in a public basis, from released values to the central moment (frame_second.md).

With `F = Q/√p` a document's deviation from the unigram p is `F'c/l`; a small constant column counts the documents as
they are clipped, so that entry 0j is the mean along direction j under the same clip weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from reference.denoising import Vector
from reference.spectral import Matrix

COLUMN, FEATURE_CONSTANT = 0.25, 0.15


def averaged(first: Matrix, sigma: float, second: Matrix, other_sigma: float) -> tuple[Matrix, float]:
    """Two releases of one sum, each weighed by the precision of its noise."""
    precision = 1 / sigma**2 + 1 / other_sigma**2
    value = [
        [(x / sigma**2 + y / other_sigma**2) / precision for x, y in zip(one, other, strict=True)]
        for one, other in zip(first, second, strict=True)
    ]
    return value, 1 / math.sqrt(precision)


def central(value: Matrix, sigma: float, rank: int) -> tuple[Matrix, float]:
    """`C2 = A2 - ψψ'` along the first directions, and its noise; `ψψ'` without what the noise of ψ adds to it."""
    documents = max(value[0][0], sigma) / COLUMN**2
    noise = sigma / documents
    psi = [entry / (documents * COLUMN) for entry in value[0][1:]]
    off_diagonal = (noise / COLUMN) ** 2 / 2  # the variance of an entry of ψ
    return [
        [value[a + 1][b + 1] / documents - psi[a] * psi[b] + (off_diagonal if a == b else 0.0) for b in range(rank)]
        for a in range(rank)
    ], noise


def lifted(unigram: Vector) -> Vector:
    """No word below a fifth of the mean frequency."""
    raised = [max(p, 0.2 / len(unigram)) for p in unigram]
    return [p / sum(raised) for p in raised]


def product(rows: Sequence[Sequence[float]], weights: Vector, a: int, b: int | None = None) -> float:
    """`Σ_w p_w F_wa F_wb`, or `Σ_w p_w F_wa`."""
    return sum(p * row[a] * (1.0 if b is None else row[b]) for p, row in zip(weights, rows, strict=True))

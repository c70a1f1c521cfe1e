"""Eigenpairs → topics on the simplex and the Dirichlet prior.

    mu_i    = (alpha0+2)/2 · λ_i · (W†)' v_i
    alpha_i = alpha0 (alpha0+1) · ((alpha0+2)/2 · λ_i)^-2

(Paper, Lemma on recovery. Differs from the paper: with the moments normalised as probability arrays.)
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

SMALLEST_EIGENVALUE = 1e-12
FLOOR_OF_UNIGRAM = 0.001


def lda_second_moment(second: np.ndarray, first: np.ndarray, alpha0: float) -> np.ndarray:
    """`M2 = E2 - alpha0/(alpha0+1) m⊗m`; also for rectangular blocks via `np.outer` of matching parts."""
    result: np.ndarray = second - (alpha0 / (alpha0 + 1.0)) * np.outer(first, first)
    return result


def lda_third_moment(third: np.ndarray, second: np.ndarray, first: np.ndarray, alpha0: float) -> np.ndarray:
    """`M3 = E3 - alpha0/(alpha0+2) (E2⊗m in three placements) + 2 alpha0²/((alpha0+1)(alpha0+2)) m⊗m⊗m`."""
    mixed = second[:, :, None] * first[None, None, :]
    placed = mixed + mixed.transpose(0, 2, 1) + mixed.transpose(2, 1, 0)
    cube = first[:, None, None] * first[None, :, None] * first[None, None, :]
    result: np.ndarray = (
        third - (alpha0 / (alpha0 + 2.0)) * placed + (2.0 * alpha0**2 / ((alpha0 + 1.0) * (alpha0 + 2.0))) * cube
    )
    return result


def topic_weights(eigenvalues: np.ndarray, alpha0: float) -> np.ndarray:
    """`alpha_i` from the tensor's eigenvalues, scaled to sum to `alpha0`."""
    scaled = 0.5 * (alpha0 + 2.0) * np.maximum(eigenvalues, SMALLEST_EIGENVALUE)
    alpha = alpha0 * (alpha0 + 1.0) / scaled**2
    result: np.ndarray = alpha * (alpha0 / alpha.sum())
    return result


def equal_eigenvalue(n_topics: int, alpha0: float) -> float:
    """The eigenvalues of the whitened tensor where all topics have the same weight."""
    return 2.0 * math.sqrt(n_topics * (alpha0 + 1.0)) / (alpha0 + 2.0)


def simplex_rows(rows: np.ndarray) -> np.ndarray:
    """Each row's Euclidean projection onto the probability simplex, after scaling its sum to one."""
    total = rows.sum(axis=1, keepdims=True)
    flipped = np.where(total < 0, -rows, rows)
    total = np.abs(total)
    scaled = np.where(total > 0, flipped / np.where(total > 0, total, 1.0), 1.0 / rows.shape[1])
    return project_to_simplex(scaled)


def floored(topics: np.ndarray, unigram: np.ndarray) -> np.ndarray:
    """Topics in which every word has at least a small part of its overall frequency."""
    lifted = np.maximum(topics, FLOOR_OF_UNIGRAM * unigram)
    result: np.ndarray = lifted / lifted.sum(axis=1, keepdims=True)
    return result


def project_to_simplex(rows: np.ndarray, variances: np.ndarray | None = None) -> np.ndarray:
    """Projection of each row `s` onto {x >= 0, Σx = 1}: the x of least `Σ (x - s)²/variances`.

    Euclidean without `variances`. What the row has too much is taken from its entries in proportion to them.
    """
    spread = np.ones(rows.shape[1]) if variances is None else variances / variances.max()
    tops, thresholds = _thresholds(rows, spread)
    result = np.empty_like(rows, dtype=np.float64)
    _taken_off(rows, spread, tops, thresholds, result)
    result /= result.sum(axis=1, keepdims=True)
    return result


@njit(cache=True, parallel=True, nogil=True)
def _thresholds(rows, spread):  # type: ignore[no-untyped-def]
    """Of each row the highest level (entry over spread), and how far below it the projection cuts.

    Entries below the mean cut of those that are left are left out, until none is (Michelot 1986). Levels are counted
    from the highest: the projection is the same, and the 1 is not lost to rounding.
    """
    tops, thresholds = np.empty(len(rows)), np.empty(len(rows))
    for i in prange(len(rows)):
        levels = rows[i] / spread
        tops[i] = levels.max()
        levels -= tops[i]
        threshold, before, left = -np.inf, len(levels) + 2, len(levels) + 1
        while 0 < left < before:
            before, left = left, 0
            mass, width = 0.0, 0.0
            for w in range(len(levels)):
                if levels[w] > threshold:
                    mass += levels[w] * spread[w]
                    width += spread[w]
                    left += 1
            if left:
                threshold = (mass - 1.0) / width
        thresholds[i] = threshold
    return tops, thresholds


@njit(cache=True, parallel=True, nogil=True)
def _taken_off(rows, spread, tops, thresholds, out):  # type: ignore[no-untyped-def]
    for w in prange(rows.shape[1]):
        for i in range(len(rows)):
            out[i, w] = max(rows[i, w] / spread[w] - tops[i] - thresholds[i], 0.0) * spread[w]

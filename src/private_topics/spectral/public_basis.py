"""Deviations of topics from the unigram in a basis that public word vectors suggest.

The geometry is that of correspondence analysis: with `Q` an orthonormal basis of `√p ∘ E` orthogonal to `√p`, a
document's counts enter through `F = Q/√p`, for which `F'p = 0`, and a point `a` in the basis stands for the
distribution `p ∘ (1 + F a)`. All words take part, and the noise grows with the root of the rank, not of the words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SMALLEST_FREQUENCY = 0.2  # of the mean: rarer words would have rows as long as they are rare
CONTROLS = 12
EVEN_FEATURES = 30
SMALLEST_DIRECTION = 1e-6  # of the largest


@dataclass(frozen=True)
class PublicBasis:
    """Positive word frequencies, and what a word adds to a document's coordinates (d × r).

    `control` has a few directions of the same vectors given to other words: how much any directions would show.
    """

    centre: np.ndarray
    rows: np.ndarray
    control: np.ndarray

    @property
    def rank(self) -> int:
        return self.rows.shape[1]

    def topics(self, coordinates: np.ndarray) -> np.ndarray:
        """Columns of coordinates as signed distributions, one per row."""
        result: np.ndarray = (self.centre[:, None] * (1.0 + self.rows @ coordinates)).T
        return result


def lifted(unigram: np.ndarray) -> np.ndarray:
    """Word frequencies, none below a part of their mean."""
    centre = np.maximum(unigram, SMALLEST_FREQUENCY / len(unigram))
    result: np.ndarray = centre / centre.sum()
    return result


def centred_vectors(vectors: np.ndarray, centre: np.ndarray, rank: int) -> np.ndarray:
    """Leading principal components (d × r) of word vectors under word frequencies; zero where there is no vector."""
    known = np.any(vectors != 0.0, axis=1)
    weight = centre * known
    deviations = np.where(known[:, None], vectors - (weight @ vectors) / max(weight.sum(), SMALLEST_DIRECTION), 0.0)
    values, axes = np.linalg.eigh((deviations.T * centre) @ deviations)
    kept = np.flatnonzero(values > SMALLEST_DIRECTION * max(values[-1], SMALLEST_DIRECTION))[::-1][:rank]
    axes = axes[:, kept]
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), np.arange(len(kept))] < 0, -1.0, 1.0)
    result: np.ndarray = deviations @ axes
    return result


def even_features(vectors: np.ndarray) -> np.ndarray:
    """A few principal components, every word counted alike: what word frequencies are expected from."""
    return centred_vectors(vectors, np.full(len(vectors), 1.0 / len(vectors)), EVEN_FEATURES)


def public_basis(vectors: np.ndarray, unigram: np.ndarray, rank: int) -> PublicBasis:
    """The leading directions of word vectors, under released word frequencies."""
    centre = lifted(unigram)
    root = np.sqrt(centre)
    shuffled = vectors[np.random.RandomState(0).permutation(len(vectors))]
    own, others = centred_vectors(vectors, centre, rank), centred_vectors(shuffled, centre, CONTROLS)
    basis = root[:, None] * np.hstack([own, others])
    basis -= np.outer(root, root @ basis)
    basis, triangle = np.linalg.qr(basis)
    sizes = np.abs(np.diag(triangle))
    independent = sizes > SMALLEST_DIRECTION * sizes.max(initial=0.0)
    rows = basis / root[:, None]
    own_rank = own.shape[1]
    return PublicBasis(
        centre, rows[:, :own_rank][:, independent[:own_rank]], rows[:, own_rank:][:, independent[own_rank:]]
    )

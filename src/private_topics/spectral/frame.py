"""Released moments → frame → topics: what the private fit does between its releases.

The big second moment only supplies a subspace. Inside it the moments are measured again with far less noise, as
deviations from the released unigram; they are whitened there, and the tensor is decomposed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from private_topics.spectral.power_method import decompose
from private_topics.spectral.symmetric import three_placements
from private_topics.spectral.topics import lda_second_moment
from private_topics.spectral.whitening import Whitening, top_eigenpairs, whitening_of

ABOVE_EDGE = 1.05
"""Directions count as above the noise from this many times its spectral norm on: a margin for chance."""
SMALLEST_INSIDE = 0.05
SMALLEST_ALONG = 1e-3  # the root of a topic's share


@dataclass(frozen=True)
class Frame:
    """A whitening of the released second moment and what is known about its noise."""

    whitening: Whitening
    eigenvalues: np.ndarray
    noise_edge: float

    @property
    def matrix(self) -> np.ndarray:
        return self.whitening.frame

    @property
    def supported(self) -> int:
        """Directions whose eigenvalue exceeds the spectral norm of the noise, with a margin."""
        return int((self.eigenvalues > ABOVE_EDGE * self.noise_edge).sum())


def frame_of(second: np.ndarray, first: np.ndarray, alpha0: float, *, rank: int, noise: float) -> Frame:
    """Top directions of `M2`; isometric symmetric noise `noise` has spectral norm `noise · sqrt(2 d)`."""
    edge = noise * float(np.sqrt(2.0 * len(first)))
    values, vectors = top_eigenpairs(lda_second_moment(second, first, alpha0), rank)
    return Frame(Whitening(vectors, np.maximum(values, edge)), values, edge)


def leading(frame: Frame, rank: int) -> Frame:
    """The first directions of a frame."""
    whitening = Whitening(frame.whitening.basis[:, :rank], frame.whitening.values[:rank])
    return Frame(whitening, frame.eigenvalues[:rank], frame.noise_edge)


def centred_rows(frame: Frame, first: np.ndarray) -> np.ndarray:
    """What a document is measured by inside a frame: one, and how its words deviate from `first`.

    A row for each word of the frame, and one for all others. The constant measures, clipped as the moments are, how
    much the documents count and how far they deviate on average.
    """
    rows = np.vstack([frame.matrix, np.zeros(frame.matrix.shape[1])]) - frame.matrix.T @ first
    return np.hstack([np.ones((len(rows), 1)), rows])


@dataclass(frozen=True)
class CentralMoments:
    """Mean, second and third central moment of words inside a frame, and how noisy the last two are."""

    mean: np.ndarray
    second: np.ndarray
    third: np.ndarray
    noise: float
    third_noise: float

    @classmethod
    def of(cls, second: np.ndarray, third: np.ndarray, noise: float, third_noise: float) -> CentralMoments:
        """From sums of moments of `centred_rows`; their first entry says how much the documents count."""
        weight, third_weight = max(float(second[0, 0]), noise), max(float(third[0, 0, 0]), third_noise)
        mean, raw = second[0, 1:] / weight, second[1:, 1:] / weight
        mixed = three_placements(raw[:, :, None] * mean)
        cube = 2.0 * mean[:, None, None] * mean[:, None] * mean
        return cls(
            mean,
            raw - np.outer(mean, mean),
            third[1:, 1:, 1:] / third_weight - mixed + cube,
            noise / weight,
            third_noise / third_weight,
        )


@dataclass(frozen=True)
class Directions:
    """Topics inside a frame: `deviations` (r × k) from the mean of the documents, and the `shares` of the topics.

    `whitening` whitens the second central moment; `whitened` are the deviations in its coordinates.
    """

    whitening: Whitening
    whitened: np.ndarray
    shares: np.ndarray

    @property
    def deviations(self) -> np.ndarray:
        return self.whitening.unwhiten(self.whitened)


def directions_of(
    moments: CentralMoments, alpha0: float, n_topics: int, random_state: np.random.RandomState
) -> Directions:
    """Decompose the third moment, whitened by the second.

    Coordinate 0 of the tensor belongs to the mean, where its entries are known: `M2 = C2 + m⊗m/(alpha0+1)` and
    `M3 = C3 + 2/(alpha0+2) (C2⊗m in three placements) + 2/((alpha0+1)(alpha0+2)) m⊗m⊗m`.
    """
    edge = moments.noise * float(np.sqrt(2.0 * len(moments.second)))
    whitening = whitening_of(moments.second, n_topics - 1, floor=max(SMALLEST_INSIDE, edge))
    tensor = np.zeros((n_topics,) * 3)
    tensor[1:, 1:, 1:] = np.einsum("abc,ai,bj,cl->ijl", moments.third, *[whitening.frame] * 3, optimize=True)
    known = 2.0 * np.sqrt(alpha0 + 1.0) / (alpha0 + 2.0)
    for j in range(n_topics):
        tensor[0, j, j] = tensor[j, 0, j] = tensor[j, j, 0] = known
    pairs = decompose(tensor, random_state=random_state)
    along = pairs.vectors[0] * np.where(pairs.vectors[0] < 0, -1.0, 1.0)
    along = np.maximum(along, SMALLEST_ALONG)
    signed = pairs.vectors[1:] * np.where(pairs.vectors[0] < 0, -1.0, 1.0)
    return Directions(whitening, np.sqrt(alpha0 + 1.0) * signed / along, along**2 / (along**2).sum())


def topics_on_words(frame: Frame, moments: CentralMoments, found: Directions, first: np.ndarray) -> np.ndarray:
    """Topics × words of the frame, not yet on the simplex."""
    deviations = frame.whitening.unwhiten(moments.mean[:, None] + found.deviations)
    result: np.ndarray = (first[:, None] + deviations).T
    return result

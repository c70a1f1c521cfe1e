"""Released moments → frame → topics: what the private fit does between its releases.

The big second moment only supplies a subspace. Inside it the moments are measured again with far less noise, the
frame is whitened a second time with the better second moment, and the tensor is decomposed there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from private_topics.spectral.power_method import decompose
from private_topics.spectral.topics import lda_second_moment, lda_third_moment, simplex_rows, topic_weights
from private_topics.spectral.whitening import Whitening, top_eigenpairs, whitening_of

ABOVE_EDGE = 1.05
SMALLEST_INSIDE = 0.05


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
        """Directions whose eigenvalue exceeds the spectral norm of the noise."""
        return int((self.eigenvalues > ABOVE_EDGE * self.noise_edge).sum())


def frame_of(second: np.ndarray, first: np.ndarray, alpha0: float, *, rank: int, noise: float) -> Frame:
    """Top directions of `M2`; isometric symmetric noise `noise` has spectral norm `noise · sqrt(2 d)`."""
    edge = noise * float(np.sqrt(2.0 * len(first)))
    values, vectors = top_eigenpairs(lda_second_moment(second, first, alpha0), rank)
    return Frame(Whitening(vectors, np.maximum(values, edge)), values, edge)


def topics_in_frame(
    frame: Frame,
    second: np.ndarray,
    third: np.ndarray,
    first: np.ndarray,
    alpha0: float,
    n_topics: int,
    random_state: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """`n_topics` topics on the words of the frame and their Dirichlet weights."""
    inside = frame.matrix.T @ first
    rewhitening = whitening_of(lda_second_moment(second, inside, alpha0), n_topics, floor=SMALLEST_INSIDE)
    tensor = lda_third_moment(third, second, inside, alpha0)
    small = np.einsum("abc,ai,bj,cl->ijl", tensor, *[rewhitening.frame] * 3, optimize=True)
    pairs = decompose(small, random_state=random_state)
    words = frame.whitening.unwhiten(rewhitening.unwhiten(pairs.vectors))
    return simplex_rows(words.T), topic_weights(pairs.values, alpha0)

"""The second moment of documents' deviations from the unigram, in a basis that public word vectors suggest.

Proof: docs/proofs/frame_second.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from private_topics.privacy.mechanisms import Released
from private_topics.releases.inside_frame import ask_moment
from private_topics.releases.moments import averaged
from private_topics.releases.norms import PUBLIC_NORMS, clip_of
from private_topics.releases.release import FitContext, Release
from private_topics.spectral.public_basis import PublicBasis
from private_topics.sums.frame_second import ClippedFrameSecond
from private_topics.sums.norms import median_norm
from private_topics.sums.unit_sums import FrameNormHistograms

PUBLIC_SECOND = Release(
    "public second moment", "pairs of words", "e0", "symmetric_matrix", "frame_second", 2.0, "second",
    ClippedFrameSecond, repeated=True, radius=1.0,
)  # fmt: skip
DISTORTION = 0.1  # what clipping does to the directions of topics
COLUMN = 0.25  # the constant that counts documents: a larger one would be clipped with them
HIDDEN = 0.5  # of the noise edge: how much a direction counts in which nothing is seen
AGREEMENT = 0.6  # cosine between the moment and what public topics predict
CLEARLY_MORE = 2.0  # than along vectors of other words: docs/utility/knowledge.md


@dataclass(frozen=True)
class PublicMoment:
    """Sums of second moments in a public basis, with a constant column, as often as they were released."""

    basis: PublicBasis
    clip: float
    value: np.ndarray
    sigma: float

    @property
    def weight(self) -> float:
        """How much the documents count, as they are clipped."""
        return max(float(self.value[0, 0]), self.sigma) / COLUMN**2

    @property
    def noise(self) -> float:
        return self.sigma / self.weight

    @cached_property
    def all_directions(self) -> np.ndarray:
        """The second central moment along the basis and its controls: unbiased, the noise of the mean included."""
        mean = self.value[0, 1:] / (self.weight * COLUMN)
        squares = np.outer(mean, mean) - (self.noise / COLUMN) ** 2 / 2.0 * np.eye(len(mean))
        result: np.ndarray = self.value[1:, 1:] / self.weight - squares
        return result

    @property
    def central(self) -> np.ndarray:
        """The second central moment in the basis."""
        return self.all_directions[: self.basis.rank, : self.basis.rank]

    def known(self, doubt: float) -> bool:
        """Whether documents deviate clearly more along the basis than along shuffled vectors.

        With a `doubt`, less may do: by so many times the noise of the comparison.
        """
        along, rank = np.diag(self.all_directions), self.basis.rank
        others = along[rank:]
        if len(others) == 0:  # the vectors have as many directions as there are words
            return True
        noise = self.noise * np.sqrt(1.0 / rank + CLEARLY_MORE**2 / len(others))
        control = max(float(others.mean()), 0.0)
        return float(along[:rank].mean()) > CLEARLY_MORE * control - doubt * noise

    def coordinates(self) -> np.ndarray:
        """Of each word (d × r), long along directions in which documents differ, short where noise hides whether."""
        edge = self.noise * float(np.sqrt(2.0 * self.basis.rank))
        values, vectors = np.linalg.eigh(self.central)
        result: np.ndarray = self.basis.rows @ (vectors * np.sqrt(np.maximum(values, HIDDEN * edge)))
        return result

    def agrees(self, topics: np.ndarray, shares: np.ndarray) -> bool:
        """Whether documents vary in the basis as mixtures of these topics do, as far as noise lets us see."""
        deviations = topics @ self.basis.rows
        deviations = deviations - shares @ deviations
        expected = (deviations.T * shares) @ deviations
        size = float(np.linalg.norm(expected))
        if size == 0.0:
            return False
        rank, along = self.basis.rank, float((self.central * expected).sum()) / size
        energy = float((self.central**2).sum()) - self.noise**2 * rank * (rank + 1) / 2.0
        unsure = self.noise**2 * rank + 2.0 * self.noise * float(np.sqrt(max(energy, 0.0)))
        return along > 0.0 and along**2 > AGREEMENT**2 * (energy - 2.0 * unsure)


def with_constant(rows: np.ndarray, constant: float = 1.0) -> np.ndarray:
    """A column of constants, which counts documents as they are clipped, before the others."""
    return np.hstack([np.full((len(rows), 1), constant), rows])


def release_public_second(context: FitContext, basis: PublicBasis, share: float) -> PublicMoment:
    """The second moment in a basis and its control directions, for a part of the budget."""
    words, frame = np.arange(context.n_words), _frame(basis)
    norms = context.ask(PUBLIC_NORMS)
    histograms = FrameNormHistograms(words, frame, norms.step)
    (histogram,) = context.release([norms], histograms, histograms.second_alone)
    noise = context.noise(PUBLIC_SECOND) * np.sqrt(2.0 * basis.rank) * context.n_topics
    clip = clip_of(histogram, noise / median_norm(histogram.value), DISTORTION)
    released = _release(context, basis, clip, 1, share)
    return PublicMoment(basis, clip, released.value, released.sigma)


def release_again(context: FitContext, first: PublicMoment, share: float) -> PublicMoment:
    """The same sum once more, averaged with the first by their noise."""
    again = _release(context, first.basis, first.clip, 2, share)
    return PublicMoment(first.basis, first.clip, *averaged(first.value, first.sigma, again))


def _release(context: FitContext, basis: PublicBasis, clip: float, number: int, share: float) -> Released:
    words, frame = np.arange(context.n_words), _frame(basis)
    asked = ask_moment(context, PUBLIC_SECOND.numbered(number), clip, frame, share)
    clipped = ClippedFrameSecond(words, frame, context.unit_bound, clip, asked.step, 1.0)
    (released,) = context.release([asked], clipped, clipped.second_alone)
    return released


def _frame(basis: PublicBasis) -> np.ndarray:
    return with_constant(np.hstack([basis.rows, basis.control]), COLUMN)

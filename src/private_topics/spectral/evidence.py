"""Do topics explain what was released? Free tests on released values, whose noise is known.

The spectral topics are consistent where documents follow the model and noisy where the budget is small; refined
topics have less noise and an error of their own that more documents do not mend. Real text does not follow the model:
there the spectral topics, once they are probabilities, leave much of the released moments unexplained.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from private_topics.spectral.frame import CentralMoments, Directions, Frame, directions_of, topics_on_words
from private_topics.spectral.symmetric import symmetric_part

EXPLAINED = 0.1  # of the second moment may be left over, and twice that of the third
REFUTED = 0.25  # of the second moment: more is left over on real text, less where documents follow the model
REDRAWS = 4


@dataclass(frozen=True)
class Leftover:
    """What topics leave unexplained of the second and third moment, relative to their norms."""

    second: float
    third: float

    @property
    def small(self) -> bool:
        """The topics explain what was released."""
        return self.second <= EXPLAINED and self.third <= 2.0 * EXPLAINED

    @property
    def large(self) -> bool:
        """They do not: the documents do not follow the model."""
        return self.second > REFUTED


def leftover(
    topics: np.ndarray, shares: np.ndarray, frame: Frame, moments: CentralMoments, first: np.ndarray, alpha0: float
) -> Leftover:
    """What topics (on the words of the frame) leave unexplained of the moments inside it."""
    deviations = (topics - first) @ frame.matrix
    deviations -= shares @ deviations
    second = (deviations.T * shares) @ deviations / (alpha0 + 1.0)
    third = np.einsum("i,ia,ib,ic->abc", shares, *[deviations] * 3) * (2.0 / ((alpha0 + 1.0) * (alpha0 + 2.0)))
    return Leftover(relative_distance(second, moments.second), relative_distance(third, moments.third))


def noise_of_topics(
    frame: Frame, moments: CentralMoments, found: Directions, first: np.ndarray, alpha0: float, seed: int
) -> tuple[float, float]:
    """How far noise moves the spectral topics, over their length: inside the frame, and by turning it.

    Inside, topics are found again from moments with noise added once more. The frame turns towards each of the
    other directions by the noise over its eigenvalue.
    """
    topics = topics_on_words(frame, moments, found, first)
    generator = np.random.RandomState(seed)
    moved = 0.0
    for _ in range(REDRAWS):
        again = directions_of(_noisier(moments, generator), alpha0, len(topics), generator)
        gaps = ((topics_on_words(frame, moments, again, first)[:, None] - topics) ** 2).sum(axis=2)
        moved += gaps[linear_sum_assignment(gaps)].sum() / REDRAWS
    coordinates = moments.mean[:, None] + found.deviations
    turned = frame.noise_edge**2 / 4.0 * (1.0 - len(coordinates) / len(first))
    turned *= float((coordinates**2 / frame.whitening.values[:, None]).sum())
    length = float(np.linalg.norm(topics))
    return float(np.sqrt(moved)) / length, float(np.sqrt(turned)) / length


def _noisier(moments: CentralMoments, generator: np.random.RandomState) -> CentralMoments:
    rank = len(moments.mean)
    second = generator.standard_normal((rank, rank))
    third = symmetric_part(generator.standard_normal((rank, rank, rank)))
    return CentralMoments(
        moments.mean + moments.noise / np.sqrt(2.0) * generator.standard_normal(rank),
        moments.second + moments.noise * (second + second.T) / 2.0,
        moments.third + moments.third_noise * third,
        moments.noise,
        moments.third_noise,
    )


def relative_distance(estimate: np.ndarray, value: np.ndarray) -> float:
    """Over the length of the value."""
    return float(np.linalg.norm(estimate - value) / np.linalg.norm(value))

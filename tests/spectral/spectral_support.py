"""Population moments of a made-up model inside a frame: what the private fit would release without noise or clips."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from private_topics.spectral.frame import CentralMoments, Frame, centred_rows, frame_of

N_WORDS, INSIDE = 40, 30  # of which the frame has rows
SHARES = {"even": np.full(4, 0.25), "uneven": np.array([0.55, 0.25, 0.15, 0.05])}


def population(topics: np.ndarray, alpha: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Second and third moment of the rows of two and three words of a document, by the moments of a Dirichlet."""
    total, inside = alpha.sum(), topics @ rows
    second = inside.T @ ((np.outer(alpha, alpha) + np.diag(alpha)) / (total * (total + 1.0))) @ inside
    unit = np.eye(len(alpha))
    mixed = np.einsum("i,j,ia,ib,jc->abc", alpha, alpha, unit, unit, unit)
    third = np.einsum("a,b,c->abc", alpha, alpha, alpha) + 2.0 * np.einsum("i,ia,ib,ic->abc", alpha, *[unit] * 3)
    third = third + mixed + mixed.transpose(0, 2, 1) + mixed.transpose(2, 1, 0)
    third = np.einsum("ijk,ia,jb,kc->abc", third / (total * (total + 1.0) * (total + 2.0)), *[inside] * 3)
    return second, third


@dataclass(frozen=True)
class Truth:
    """Topics on all words, their shares, and a centre that is a random part `off` of each entry from the mean."""

    alpha0: float
    shares: np.ndarray
    off: float = 0.0
    noise: float = 0.0

    @cached_property
    def topics(self) -> np.ndarray:
        return np.random.default_rng(7).dirichlet(np.full(N_WORDS, 0.3), len(self.shares))

    @property
    def inside(self) -> np.ndarray:
        return self.topics[:, :INSIDE]

    @property
    def mean(self) -> np.ndarray:
        result: np.ndarray = self.shares @ self.inside
        return result

    @cached_property
    def centre(self) -> np.ndarray:
        result: np.ndarray = self.mean * (1.0 + self.off * np.random.default_rng(8).uniform(-1.0, 1.0, INSIDE))
        return result

    @cached_property
    def pairs(self) -> np.ndarray:
        """The second moment of the words inside."""
        return population(self.topics, self.alpha0 * self.shares, np.eye(N_WORDS)[:, :INSIDE])[0]

    @cached_property
    def frame(self) -> Frame:
        return frame_of(self.pairs, self.mean, self.alpha0, rank=len(self.shares), noise=self.noise)

    def sums(self, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both moments of `centred_rows`, one document's worth."""
        rows = centred_rows(self.frame, centre)
        everywhere = np.tile(rows[-1], (N_WORDS, 1))
        everywhere[:INSIDE] = rows[:-1]
        return population(self.topics, self.alpha0 * self.shares, everywhere)

    def moments(self, noise: float = 0.0, third_noise: float = 0.0) -> CentralMoments:
        """Without noise, but for a document; the noise is what is said of it."""
        return CentralMoments.of(*self.sums(self.centre), noise, third_noise)

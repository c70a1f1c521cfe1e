"""Topics as exponential families of public features: `topic_i(w) ∝ b_iw exp(z_w·θ_i)`, `b_i` an expected topic.

The features of a word are the leading principal components of its public vector. What is released for a topic is its
mass and its sum of features; `θ_i` is where the mean feature under the topic equals the released one, up to noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from private_topics.threads import allowed_threads, in_order

CONSTANT = 0.15  # feature zero, which gives a topic's mass
SHARE_SPREAD, SMALLEST_SHARE = 0.5, 1e-3  # of the expected share of a topic; of all
UNIGRAM_PART = 0.005  # of each topic
NEWTON_STEPS, SMALL_STEP = 40, 1e-4  # each step squares the error
SMALLEST_MIXED = 1e-200  # of a word that no topic has: far below what float64 keeps of a sum


class Expected(NamedTuple):
    """Topics (k × d) where θ is zero, their shares (k,), and the variance of each coordinate of θ.

    `lean`: how far the refinement leans on the unigram at first.
    """

    topics: np.ndarray
    shares: np.ndarray
    variance: float
    lean: float


@dataclass(frozen=True)
class Features:
    """`centre` (d,): positive word frequencies; `values` (d × r): features, centred, of mean square norm one."""

    centre: np.ndarray
    values: np.ndarray
    expected: Expected

    @classmethod
    def of(cls, components: np.ndarray, centre: np.ndarray, expected: Expected) -> Features:
        values = components - centre @ components
        return cls(centre, values / np.sqrt(centre @ (values**2).sum(axis=1)), expected)

    @property
    def rows(self) -> np.ndarray:
        """What a word adds to its topic: a constant and its features."""
        return np.hstack([np.full((len(self.values), 1), CONSTANT), self.values])

    def topics(self, sums: np.ndarray, sigma: float, unigram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Topics (k × d) and their masses, from sums of rows per topic (k × (1 + r)) with noise `sigma`."""
        mass = self._masses(sums[:, 0], sigma) / CONSTANT

        def matched(i: int) -> np.ndarray:
            return self.matched(sums[i, 1:] / mass[i], sigma / mass[i], self.expected.topics[i])

        topics = np.stack(list(in_order(matched, range(len(sums)), allowed_threads())))
        mixed = mass / mass.sum() @ topics
        topics = topics * (unigram / np.maximum(mixed, SMALLEST_MIXED))
        topics /= topics.sum(axis=1, keepdims=True)
        return (1.0 - UNIGRAM_PART) * topics + UNIGRAM_PART * unigram, mass

    def _masses(self, noisy: np.ndarray, sigma: float) -> np.ndarray:
        """Of the topics: as expected, as far as noise hides how they differ from that."""
        total = max(float(noisy.sum()), sigma * np.sqrt(len(noisy)))
        expected = self.expected.shares * total
        spread = (SHARE_SPREAD * expected) ** 2
        trust = spread / (spread + sigma**2)
        result: np.ndarray = (1.0 - trust) * expected + trust * noisy
        return np.maximum(result, SMALLEST_SHARE * total)

    def matched(self, mean: np.ndarray, noise: float, base: np.ndarray) -> np.ndarray:
        """The topic whose mean feature is `mean`, up to its noise: Newton's method on a convex function."""
        rank = len(mean)
        scale = np.sqrt(rank)  # in which coordinates of θ have their prior variance
        features, target = self.values * scale, mean * scale
        variance = self.centre @ features**2
        ridge = (scale * noise) ** 2 / (self.expected.variance * variance)
        theta = np.zeros(rank)
        value, topic = _value(theta, features, target, ridge, base)
        for _ in range(NEWTON_STEPS):
            expected = topic @ features
            gradient = expected - target + ridge * theta
            hessian = (features.T * topic) @ features - np.outer(expected, expected) + np.diag(ridge + 1e-9)
            step = np.linalg.solve(hessian, gradient)
            size = 1.0
            while True:
                new_value, new_topic = _value(theta - size * step, features, target, ridge, base)
                if new_value <= value - 1e-4 * size * float(gradient @ step) or size < 1e-4:
                    break
                size /= 2.0
            theta, topic, value = theta - size * step, new_topic, new_value
            if size * np.abs(step).max() < SMALL_STEP:
                break
        return topic


def _value(
    theta: np.ndarray, features: np.ndarray, target: np.ndarray, ridge: np.ndarray, base: np.ndarray
) -> tuple[float, np.ndarray]:
    exponent = features @ theta
    top = float(exponent.max())
    weight = base * np.exp(exponent - top)
    total = float(weight.sum())
    value = top + np.log(total) - float(theta @ target) + 0.5 * float(ridge @ theta**2)
    return value, weight / total

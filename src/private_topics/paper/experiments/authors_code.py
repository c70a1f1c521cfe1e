"""The noise that the authors' public code adds, simulated from its facts. **Nothing here is private.**

Written from what umd-huang-lab/private-topic-model-tensor-methods does in its latest public state (no line of it is
used), for vocabularies of at most 200 words; above that it puts no noise on M3 or T at all.

- Moments are scaled: `alpha0(alpha0+1) M2` and `alpha0(alpha0+1)(alpha0+2)/2 M3`. So are the sensitivities of App. I,
  in the latest state; `scaled=False` leaves them as App. I has them.
- Noise is Gaussian with standard deviation `Δ/(ε√2) (√(ε + ln 1/δ) + √(ln 1/δ))`, which is right for zCDP.
- Configuration 1 adds it to M3 and, with the sensitivity of M2, to `W` and `W†` themselves.
- Configurations 2 and 3 reuse the `W†` of the fit without noise: e8 gets none.
- Lower bounds of `σ_k`, `γ_s` and `σ_1` have log10 for ln and a floor of 0.1, so nothing is refused. `γ_s` leaves
  out the gap between the two smallest eigenvalues.
- Configuration 4 uses the last of the three terms of its sensitivity.

Here the tensor is made symmetric and decomposed by this library's power method in place of alternating least squares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations

import numpy as np

from private_topics.errors import InputError
from private_topics.paper.bounds import (
    MomentWeights,
    published_second_moment_sensitivity,
    published_third_moment_norm,
    published_third_moment_sensitivity,
    unwhitening_factor,
)
from private_topics.paper.experiments.readings import ScaledMoments, Task, noise_shortfall, published_fit
from private_topics.spectral.power_method import EigenPairs, decompose
from private_topics.spectral.topics import project_to_simplex

FLOOR = 0.1
MOST_WORDS = 200
FIRST_SHARE, OTHER_SHARE = 0.33, 0.5  # of epsilon, for each edge of configuration 1, and of 2 and 3


def zcdp_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """Standard deviation that is (ε, δ)-DP by zCDP, for every ε."""
    log = math.log(1.0 / delta)
    return sensitivity / (epsilon * math.sqrt(2.0)) * (math.sqrt(epsilon + log) + math.sqrt(log))


@lru_cache(maxsize=1)
def moments(task: Task, seed: int) -> tuple[ScaledMoments, np.ndarray]:
    """The fit without noise, and its third moment over all words: the same for every configuration and epsilon."""
    fit = published_fit(task, 4, 1.0, seed, ScaledMoments)
    assert isinstance(fit, ScaledMoments)
    return fit, fit.third_inside(np.eye(task.counts.shape[1]))


@dataclass(frozen=True)
class AuthorsCode:
    """One run on a corpus; `scaled`: whether sensitivities are scaled like the moments."""

    task: Task
    epsilon: float
    seed: int
    scaled: bool

    def topics(self, configuration: int) -> np.ndarray:
        if self.task.counts.shape[1] > MOST_WORDS:
            raise InputError(f"The authors' code adds its noise to at most {MOST_WORDS} words.")
        frame, back = self.nodes.whitening.frame, self.nodes.whitening.unwhiten(np.eye(self.rank))
        _, third = moments(self.task, self.seed)
        if configuration == 1:
            edge = FIRST_SHARE * self.epsilon
            frame = frame + self._gaussian(frame.shape, self.second_sensitivity, edge)
            back = back + self._gaussian(back.shape, self.second_sensitivity, edge)
            third = third + self._gaussian(third.shape, self.third_sensitivity, edge)
        tensor = np.einsum("ijl,ia,jb,lc->abc", third, frame, frame, frame, optimize=True)
        if configuration == 2:
            edge = OTHER_SHARE * self.epsilon
            noise = self._gaussian(tensor.shape, self._tensor_sensitivity(edge, self.delta), edge, parts=2)
            tensor = tensor + symmetric(noise) * math.sqrt(6.0)
        pairs = decompose(symmetric(tensor), random_state=np.random.RandomState(self.seed))
        if configuration == 3:
            pairs = self._noisy_pairs(pairs)
        topics = (back @ (pairs.vectors * pairs.values)).T
        if configuration == 4:
            sensitivity = self._topic_sensitivity(pairs, self.epsilon)
            topics = topics + self._gaussian(topics.shape, sensitivity, self.epsilon, parts=4)
        result: np.ndarray = project_to_simplex(topics)
        return result

    # -- nodes and noise ------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> ScaledMoments:
        return moments(self.task, self.seed)[0]

    @cached_property
    def noise(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    @property
    def rank(self) -> int:
        return self.task.n_topics

    @property
    def delta(self) -> float:
        return self.task.delta

    @property
    def n_documents(self) -> int:
        return int(self.task.counts.shape[0])

    def _gaussian(self, shape: tuple[int, ...], sensitivity: float, epsilon: float, parts: int = 1) -> np.ndarray:
        return self.noise.normal(0.0, zcdp_sigma(sensitivity, epsilon / parts, self.delta / parts), shape)

    def _noisy_pairs(self, pairs: EigenPairs) -> EigenPairs:
        edge = OTHER_SHARE * self.epsilon
        stacked = np.vstack([pairs.vectors, pairs.values])
        stacked = stacked + self._gaussian(
            stacked.shape, self._pair_sensitivity(pairs, edge, self.delta), edge, parts=3
        )
        return EigenPairs(stacked[-1], stacked[:-1])

    # -- sensitivities --------------------------------------------------------------------------------------------

    @cached_property
    def second_sensitivity(self) -> float:
        scale = noise_shortfall(self.task.alpha0) if self.scaled else 1.0
        return scale * published_second_moment_sensitivity(n_documents=self.n_documents, alpha0=self.task.alpha0)

    @cached_property
    def third_sensitivity(self) -> float:
        scale = MomentWeights.of(self.task.alpha0).prefactor if self.scaled else 1.0
        return scale * published_third_moment_sensitivity(n_documents=self.n_documents, alpha0=self.task.alpha0)

    def _floored(self, value: float, scale: float, epsilon: float, delta: float) -> float:
        noisy = value + self.noise.laplace(0.0, scale / epsilon)
        return max(noisy - 2.0 / (self.n_documents * epsilon) * math.log10(1.0 / (2.0 * delta)), FLOOR)

    def _tensor_sensitivity(self, epsilon: float, delta: float) -> float:
        k, second = self.rank, self.second_sensitivity
        sigma_k = self._floored(float(self.nodes.whitening.values[-1]), second, epsilon, delta)
        less = max(sigma_k - second, FLOOR)
        norm = published_third_moment_norm(n_documents=self.n_documents, alpha0=self.task.alpha0)
        turned = norm * (2.0 * k) ** 1.5 * second**3 / sigma_k**3 * less**1.5
        total = turned + self.third_sensitivity * k**1.5 / less**1.5
        return total * unwhitening_factor(self.task.alpha0) if self.scaled else total

    def _pair_sensitivity(self, pairs: EigenPairs, epsilon: float, delta: float) -> float:
        gap = float(np.min(np.diff(np.sort(pairs.values))[1:])) / 4.0 if self.rank > 2 else 0.0
        gamma_s = self._floored(gap, self.third_sensitivity, epsilon / 3.0, delta / 3.0)
        tensor = self._tensor_sensitivity(epsilon * 2.0 / 3.0, delta * 2.0 / 3.0)
        return 2.0 * math.sqrt(self.rank) * tensor / gamma_s

    def _topic_sensitivity(self, pairs: EigenPairs, epsilon: float) -> float:
        largest = float(self.nodes.whitening.values[0])
        sigma_1 = self._floored(largest, self.third_sensitivity, epsilon / 4.0, self.delta / 4.0)
        pair = self._pair_sensitivity(pairs, epsilon * 0.75, self.delta * 0.75)
        last = unwhitening_factor(self.task.alpha0) * math.sqrt(sigma_1 + self.second_sensitivity) * pair
        return last * MomentWeights.of(self.task.alpha0).prefactor if self.scaled else last


def symmetric(tensor: np.ndarray) -> np.ndarray:
    """The mean over all orders of the three indices."""
    mean: np.ndarray = np.mean([tensor.transpose(order) for order in permutations(range(3))], axis=0)
    return mean

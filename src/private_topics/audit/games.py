"""The distinguishing game: an attacker sees a released value and tells whether the canaries were in the corpus.

The law of the noise is known, so the attacker is optimal: the score is the log-likelihood ratio, a
projection on the direction in which the canaries move the aggregate. Every trial draws by the real
`PrivateRun.release`, with the budget of a fresh run; the aggregates are computed once. A mu-GDP release of one unit
is (copies × mu)-GDP for a group of them (Dong, Roth and Su 2022), so the aggregates may be as many times further
apart: the game stays playable at small mu.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import chi2

from private_topics.audit.bounds import mu_of_scores
from private_topics.audit.recording import Entering, EnteringWords, Integers
from private_topics.audit.sensitivity import Farthest, copies_for, distance
from private_topics.privacy.accountant import Accountant
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.mechanisms import PrivateRun, Released
from private_topics.privacy.neighbours import REPLACE, Neighbours
from private_topics.privacy.set_union import threshold_steps


@dataclass(frozen=True)
class Residual:
    """Squared noise in units of the recorded variance, over a number of independent variables."""

    square: float
    draws: int

    @property
    def ratio(self) -> float:
        """Measured noise over recorded noise."""
        return math.sqrt(self.square / self.draws)

    def __add__(self, other: Residual) -> Residual:
        return Residual(self.square + other.square, self.draws + other.draws)

    def as_recorded(self, level: float) -> bool:
        """Within the two-sided quantiles at `level`."""
        low, high = chi2.ppf(level / 2, self.draws), chi2.isf(level / 2, self.draws)
        return bool(low <= self.square <= high)


def residual(entering: Entering, released: Released) -> Residual:
    """The residual of one release of a fit. The Frobenius norm is the norm in isometric coordinates.

    Of words those with little noise are not shown: their noise is measured in games alone.
    """
    if isinstance(entering, EnteringWords):
        return Residual(0.0, 0)
    noise = (released.value - entering.aggregate * entering.query.step) / released.sigma
    return Residual(float(np.vdot(noise, noise)), released.event.coordinates)


TARGET = 2.0
"""The mu at which a game is played, by the number of copies: errors neither too rare to count nor too common."""
CERTAIN = 10.0
"""Deviations above the threshold at which a word is named in every trial."""
TRAINING = 0.1
"""The part of the trials that chooses the threshold; the rest is counted."""


class TrialRun(PrivateRun):
    """A run that is played repeatedly: each trial has the whole budget, and the noise stream continues."""

    def begin(self) -> None:
        self.accountant = Accountant()


@dataclass(frozen=True, eq=False)
class Stake:
    """One release in a game: the aggregate without the canaries, and what `copies` of them add."""

    farthest: Farthest
    copies: int

    @property
    def shift(self) -> float:
        """How far the canaries move the score, whose noise is one."""
        return self.copies * self._length / self.farthest.event.sigma

    @cached_property
    def _length(self) -> float:
        return distance(self.farthest.entering.query, self.farthest.difference)

    @cached_property
    def without(self) -> Integers:
        return self.farthest.entering.aggregate

    @cached_property
    def within(self) -> Integers:
        return self.without + self.copies * self.farthest.difference

    @cached_property
    def direction(self) -> np.ndarray:
        moved = self.farthest.difference.astype(np.float64) * self.farthest.entering.query.step
        return np.asarray(moved / self._length if self._length else moved)

    @cached_property
    def _centres(self) -> tuple[np.ndarray, np.ndarray]:
        """Both aggregates in real units."""
        step = self.farthest.entering.query.step
        return self.without * step, self.within * step

    @property
    def draws(self) -> int:
        """Independent noise variables of one trial."""
        return self.farthest.event.coordinates

    def trial(self, run: PrivateRun, canaries: bool) -> tuple[float, float]:
        """The attacker's score, and the squared length of the noise in units of the recorded sigma."""
        value, sigma = self._released(run, self.within if canaries else self.without)
        score = _dot(value - self._centres[0], self.direction)
        noise = value - self._centres[canaries]
        return score / sigma, _dot(noise, noise) / sigma**2

    def _released(self, run: PrivateRun, aggregate: Integers) -> tuple[np.ndarray, float]:
        entering = self.farthest.entering
        released = run.release(entering.query, aggregate, entering.share)
        return released.value, released.sigma


@dataclass(frozen=True, eq=False)
class WordStake(Stake):
    """A release of words, on a corpus whose other units use every word so often that all of them are named.

    The claim is about every corpus; in this one nothing but noise stands between the attacker and the weights.
    """

    @property
    def draws(self) -> int:
        return len(self.farthest.difference)

    @cached_property
    def without(self) -> Integers:
        entering, event = self.farthest.entering, self.farthest.event
        assert isinstance(entering, EnteringWords)
        ratio = event.sigma / entering.query.step
        limit = threshold_steps(entering.most_words, entering.query.step, ratio, entering.threshold_delta)
        moved = self.copies * int(np.abs(self.farthest.difference).max(initial=0))
        return entering.aggregate + (limit + moved + math.ceil(CERTAIN * ratio))

    def _released(self, run: PrivateRun, aggregate: Integers) -> tuple[np.ndarray, float]:
        entering = self.farthest.entering
        assert isinstance(entering, EnteringWords)
        weights = dict(zip(entering.words, aggregate.tolist(), strict=True))
        released = run.release_words(entering.query, weights, entering.share, **entering.limits)
        if released.words == entering.words:
            return released.value, released.sigma
        value = np.array(self._centres[0])
        value[np.isin(entering.words, released.words)] = released.value
        return value, released.sigma


def _dot(one: np.ndarray, other: np.ndarray) -> float:
    """Without BLAS, whose threads cost more than they save on arrays of this size."""
    return float((one * other).sum())


@dataclass(frozen=True, eq=False)
class Played:
    """Scores without and with canaries (trials × releases), and the squared noise over all trials."""

    stakes: list[Stake]
    without: np.ndarray
    within: np.ndarray
    squares: np.ndarray

    @property
    def draws(self) -> np.ndarray:
        """Independent noise variables of each release in all trials."""
        return (len(self.without) + len(self.within)) * np.array([stake.draws for stake in self.stakes])

    def release_bound(self, index: int, level: float) -> float:
        """A lower confidence bound on the mu of one release, for one unit."""
        bound = mu_of_scores(self.without[:, index], self.within[:, index], level, TRAINING)
        return bound / self.stakes[index].copies

    def whole_bound(self, level: float) -> float:
        """The same for all releases together; the score is the sum of their log-likelihood ratios."""
        weights = np.array([stake.shift for stake in self.stakes])
        return mu_of_scores(self.without @ weights, self.within @ weights, level, TRAINING) / self.stakes[0].copies


def stakes_each(farthest: list[Farthest], n_units: int) -> list[Stake]:
    """Every release with its own worst neighbours and its own number of copies."""
    return [_stake(one, copies_for(one.event.mu, TARGET, n_units - 1)) for one in farthest]


def stakes_together(farthest: list[Farthest], mu: float, n_units: int) -> list[Stake]:
    """All releases with the same neighbours and the same copies."""
    copies = copies_for(mu, TARGET, n_units - 1)
    return [_stake(one, copies) for one in farthest]


def _stake(farthest: Farthest, copies: int) -> Stake:
    return (WordStake if isinstance(farthest.entering, EnteringWords) else Stake)(farthest, copies)


def play(
    stakes: list[Stake],
    budget: PrivacyBudget,
    trials: int,
    noise_seed: int | None,
    threshold_delta: float = 0.0,
    neighbours: Neighbours = REPLACE,
) -> Played:
    """`trials` runs, half of them with canaries; each makes all releases, within the budget."""
    half = max(2, trials // 2)
    run = TrialRun(budget, noise_seed=noise_seed, threshold_delta=threshold_delta, neighbours=neighbours)
    scores = np.zeros((2, half, len(stakes)))
    squares = np.zeros(len(stakes))
    for canaries in (0, 1):
        for trial in range(half):
            run.begin()
            for index, stake in enumerate(stakes):
                scores[canaries, trial, index], square = stake.trial(run, bool(canaries))
                squares[index] += square
    return Played(stakes, scores[0], scores[1], squares)


def seed_of(noise_seed: Any, *path: int) -> int | None:
    """A separate seed for each part of a test; None, and so secure noise, where none is given."""
    if noise_seed is None:
        return None
    return int(np.random.SeedSequence((int(noise_seed), *path)).generate_state(1, np.uint64)[0])

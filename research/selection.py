"""The price of private selection: the best of a random number of runs, only the best one shown.

A run here is a fit and a score of it, both released; which settings it has is drawn at random, independently of the
corpus, and everything it releases is Gaussian, so it is mu-GDP and `rho = mu²/2` zCDP. The number of runs follows a
truncated negative binomial law with shape `eta` (1: geometric, 0: logarithmic) and stays secret. Proof:
docs/proofs/selection.md, after Liu & Talwar (2019) and Papernot & Steinke (2022, theorem 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar

from private_topics.bisection import last_that_holds
from private_topics.errors import PrivacyError
from private_topics.privacy.curves import RELATIVE_ERROR, gdp_epsilon, mu_of_budget, smallest_epsilon

SHAPES = (0.0, 0.5, 1.0)
SMALLEST_LOG_GAMMA, LARGEST_LOG_GAMMA = -100.0, -1e-6


@dataclass(frozen=True)
class Repetitions:
    """A truncated negative binomial number of runs, at least one: shape `eta` > -1, `gamma` in (0, 1)."""

    eta: float
    gamma: float

    def __post_init__(self) -> None:
        if not (-1.0 < self.eta <= 10.0 and 0.0 < self.gamma < 1.0):
            raise PrivacyError("Repetitions need an 'eta' in (-1, 10] and a 'gamma' strictly between 0 and 1.")

    @classmethod
    def as_good_as(cls, candidates: float, eta: float) -> Repetitions:
        """The law of this shape whose best run has the expected rank of the best of so many candidates."""
        if not 1.0 < candidates <= 20.0:
            raise PrivacyError(f"The number of 'candidates' must lie in (1, 20]. Got {candidates!r} instead.")
        target = candidates / (candidates + 1.0)

        def missing(log_gamma: float) -> float:
            return cls(eta, math.exp(log_gamma)).expected_rank - target

        if missing(SMALLEST_LOG_GAMMA) < 0.0:
            raise PrivacyError(
                f"No law of shape {eta!r} is as good as {candidates!r} candidates: use a larger 'eta'."
            )
        return cls(eta, math.exp(brentq(missing, SMALLEST_LOG_GAMMA, LARGEST_LOG_GAMMA)))

    @property
    def mean(self) -> float:
        if self.eta == 0.0:
            return (1.0 / self.gamma - 1.0) / math.log(1.0 / self.gamma)
        return self.eta * (1.0 / self.gamma - 1.0) / -math.expm1(self.eta * math.log(self.gamma))

    @property
    def expected_rank(self) -> float:
        """Where the best run stands, on average, among all runs by their score: 1/2 for one run, m/(m+1) for m."""
        return 1.0 - quad(self.generating, 0.0, 1.0, limit=200)[0]

    def probability(self, count: int) -> float:
        """That there are exactly so many runs."""
        if self.eta == 0.0:
            chance = (1.0 - self.gamma) / math.log(1.0 / self.gamma)
        else:
            chance = self.eta * (1.0 - self.gamma) / math.expm1(-self.eta * math.log(self.gamma))
        for done in range(1, count):
            chance *= (1.0 - self.gamma) * (done + self.eta) / (done + 1.0)
        return chance if count >= 1 else 0.0

    def generating(self, share: float) -> float:
        """`E share^K`: the probability that all runs fall into a set that holds this share of them."""
        log_rest = math.log1p((self.gamma - 1.0) * share)
        if self.eta == 0.0:
            return log_rest / math.log(self.gamma)
        return math.expm1(-self.eta * log_rest) / math.expm1(-self.eta * math.log(self.gamma))


def selection_delta(rho: float, repetitions: Repetitions, epsilon: float) -> float:
    """A delta such that the best of `repetitions` of rho-zCDP runs is (epsilon, delta)-DP. Every order is valid."""
    if not (0.0 <= rho < math.inf and 0.0 <= epsilon < math.inf):
        raise PrivacyError("The 'rho' and the 'epsilon' of a selection must be finite and at least 0.")
    if rho == 0.0:
        return 0.0
    fixed, log_mean = _fixed_cost(rho, repetitions), math.log(repetitions.mean)

    def log_delta(log_excess: float) -> float:
        excess = math.exp(log_excess)  # order - 1
        order = 1.0 + excess
        moments = excess * (order * rho + fixed - epsilon) + log_mean
        return moments + excess * (log_excess - math.log(order)) - math.log(order)

    grid = np.linspace(-20.0, math.log1p((epsilon + 1.0) / rho) + 3.0, 120)
    nearest = grid[int(np.argmin([log_delta(point) for point in grid]))]
    width = grid[1] - grid[0]
    found = minimize_scalar(log_delta, bounds=(nearest - width, nearest + width), method="bounded")
    return min(1.0, math.exp(min(0.0, float(found.fun))) * (1.0 + RELATIVE_ERROR) + math.ulp(0.0))


def selection_epsilon(mu: float, repetitions: Repetitions, delta: float) -> float:
    """The epsilon of the best of `repetitions` of mu-GDP runs."""
    return smallest_epsilon(lambda epsilon: selection_delta(0.5 * mu**2, repetitions, epsilon), delta)


def affordable_mu(epsilon: float, delta: float, repetitions: Repetitions) -> float:
    """The largest mu of a run, rounded down, such that the selection as a whole is (epsilon, delta)-DP."""

    def fits(mu: float) -> bool:
        return selection_delta(0.5 * mu**2, repetitions, epsilon) <= delta

    most = mu_of_budget(epsilon, delta)  # a selection costs no less than one run
    return last_that_holds(fits, 0.0, most, lambda low, high: high - low > 1e-9 * high)


@dataclass(frozen=True)
class Price:
    """What one run may spend, as an epsilon at the same delta, for a choice as good as the best of so many."""

    law: Repetitions
    by_selection: float
    by_composition: float


def price(epsilon: float, delta: float, candidates: int) -> Price:
    """The cheapest law of `SHAPES`, beside `candidates` runs that are all made and composed."""
    laws = [Repetitions.as_good_as(candidates, eta) for eta in SHAPES]
    mus = [affordable_mu(epsilon, delta, law) for law in laws]
    best = max(range(len(laws)), key=mus.__getitem__)
    composed = mu_of_budget(epsilon, delta) / math.sqrt(candidates)
    return Price(laws[best], gdp_epsilon(mus[best], delta), gdp_epsilon(composed, delta))


def _fixed_cost(rho: float, repetitions: Repetitions) -> float:
    """`(1 + eta) min over a >= 1 of (a - 1) rho + ln(1/gamma)/a`: the part that does not grow with the order."""
    rarity = math.log(1.0 / repetitions.gamma)
    order = max(1.0, math.sqrt(rarity / rho))
    return (1.0 + repetitions.eta) * ((order - 1.0) * rho + rarity / order)

"""From errors of an attack to a lower bound on mu, and from mu to epsilon. Proofs: docs/proofs/audit.md.

A mechanism is mu-GDP if no test of two neighbours beats that of N(0, 1) against N(mu, 1). An attack whose two error
rates are at most alpha and beta therefore refutes every mu below Phi^-1(1 - alpha) - Phi^-1(beta).
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import beta

from private_topics.bisection import last_that_holds
from private_topics.privacy.curves import gdp_epsilon

LARGEST_MU = 64.0


def upper_rate(errors: int, trials: int, level: float) -> float:
    """Clopper and Pearson 1934: the rate is above this with probability at most `level`."""
    return 1.0 if errors >= trials else float(beta.ppf(1.0 - level, errors + 1, trials - errors))


def mu_of_errors(false_positives: int, false_negatives: int, trials: int, level: float) -> float:
    """A lower confidence bound on mu; `trials` of each kind, `level` shared by the two rates."""
    first, second = (upper_rate(errors, trials, level / 2) for errors in (false_positives, false_negatives))
    return max(0.0, -float(ndtri(first)) - float(ndtri(second)))


def epsilon_of(mu: float, delta: float) -> float:
    """The epsilon that a Gaussian mechanism with this mu has at `delta`."""
    return float(gdp_epsilon(mu, delta)) if mu > 0 else 0.0


def errors_at(threshold: float, without: np.ndarray, within: np.ndarray) -> tuple[int, int]:
    return int(np.count_nonzero(without > threshold)), int(np.count_nonzero(within <= threshold))


def mu_of_scores(without: np.ndarray, within: np.ndarray, level: float, training: float) -> float:
    """The bound of a threshold attack: the threshold comes from the first scores, the errors from the others.

    It lies half-way between the medians, which is best where the scores of both kinds have one symmetric shape.
    """
    first = max(1, int(training * len(without)))
    threshold = 0.5 * float(np.median(without[:first]) + np.median(within[:first]))
    return mu_of_errors(*errors_at(threshold, without[first:], within[first:]), len(without) - first, level)


def mu_of_one_run(correct: int, guesses: int, level: float) -> float:
    """The largest mu that `correct` right guesses of independent fair coins refute at `level`."""

    def refuted(mu: float) -> bool:
        return not possible(mu, correct, guesses, level)

    if not refuted(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while high < LARGEST_MU and refuted(high):
        low, high = high, 2 * high
    return last_that_holds(refuted, low, high, lambda low, high: high - low > 1e-6 * high)


def possible(mu: float, correct: int, guesses: int, probability: float) -> bool:
    """Whether a mu-GDP mechanism can let an attacker guess `correct` or more coins with this probability.

    For the number W of correct guesses and each c, E[W; W >= c] / m <= F(E[m - W; W >= c - 1] / m) with
    F(b) = Phi(Phi^-1(b) + mu) (Mahloujifar, Melis and Chaudhuri 2024; docs/proofs/audit.md). The law of W with the
    least mass puts `probability` on `correct` and then, downwards, as little as each c asks for.
    """
    right, wrong = correct * probability / guesses, (guesses - correct) * probability / guesses
    total = probability
    for below in range(correct - 1, -1, -1):
        missing = float(ndtr(ndtri(min(right, 1.0)) - mu)) - wrong
        mass = max(0.0, missing) * guesses / (guesses - below)
        total += mass
        if total > 1.0:
            return False
        right += below * mass / guesses
        wrong += (guesses - below) * mass / guesses
    return True

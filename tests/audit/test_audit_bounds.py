"""A lower bound is one: its error probability, computed exactly, is within its level; and it is sharp enough.

Nothing here is random: the laws of the numbers of errors are binomial and are summed up.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import ndtr, ndtri
from scipy.stats import binom, norm

from private_topics.audit.bounds import (
    epsilon_of,
    errors_at,
    mu_of_errors,
    mu_of_one_run,
    mu_of_scores,
    possible,
    upper_rate,
)
from private_topics.privacy.curves import gdp_delta

LEVEL = 1e-3


@pytest.mark.parametrize("errors", [0, 1, 7, 49])
def test_the_upper_rate_is_that_of_clopper_and_pearson(errors):
    rate = upper_rate(errors, 50, LEVEL)
    assert binom.cdf(errors, 50, rate) == pytest.approx(LEVEL)
    assert upper_rate(50, 50, LEVEL) == 1.0


@pytest.mark.parametrize("mu", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.7])
def test_the_game_accuses_a_gaussian_mechanism_within_its_level(mu, threshold):
    """Scores N(0, 1) and N(mu, 1), which is all that mu-GDP allows, at several thresholds."""
    trials = 60
    rates = norm.sf(threshold * mu), norm.cdf(threshold * mu - mu)
    first, second = (binom.pmf(np.arange(trials + 1), trials, rate) for rate in rates)
    wrong = sum(
        first[i] * second[j]
        for i in range(trials + 1)
        for j in range(trials + 1)
        if first[i] * second[j] > 1e-12 and mu_of_errors(i, j, trials, LEVEL) > mu
    )
    assert wrong <= LEVEL
    missed = sum(
        first[i] * second[j] for i in range(20) for j in range(20) if mu_of_errors(i, j, trials, LEVEL) < 0.2
    )
    assert missed < 0.5 or mu < 2.0, "a bound of zero would be valid too"


def test_half_the_noise_is_seen_by_counting():
    """Claimed mu 2, real mu 4, 180 trials of each kind: above the claim with probability 0.95 or more."""
    trials, level = 180, 4e-6
    pmf = binom.pmf(np.arange(trials + 1), trials, norm.sf(2.0))
    seen = sum(pmf[i] * pmf[j] for i in range(30) for j in range(30) if mu_of_errors(i, j, trials, level) > 2.0)
    assert seen > 0.95


def test_epsilon_of_mu_is_that_of_the_accountant():
    assert gdp_delta(0.7, epsilon_of(0.7, 1e-6)) == pytest.approx(1e-6, rel=1e-6)
    assert epsilon_of(0.0, 1e-6) == 0.0


def test_the_threshold_lies_between_the_kinds():
    without, within = np.arange(0.0, 10.0), np.arange(20.0, 30.0)
    assert errors_at(15.0, without, within) == (0, 0)
    assert errors_at(24.5, without, within) == (0, 5)
    assert errors_at(24.0, without, within) == (0, 5), "a tie says: without"
    assert mu_of_scores(without, within, 0.1, 0.2) == mu_of_errors(0, 0, 8, 0.1) > 0.5


def test_scores_that_choose_the_threshold_are_not_counted():
    without, within = np.array([0.0, 0.0, 5.0, 5.0]), np.array([10.0, 10.0, 10.0, 10.0])
    assert mu_of_scores(without, within, 0.5, 0.5) == mu_of_errors(0, 0, 2, 0.5)
    assert mu_of_scores(np.array([0.0, 0.0, 6.0, 6.0]), within, 0.5, 0.5) == mu_of_errors(2, 0, 2, 0.5) == 0.0


@pytest.mark.parametrize("guesses", [10, 100, 400])
@pytest.mark.parametrize("mu", [0.1, 1.0, 2.5])
def test_one_run_accuses_a_gaussian_mechanism_within_its_level(mu, guesses):
    """Independent Gaussian scores for each coin: the number of correct guesses is binomial."""
    correct = binom(guesses, ndtr(mu / 2))
    rejected = [number for number in range(guesses + 1) if not possible(mu, number, guesses, LEVEL)]
    assert rejected == list(range(min(rejected, default=guesses + 1), guesses + 1)), "from some number on"
    assert sum(correct.pmf(number) for number in rejected) <= LEVEL
    for number in range(0, guesses + 1, 7):
        assert (mu_of_one_run(number, guesses, LEVEL) > mu) == (number in rejected)


def test_one_run_accuses_where_the_noise_is_far_too_small():
    """The bound is loose: of 400 coins it sees noise eight times too small, not noise halved."""
    assert mu_of_one_run(int(400 * ndtr(2.0)), 400, 4e-6) > 0.5
    assert 0.25 < mu_of_one_run(int(400 * ndtr(0.5)), 400, 0.05) < 1.0


@pytest.mark.parametrize(("guesses", "correct"), [(4, 4), (5, 4), (8, 6), (12, 12)])
@pytest.mark.parametrize("mu", [0.3, 1.5])
def test_the_recursion_is_the_best_law(mu, guesses, correct):
    """Against a linear programme: the law of W that maximises P[W >= correct] under all inequalities of the theorem.

    The concave F is replaced by tangents, from above, so the programme can only find more.
    """
    points = np.concatenate([np.logspace(-9, -2, 400), np.linspace(0.01, 0.999999, 800)])
    values = ndtr(ndtri(points) + mu)
    slopes = norm.pdf(ndtri(points) + mu) / norm.pdf(ndtri(points))
    numbers = np.arange(guesses + 1)
    rows, limits = [], []
    for c in range(1, guesses + 1):
        right = np.where(numbers >= c, numbers, 0) / guesses
        wrong = np.where(numbers >= c - 1, guesses - numbers, 0) / guesses
        for point, value, slope in zip(points, values, slopes, strict=True):
            rows.append(right - slope * wrong)
            limits.append(value - slope * point)
    goal = -(numbers >= correct).astype(float)
    found = linprog(goal, A_ub=np.array(rows), b_ub=limits, A_eq=[np.ones(guesses + 1)], b_eq=[1.0])
    largest = -found.fun
    assert not possible(mu, correct, guesses, min(1.0, 1.01 * largest)) or largest > 0.99
    assert possible(mu, correct, guesses, 0.98 * largest)

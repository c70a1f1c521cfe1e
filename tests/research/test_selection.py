"""The price of private selection: the law of the number of runs, and the bound against exact selections."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr

from private_topics.errors import PrivacyError
from private_topics.privacy.curves import gdp_epsilon, mu_of_budget, zcdp_delta
from selection import SHAPES, Repetitions, affordable_mu, price, selection_delta, selection_epsilon

LAWS = [Repetitions(eta, gamma) for eta in (-0.5, 0.0, 0.5, 1.0) for gamma in (0.05, 0.3)]

ROUNDING = 1e-11  # of the differences of nearly equal probabilities in `exact_delta`


@pytest.mark.parametrize("law", LAWS)
def test_the_law_of_the_number_of_runs(law):
    counts = np.arange(1, 700)
    chances = np.array([law.probability(int(count)) for count in counts])
    assert law.probability(0) == 0.0
    assert chances.sum() == pytest.approx(1.0, abs=1e-9)
    assert (counts * chances).sum() == pytest.approx(law.mean, rel=1e-9)
    for share in (0.0, 0.3, 0.9, 1.0):
        assert law.generating(share) == pytest.approx((chances * share**counts).sum(), abs=1e-12)
    assert law.expected_rank == pytest.approx((chances * counts / (counts + 1)).sum(), abs=1e-7)


@pytest.mark.parametrize("eta", SHAPES)
@pytest.mark.parametrize("candidates", [2, 5])
def test_as_good_as_so_many_candidates(eta, candidates):
    assert Repetitions.as_good_as(candidates, eta).expected_rank == pytest.approx(candidates / (candidates + 1))


def exact_delta(mu: float, law: Repetitions, epsilon: float) -> float:
    """Delta of the selection that shows the largest of K scores `N(0, 1)` against that of K scores `N(mu, 1)`.

    The worst of both orders. A release that is its own score: the selection can have no smaller delta than this.
    """
    edges = np.linspace(-12.0, 12.0 + mu, 8_001)
    cells = [np.diff([law.generating(float(share)) for share in ndtr(edges - shift)]) for shift in (0.0, mu)]
    return max(float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum()) for p, q in (cells, cells[::-1]))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("mu", [0.1, 0.5])
def test_the_bound_holds_where_the_truth_is_known(law, mu):
    for epsilon in (0.2, 1.0, 3.0):
        bound = selection_delta(0.5 * mu**2, law, epsilon)
        assert exact_delta(mu, law, epsilon) <= bound + ROUNDING


def test_charging_one_run_would_be_wrong():
    """Somebody who charges the winner alone is caught: the exact selection is far above a single run's curve."""
    law, mu, epsilon = Repetitions(1.0, 0.02), 0.5, 1.0
    assert exact_delta(mu, law, epsilon) > 3 * zcdp_delta(0.5 * mu**2, epsilon)


@pytest.mark.parametrize("law", LAWS)
def test_the_cost_there_and_back(law):
    mu = affordable_mu(1.0, 1e-6, law)
    assert 0.0 < mu < mu_of_budget(1.0, 1e-6)
    assert selection_delta(0.5 * mu**2, law, 1.0) <= 1e-6
    assert selection_epsilon(mu, law, 1e-6) == pytest.approx(1.0, rel=1e-4)
    assert selection_delta(0.5 * (1.001 * mu) ** 2, law, 1.0) > 1e-6


def test_the_fixed_cost_by_hand():
    """Geometric, gamma = e^-4, rho = 1/4: a = 4, so (1 + 1)(3/4 + 1) = 3.5 beside `λ rho + ln E[K]/(λ - 1)`."""
    law = Repetitions(1.0, math.exp(-4.0))
    epsilon, orders = 6.0, 1.0 + np.exp(np.linspace(-5, 5, 20_001))
    logs = (
        (orders - 1) * (orders * 0.25 + 3.5 - epsilon + np.log1p(-1 / orders)) + math.log(law.mean) - np.log(orders)
    )
    assert selection_delta(0.25, law, epsilon) == pytest.approx(math.exp(logs.min()), rel=1e-5)


@pytest.mark.parametrize(("epsilon", "candidates"), [(1.0, 3), (1.0, 9), (3.0, 5)])
def test_a_choice_leaves_each_run_little_more_than_half(epsilon, candidates):
    """What docs/configurations.md says: 0.54 of epsilon for the best of three, less for more."""
    found = price(epsilon, 1e-6, candidates)
    assert found.by_selection < 0.6 * epsilon
    composed = gdp_epsilon(mu_of_budget(epsilon, 1e-6) / math.sqrt(candidates), 1e-6)
    assert found.by_composition == pytest.approx(composed)
    assert (found.by_selection > found.by_composition) == (candidates > 3)


def test_what_is_refused():
    for eta, gamma in ((-1.0, 0.5), (1.0, 0.0), (1.0, 1.0)):
        with pytest.raises(PrivacyError, match="Repetitions"):
            Repetitions(eta, gamma)
    with pytest.raises(PrivacyError, match="candidates"):
        Repetitions.as_good_as(1, 0.0)
    with pytest.raises(PrivacyError, match="larger 'eta'"):
        Repetitions.as_good_as(15, -0.5)
    with pytest.raises(PrivacyError, match="finite"):
        selection_delta(math.inf, LAWS[0], 1.0)
    assert selection_delta(0.0, LAWS[0], 1.0) == 0.0

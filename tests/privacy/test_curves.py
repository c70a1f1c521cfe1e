"""mu, rho, epsilon and delta: the closed forms are accurate, monotone, and err on the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from private_topics.errors import PrivacyError
from private_topics.privacy.curves import (
    gdp_delta,
    gdp_epsilon,
    mu_of_budget,
    rho_of_budget,
    smallest_epsilon,
    zcdp_delta,
)

epsilons = st.floats(-6, 3).map(lambda exponent: 10.0**exponent)
deltas = st.floats(-300, math.log10(0.5)).map(lambda exponent: 10.0**exponent)


def reference_delta(mu: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(400):
        loss, half = mpmath.mpf(epsilon) / mpmath.mpf(mu), mpmath.mpf(mu) / 2
        lower = mpmath.erfc((loss - half) / mpmath.sqrt(2)) / 2
        upper = mpmath.erfc((loss + half) / mpmath.sqrt(2)) / 2
        return lower - mpmath.exp(mpmath.mpf(epsilon)) * upper


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(epsilons, deltas)
def test_mu_of_budget_is_safe_and_tight(epsilon: float, delta: float) -> None:
    mu = mu_of_budget(epsilon, delta)
    assert gdp_delta(mu, epsilon) <= delta
    exact = reference_delta(mu, epsilon)
    assert exact <= delta
    assert exact >= delta * (1 - 1e-6)
    assert gdp_delta(mu * (1 + 1e-6), epsilon) > delta


@settings(deadline=None, max_examples=150)
@given(epsilons, deltas)
def test_epsilon_round_trip(epsilon: float, delta: float) -> None:
    mu = mu_of_budget(epsilon, delta)
    back = gdp_epsilon(mu, delta)
    assert gdp_delta(mu, back) <= delta
    assert back <= epsilon * (1 + 1e-11)
    # how well epsilon is determined depends on how much delta moves with it
    assert gdp_delta(mu, back * (1 - 1e-5)) > delta * (1 - 1e-9) or back == 0


@settings(deadline=None, max_examples=100)
@given(st.floats(1e-8, 60.0), epsilons)
def test_gdp_delta_rounds_up_by_no_more_than_stated(mu: float, epsilon: float) -> None:
    exact = reference_delta(mu, epsilon)
    computed = gdp_delta(mu, epsilon)
    assert computed >= exact
    assert computed <= min(1, exact * mpmath.mpf(1 + 2e-9) + mpmath.mpf(1e-322))


@pytest.mark.parametrize(
    ("mu", "epsilon"),
    [(1e-8, 1e-8), (1e-6, 4e-6), (0.01, 0.3), (0.2, 1.0), (0.3, 9.0), (3.0, 1.0), (14.0, 3.0), (90.0, 10.0)],
)
def test_gdp_delta_is_above_the_exact_one_and_hardly(mu: float, epsilon: float) -> None:
    """Where the difference would cancel, where the Mills ratio would overflow, and between."""
    exact = reference_delta(mu, epsilon)
    assert exact <= gdp_delta(mu, epsilon) <= min(1, exact * mpmath.mpf(1 + 2e-9) + mpmath.mpf(1e-322))


def test_gdp_delta_is_rounded_up_by_the_billionth_that_the_proof_states() -> None:
    for mu, epsilon in ((0.2, 1.0), (0.5, 0.1), (3.0, 1.0)):
        assert float(gdp_delta(mu, epsilon) / reference_delta(mu, epsilon) - 1) == pytest.approx(1e-9, rel=1e-2)


@pytest.mark.parametrize("curve", [gdp_delta, zcdp_delta])
def test_no_delta_is_above_one(curve: Callable[[float, float], float]) -> None:
    assert curve(1e6, 0.0) == 1.0


@pytest.mark.parametrize("epsilon", [2.0**39, 8e11, 1e12])
def test_the_largest_budgets_have_an_epsilon_again(epsilon: float) -> None:
    """1e12 can be priced, says `PrivacyBudget`."""
    assert gdp_epsilon(mu_of_budget(epsilon, 1e-6), 1e-6) == pytest.approx(epsilon, rel=1e-9)
    assert smallest_epsilon(lambda spent: float(spent < epsilon), 1e-6) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("wanted", [1e-9, 1e-6, 0.3])
def test_small_epsilons_are_as_precise_as_large_ones(wanted: float) -> None:
    found = smallest_epsilon(lambda epsilon: 0.25 if epsilon >= wanted else 0.75, 0.5)
    assert wanted <= found <= wanted * (1 + 2e-12)


@given(st.floats(0.01, 10.0), st.floats(0.0, 20.0))
def test_negative_epsilon_extends_the_curve(mu: float, epsilon: float) -> None:
    assert gdp_delta(mu, -epsilon) == pytest.approx(float(reference_delta(mu, -epsilon)), rel=1e-8)


@settings(deadline=None, max_examples=60)
@given(epsilons, deltas)
def test_rho_of_budget_is_safe_and_below_the_gaussian_one(epsilon: float, delta: float) -> None:
    rho = rho_of_budget(epsilon, delta)
    assert zcdp_delta(rho, epsilon) <= delta
    assert rho <= mu_of_budget(epsilon, delta) ** 2 / 2 * (1 + 1e-8)
    # the Gaussian mechanism is rho-zCDP, so the true Gaussian curve must lie below the zCDP bound
    assert reference_delta(math.sqrt(2 * rho), epsilon) <= delta


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, math.nan])
def test_delta_outside_the_unit_interval_is_refused(delta: float) -> None:
    for function in (mu_of_budget, rho_of_budget, gdp_epsilon):
        with pytest.raises(PrivacyError, match="'delta' parameter must be strictly between"):
            function(1.0, delta)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_bad_epsilon_is_refused(epsilon: float) -> None:
    for function in (mu_of_budget, rho_of_budget):
        with pytest.raises(PrivacyError, match="epsilon"):
            function(epsilon, 1e-6)


@pytest.mark.parametrize(
    ("mu", "epsilon", "named"),
    [(-1.0, 1.0, "mu"), (math.inf, 1.0, "mu"), (math.nan, 1.0, "mu"), (1.0, math.inf, "epsilon"),
     (1.0, -math.inf, "epsilon"), (1.0, math.nan, "epsilon")],
)  # fmt: skip
def test_a_curve_has_no_value_where_its_numbers_mean_nothing(mu: float, epsilon: float, named: str) -> None:
    with pytest.raises(PrivacyError, match=f"'{named}' parameter must be finite"):
        gdp_delta(mu, epsilon)

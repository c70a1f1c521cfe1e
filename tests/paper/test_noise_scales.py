"""Spreads of noise as printed, as meant and as needed; the constants of Procedure 1."""

from __future__ import annotations

import math

import numpy as np
import pytest

from private_topics import InputError
from private_topics.paper import bounds as noise_scales
from private_topics.privacy.curves import gdp_delta


def test_tau():
    assert noise_scales.tau(0.5, 1.25 * math.exp(-8.0)) == pytest.approx(4.0 / 0.5)


def test_the_three_spreads():
    delta = 1.25 * math.exp(-8.0)  # τ = 4 at epsilon = 1
    assert noise_scales.printed_sigma(3.0, 1.0, delta) == pytest.approx(3.0 * 2.0)
    assert noise_scales.classical_sigma(3.0, 1.0, delta) == pytest.approx(3.0 * 4.0)
    analytic = noise_scales.analytic_sigma(3.0, 1.0, delta)
    assert gdp_delta(3.0 / analytic, 1.0) == pytest.approx(delta, rel=1e-6)
    assert analytic < 3.0 * 4.0


def test_the_moments_of_the_four_configurations():
    assert noise_scales.configuration_moment_scale(n_documents=100) == pytest.approx(0.01)


def test_procedure_one():
    assert noise_scales.procedure_laplace_scale(n_documents=100, epsilon=0.5) == pytest.approx(1 / 50)
    lower = noise_scales.procedure_lower_bound(1.0, n_documents=100, epsilon=0.5, delta=math.exp(-3.0) / 2)
    assert lower == pytest.approx(1.0 - 3 * 2 / 50)
    assert noise_scales.procedure_lower_bound(0.1, n_documents=100, epsilon=0.5, delta=math.exp(-3.0) / 2) == 0.0


@pytest.mark.statistical
@pytest.mark.parametrize(("factor", "chance"), [(2.0, 0.05), (1.0, 2 * 0.05**2)], ids=["corrected", "printed"])
def test_the_lower_bound_fails_as_often_as_stated(factor, chance):
    """One million Laplace draws: five standard errors, a false alarm in 1.7 million."""
    scale = factor * noise_scales.procedure_laplace_scale(n_documents=100, epsilon=0.5)
    draws = np.random.default_rng(5).laplace(scale=scale, size=1_000_000)
    margin = 1.0 - noise_scales.procedure_lower_bound(1.0, n_documents=100, epsilon=0.5, delta=0.05)
    failed = np.mean(draws > margin)
    assert abs(failed - chance) < 5 * math.sqrt(chance / 1_000_000)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.1), (-1.0, 0.1), (math.nan, 0.1), (1.0, 0.0), (1.0, 1.0)])
def test_budgets_are_checked(epsilon, delta):
    with pytest.raises(InputError):
        noise_scales.tau(epsilon, delta)

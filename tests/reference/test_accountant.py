"""Curves, their inverses and composition against thirty digits."""

from __future__ import annotations

import itertools
import math

import pytest

from private_topics.privacy.accountant import Accountant
from private_topics.privacy.budget import PrivacyBudget, sigma_for
from private_topics.privacy.curves import gdp_delta, gdp_epsilon, mu_of_budget, rho_of_budget, zcdp_delta
from private_topics.privacy.events import DiscreteGaussianEvent, GaussianEvent, ThresholdEvent
from private_topics.privacy.mechanisms import PrivateRun
from reference.accountant import concentrated_delta, delta_of, gaussian_delta, mu_of, sigma_of

BUDGETS = [(0.01, 1e-6), (0.5, 1e-9), (1.0, 1e-5), (3.0, 1e-2), (50.0, 1e-6), (1e4, 1e-7), (1e6, 1e-5)]


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_what_a_budget_is_worth(epsilon, delta):
    mu = mu_of(epsilon, delta)
    assert 1.0 - 1e-8 <= mu_of_budget(epsilon, delta) / mu <= 1.0
    assert 1.0 - 3e-9 <= PrivateRun(PrivacyBudget(epsilon, delta), noise_seed=0).mu_total / mu <= 1.0
    if epsilon > 100:
        return  # the other inversion is slow there
    root = mu_of(epsilon, delta, exact_sampler=True)
    assert 1.0 - 1e-7 <= math.sqrt(2 * rho_of_budget(epsilon, delta)) / root <= 1.0


@pytest.mark.parametrize("mu", [1e-3, 0.1, 0.3, 1.0, 4.0, 30.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 8.0])
def test_curves(mu, epsilon):
    exact = gaussian_delta(mu, epsilon)
    if exact > 1e-300:
        assert 1.0 <= gdp_delta(mu, epsilon) / exact <= 1.0 + 3e-9
    if epsilon and 1e-200 < exact < 0.999:
        assert abs(gdp_epsilon(mu, float(exact)) / epsilon - 1.0) < 1e-6
    concentrated = min(1, concentrated_delta(mu**2 / 2, epsilon))
    if epsilon and concentrated > 1e-300:  # at 0 the library looks for α no further than e³, which is valid too
        assert 1.0 - 1e-12 <= zcdp_delta(mu**2 / 2, epsilon) / concentrated <= 1.0 + 1e-6
        assert concentrated >= exact  # zCDP knows less


RELEASES = [("one", 1.5, 3.0), ("two", 0.2, 0.1), ("three", 1.0, 40.0)]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("kind", [GaussianEvent, DiscreteGaussianEvent, ThresholdEvent])
def test_composition(kind, epsilon):
    more = [{"threshold_delta": part} if kind is ThresholdEvent else {} for part in (1e-6, 1e-8, 3e-7)]
    events = [
        kind(name=name, sensitivity=sensitivity, sigma=sigma, coordinates=3, proof="lattice", **extra)
        for (name, sensitivity, sigma), extra in zip(RELEASES, more, strict=True)
    ]
    for order in itertools.permutations(events):
        meant = delta_of(
            [(sensitivity, sigma) for _, sensitivity, sigma in RELEASES], epsilon,
            exact_sampler=kind is DiscreteGaussianEvent,
            thresholds=[extra["threshold_delta"] for extra in more if extra],
        )  # fmt: skip
        assert 1.0 - 1e-12 <= Accountant(order).delta(epsilon) / meant <= 1.0 + 1e-6


@pytest.mark.parametrize("share", [1.0, 0.655, 0.003, 1e-6])
@pytest.mark.parametrize("sensitivity", [math.sqrt(2), 1e-9, 7e5])
def test_noise_of_a_share(share, sensitivity):
    assert 1.0 <= sigma_for(share, sensitivity, 0.3) / sigma_of(sensitivity, share, 0.3) <= 1.0 + 1e-14

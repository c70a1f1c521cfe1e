"""A plan for several sites has their noise: that of the run which draws it."""

from __future__ import annotations

import math

import pytest

from private_topics import InputError, plan
from private_topics.errors import PrivacyError
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.shares import NoiseShares, SharedRun


@pytest.mark.parametrize(("sites", "honest"), [(2, None), (20, 20), (20, 10)])
def test_its_noise_is_that_of_the_run(sites, honest):
    forecast = plan(40_000, 3_000, 20, sites=sites, honest=honest)
    run = SharedRun(PrivacyBudget(1.0, 1e-6), shares=NoiseShares(sites, honest or sites), exchange=None)
    assert math.isclose(forecast.mu, run.mu_total, rel_tol=1e-6)


def test_more_noise_carries_fewer_topics_and_the_plan_says_where():
    found = [
        plan(40_000, 3_000, 20, **given).expected_topics for given in ({}, {"sites": 20}, {"sites": 20, "honest": 5})
    ]
    assert found[0] >= found[1] > found[2]
    assert "at 20 sites (5 honest)" in str(plan(40_000, 3_000, 20, sites=20, honest=5))
    assert "sites" not in str(plan(40_000, 3_000, 20))


@pytest.mark.parametrize("given", [{"sites": 1}, {"sites": "two"}, {"honest": 3}, {"sites": 5, "honest": 0}])
def test_sites_that_cannot_be(given):
    with pytest.raises(InputError):
        plan(40_000, 3_000, 20, **given)


def test_more_honest_sites_than_sites():
    with pytest.raises(PrivacyError):
        plan(40_000, 3_000, 20, sites=5, honest=6)


def test_honest_sites_are_sites():
    with pytest.raises(InputError, match="give 'sites' too"):
        plan(40_000, 3_000, 20, honest=3)


@pytest.mark.parametrize("knowledge", [None, "english"])
def test_several_sites_are_told_of_no_vocabulary_that_they_cannot_have(knowledge):
    notes = " ".join(plan(40_000, 3_000, 20, sites=5, knowledge=knowledge).notes)
    assert "Several sites need a public list of words" in notes
    assert "candidates" not in notes
    assert "private vocabulary" not in notes

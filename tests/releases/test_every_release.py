"""The suite of `release_suite.py` for every release of every list."""

from __future__ import annotations

import pytest
from release_suite import (
    check_description,
    check_made,
    check_neighbours,
    check_noise,
    check_order,
    check_sums,
    check_untainted,
    every_release,
    proved_fits,
)

FITS = proved_fits()
GAUSSIAN = [(fit, release) for fit in FITS for release in fit.releases]
UNITS = pytest.mark.parametrize("grouped", [False, True], ids=["documents", "users"])


def named(value):
    return getattr(value, "name", None)


@pytest.mark.parametrize("fit", FITS, ids=named)
def test_a_fit_makes_the_releases_of_its_list(fit):
    check_made(fit)


@UNITS
@pytest.mark.parametrize(("fit", "release"), GAUSSIAN, ids=named)
def test_neighbours_stay_within_the_sensitivity(fit, release, grouped):
    check_neighbours(fit, release, grouped)


@pytest.mark.parametrize(("fit", "release"), GAUSSIAN, ids=named)
def test_every_number_has_noise(fit, release):
    check_noise(fit, release)


@UNITS
@pytest.mark.parametrize("fit", FITS, ids=named)
def test_nothing_but_released_values_is_left_behind(fit, grouped):
    check_untainted(fit, grouped)


@pytest.mark.parametrize("fit", [fit for fit in FITS if fit.any_engine], ids=named)
def test_order_and_blocks_do_not_matter(fit):
    check_order(fit)


@pytest.mark.parametrize("fit", FITS, ids=named)
def test_a_release_is_added_up_by_its_sum(fit):
    check_sums(fit)


@pytest.mark.parametrize(("fit", "release"), every_release(), ids=named)
def test_a_release_says_what_it_is(fit, release):
    check_description(release)


@pytest.mark.parametrize("fit", FITS, ids=named)
def test_the_fractions_of_a_fit_are_those_its_releases_name(fit):
    named = {release.share for release in fit.releases if release.share is not None}
    used = [fit.fractions] if fit.fractions_for is None else [fit.fractions_for(b, 3, 30) for b in (1.0, 100.0, 1e6)]
    assert named == {name for fractions in used for name, fraction in fractions.items() if fraction}


def test_the_gpu_knows_every_sum_that_any_engine_may_be_asked_for():
    from private_topics.engines.gpu.sums import _ADDERS, ON_HOST

    asked = {release.unit_sum for fit in FITS if fit.any_engine for release in fit.releases}
    assert asked <= {*_ADDERS, *ON_HOST}

"""Whole fits against the reference: sums, sensitivities, shares, noise, price, and topics replayed from the noise."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from reference import budget, sequential
from reference.accountant import delta_of, mu_of, sigma_of
from reference.corpora import N_WORDS
from reference.lattice import step_for
from reference.made_fits import ALPHA0, DELTA, FITS, INFORMED_SPLIT, SPLIT, STEPS
from reference.noise import noise, places
from reference.sensitivity import declared
from reference.watched import Pass, compare

ASSEMBLED = ("frame second moment", "frame third moment", "centred second moment", "public second moment")
HEADROOM = 3e-9  # by which the library's noise may exceed what the budget asks for

every_fit = pytest.mark.parametrize("name", FITS)


@every_fit
def test_every_sum_is_that_of_the_reference(name):
    fit = FITS[name]()
    seen, undecided = map(sum, zip(*(compare(one, fit.units, len(fit.units)) for one in fit.passes), strict=True))
    assert undecided <= 0.05 * seen


@every_fit
def test_every_release_has_its_share(name):
    """Every one of its own, and all of them together the whole budget."""
    fit = FITS[name]()
    if "vectors" in name:
        meant = budget.informed(INFORMED_SPLIT, 2, fit.made, budget.USUAL)
    else:
        meant = budget.sequential(SPLIT, STEPS, fit.made)
    assert {asked.query.name: asked.share for asked in fit.asked} == pytest.approx(meant, rel=1e-12)
    assert sum(meant.values()) == pytest.approx(1.0, rel=1e-12)


def clip_of(one: Pass, name: str) -> float:
    """What bounds the norm of a unit's contribution."""
    fields = vars(one.unit_sum)
    if name.startswith("frame") and name.endswith("moment"):
        return fields["third_clip" if "third" in name else "second_clip"]
    return fields["clip"] if "moment" in name else 1.0


@every_fit
def test_every_release_has_the_noise_that_its_sensitivity_asks_for(name):
    fit = FITS[name]()
    n_units, mu = len(fit.units), mu_of(fit.epsilon, DELTA)
    for one in fit.passes:
        for asked, released, aggregate in zip(one.asked, one.released, one.aggregates, strict=True):
            release, step = asked.query.name, Fraction(asked.query.step)
            rows = len(one.unit_sum.frame) if hasattr(one.unit_sum, "frame") else 0
            clip = clip_of(one, release)
            sensitivity = declared(release, n_units, clip, asked.query.step, aggregate.shape, rows)
            assert 1.0 - 1e-15 <= asked.query.sensitivity / sensitivity <= 1.0 + 1e-12, release
            sigma = sigma_of(sensitivity, asked.share, mu)
            assert 1.0 <= released.sigma / sigma <= 1.0 + HEADROOM, release
            largest = n_units * Fraction(clip) * (2 if release.startswith(ASSEMBLED) else 1)
            if not release.startswith(ASSEMBLED):
                assert step == step_for(Fraction(float(sigma)), n_units, largest), release
            assert step.numerator & (step.numerator - 1) == step.denominator & (step.denominator - 1) == 0
            assert step <= Fraction(float(sigma)) / 2**20
            assert largest / step <= 2**61


@every_fit
def test_what_is_released_is_the_sum_and_the_recorded_noise(name):
    """One variable for all entries that are equal by symmetry, of the width that its number of entries asks for."""
    fit = FITS[name]()
    for one in fit.passes:
        drawn = iter(one.drawn)
        for asked, released, aggregate in zip(one.asked, one.released, one.aggregates, strict=True):
            query, groups = asked.query, places(asked.query.kind, aggregate.shape)
            draws = [next(drawn) for _ in groups]
            for group, (width, values) in zip(groups, draws, strict=True):
                copies = math.factorial(len(group[0])) if query.kind.startswith("symmetric") else 1
                for place in set(group[0]):
                    copies //= math.factorial(group[0].count(place))
                exact = released.sigma / query.step / math.sqrt(copies if query.kind.startswith("symmetric") else 1)
                assert 1.0 <= width / exact <= 1.0 + 1e-12, query.name
                assert len(values) == len(group)
            eta = noise(query.kind, aggregate.shape, [values.tolist() for _, values in draws])
            for index, value in eta.items():
                assert released.value[index] == float((int(aggregate[index]) + value) * Fraction(query.step))
        assert not list(drawn)


@every_fit
def test_the_price_is_that_of_the_reference(name):
    """Priced from the noise alone; the whole budget is spent, and not more."""
    fit = FITS[name]()
    spent = [(release.sensitivity, release.sigma) for release in fit.model.privacy_.releases]
    assert [release.name for release in fit.model.privacy_.releases] == fit.made
    mu = mpmath.sqrt(sum((sensitivity / mpmath.mpf(sigma)) ** 2 for sensitivity, sigma in spent))
    assert 1.0 - HEADROOM <= mu / mu_of(fit.epsilon, DELTA) <= 1.0
    for epsilon in (fit.epsilon, fit.model.privacy_.epsilon_spent):
        assert 1.0 - 1e-4 <= delta_of(spent, epsilon) / DELTA <= 1.0


REPLAYED = [name for name in FITS if "vectors" not in name and not name.startswith("enormous words, little")]


@pytest.mark.parametrize("name", REPLAYED)
def test_the_reference_reaches_the_same_topics_from_the_same_noise(name):
    """From documents and recorded noise to topics and prior, through every choice between, without the library."""
    fit = FITS[name]()
    shares = {asked.query.name: asked.share for asked in fit.asked}
    further = budget.sequential(SPLIT, STEPS, ["second moment", "refinement 1", "frame second moment"])
    replayed = sequential.Fit(
        fit.units, N_WORDS, fit.model.n_components, ALPHA0, STEPS, mu_of(fit.epsilon, DELTA), further | shares,
        iter([values.tolist() for one in fit.passes for _, values in one.drawn]),
    )  # fmt: skip
    topics, prior = sequential.topics(replayed)
    assert not list(replayed.drawn), "the library drew more noise"
    np.testing.assert_allclose(fit.model.components_, topics, atol=1e-5)
    np.testing.assert_allclose(fit.model.doc_topic_prior_, prior, atol=1e-5)
    frame = replayed.frame
    assert fit.model.supported_components_ == frame.supported
    assert fit.model.spectrum_.noise_edge == pytest.approx(frame.edge, rel=1e-7)
    np.testing.assert_allclose(fit.model.spectrum_.eigenvalues, frame.eigenvalues, rtol=1e-6, atol=1e-6 * frame.edge)

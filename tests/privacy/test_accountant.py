"""Runs with a different sigma per release, priced three ways: closed form, loss distributions, OpenDP."""

from __future__ import annotations

import dataclasses
import math

import opendp.prelude as opendp
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from private_topics.errors import PrivacyError
from private_topics.privacy.accountant import Accountant
from private_topics.privacy.curves import gdp_delta, zcdp_delta
from private_topics.privacy.events import (
    DiscreteGaussianEvent,
    DiscreteThresholdEvent,
    Event,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
)

opendp.enable_features("contrib")

RUNS = {
    "weak": ((1.0, 4.0), (0.5, 1.0), (2.0, 3.0)),
    "usual": ((1.0, 20.0), (0.3, 2.0), (1.4, 9.0), (0.01, 0.2)),
    "strict": ((1.0, 300.0), (0.7, 90.0)),
}


def gaussian(sensitivity: float = 1.0, sigma: float = 4.0, name: str = "release") -> GaussianEvent:
    return GaussianEvent(name=name, sensitivity=sensitivity, sigma=sigma, coordinates=10, proof="page.md")


def opendp_epsilon(run: tuple[tuple[float, float], ...], delta: float) -> float:
    """OpenDP's own composition and zCDP conversion of one discrete Gaussian mechanism per release."""
    space = opendp.atom_domain(T="i64"), opendp.absolute_distance(T="f64")
    rho = sum(opendp.m.make_gaussian(*space, scale=sigma).map(sensitivity) for sensitivity, sigma in run)
    one = opendp.m.make_gaussian(*space, scale=1.0)
    return opendp.c.make_zCDP_to_approxDP(one).map(math.sqrt(2 * rho)).epsilon(delta)


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS.keys())
@pytest.mark.parametrize("delta", [1e-4, 1e-7])
def test_closed_form_agrees_with_pld_and_stays_below_opendp(
    run: tuple[tuple[float, float], ...], delta: float
) -> None:
    accountant = Accountant(gaussian(*release) for release in run)
    closed = accountant.epsilon(delta)
    composed = pld.identity(value_discretization_interval=1e-4)
    for sensitivity, sigma in run:
        one = pld.from_gaussian_mechanism(sigma, sensitivity=sensitivity, value_discretization_interval=1e-4)
        composed = composed.compose(one)
    assert closed == pytest.approx(composed.get_epsilon_for_delta(delta), rel=0.01)
    zcdp = opendp_epsilon(run, delta)
    assert closed <= zcdp
    assert composed.get_epsilon_for_delta(delta) <= zcdp
    exact = Accountant(
        DiscreteGaussianEvent(name="d", sensitivity=s, sigma=sigma, coordinates=1, proof="page.md")
        for s, sigma in run
    )
    assert exact.epsilon(delta) == pytest.approx(zcdp, rel=1e-6)


def test_one_wrong_sigma_is_visible() -> None:
    """The comparison above is sharp: 7 % less noise in one of the releases moves epsilon by more than 1 %."""
    run = RUNS["weak"]
    wrong = Accountant([gaussian(*run[0]), gaussian(*run[1]), gaussian(run[2][0], run[2][1] * 0.93)])
    right = Accountant(gaussian(*release) for release in run)
    assert wrong.epsilon(1e-6) > 1.01 * right.epsilon(1e-6)


def test_threshold_event_adds_its_delta_and_shifts_epsilon() -> None:
    event = ThresholdEvent(
        name="vocabulary", sensitivity=1.4, sigma=7.0, coordinates=50, proof="page.md", threshold_delta=1e-7
    )
    accountant = Accountant([event, gaussian(1.0, 5.0)])
    mu = math.hypot(0.2, 0.2)
    expected = gdp_delta(mu, 1.0 + math.log1p(-1e-7)) + 1e-7
    assert accountant.delta(1.0) == pytest.approx(expected, rel=1e-9)
    assert accountant.delta(0.0) >= gdp_delta(mu, 0.0)
    assert accountant.epsilon(1e-6) > Accountant([gaussian(mu, 1.0)]).epsilon(1e-6)
    with pytest.raises(PrivacyError, match="No finite epsilon"):
        accountant.epsilon(5e-8)


@pytest.mark.parametrize("kind", [ThresholdEvent, DiscreteThresholdEvent])
def test_a_large_threshold_shifts_a_small_epsilon_below_zero(kind: type[ThresholdEvent]) -> None:
    """There the curve is 1 - e^epsilon + e^epsilon times that at -epsilon."""
    event = kind(name="words", sensitivity=1.0, sigma=5.0, coordinates=50, proof="page.md", threshold_delta=0.3)
    shifted = 0.1 + math.log(0.7)
    beyond = gdp_delta(0.2, -shifted) if kind is ThresholdEvent else zcdp_delta(0.02, -shifted)
    expected = 1.0 - math.exp(shifted) + math.exp(shifted) * beyond + 0.3
    assert Accountant([event]).delta(0.1) == pytest.approx(expected, rel=1e-9)


def test_no_delta_is_above_one() -> None:
    """Where the noise protects nobody, a threshold on top of it cannot make matters worse."""
    event = ThresholdEvent(
        name="vocabulary", sensitivity=1.4, sigma=1e-3, coordinates=50, proof="page.md", threshold_delta=0.5
    )
    assert Accountant([event]).delta(1.0) == 1.0


def test_laplace_noise_has_no_price_here() -> None:
    """Its epsilons add up in a `SimpleRun`, which asks no accountant: one that is asked must not say zero."""
    event = LaplaceEvent(name="laplace", sensitivity=1.0, scale=4.0, coordinates=1, proof="page.md")
    accountant = Accountant([gaussian(), event])
    assert accountant.events == (gaussian(), event)
    with pytest.raises(PrivacyError, match="cannot price LaplaceEvent"):
        accountant.delta(1.0)
    with pytest.raises(PrivacyError, match="cannot price LaplaceEvent"):
        accountant.epsilon(1e-6)


def test_nothing_recorded_costs_nothing() -> None:
    assert Accountant().epsilon(1e-9) == 0.0
    assert Accountant().delta(0.0) == 0.0


@pytest.mark.parametrize(
    "change",
    [{"sigma": 0.0}, {"sigma": math.inf}, {"sensitivity": -1.0}, {"coordinates": 0}, {"sigma": "4"}, {"name": ""}],
)
def test_forged_events_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(PrivacyError):
        dataclasses.replace(gaussian(), **change)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"threshold_delta": 1.0}, "threshold_delta"),
        ({"threshold_delta": 0.0}, "threshold_delta"),
        ({"sigma": -7.0}, "sigma"),
        ({"sensitivity": math.nan}, "sensitivity"),
        ({"coordinates": 0}, "coordinates"),
    ],
)
def test_forged_thresholds_are_refused(change: dict[str, object], named: str) -> None:
    event = ThresholdEvent(
        name="vocabulary", sensitivity=1.4, sigma=7.0, coordinates=50, proof="page.md", threshold_delta=1e-7
    )
    with pytest.raises(PrivacyError, match=named):
        dataclasses.replace(event, **change)  # type: ignore[arg-type]


def test_an_event_without_a_price_is_refused() -> None:
    with pytest.raises(PrivacyError, match="price"):
        Accountant([Event(name="free", sensitivity=1.0, coordinates=1, proof="page.md")])

"""Runs with a different sigma per release, priced three ways: closed form, loss distributions, OpenDP."""

from __future__ import annotations

import json
import math

import opendp.prelude as opendp
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from private_topics.errors import PrivacyError
from private_topics.privacy.accountant import Accountant, gdp_delta, gdp_epsilon, zcdp_delta
from private_topics.privacy.events import (
    DiscreteGaussianEvent,
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


def laplace(epsilon: float, coordinates: int = 1) -> LaplaceEvent:
    return LaplaceEvent(name="laplace", sensitivity=epsilon, scale=1.0, coordinates=coordinates, proof="page.md")


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
    assert accountant.method == "gdp"
    assert closed == pytest.approx(composed.get_epsilon_for_delta(delta), rel=0.01)
    zcdp = opendp_epsilon(run, delta)
    assert closed <= zcdp
    assert composed.get_epsilon_for_delta(delta) <= zcdp
    exact = Accountant(
        DiscreteGaussianEvent(name="d", sensitivity=s, sigma=sigma, coordinates=1, proof="page.md")
        for s, sigma in run
    )
    assert exact.method == "zcdp"
    assert exact.epsilon(delta) == pytest.approx(zcdp, rel=1e-6)


def test_one_wrong_sigma_is_visible() -> None:
    """The comparison above is sharp: 7 % less noise in one of the releases moves epsilon by more than 1 %."""
    run = RUNS["weak"]
    wrong = Accountant([gaussian(*run[0]), gaussian(*run[1]), gaussian(run[2][0], run[2][1] * 0.93)])
    right = Accountant(gaussian(*release) for release in run)
    assert wrong.epsilon(1e-6) > 1.01 * right.epsilon(1e-6)


def test_mixture_of_gaussian_and_laplace() -> None:
    mixed = Accountant([gaussian(1.0, 4.0), laplace(0.25)])
    assert mixed.method == "pld"
    epsilon = mixed.epsilon(1e-6)
    assert gdp_epsilon(0.25, 1e-6) < epsilon < gdp_epsilon(0.25, 1e-6) + 0.25
    several = Accountant([gaussian(1.0, 4.0), laplace(0.25, coordinates=5)]).epsilon(1e-6)
    assert epsilon <= several * (1 + 1e-6)
    assert several < gdp_epsilon(0.25, 1e-6) + 0.25
    # far below the rounding of the convolutions the other bounds take over
    assert mixed.epsilon(1e-40) <= gdp_epsilon(0.25, 1e-40) + 0.25 + 1e-6


def test_pure_laplace_needs_no_delta() -> None:
    accountant = Accountant([laplace(0.25, coordinates=3), laplace(0.5)])
    assert accountant.delta(0.75) == 0.0
    assert accountant.epsilon(1e-9) <= 0.75


def test_discrete_gaussian_with_laplace_is_priced_in_zcdp() -> None:
    event = DiscreteGaussianEvent(name="d", sensitivity=1.0, sigma=4.0, coordinates=9, proof="page.md")
    accountant = Accountant([event, laplace(0.2)])
    assert accountant.method == "zcdp"
    assert accountant.delta(1.0) <= zcdp_delta(0.5 * 0.25**2 + 0.5 * 0.2**2, 1.0)


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


def test_runs_compose() -> None:
    first, second = Accountant([gaussian(1.0, 4.0)], sampler_delta=1e-9), Accountant([gaussian(1.0, 3.0)])
    both = Accountant.of_runs([first, second])
    assert both.events == first.events + second.events
    assert both.sampler_delta == 1e-9
    assert both.mu == pytest.approx(math.hypot(1 / 4, 1 / 3))
    assert both.epsilon(1e-6) > max(first.epsilon(1e-6), second.epsilon(1e-6))
    assert both.delta(1.0) == pytest.approx(gdp_delta(both.mu, 1.0) + 1e-9, rel=1e-12)


def test_nothing_recorded_costs_nothing() -> None:
    assert Accountant().epsilon(1e-9) == 0.0
    assert Accountant().delta(0.0) == 0.0


def test_events_survive_json() -> None:
    events: list[Event] = [
        gaussian(),
        laplace(0.3, 4),
        DiscreteGaussianEvent(name="d", sensitivity=1.0, sigma=4.0, coordinates=9, proof="page.md"),
        ThresholdEvent(name="v", sensitivity=1.0, sigma=4.0, coordinates=9, proof="p.md", threshold_delta=1e-8),
    ]
    for event in events:
        assert Event.from_dict(json.loads(json.dumps(event.to_dict()))) == event


@pytest.mark.parametrize(
    "change",
    [{"mechanism": "free"}, {"sigma": 0.0}, {"sigma": math.inf}, {"sensitivity": -1.0}, {"extra": 1},
     {"coordinates": 0}, {"sigma": "4"}, {"name": ""}],
)  # fmt: skip
def test_forged_events_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(PrivacyError):
        Event.from_dict({**gaussian().to_dict(), **change})


def test_an_event_without_a_price_is_refused() -> None:
    with pytest.raises(PrivacyError, match="price"):
        Accountant([Event(name="free", sensitivity=1.0, coordinates=1, proof="page.md")])


def test_table_lists_every_release() -> None:
    table = Accountant([gaussian(1.0, 1.0, "first"), gaussian(1.0, 2.0, "second"), laplace(0.5)]).table()
    lines = table.splitlines()
    assert len(lines) == 4
    assert lines[1].startswith("first")
    assert lines[1].endswith("66.67%")

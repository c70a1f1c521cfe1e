"""Minibatches picked by secret coins: the price is never below the truth, and nothing is drawn before it is charged.

Lower bounds on the truth: a closed form at rate one, dp-accounting where it knows the pair, quadrature on the plane
for one step, and 200,000 simulated runs for many steps, with five standard errors either way (false alarms below 1e-6
for a fixed seed). Chi-squared and binomial tests have a false-alarm rate of 1e-6 each over a fixed noise seed.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.privacy_accountant import NeighboringRelation
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import binom, chi2, norm

from private_topics import BudgetLedger
from private_topics.errors import PrivacyError
from private_topics.privacy import subsampling
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.curves import gdp_delta, mu_of_budget
from private_topics.privacy.events import GaussianEvent, SubsampledGaussianEvent
from private_topics.privacy.lattice import step_for
from private_topics.privacy.mechanisms import PrivateRun, Query
from private_topics.privacy.randomness import NoiseStream
from private_topics.privacy.subsampling import (
    NON_NEGATIVE,
    SubsampledAccountant,
    SubsampledRun,
    dominating_losses,
    largest_step_mu,
    subsampled_delta,
)

BUDGET = PrivacyBudget(1.0, 1e-6)
ROOT_TWO = math.sqrt(2.0)


# -- the price -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mu", "steps", "epsilon"), [(0.2, 1, 1.0), (0.05, 16, 1.0), (0.3, 10, 3.0), (1.5, 4, 10.0)])
@pytest.mark.parametrize("ratio", [0.5, NON_NEGATIVE, 1.0])
def test_rate_one_is_the_plain_gaussian_composition(mu, steps, epsilon, ratio):
    exact = gdp_delta(mu * math.sqrt(steps), epsilon)
    assert exact <= subsampled_delta(mu, ratio, 1.0, steps, epsilon) <= 1.01 * exact


def test_rate_one_calibrates_like_the_plain_gaussian():
    exact = mu_of_budget(1.0, 1e-6) / math.sqrt(50)
    assert 0.999 * exact <= largest_step_mu(1.0, 1e-6, NON_NEGATIVE, 1.0, 50) <= exact


@pytest.mark.parametrize(
    ("rate", "noise", "steps", "epsilon"), [(0.1, 1.0, 100, 3.0), (0.05, 2.0, 200, 2.0), (0.3, 5.0, 100, 2.5)]
)
def test_opposite_contributions_cost_what_dp_accounting_says(rate, noise, steps, epsilon):
    theirs = pld.from_gaussian_mechanism(
        noise,
        sampling_prob=rate,
        neighboring_relation=NeighboringRelation.REPLACE_ONE,
        value_discretization_interval=2e-4,
    )
    reference = theirs.self_compose(steps).get_delta_for_epsilon(epsilon)
    assert 0.999 * reference <= subsampled_delta(2.0 / noise, 0.5, rate, steps, epsilon) <= 1.01 * reference


def divergence_on_the_plane(unit, other, rate, epsilon):
    """H of (1-q) N(0) + q N(unit) from (1-q) N(0) + q N(other), by the midpoint rule on a grid of 0.04."""
    places = np.arange(-8, 10, 0.04) + 0.02
    x, y = np.meshgrid(places, places, indexing="ij")

    def density(centre):
        return np.exp(-((x - centre[0]) ** 2 + (y - centre[1]) ** 2) / 2) / (2 * math.pi)

    first = (1 - rate) * density((0, 0)) + rate * density(unit)
    second = (1 - rate) * density((0, 0)) + rate * density(other)
    return float(np.maximum(first - math.exp(epsilon) * second, 0).sum() * 0.04**2)


@pytest.mark.parametrize(("rate", "noise", "epsilon"), [(0.1, 0.5, 0.5), (0.5, 1.0, 0.3), (0.9, 0.7, 2.0)])
def test_one_step_is_never_cheaper_than_any_two_documents(rate, noise, epsilon):
    """All angles that non-negative documents can have, lengths up to one, and the worst pair on a line exactly."""
    price = subsampled_delta(ROOT_TWO / noise, NON_NEGATIVE, rate, 1, epsilon)
    for angle in (0.0, 0.5, 1.0, math.pi / 2):
        for length in (0.0, 0.5, 1.0):
            other = (length * math.cos(angle) / noise, length * math.sin(angle) / noise)
            for pair in (((1 / noise, 0.0), other), (other, (1 / noise, 0.0))):
                assert divergence_on_the_plane(*pair, rate, epsilon) <= price * (1 + 1e-6)
    worst = divergence_on_the_plane((1 / noise, 0.0), ((1 - ROOT_TWO) / noise, 0.0), rate, epsilon)
    assert worst == pytest.approx(price, rel=0.01)


def simulated_delta(rate, noise, steps, epsilon, runs=200_000):
    """The divergence of `steps` steps on two documents without a common word, and its standard error."""
    generator = np.random.default_rng(0)
    loss = np.zeros(runs)
    m = 1.0 / noise
    for _ in range(steps):
        ours = generator.standard_normal(runs) + m * (generator.random(runs) < rate)
        theirs = generator.standard_normal(runs)
        for place, sign in ((ours, 1.0), (theirs, -1.0)):
            loss += sign * np.log1p(rate * np.expm1(m * place - m * m / 2))
    terms = -np.expm1(np.minimum(epsilon - loss, 0.0))
    return float(terms.mean()), float(terms.std() / math.sqrt(runs))


@pytest.mark.statistical
@pytest.mark.parametrize(("rate", "noise", "steps", "epsilon"), [(0.1, 1.5, 50, 1.0), (0.3, 4.0, 40, 1.0)])
def test_many_steps_are_never_cheaper_than_the_truth(rate, noise, steps, epsilon):
    """The accountant stays above simulated runs, the price of adding or removing a document does not."""
    truth, error = simulated_delta(rate, noise, steps, epsilon)
    price = subsampled_delta(ROOT_TWO / noise, NON_NEGATIVE, rate, steps, epsilon)
    assert truth - 5 * error <= price <= 1.35 * truth
    add_or_remove = pld.from_gaussian_mechanism(noise, sampling_prob=rate, value_discretization_interval=1e-3)
    assert add_or_remove.self_compose(steps).get_delta_for_epsilon(epsilon) < truth - 5 * error


def test_transforms_agree_with_direct_convolution():
    one = dominating_losses(0.8, NON_NEGATIVE, 0.2)
    by_transform = one.self_compose(8)
    mass = one._probs
    for _ in range(3):
        mass = np.convolve(mass, mass)  # all terms are positive: no rounding to speak of
    losses = one._discretization * (8 * one._lower_loss + np.arange(len(mass)))
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        direct = float(mass @ -np.expm1(np.minimum(epsilon - losses, 0.0))) - math.expm1(
            8 * math.log1p(-one._infinity_mass)
        )
        allowed = 8 * subsampling._COEFFICIENT_ERROR * math.sqrt(by_transform.size)
        assert abs(by_transform.get_delta_for_epsilon(epsilon) - direct) < allowed + 2e-15


def test_discrete_losses_are_two_laws():
    """Both laws of the discretised pair have mass one: no mass is lost, none invented."""
    for mu, rate in ((0.3, 0.1), (2.0, 0.02), (1.0, 1.0), (25.0, 0.5)):
        losses = dominating_losses(mu, NON_NEGATIVE, rate)
        places = losses._discretization * (losses._lower_loss + np.arange(losses.size))
        assert losses._probs.min() >= 0.0
        assert losses._probs.sum() + losses._infinity_mass == pytest.approx(1.0, abs=1e-12)
        assert losses._probs @ np.exp(-places) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(("mu", "ratio", "rate"), [(1.0, NON_NEGATIVE, 0.5), (3.0, 1.0, 0.1), (0.2, 0.5, 1.0)])
def test_tails_beyond_ten_deviations_count_as_the_proof_says(mu, ratio, rate):
    """As infinite loss above; its mirror image is moved up to the lowest bin, so that no mass is lost."""
    losses, unit = dominating_losses(mu, ratio, rate), mu * ratio
    above = [(1 - rate) * ndtr(-unit - far) + rate * ndtr(-far) for far in (10.5, 10.0)]
    assert above[0] <= losses._infinity_mass <= above[1]
    last = subsampling._places(unit, mu - unit, rate)[0][-1]
    assert losses._probs[0] >= (1 - rate) * ndtr(-last) + rate * ndtr(-last - mu + unit)
    largest = subsampling._composed(mu, ratio, rate, 1)[1]
    width, bins = losses._discretization, -losses._lower_loss
    assert width * (bins - 1) * (1 - 1e-9) <= largest <= width * bins * (1 + 1e-9)


@pytest.mark.parametrize(
    ("mu", "ratio", "rate"),
    [(0.01, NON_NEGATIVE, 0.1), (0.1, NON_NEGATIVE, 0.01), (1.0, NON_NEGATIVE, 0.05), (3.0, 1.0, 0.5),
     (10.0, NON_NEGATIVE, 0.5), (25.0, NON_NEGATIVE, 0.9)],
)  # fmt: skip
def test_bins_are_as_wide_as_the_bound_on_their_rounding_needs(mu, ratio, rate):
    """The proof adds up the errors of the tails: E|loss| is at most 50 bins, or there are 200 bins."""
    losses = dominating_losses(mu, ratio, rate)
    bins = np.abs(losses._lower_loss + np.arange(losses.size))
    assert losses._probs @ bins <= (50 if bins.max() > 201 else 200)


def test_ends_of_bins_further_off_than_the_proof_allows_are_refused(monkeypatch):
    """Without Newton's method they are: half of what is charged for a loss is as far as they may be off."""
    unit, other, rate = 0.2, 0.1, 0.3
    monkeypatch.setattr(subsampling, "_NEWTON_STEPS", 0)
    monkeypatch.setattr(subsampling, "_LOSS_ERROR", math.inf)
    places, losses, _ = subsampling._places(unit, other, rate)
    off = np.abs(subsampling._loss(places, unit, other, rate) - losses).max()
    largest = subsampling._loss(unit + subsampling._TAIL, unit, other, rate).item()
    monkeypatch.setattr(subsampling, "_LOSS_ERROR", 2.001 * off / (1.0 + largest))
    subsampling._places(unit, other, rate)
    monkeypatch.setattr(subsampling, "_LOSS_ERROR", 1.999 * off / (1.0 + largest))
    with pytest.raises(PrivacyError, match="precisely enough"):
        subsampling._places(unit, other, rate)


def test_rounding_lowers_epsilon_and_raises_delta_as_the_proof_says(monkeypatch):
    """By 1e-13 (1 + L_max) and by √n 1e-14 + 2e-12, for every step: subsampling.md."""
    asked = []
    composed = SimpleNamespace(size=10_000, get_delta_for_epsilon=lambda epsilon: asked.append(epsilon) or 1e-7)
    monkeypatch.setattr(subsampling, "_composed", lambda *_: (composed, 99.0))
    delta = subsampled_delta(0.1, NON_NEGATIVE, 0.5, 1000, 1.0)
    assert 1.0 - asked[0] == pytest.approx(1000 * 1e-13 * 100.0, rel=1e-6)
    assert delta - 1e-7 == pytest.approx(1000 * (100.0 * 1e-14 + 2e-12), rel=1e-6)


def test_no_delta_is_above_one():
    assert subsampled_delta(30.0, NON_NEGATIVE, 0.9, 20, 0.1) == 1.0


def test_millions_of_steps_are_calibrated(monkeypatch):
    """With the price of plain noise in the place of theirs, which costs nothing to compute."""
    monkeypatch.setattr(
        subsampling, "subsampled_delta", lambda mu, ratio, rate, steps, epsilon: gdp_delta(mu * steps**0.5, epsilon)
    )
    found = largest_step_mu.__wrapped__(1.0, 1e-6, NON_NEGATIVE, 0.5, 2**22)
    assert 0.999 <= found * 2**11 / mu_of_budget(1.0, 1e-6) <= 1.0


def test_strict_budgets_are_calibrated():
    """The search stays near what is affordable: far beyond, steps cannot be priced at all."""
    found = largest_step_mu(1e-3, 1e-8, NON_NEGATIVE, 0.5, 4)
    assert subsampled_delta(found, NON_NEGATIVE, 0.5, 4, 1e-3) <= 1e-8
    assert subsampled_delta(1.001 * found, NON_NEGATIVE, 0.5, 4, 1e-3) > 1e-8


@pytest.mark.parametrize("steps", [3, 10, 40])
def test_no_more_noise_is_added_than_a_ten_thousandth_beyond_what_is_needed(steps):
    """docs/proofs/subsampling.md: with mu a ten-thousandth larger the steps no longer fit the budget."""
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        found = largest_step_mu(epsilon, 1e-6, NON_NEGATIVE, 0.5, steps)
        assert subsampled_delta(found, NON_NEGATIVE, 0.5, steps, epsilon) <= 1e-6
        assert subsampled_delta(found * (1.0 + 1e-4), NON_NEGATIVE, 0.5, steps, epsilon) > 1e-6


@pytest.mark.parametrize(("mu", "ratio", "rate"), [(0.5, NON_NEGATIVE, 0.1), (2.0, 1.0, 0.3), (4.0, 0.5, 0.6)])
def test_a_bin_has_a_fiftieth_of_the_deviation_of_the_loss(mu, ratio, rate):
    """docs/proofs/subsampling.md: by integration, for the unit's own law. Wider bins would cost accuracy."""
    unit, other = mu * ratio, mu * (1.0 - ratio)

    def density(place, at):
        return (1.0 - rate) * norm.pdf(place) + rate * norm.pdf(place, at)

    def square(place):
        return density(place, unit) * math.log(density(place, unit) / density(place, -other)) ** 2

    deviation = math.sqrt(quad(square, -10.0 - other, 10.0 + unit, limit=200)[0])
    assert dominating_losses(mu, ratio, rate)._discretization == pytest.approx(deviation / 50.0, rel=0.01)


def test_price_moves_the_right_way():
    base = subsampled_delta(0.3, NON_NEGATIVE, 0.1, 100, 1.0)
    assert subsampled_delta(0.3, NON_NEGATIVE, 0.1, 50, 1.0) < base
    assert subsampled_delta(0.2, NON_NEGATIVE, 0.1, 100, 1.0) < base
    assert subsampled_delta(0.3, NON_NEGATIVE, 0.05, 100, 1.0) < base
    assert subsampled_delta(0.3, 0.5, 0.1, 100, 1.0) < base  # the same distance between shorter contributions
    assert base < gdp_delta(0.3 * 10.0, 1.0)  # the amplification


@pytest.mark.parametrize(
    "bad", [(0.0, 0.7, 0.1), (math.inf, 0.7, 0.1), (1.0, 0.4, 0.1), (1.0, 1.1, 0.1), (1.0, 0.7, 0.0), (1.0, 0.7, 1.1)]
)
def test_impossible_parameters_are_refused(bad):
    with pytest.raises(PrivacyError):
        dominating_losses(*bad)


def test_a_delta_below_the_rounding_is_refused():
    with pytest.raises(PrivacyError, match="rounding"):
        largest_step_mu(1.0, 1e-12, NON_NEGATIVE, 0.1, 1000)


# -- the coins -------------------------------------------------------------------------------------------------------


@pytest.mark.statistical
@pytest.mark.parametrize("rate", [0.001, 0.25, 0.9])
def test_coins_fall_at_their_rate(rate):
    count = 400_000
    heads = int(NoiseStream.seeded(1).coins(count, math.floor(rate * 2**53)).sum())
    assert binom.ppf(5e-7, count, rate) <= heads <= binom.isf(5e-7, count, rate)


def test_coins_at_the_ends_and_beyond():
    stream = NoiseStream.seeded(1)
    assert stream.coins(1000, 2**53).all()
    assert not stream.coins(1000, 0).any()
    for heads in (-1, 2**53 + 1):
        with pytest.raises(PrivacyError):
            stream.coins(10, heads)


@pytest.mark.statistical
def test_coins_of_two_steps_are_independent():
    stream = NoiseStream.seeded(2)
    first, second = stream.coins(100_000, 2**52), stream.coins(100_000, 2**52)
    assert binom.ppf(5e-7, 100_000, 0.5) <= int((first == second).sum()) <= binom.isf(5e-7, 100_000, 0.5)
    assert (NoiseStream().coins(1000, 2**52) != NoiseStream().coins(1000, 2**52)).any()


# -- the run ---------------------------------------------------------------------------------------------------------


def run_of(steps=20, rate=0.2, **settings):
    return SubsampledRun(BUDGET, steps=steps, rate=rate, n_units=1000, **{"noise_seed": 0} | settings)


def query_of(run, name="statistic", sensitivity=ROOT_TWO):
    draft = Query(name, "array", sensitivity, 1.0, "variational")
    return dataclasses.replace(draft, step=step_for(run.sigma(draft, run.share), 1000, 1e3))


def one_step(run, query, shape=(200, 30)):
    total = np.zeros(shape, np.int64)
    members = run.batch(query, total)
    return members, run.release(query, total)


def test_all_steps_together_cost_the_budget():
    run = run_of()
    query = query_of(run)
    for _ in range(20):
        members, released = one_step(run, query, (3, 2))
        assert members.shape == (1000,)
        assert members.dtype == bool
    assert isinstance(released.event, SubsampledGaussianEvent)
    assert released.event.norm_bound == pytest.approx(1.0)
    assert 0.995 <= run.epsilon_spent <= 1.0
    assert sum(run.shares_spent) == pytest.approx(1.0)
    assert run.accounting == "privacy loss distributions of subsampled releases"
    price = subsampled_delta(released.event.mu, NON_NEGATIVE, run.rate, 20, 1.0)
    assert run.accountant.delta(1.0) == pytest.approx(price, rel=1e-6)
    with pytest.raises(PrivacyError, match="20 steps"):
        run.batch(query, np.zeros((3, 2), np.int64))


def test_every_step_has_a_minibatch_of_its_own():
    """The coins of a step are those tossed for it: amplification is priced for fresh ones."""
    run = run_of(steps=6)
    query = query_of(run)
    batches = np.array([one_step(run, query, (3, 2))[0] for _ in range(6)])
    tossed = NoiseStream.seeded(0)
    np.testing.assert_array_equal(batches[0], tossed.coins(1000, run._heads))
    for first, second in itertools.combinations(batches, 2):
        assert 200 < int((first != second).sum()) < 450  # 320 are expected, with a standard deviation of 15


def test_a_run_cut_short_costs_less():
    run = run_of()
    for _ in range(5):
        one_step(run, query_of(run), (3, 2))
    assert run.epsilon_spent < 0.6


@pytest.mark.statistical
def test_noise_is_as_recorded():
    run = run_of(steps=3)
    for _ in range(3):
        _, released = one_step(run, query_of(run))
        standard = float(((released.value / released.sigma) ** 2).sum())
        assert chi2.ppf(5e-7, 6000) < standard < chi2.isf(5e-7, 6000)


def test_charged_and_reserved_before_a_coin_is_tossed(monkeypatch):
    order = []
    run = run_of(steps=2, reserve=lambda budget, **kind: order.append(("reserve", kind)))
    for name in ("coins", "rounded_gaussian"):
        drawn = getattr(NoiseStream, name)
        monkeypatch.setattr(
            NoiseStream,
            name,
            lambda stream, *arguments, name=name, drawn=drawn: (
                order.append((name, len(run.accountant.events))) or drawn(stream, *arguments)
            ),
        )
    for _ in range(2):
        one_step(run, query_of(run), (3, 2))
    assert order == [
        ("reserve", {"guarantee": "approximate"}),
        ("coins", 1),
        ("rounded_gaussian", 1),
        ("coins", 2),
        ("rounded_gaussian", 2),
    ]


def test_a_refused_reservation_draws_nothing(monkeypatch):
    ledger = BudgetLedger(0.5, 1e-6)
    run = run_of(reserve=ledger.reserve)
    monkeypatch.setattr(NoiseStream, "coins", lambda *_: pytest.fail("a coin was tossed"))
    with pytest.raises(PrivacyError, match="total budget"):
        run.batch(query_of(run), np.zeros((3, 2), np.int64))
    assert run.accountant.events == ()
    assert ledger.spent == ()


def test_a_step_is_a_batch_and_then_its_release():
    run = run_of()
    query, total = query_of(run), np.zeros((3, 2), np.int64)
    with pytest.raises(PrivacyError, match="no open step"):
        run.release(query, total)
    run.batch(query, total)
    with pytest.raises(PrivacyError, match="still open"):
        run.batch(query, total)
    with pytest.raises(PrivacyError, match="no open step"):
        run.release(query, np.zeros((3, 3), np.int64))  # more numbers than were charged
    with pytest.raises(PrivacyError, match="no open step"):
        run.release(query_of(run, sensitivity=2.0), total)
    run.release(query, total)
    with pytest.raises(PrivacyError, match="no open step"):
        run.release(query, total)  # a second answer from the same coins
    assert len(run.accountant.events) == 1


def test_the_accountant_takes_equal_subsampled_steps_only():
    run = run_of()
    _, released = one_step(run, query_of(run), (3, 2))
    accountant = SubsampledAccountant([released.event])
    plain = {"name": "other", "sensitivity": 1.0, "sigma": 1.0, "coordinates": 1, "proof": "variational"}
    with pytest.raises(PrivacyError, match="cannot price"):
        accountant.record(GaussianEvent(**plain))
    with pytest.raises(PrivacyError, match="same noise"):
        accountant.record(dataclasses.replace(released.event, sigma=2 * released.event.sigma))
    with pytest.raises(PrivacyError, match="same noise"):
        accountant.record(dataclasses.replace(released.event, rate=0.1))
    assert SubsampledAccountant().delta(1.0) == 0.0


def test_rate_one_is_a_gaussian_run():
    kinds = []
    run = run_of(rate=1.0, reserve=lambda budget, **kind: kinds.append(kind))
    members, released = one_step(run, query_of(run), (3, 2))
    assert members.all()
    assert kinds == [{}]
    assert run.mu_total == PrivateRun(BUDGET).mu_total
    assert released.event.mu == pytest.approx(run.mu_total / math.sqrt(20))
    assert run.accounting == "Gaussian differential privacy"


def test_two_subsampled_runs_add_up_by_epsilon_in_a_ledger():
    ledger = BudgetLedger(2.5, 1e-5)
    for _ in range(2):
        run = run_of(reserve=ledger.reserve)
        run.batch(query_of(run), np.zeros((3, 2), np.int64))
    assert ledger.epsilon_spent == pytest.approx(2.0, rel=1e-6)
    run = run_of(reserve=ledger.reserve)
    with pytest.raises(PrivacyError, match="total budget"):
        run.batch(query_of(run), np.zeros((3, 2), np.int64))


def test_rates_become_exact_probabilities():
    run = run_of(rate=0.1)
    assert run.rate * 2**53 == math.floor(run.rate * 2**53)
    assert run.rate <= 0.1
    for rate in (0.0, -0.1, 1.5, math.nan):
        with pytest.raises(PrivacyError):
            run_of(rate=rate)
    for steps in (0, 2.5, True):
        with pytest.raises(PrivacyError):
            run_of(steps=steps)


def test_seeded_runs_repeat_and_say_so():
    first, again = (one_step(run, query_of(run)) for run in (run_of(), run_of()))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1].value, again[1].value)
    assert not run_of().private
    assert run_of(noise_seed=None).private


def test_forged_events_are_refused():
    run = run_of()
    _, released = one_step(run, query_of(run), (3, 2))
    for change in ({"rate": 0.0}, {"rate": 1.5}, {"norm_bound": 0.1}, {"norm_bound": 3.0}):
        with pytest.raises(PrivacyError):
            dataclasses.replace(released.event, **change)

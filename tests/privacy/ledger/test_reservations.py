"""The rule by which reservations share a total: sound for whoever looks at results before planning the next fit."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

from private_topics.bisection import last_that_holds
from private_topics.errors import PrivacyError
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.curves import gdp_delta, mu_of_budget, zcdp_delta
from private_topics.privacy.ledger import reservations
from private_topics.privacy.ledger.in_memory import BudgetLedger
from private_topics.privacy.ledger.reservations import (
    Reservation,
    admits,
    composed_epsilon,
    remaining_epsilon,
    repeats_left,
)


def reservation(epsilon: float, delta: float, guarantee: Any = "gaussian", threshold: float = 0.0) -> Reservation:
    return Reservation(PrivacyBudget(epsilon, delta), guarantee, threshold)


def test_a_pure_guarantee_is_dominated_by_its_gaussian() -> None:
    """The hockey-stick curve of randomised response lies below the Gaussian one that is charged for it."""
    for epsilon in (0.01, 0.3, 1.0, 4.0, 20.0):
        mu = math.sqrt(2 * reservation(epsilon, 1e-6, "pure").gaussian_rho)
        for x in np.linspace(0, epsilon * 1.2, 50):
            response = max(0.0, (math.exp(epsilon) - math.exp(x)) / (1 + math.exp(epsilon)))
            assert response <= gdp_delta(mu, float(x)) * (1 + 1e-9)
        touching = (math.exp(epsilon) - 1) / (1 + math.exp(epsilon))
        assert gdp_delta(mu, 0.0) == pytest.approx(touching, rel=1e-6)


@pytest.mark.parametrize("guarantee", ["pure", "approximate"])
@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.3, 1.0, 4.0, 30.0, 500.0])
def test_what_is_charged_for_an_epsilon_alone(epsilon: float, guarantee: str) -> None:
    """mu²/2 with Phi(mu/2) = e^epsilon/(1 + e^epsilon), rounded up; and epsilon²/2 in zCDP, as ledger.md has it."""
    charged = reservation(epsilon, 1e-6, guarantee)
    with mpmath.workdps(300):
        tail = 1 / (1 + mpmath.exp(mpmath.mpf(epsilon)))  # Phi(-quantile)
        start = norm.isf(float(tail)) if tail > 1e-300 else mpmath.sqrt(2 * mpmath.mpf(epsilon))
        quantile = mpmath.findroot(
            lambda x: mpmath.log(mpmath.erfc(x / mpmath.sqrt(2)) / 2) - mpmath.log(tail), start
        )
        exact = 2 * quantile**2
        assert exact <= charged.gaussian_rho <= exact * (1 + mpmath.mpf("1e-6"))
    assert charged.concentrated_rho == pytest.approx(epsilon**2 / 2, rel=1e-15)


def test_thresholds_that_leave_no_delta_or_no_epsilon_are_refused() -> None:
    for threshold in (-1e-9, 0.5, 0.6, math.nan, "0.1", None):
        with pytest.raises(PrivacyError, match="below its delta"):
            reservation(1.0, 0.5, threshold=threshold)  # type: ignore[arg-type]
    assert reservation(1.0, 0.5, threshold=0.49).other_delta == 0.49
    for guarantee in ("gaussian", "concentrated"):
        for factor in (0.5, 1.0):  # of the epsilon that a threshold of a quarter takes
            with pytest.raises(PrivacyError, match="below its epsilon"):
                _ = reservation(-factor * math.log1p(-0.25), 0.5, guarantee, 0.25).rho
        assert reservation(-1.01 * math.log1p(-0.25), 0.5, guarantee, 0.25).rho > 0.0


@pytest.mark.parametrize("guarantee", ["gaussian", "concentrated", "approximate", "pure"])
def test_as_many_repeats_are_left_as_are_then_admitted(guarantee: Any) -> None:
    total, one = PrivacyBudget(1.0, 1e-6), reservation(0.1, 1e-9, guarantee)
    left = repeats_left(total, [one], 0.01)
    assert left > 3
    assert admits(total, [one] * (1 + left), 0.01)
    assert not admits(total, [one] * (2 + left), 0.01)
    assert repeats_left(total, [one] * (1 + left), 0.01) == 0
    tiny = reservation(1e-9, 1e-15, guarantee)
    assert repeats_left(PrivacyBudget(1.0, 0.1), [tiny], 0.01) == reservations.MOST_REPEATS


def test_what_remains_is_a_budget_at_both_ends_of_what_can_be_priced() -> None:
    """Where nothing fits, the search ends below the delta of a threshold; where all does, at the largest epsilon."""
    spent = [reservation(1.0, 1e-6)]
    assert remaining_epsilon(PrivacyBudget(1.0, 1e-6), spent, 0.01, delta=5e-7, threshold_delta=1e-7) == 0.0
    largest = remaining_epsilon(PrivacyBudget(1e12, 0.5), [], 0.01, delta=0.1, guarantee="pure")
    assert 0.999e12 < largest <= 1e12


def test_a_choice_made_after_a_look_stays_within_the_total() -> None:
    """The reason for set_aside: whoever switches the kind of the next fit by the last result gains from it.

    A first Gaussian fit, then either more Gaussian noise or a threshold release, whichever is worse for the privacy
    loss seen. The worst of such strategies, by numerical integration, stays below delta; the rule that only looks
    at the composed delta of each branch would let it pass.
    """
    epsilon, delta = 1.0, 1e-3
    mu = mu_of_budget(epsilon, delta) / math.sqrt(2)
    z = np.linspace(-12, 12, 20_001)
    weight = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    losses = mu * z + mu**2 / 2  # under the first of the neighbours

    def worst(second_mu: float, second_delta: float) -> float:
        gaussian = np.array([gdp_delta(second_mu, epsilon - loss) for loss in losses])
        threshold = second_delta + (1 - second_delta) * np.maximum(0.0, 1 - np.exp(epsilon - losses))
        return float(np.sum(weight * np.maximum(gaussian, threshold)))

    alone = delta - gdp_delta(mu, epsilon)  # what would be left for a threshold if the choice were fixed beforehand
    assert worst(mu, alone) > 1.2 * delta
    first = reservation(epsilon, gdp_delta(mu, epsilon) * (1 - 1e-9))
    threshold = reservation(1e-9, alone * (1 - 1e-6), "approximate")
    assert composed_epsilon([first, threshold], delta) <= epsilon
    assert not admits(PrivacyBudget(epsilon, delta), [first, threshold])
    ledger = BudgetLedger(epsilon, delta)
    ledger.reserve(first.budget)
    more = ledger.remaining(1e-4)
    kept = delta * 0.99 * 0.01  # the cap on other deltas
    assert worst(mu_of_budget(more, 1e-4), kept) <= delta


def test_mixtures_stay_within_the_total_by_independent_sums() -> None:
    """Random sequences of all kinds: whatever is admitted is within the total by one of three textbook rules."""
    draw = random.Random(3)
    kinds_seen = set()
    for _ in range(60):
        total = PrivacyBudget(draw.choice([0.5, 2.0, 8.0]), draw.choice([1e-4, 1e-6]))
        set_aside = draw.choice([0.0, 0.01, 0.3])
        ledger = BudgetLedger(total.epsilon, total.delta, set_aside=set_aside)
        kept: list[tuple[str, float, float, float]] = []
        for _ in range(8):
            kind = draw.choice(["gaussian", "gaussian", "concentrated", "approximate", "pure"])
            epsilon = total.epsilon * draw.uniform(0.05, 0.7)
            delta = total.delta * draw.choice([1e-3, 1e-2, 0.1])
            threshold = delta * draw.choice([0.0, 0.0, 0.1]) if kind in ("gaussian", "concentrated") else 0.0
            try:
                ledger.reserve(PrivacyBudget(epsilon, delta), guarantee=kind, threshold_delta=threshold)
            except PrivacyError:
                continue
            kept.append((kind, epsilon, delta, threshold))
        kinds_seen.add(tuple(sorted({kind for kind, *_ in kept})))
        assert within_by_hand(kept, total)
    assert len(kinds_seen) > 6


def within_by_hand(kept: list[tuple[str, float, float, float]], total: PrivacyBudget) -> bool:
    stated = [(epsilon, 0.0 if kind == "pure" else delta) for kind, epsilon, delta, _ in kept]
    if sum(e for e, _ in stated) <= total.epsilon and sum(d for _, d in stated) <= total.delta:
        return True
    others = sum(d if kind == "approximate" else t for kind, _, d, t in kept)
    rho = sum(
        reservation(e, d, kind, t).rho if kind in ("gaussian", "concentrated") else e**2 / 2 for kind, e, d, t in kept
    )
    if zcdp_delta(rho, total.epsilon) + others <= total.delta:
        return True
    squares = 0.0
    for kind, epsilon, delta, threshold in kept:
        if kind == "concentrated":
            return False
        if kind == "gaussian":
            squares += mu_of_budget(epsilon + math.log1p(-threshold), delta - threshold) ** 2
        else:
            squares += (2 * norm.isf(1 / (1 + math.exp(epsilon)))) ** 2
    return gdp_delta(math.sqrt(squares), total.epsilon) + others <= total.delta


@pytest.mark.parametrize("set_aside", [0.0, 0.01, 0.3, 0.99])
@pytest.mark.parametrize("guarantee", ["gaussian", "concentrated", "approximate", "pure"])
def test_the_parts_of_all_families_sum_to_delta(
    guarantee: str, set_aside: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which family admits a list is chosen after a look too, so the failures of all of them add up."""
    asked: dict[str, tuple[float, float]] = {}

    def refused(family: str, reservations: Any, epsilon: float, part: float, aside: float) -> bool:
        asked[family] = part, aside
        return False

    monkeypatch.setattr(reservations, "_within", refused)
    total = PrivacyBudget(1.0, 1e-3)
    assert not admits(total, [reservation(0.5, 1e-4, guarantee), reservation(0.5, 1e-4)], set_aside)
    assert set(asked) == set(reservations.FAMILIES.values())
    assert math.fsum(part for part, _ in asked.values()) == pytest.approx(total.delta, rel=1e-12)
    assert all(0.0 <= aside <= part for part, aside in asked.values())


@pytest.mark.parametrize("threshold", [0.0, 1e-9], ids=["without a threshold", "with a threshold"])
def test_what_is_left_may_be_chosen_after_a_look(threshold: float) -> None:
    """An analyst who asks the ledger what it would still admit, of either kind, and takes what hurts more.

    As above, by numerical integration over the loss that the first fit shows; but the caps are the ledger's own
    answers. A cap on thresholds that is no larger than what was spent so far lets this analyst reach 1.4 delta.
    """
    epsilon, delta = 1.0, 1e-3
    first = reservation(0.6 * epsilon, 0.1 * delta, "gaussian", threshold)
    mu = math.sqrt(2.0 * first.gaussian_rho)
    z = np.linspace(-12, 12, 20_001)
    weight = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    losses = mu * z + mu**2 / 2

    def admitted(more: Reservation) -> bool:
        return admits(PrivacyBudget(epsilon, delta), [first, more])

    noisy = last_that_holds(
        lambda e: admitted(reservation(e, 0.1 * delta)), 1e-3, 2.0, lambda low, high: high - low > 1e-6
    )
    lone = last_that_holds(
        lambda d: admitted(reservation(1e-9, d, "approximate")), 1e-12, delta, lambda low, high: high - low > 1e-9
    )
    second_mu = mu_of_budget(noisy, 0.1 * delta)
    gaussian = np.array([gdp_delta(second_mu, epsilon - loss) for loss in losses])
    spread = lone + (1 - lone) * np.maximum(0.0, 1 - np.exp(epsilon - losses))
    reached = threshold + float(np.sum(weight * np.maximum(gaussian, spread)))
    assert 0.5 * delta < reached <= delta


@pytest.mark.parametrize("guarantee", ["gaussian", "concentrated"])
def test_what_a_first_fit_leaves_is_spent_in_its_own_family(guarantee: Any) -> None:
    """A first fit that takes the whole total lies in no family: what it leaves is spent within its own costs."""
    total = PrivacyBudget(1.0, 1e-6)
    whole = reservation(1.0, 1e-6, guarantee)
    assert admits(total, [whole], 0.01)
    assert not admits(total, [whole, reservation(1e-6, 1e-12, guarantee)], 0.01)
    stopped = replace(whole, spent=0.01)
    assert stopped.rho == pytest.approx(0.01 * whole.rho)
    left = remaining_epsilon(total, [stopped], 0.01, delta=1e-6, guarantee=guarantee)
    cost = stopped.rho + reservation(left, 1e-6, guarantee).rho
    assert cost == pytest.approx(whole.rho, rel=1e-5)
    assert cost <= whole.rho
    other = "concentrated" if guarantee == "gaussian" else "approximate"
    assert remaining_epsilon(total, [stopped], 0.01, delta=1e-7, guarantee=other) == 0.0  # type: ignore[arg-type]
    assert remaining_epsilon(total, [stopped], 0.01, delta=1e-6, guarantee=guarantee, threshold_delta=1e-9) == 0.0


def test_a_fit_that_leaves_thresholds_unused_may_be_followed_by_one_that_uses_them() -> None:
    total, whole = PrivacyBudget(1.0, 1e-6), reservation(1.0, 1e-6, "gaussian", 1e-7)
    assert whole.other_delta == 1e-7
    stopped = replace(whole, spent=0.01)
    assert stopped.other_delta == 0.0
    settings: dict[str, Any] = {"delta": 1e-6, "threshold_delta": 1e-7}
    assert 0.99 < remaining_epsilon(total, [stopped], 0.01, **settings) < 1.0
    settings["threshold_delta"] = 2e-7
    assert remaining_epsilon(total, [stopped], 0.01, **settings) == 0.0


def test_a_later_fit_that_is_given_up_leaves_the_caps_as_they_are() -> None:
    """Within a family the caps are those of the first reservation as it was made."""
    total, first, second = PrivacyBudget(1.0, 1e-6), reservation(0.5, 1e-7), reservation(0.9, 1e-7)
    assert admits(total, [first, second], 0.01)
    assert not admits(total, [first, second, second], 0.01)
    assert admits(total, [first, replace(second, spent=0.01), second], 0.01)
    assert not admits(total, [second, second], 0.01)
    assert admits(total, [replace(second, spent=0.01), second], 0.01)


@pytest.mark.parametrize("spent", [0.0, -0.1, 1.1, math.nan, 1, None])
def test_a_fraction_spent_is_a_float_above_0_and_at_most_1(spent: Any) -> None:
    with pytest.raises(PrivacyError, match="'spent' fraction"):
        replace(reservation(1.0, 1e-6), spent=spent)
    for guarantee in ("approximate", "pure"):
        with pytest.raises(PrivacyError, match="given up in part"):
            replace(reservation(1.0, 1e-6, guarantee), spent=0.5)


@pytest.mark.parametrize("delta", [1e-300, 1e-9, 0.3, 1.0 - 2.0**-53, 1.0])
@pytest.mark.parametrize("other", [1e-300, 1e-7, 0.1, 1.0 - 2.0**-53, 1.0])
def test_a_threshold_is_added_and_rounded_up(delta: float, other: float) -> None:
    exact = 1 - (1 - Fraction(delta)) * (1 - Fraction(other))
    found = reservations._with_thresholds(delta, other)
    assert exact <= Fraction(found) <= min(Fraction(1), exact * (1 + Fraction(1, 2**48)))
    assert reservations._with_thresholds(delta, 0.0) == delta

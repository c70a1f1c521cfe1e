"""Wording, colour and advice follow epsilon, and delta against the number of units."""

from __future__ import annotations

import math

import pytest

from private_topics.privacy import strength
from private_topics.privacy.curves import mu_of_budget
from private_topics.privacy.neighbours import Neighbours
from private_topics.privacy.strength import (
    USUAL,
    VERY_WEAK,
    WEAK,
    best_guess,
    gaussian_true_alarms,
    guess_text,
    strength_of,
    true_alarms,
)

LEVELS = (USUAL, WEAK, VERY_WEAK)


@pytest.mark.parametrize(
    ("epsilon", "delta", "level"),
    [
        (0.1, 1e-6, USUAL),
        (1.0, 1e-6, USUAL),
        (4.99, 0.0, USUAL),
        (5.0, 1e-6, WEAK),
        (9.99, 0.0, WEAK),
        (10.0, 1e-6, VERY_WEAK),
        (1e6, 1e-6, VERY_WEAK),
        (1.0, 0.99e-4, USUAL),
        (1.0, 1e-4, WEAK),
        (1.0, 1e-3, VERY_WEAK),
        (6.0, 1e-3, VERY_WEAK),
    ],
)
def test_levels(epsilon: float, delta: float, level: str) -> None:
    """For 1,000 units."""
    found = strength_of(epsilon, delta, 1000, "document")
    assert found.level == level
    assert (found.warning == "") == (found.risk == "") == (found.advice == "") == (level == USUAL)
    assert ("epsilon of 1 to 3" in found.advice) == (epsilon >= 5)
    assert ("a delta of at most 1e-04" in found.advice) == (delta >= 1e-4)
    assert ("Do not publish" in found.advice) == (level == VERY_WEAK)


def test_a_guarantee_never_gets_better_with_epsilon_or_units() -> None:
    grid = [0.01 * 1.5**step for step in range(40)]
    levels = [LEVELS.index(strength_of(epsilon, 1e-9, 100, "user").level) for epsilon in grid]
    assert levels == sorted(levels)
    assert set(levels) == {0, 1, 2}
    by_units = [LEVELS.index(strength_of(1.0, 1e-6, 3 * 10**power, "user").level) for power in range(1, 9)]
    assert by_units == sorted(by_units)
    assert set(by_units) == {0, 1, 2}


def test_what_a_guesser_reaches_is_not_rounded_to_a_percentage() -> None:
    assert guess_text(1.0, 1e-6) == "is right at most 73.1% of the time"
    assert guess_text(4.5, 0.0) == "is right at most 98.9% of the time"
    assert guess_text(4.6, 0.0) == "may be right all but one time in 100"
    assert guess_text(5.0, 1e-6) == "may be right all but one time in 150"
    assert guess_text(10.0, 0.0) == "may be right all but one time in 22,000"
    assert guess_text(20.0, 0.0) == "may be right all but one time in 490,000,000"
    assert guess_text(21.0, 0.0) == "may be right every time"  # one in more than a billion
    assert guess_text(1e6, 1e-6) == "may be right every time"
    for epsilon in (5.0, 8.0, 14.0):
        said = float(guess_text(epsilon, 0.0).rsplit(" ", 1)[1].replace(",", ""))
        assert said == pytest.approx(1.0 / (1.0 - best_guess(epsilon, 0.0)), rel=0.05)
        assert math.isclose(1.0 - 1.0 / said, best_guess(epsilon, 0.0), rel_tol=1e-3)


def test_a_guess_is_counted_up_to_the_largest_count_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A power of two in the place of a billion, so that the probability of a wrong guess is exactly one over it."""
    monkeypatch.setattr(strength, "MOST_COUNTED", 2.0**21)
    assert guess_text(0.0, 1.0 - 2.0**-20) == "may be right all but one time in 2,100,000"
    assert guess_text(0.0, 1.0 - 2.0**-21) == "may be right every time"


@pytest.mark.parametrize(
    ("neighbours", "question"),
    [
        ("replace", "which of two equally likely users"),
        ("zero-out", "an empty one"),
        ("add-remove", "as likely as not"),
    ],
)
def test_what_cannot_be_told_is_what_the_neighbours_differ_in(neighbours: Neighbours, question: str) -> None:
    """An epsilon for emptied units bounds nothing of the kind for two units that both say something."""
    guess = strength_of(1.0, 1e-6, 1000, "user", neighbours).guess
    assert question in guess
    assert ("which of two" in guess) == (neighbours == "replace")


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.2])
def test_true_alarms_are_those_of_the_worst_mechanism(epsilon: float, delta: float) -> None:
    """Randomised response that gives itself away with probability delta attains the bound; both of its sides count.

    Outcomes: given away (only under P), response towards P, towards Q, given away (only under Q). The best test with
    a rate of false alarms alarms at the outcomes in that order, the last one in part.
    """
    likely = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    other = (1 - delta) / (1 + math.exp(epsilon))
    outcomes = [(delta, 0.0), (likely, other), (other, likely), (0.0, delta)]  # under P, under Q
    for rate in (0.0, 0.001, 0.01, 0.05, 0.3, 0.7, 1.0):
        left, caught = rate, 0.0
        for under_p, under_q in outcomes:
            part = 1.0 if under_q <= left else left / under_q
            caught, left = caught + part * under_p, max(0.0, left - under_q)
        assert true_alarms(epsilon, delta, rate) == pytest.approx(caught, abs=1e-12)


def test_gaussian_noise_allows_fewer_true_alarms() -> None:
    assert gaussian_true_alarms(0.0, 0.01) == pytest.approx(0.01)
    assert gaussian_true_alarms(1.0, 0.5) == pytest.approx(0.5 * math.erfc(-1 / math.sqrt(2)))
    for epsilon in (0.1, 1.0, 5.0, 1e3):
        mu = mu_of_budget(epsilon, 1e-6)
        for rate in (0.001, 0.01, 0.05):
            assert rate < gaussian_true_alarms(mu, rate) <= true_alarms(epsilon, 1e-6, rate) <= 1.0
    assert true_alarms(1e6, 0.0, 0.001) == 1.0

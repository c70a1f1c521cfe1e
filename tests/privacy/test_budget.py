"""Budgets and splits refuse what they cannot cover, and say what would be right."""

from __future__ import annotations

import copy
import math
import pickle
import random
import warnings
from fractions import Fraction

import numpy as np
import pytest

from private_topics.errors import PrivacyError, PrivacyWarning
from private_topics.fits.fit import BudgetSplit
from private_topics.privacy.budget import PrivacyBudget, sigma_for, warn_if_delta_large


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "one", None, True])
def test_bad_epsilon(epsilon: object) -> None:
    with pytest.raises(PrivacyError, match="epsilon"):
        PrivacyBudget(epsilon, 1e-6)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [0, 1, 1.5, -1e-9, math.nan, None])
def test_bad_delta(delta: object) -> None:
    with pytest.raises(PrivacyError, match="delta"):
        PrivacyBudget(1.0, delta)  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [1e-30, 1e12])
def test_the_ends_of_what_can_be_priced_are_budgets(epsilon: float) -> None:
    """As the error message says it."""
    assert PrivacyBudget(epsilon, 1e-6).epsilon == epsilon
    for beyond in (epsilon / 2, epsilon * 2):
        if not 1e-30 <= beyond <= 1e12:
            with pytest.raises(PrivacyError, match="from 1e-30 to 1e12 can be priced"):
                PrivacyBudget(beyond, 1e-6)


def test_a_budget_holds_floats_whatever_numbers_it_was_given() -> None:
    budget = PrivacyBudget(np.float32(1.0), Fraction(1, 10**6))  # type: ignore[arg-type]
    assert (type(budget.epsilon), type(budget.delta)) == (float, float)
    assert budget == PrivacyBudget(1.0, 1e-6)


def test_split_sums_to_one() -> None:
    split = BudgetSplit()
    assert math.fsum(split.as_dict().values()) == pytest.approx(1.0, abs=1e-9)
    changed = split.replace(second=split.second - 0.01, vocabulary=0.01)
    assert changed.vocabulary == 0.01
    with pytest.raises(PrivacyError, match="sum to 1"):
        split.replace(second=0.5)
    with pytest.raises(PrivacyError, match="no fraction 'thrid'"):
        split.replace(thrid=0.1)


def test_a_split_does_not_change() -> None:
    split = BudgetSplit()
    for change in (
        lambda: setattr(split, "unigram", 0.5),
        lambda: delattr(split, "_fractions"),
        lambda: split._fractions.__setitem__("unigram", 0.9),
    ):
        with pytest.raises((AttributeError, TypeError)):
            change()
    assert split == BudgetSplit() == copy.deepcopy(split) == pickle.loads(pickle.dumps(split))
    assert "unigram" in dir(split)


@pytest.mark.parametrize("fraction", [-0.1, math.nan, math.inf])
def test_split_refuses_bad_fractions(fraction: float) -> None:
    with pytest.raises(PrivacyError, match="unigram"):
        BudgetSplit(unigram=fraction)


def test_sigma_never_overspends_its_share() -> None:
    for share in (1.0, 0.3, 1e-3, 1e-9):
        for mu in (1e-6, 0.27, 13.0):
            sigma = sigma_for(share, 1.7, mu)
            assert (1.7 / sigma) ** 2 <= share * mu**2
            assert (1.7 / sigma) ** 2 >= share * mu**2 * (1 - 1e-13)


def test_sigma_is_rounded_up() -> None:
    """In rational arithmetic, for numbers of all sizes."""
    draw = random.Random(0)
    for _ in range(300):
        share, sensitivity, mu = draw.random() + 1e-9, draw.lognormvariate(0, 5), draw.lognormvariate(0, 5)
        sigma = Fraction(sigma_for(share, sensitivity, mu))
        assert (Fraction(sensitivity) / sigma) ** 2 <= Fraction(share) * Fraction(mu) ** 2


@pytest.mark.parametrize("mu", [0.0, -1.0, math.nan, math.inf, "1", None])
def test_bad_mu_total(mu: object) -> None:
    with pytest.raises(PrivacyError, match="mu_total"):
        sigma_for(0.5, 1.0, mu)  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [0.0, -0.1, 1.1, math.nan])
def test_bad_share(share: float) -> None:
    with pytest.raises(PrivacyError, match="share"):
        sigma_for(share, 1.0, 1.0)


def test_large_delta_warns() -> None:
    with pytest.warns(PrivacyWarning, match="number of units"):
        warn_if_delta_large(1e-3, 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_delta_large(1e-6, 1000)


@pytest.mark.parametrize(("sensitivity", "mu"), [(5e-324, 1e300), (1e300, 1e-300)])
def test_noise_that_leaves_the_floats_is_refused(sensitivity: float, mu: float) -> None:
    """No noise at all, and noise without bound."""
    with pytest.raises(PrivacyError, match="leaves the range of floating point"):
        sigma_for(1.0, sensitivity, mu)

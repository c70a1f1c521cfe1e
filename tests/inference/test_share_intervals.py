"""Shares and their intervals: exact for the quotient of two noisy numbers that have noise in common.

False-alarm rate 1e-6 for each coverage, with a fixed seed; the interval that forgets the common noise must fail.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from private_topics.inference.class_shares import ENOUGH, estimates, smallest_class

DRAWS, FALSE_ALARM = 20_000, 1e-6
LEAST, MOST = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], DRAWS, 0.9)
CASES = {
    "many documents": (np.array([500.0, 300.0, 200.0]), 6.0),
    "a topic that nobody writes about": (np.array([300.0, 100.0, 0.0, 100.0]), 6.0),
    "a small class": (np.array([90.0, 30.0, 20.0, 60.0]), 5.0),
    "one topic takes it all": (np.array([400.0, 0.0]), 9.0),
}


def noisy(case: str) -> tuple[np.ndarray, np.ndarray, float]:
    true, sigma = CASES[case]
    return true, true + sigma * np.random.default_rng(7).normal(size=(DRAWS, len(true))), sigma


@pytest.mark.parametrize("case", CASES)
def test_nine_in_ten_intervals_hold_what_noise_hides(case: str) -> None:
    true, values, sigma = noisy(case)
    found = estimates(values, sigma)
    assert found.enough.mean() > 0.999
    share = true / true.sum()
    for topic, part in enumerate(share):
        low, high = found.low[:, topic], found.high[:, topic]
        covered = int(((low <= part) & (part <= high)).sum()) + int((~found.enough).sum())
        assert covered >= LEAST, topic
        assert covered <= MOST or part in (0.0, 1.0), "an end that is cut off at 0 or 1 only holds more"
    sized = (found.sizes_low <= true.sum()) & (true.sum() <= found.sizes_high)
    assert LEAST <= int(sized.sum()) <= MOST


def test_an_interval_that_takes_the_noise_of_a_share_and_its_sum_for_independent_is_wrong() -> None:
    true, values, sigma = noisy("one topic takes it all")
    sums, share = values.sum(axis=1), true[0] / true.sum()
    naive = values[:, 0] / sums
    spread = 1.6448536 * sigma * np.sqrt(1.0 + 2.0 * naive**2) / sums
    covered = int((np.abs(naive - share) <= spread).sum())
    assert not LEAST <= covered <= MOST


def test_a_share_lies_in_its_interval_and_both_in_the_unit_interval() -> None:
    values = np.random.default_rng(0).normal(50.0, 60.0, size=(500, 4))
    found = estimates(values, 10.0)
    assert 50 < found.enough.sum() < 450
    rows = found.enough
    assert (found.low[rows] <= found.shares[rows]).all()
    assert (found.shares[rows] <= found.high[rows]).all()
    assert (found.low[rows] >= 0.0).all()
    assert (found.high[rows] <= 1.0).all()
    assert (found.high[rows] > found.low[rows]).all(), "noise is never sure of a share"
    for part in (found.shares, found.low, found.high):
        assert np.isnan(part[~rows]).all()


def test_a_class_that_noise_alone_fills_says_nothing() -> None:
    """One in 30,000 would: 20 expected of 600,000, and more than 50 or fewer than 3 in a million corpora each."""
    values = np.random.default_rng(1).normal(0.0, 3.0, size=(600_000, 5))
    assert 3 <= int(estimates(values, 3.0).enough.sum()) <= 50
    assert smallest_class(3.0, 5) == 27 == np.ceil(ENOUGH * 3.0 * np.sqrt(5))


def test_a_single_topic_has_the_whole_share() -> None:
    found = estimates(np.array([[100.0], [3.0]]), 5.0)
    assert (found.shares[0, 0], found.low[0, 0], found.high[0, 0]) == (1.0, 1.0, 1.0)
    assert found.enough.tolist() == [True, False]

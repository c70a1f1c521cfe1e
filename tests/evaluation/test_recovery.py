"""Matching by brute force over all assignments, and the errors by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from private_topics.errors import InputError
from private_topics.evaluation import match_topics, topic_error_l1, topic_error_l2


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def pair():
    rng = np.random.default_rng(11)
    return rng.dirichlet(np.full(9, 0.5), size=5), rng.dirichlet(np.full(9, 0.5), size=5)


def test_matching_is_the_best_of_all(pair):
    estimate, truth = pair
    cost = ((unit(truth)[:, None] - unit(estimate)[None]) ** 2).sum(axis=2)
    best = min(itertools.permutations(range(5)), key=lambda order: sum(cost[j, i] for j, i in enumerate(order)))
    np.testing.assert_array_equal(match_topics(estimate, truth), best)
    expected_l2 = math.sqrt(sum(cost[j, i] for j, i in enumerate(best)) / 5)
    assert topic_error_l2(estimate, truth) == pytest.approx(expected_l2, rel=1e-12)
    expected_l1 = sum(abs(estimate[i] - truth[j]).sum() for j, i in enumerate(best)) / 5
    assert topic_error_l1(estimate, truth) == pytest.approx(expected_l1, rel=1e-12)


def test_permuted_truth_is_recovered(pair):
    _, truth = pair
    order = np.array([3, 0, 4, 1, 2])
    match = match_topics(truth[order], truth)
    np.testing.assert_array_equal(truth[order][match], truth)
    assert topic_error_l1(truth[order], truth) == 0.0
    assert topic_error_l2(truth[order], truth) == 0.0


def test_errors_do_not_depend_on_the_order(pair):
    estimate, truth = pair
    order = np.array([2, 4, 0, 1, 3])
    for error in (topic_error_l1, topic_error_l2):
        assert error(estimate[order], truth) == pytest.approx(error(estimate, truth), rel=1e-12)
        assert error(estimate, truth[order]) == pytest.approx(error(estimate, truth), rel=1e-12)


def test_l2_does_not_depend_on_the_scale(pair):
    estimate, truth = pair
    assert topic_error_l2(7 * estimate, 0.1 * truth) == pytest.approx(topic_error_l2(estimate, truth), rel=1e-12)


def test_disjoint_topics_are_the_worst():
    estimate, truth = np.eye(6)[:3], np.eye(6)[3:]
    assert topic_error_l1(estimate, truth) == 2.0
    assert topic_error_l2(estimate, truth) == pytest.approx(math.sqrt(2))


def test_missing_topics_count_as_disjoint():
    truth = np.eye(4)
    match = match_topics(truth[[2, 0]], truth)
    np.testing.assert_array_equal(match, [1, -1, 0, -1])
    assert topic_error_l1(truth[[2, 0]], truth) == 1.0
    assert topic_error_l2(truth[[2, 0]], truth) == pytest.approx(1.0)


def test_superfluous_topics_are_ignored(pair):
    estimate, truth = pair
    match = match_topics(np.vstack([estimate, truth]), truth)
    np.testing.assert_array_equal(match, np.arange(5, 10))
    assert topic_error_l1(np.vstack([estimate, truth]), truth) == 0.0
    assert topic_error_l2(np.vstack([estimate, truth]), truth) == 0.0


def test_a_row_of_zeros_stays_zero():
    assert topic_error_l2(np.array([[1.0, 0.0], [0.0, 0.0]]), np.eye(2)) == pytest.approx(math.sqrt(0.5))


@pytest.mark.parametrize("measure", [match_topics, topic_error_l1, topic_error_l2])
def test_bad_arguments_are_refused(measure):
    good = np.eye(3)
    with pytest.raises(InputError, match="same number of words"):
        measure(np.eye(4), good)
    with pytest.raises(InputError, match=r"estimate.*NaN"):
        measure(good * np.nan, good)
    with pytest.raises(InputError, match=r"truth.*two dimensions"):
        measure(good, good[0])
    with pytest.raises(InputError, match=r"truth.*two dimensions"):
        measure(good, good[:0])


def test_l1_needs_probabilities():
    with pytest.raises(InputError, match="sum to one"):
        topic_error_l1(2 * np.eye(3), np.eye(3))


def test_rows_too_far_from_the_truth_do_not_match():
    truth = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    estimate = np.array([[0.0, 0.5, 0.5], [0.75, 0.25, 0.0]])  # at distances 0 of the second, 0.5 of the first
    np.testing.assert_array_equal(match_topics(estimate, truth), [1, 0, -1])
    np.testing.assert_array_equal(match_topics(estimate, truth, within=0.51), [1, 0, -1])
    np.testing.assert_array_equal(match_topics(estimate, truth, within=0.5), [-1, 0, -1])


@pytest.mark.parametrize("within", [0.0, -1.0, float("nan")])
def test_a_distance_to_match_within_must_be_positive(within):
    with pytest.raises(InputError, match="'within' parameter of match_topics"):
        match_topics(np.eye(2), np.eye(2), within=within)


def test_rows_are_probabilities_where_their_distance_counts():
    with pytest.raises(InputError, match=r"probabilities|sum"):
        match_topics(2.0 * np.eye(2), np.eye(2), within=1.0)

"""What no method can do: the bounds by hand, against brute force, below what was measured, and what the plan says."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import betabinom

import limits as script
from private_topics import plan
from private_topics.paper.experiments.synthetic_error import DELTA, SETTINGS
from private_topics.planning import limits
from private_topics.planning.expected_errors import PlannedFit
from stored import between, read_csv

ROWS = read_csv(script.CSV)


def label_law(length: int, alpha0: float, topics: int) -> dict[tuple[int, ...], float]:
    """The probability of every sequence of topic labels, word by word."""
    law = {(): 1.0}
    for _ in range(length):
        law = {
            (*past, label): chance * (alpha0 / topics + past.count(label)) / (alpha0 + len(past))
            for past, chance in law.items()
            for label in range(topics)
        }
    return law


@pytest.mark.parametrize(("length", "alpha0", "topics"), [(5, 3.0, 3), (7, 0.4, 2), (4, 50.0, 4), (2, 1000.0, 3)])
def test_the_information_of_a_document_is_the_divergence_of_its_labels(length, alpha0, topics):
    law = label_law(length, alpha0, topics)
    exact = sum(chance * math.log(chance * topics**length) for chance in law.values())
    assert limits.document_information(length, alpha0, topics) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(("length", "alpha0", "topics"), [(100, 1000.0, 3), (100, 1e7, 3), (1000, 50.0, 10)])
def test_it_is_below_the_sum_that_is_proved_and_near_its_leading_order(length, alpha0, topics):
    found = limits.document_information(length, alpha0, topics)
    proved = sum(math.log1p((topics - 1) * j / ((alpha0 + 1) * (alpha0 + j))) for j in range(length))
    assert 0.4 * proved < found < proved
    if length < alpha0 / 10:
        assert found == pytest.approx((topics - 1) * length * (length - 1) / (4 * alpha0**2), rel=0.1)
    assert found < limits.document_information(limits.LONGEST + 1, alpha0, topics)


def test_one_word_says_nothing():
    assert limits.document_information(1, 1.0, 3) < 1e-300
    assert limits.documents_for_directions(PlannedFit(1, 300, 3, 1.0, 1e-6, 1.0, 1.0)) > 1e100


@pytest.mark.parametrize("topics", [2, 3, 5, 12, 40, 1000])
def test_less_uncertainty_than_that_is_not_enough(topics):
    """No mixture of distributions over topics has a mean variance of 1/4 and more entropy than the bound leaves."""
    rng = np.random.default_rng(topics)
    shapes = np.repeat([[0.001], [0.01], [0.1], [1.0]], 300, axis=0) * np.ones(topics)
    some = np.maximum(np.array([rng.dirichlet(shape) for shape in shapes]), 1e-300)
    share = np.linspace(1e-6, 1 / topics, 2_000)[:, None]
    peaked = np.hstack([1 - (topics - 1) * share, np.repeat(share, topics - 1, axis=1)])
    some = np.vstack([some, peaked])
    entropy, variance = -(some * np.log(some)).sum(axis=1), 1 - (some**2).sum(axis=1)
    low, high = variance <= 0.25, variance > 0.25
    part = (0.25 - variance[low])[:, None] / (variance[high] - variance[low][:, None])
    mixed = entropy[low][:, None] * (1 - part) + entropy[high] * part
    left = math.log(topics) - limits.information_per_word(topics)
    assert mixed.max() <= left + 1e-9
    assert left < mixed.max() + 0.02  # and it is nearly that


def test_where_word_frequencies_are_good_enough_nothing_need_be_told():
    assert limits.information_per_word(2, error=0.8) == 0.0


@pytest.mark.parametrize(("length", "alpha0"), [(3, 3.0), (5, 9.0), (6, 30.0)])
def test_the_distance_from_the_mirror_image_by_brute_force(length, alpha0):
    """Over every sequence of word groups, with both laws from their definition."""
    own = np.array([[4, 1, 1], [1, 4, 1], [1, 1, 4]]) / 6
    laws = []
    for topics in (own, 2 / 3 - own):
        law = np.zeros((3,) * length)
        for labels, chance in label_law(length, alpha0, 3).items():
            outer = np.ones(())
            for label in labels:
                outer = np.multiply.outer(outer, topics[label])
            law += chance * outer
        laws.append(law)
    squared = ((laws[0] - laws[1]) ** 2).sum() * 3**length
    assert limits.mirror_distance(length, alpha0, alpha0 / 3) == pytest.approx(squared, rel=1e-9)
    hellinger = ((np.sqrt(laws[0]) - np.sqrt(laws[1])) ** 2).sum()
    fit = PlannedFit(1, 300, 3, 1.0, 1e-6, alpha0, float(length))
    proved = 2 * (1 - math.sqrt(8 / 9)) / limits.documents_for_orientation(fit)
    assert hellinger <= proved <= 3 * hellinger


def test_more_topics_hide_three_of_them():
    """The words of three topics among `k` have a beta-binomial number: the distance is its mean over them."""
    length, alpha0, topics = 12, 40.0, 5
    three = 3 * alpha0 / topics
    numbers = np.arange(3, length + 1)
    law = betabinom(length, three, alpha0 - three)
    each = [law.pmf(number) * limits.mirror_distance(int(number), three, three / 3) for number in numbers]
    assert limits.mirror_distance(length, alpha0, alpha0 / topics) == pytest.approx(sum(each), rel=1e-9)


def test_orientation_in_private_by_hand():
    fit = PlannedFit(1, 300, 3, 0.5, 0.0, 1000.0, 100.0)
    distance = math.sqrt(limits.mirror_distance(100, 1000.0, 1000.0 / 3))
    assert limits.documents_to_orient_in_private(fit) == pytest.approx(4 * math.atanh(1 / 3) / (0.5 * distance))
    assert limits.documents_to_orient_in_private(replace(fit, delta=0.1)) < limits.documents_to_orient_in_private(fit)


def test_two_topics_have_no_mirror_image_and_one_no_limit():
    two, one = (PlannedFit(1, 300, number, 1.0, 1e-6, 1000.0) for number in (2, 1))
    assert limits.limits(two).orientation == limits.limits(two).private_orientation == 0.0
    assert limits.limits(two).directions > 0
    assert set(vars(limits.limits(one)).values()) == {0.0}


def test_nothing_is_claimed_where_the_series_has_not_converged():
    long = limits.limits(PlannedFit(1, 48, 3, 1.0, 1e-6, 1000.0, 20_000.0))
    assert long.orientation == long.private_orientation == 0.0


def test_the_private_bound_by_hand():
    fit = PlannedFit(1, 601, 3, 0.1, 1e-6, 30.0, 63.0)
    assert limits.documents_in_private(fit) == pytest.approx(300 / 8 / (math.sinh(0.1) + 4e-6 * 63))
    assert limits.documents_in_private(replace(fit, epsilon=1e6)) < 1e-100


def test_extreme_numbers_are_no_crash():
    for alpha0, length, epsilon in product((1e-9, 1.0, 1e12), (1.0, 2.5, 1e9), (1e-9, 1e9)):
        found = limits.limits(PlannedFit(1, 2**40, 7, epsilon, 1e-6, alpha0, length))
        assert all(number >= 0.0 and not math.isnan(number) for number in vars(found).values())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['alpha0']}, {row['length']}, {row['words']}")
def test_no_measured_point_is_below_its_bound(row):
    known = limits.limits(script.fit_of(float(row["alpha0"]), int(row["length"]), int(row["words"])))
    assert float(row["moments"]) > known.directions
    assert float(row["private_moments"]) > max(known.directions, known.private_directions)
    assert float(row["third_moment"]) > known.orientation
    assert float(row["likelihood"] or math.inf) > known.orientation


def test_the_page_has_the_table_of_this_code():
    assert between(script.PAGE.read_text(encoding="utf-8"), "research/limits.py") == script.tables(ROWS)


def test_what_the_script_adds_up_is_the_mean_over_pairs_of_words():
    rng = np.random.default_rng(3)
    words = rng.integers(0, 6, size=9)
    counts = np.bincount(words, minlength=6)[None].astype(float)
    centred = np.eye(6)[words] - 1 / 6
    pairs = [np.outer(a, b) for i, a in enumerate(centred) for j, b in enumerate(centred) if i != j]
    assert script.centred_pairs(counts, np.ones(1)) == pytest.approx(np.mean(pairs, axis=0))
    assert script.pair_norms(counts)[0] == pytest.approx(np.linalg.norm(np.mean(pairs, axis=0)))


# -- what the plan says ---------------------------------------------------------------------------------------------


def test_figure_2b_is_impossible_for_any_method():
    of = SETTINGS["figure-2b"]
    found = plan(of.documents, of.words, of.topics, epsilon=1000.0, delta=DELTA, alpha0=of.alpha0, mean_length=100)
    assert "any method, private or not" in found.impossible
    assert "more than 36,000 documents" in found.impossible
    assert "no proof" not in found.verdict


def test_figure_2c_is_not_proved_impossible_but_third_moments_are_out_of_reach():
    of = SETTINGS["figure-2c"]
    found = plan(of.documents, of.words, of.topics, delta=DELTA, alpha0=of.alpha0, mean_length=100)
    assert found.impossible is None
    assert ("no proof says" in found.verdict) == (found.best is None)
    assert "private or not, tells three topics" in found.notes[-1]
    assert "fewer than 5,400,000 documents" in found.notes[-1]


def test_long_documents_are_not_impossible():
    found = plan(100_000, 50, 3, alpha0=1000.0, mean_length=10_000)
    assert found.impossible is None
    assert not any("mirror" in note for note in found.notes)


def test_a_small_epsilon_is_impossible_for_private_methods_only():
    found = plan(1_000, 3_000, 25, epsilon=0.01)
    assert "any method this private" in found.impossible
    assert plan(1_000, 3_000, 25).impossible is None


def test_a_small_epsilon_hides_the_mirror_image():
    found = plan(10_000_000, 300, 3, epsilon=1e-4, alpha0=1000.0, mean_length=100)
    assert "No method this private tells three topics" in found.notes[-1]


def test_an_ordinary_plan_says_nothing_of_it():
    found = plan(100_000, 3_000, 25)
    assert found.impossible is None
    assert not any("mirror" in note for note in found.notes)

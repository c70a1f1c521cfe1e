"""`Σ c_w r_wi z_w / norm`: against its formula, exact in every order, and within the sensitivity it declares."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sum_support import extreme_parts, farther, length_of, part_of, random_units, slice_of, total_of

from private_topics.inference.fold_in import fold_in
from private_topics.releases.features import FEATURES
from private_topics.sums.features import FeatureStatistic

N_WORDS, N_TOPICS, FINE = 12, 3, 2.0**-40
OPPOSITE = np.column_stack([np.full(N_WORDS, 0.05), np.where(np.arange(N_WORDS) % 2, -1.0, 1.0)])


def rows() -> dict[str, np.ndarray]:
    """A row for each word: as the fit makes them, of opposite signs, of every size, some or all of them zero."""
    normal = np.random.default_rng(1).normal(size=(N_WORDS, 4))
    return {
        "a constant and features": np.hstack([np.full((N_WORDS, 1), 0.25), normal]),
        "opposite": OPPOSITE,
        "every size": normal * 10.0 ** np.linspace(-6, 6, N_WORDS)[:, None],
        "zero rows": normal * (np.arange(N_WORDS) % 3 > 0)[:, None],
        "enormous": normal * 1e300,
        "tiny": normal * 1e-300,
    }


ROWS = pytest.mark.parametrize("rows", rows().values(), ids=rows())


def topics(*, one: bool = False) -> np.ndarray:
    """Topics (words × topics); with `one`, words are certain to be of topic 0."""
    made = np.random.default_rng(2).dirichlet(np.full(N_WORDS, 0.3), N_TOPICS).T + 1e-9
    if one:
        made[:, 1:] = 1e-30
    return np.ascontiguousarray(made)


def statistic(rows: np.ndarray, step: float = FINE, **kind: bool) -> FeatureStatistic:
    return FeatureStatistic(topics(**kind), np.full(N_TOPICS, 0.3), np.ascontiguousarray(rows), step)


def by_formula(part, wanted: FeatureStatistic) -> np.ndarray:
    """In float64, document by document, with the probabilities written out."""
    block = part.on_all_words()
    _, pull = fold_in(block.indptr, block.words, block.counts, wanted.word_topics, wanted.prior)
    total = np.zeros((N_TOPICS, wanted.rows.shape[1]))
    for counts, length, share, e in zip(
        part.block.toarray().astype(float), part.lengths, part.share, pull, strict=True
    ):
        if length >= 3:
            probabilities = e * wanted.word_topics
            probabilities /= probabilities.sum(axis=1, keepdims=True)
            one = (counts[:, None] * probabilities).T @ wanted.rows
            norm = np.linalg.norm(one)
            total += share * one / norm if norm > 0 else 0.0
    return total


@pytest.mark.parametrize("name", ["a constant and features", "opposite", "every size", "zero rows"])
def test_the_sum_is_that_of_the_formula(name):
    wanted, part = statistic(rows()[name]), part_of(random_units(60, N_WORDS), N_WORDS)
    (total,) = total_of(wanted, part)
    expected = by_formula(part, wanted)
    assert np.abs(expected).max() > 1.0
    np.testing.assert_allclose(total * FINE, expected, atol=1e-7)


@ROWS
def test_order_blocks_and_threads_do_not_matter(rows):
    wanted, part = statistic(rows), part_of(random_units(80, N_WORDS), N_WORDS)
    (whole,) = total_of(wanted, part)
    order = np.random.default_rng(0).permutation(len(part.lengths))
    pieces = [slice_of(part, rows) for rows in np.split(order, [1, 8, 40])]
    np.testing.assert_array_equal(total_of(wanted, *pieces)[0], whole)
    np.testing.assert_array_equal(total_of(wanted, part, threads=2)[0], whole)


@pytest.mark.parametrize("one", [False, True])
@pytest.mark.parametrize("step", [FINE, 2.0**-6])
@ROWS
def test_no_neighbours_exceed_the_sensitivity(rows, step, one):
    """The coarser lattice has steps of a sixty-fourth: rounding up would show."""
    wanted = statistic(rows, step, one=one)
    sums = [total_of(wanted, part)[0] for part in extreme_parts(N_WORDS)]
    for total in sums:
        assert not farther(total, np.zeros_like(total), step, 1.0)
    for first, second in itertools.combinations(sums, 2):
        assert not farther(first, second, step, FEATURES.sensitivity)


def test_the_sensitivity_is_needed():
    """Two documents of one word each, with opposite features, both certainly of topic 0."""
    wanted = statistic(OPPOSITE, one=True)
    first, second = (total_of(wanted, part_of([({word: 1000},)], N_WORDS))[0] for word in (0, 1))
    assert length_of(first - second, FINE) > 0.99 * FEATURES.sensitivity


@pytest.mark.parametrize("name", ["enormous", "tiny"])
def test_what_leaves_floating_point_adds_nothing(name):
    (total,) = total_of(statistic(rows()[name]), *extreme_parts(N_WORDS))
    assert not total.any()


def test_a_row_that_is_not_a_number_leaves_other_documents_alone():
    bad = rows()["a constant and features"].copy()
    bad[3] = np.nan
    alone = [({3: 5},), ({0: 2, 1: 3},)]
    (total,) = total_of(statistic(bad), part_of(alone, N_WORDS))
    (other,) = total_of(statistic(bad), part_of(alone[1:], N_WORDS))
    np.testing.assert_array_equal(total, other)
    assert total.any()

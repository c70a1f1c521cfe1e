"""Readings of the paper's noise: what each adds, what it costs, and the errors by which it is judged."""

import math
import re

import numpy as np
import pytest

from private_topics import InputError
from private_topics.paper.bounds import attained_third_moment_l2, corrected_second_moment_l2, tau
from private_topics.paper.experiments.authors_code import FLOOR, AuthorsCode, symmetric, zcdp_sigma
from private_topics.paper.experiments.losses import loss_of, true_epsilon
from private_topics.paper.experiments.oracle import grid, splits
from private_topics.paper.experiments.readings import AsPrinted, printed_fit, published_fit
from private_topics.paper.experiments.registry import FIGURE_TWO, reproduce
from private_topics.paper.experiments.rows import MEASURED_AT, UNRECORDED, kept_rows, write_rows
from private_topics.paper.experiments.running import provenance
from private_topics.paper.experiments.synthetic_error import AUTHORS, Setting, authors_corpus, summed_l1, tiled
from private_topics.privacy.curves import gdp_delta, gdp_epsilon

SMALL = Setting(1000.0, 3_000, words=10, lengths=(20_000, 40_000))
DELTA = 1e-7


@pytest.fixture(scope="module")
def small():
    return SMALL.drawn(0)


# -- literally printed -----------------------------------------------------------------------------------------------


def test_the_printed_noise_is_the_root_of_tau_over_n(small):
    task, _ = small
    fit = printed_fit(task, 1, 1.0, 0)
    fit.fit(1)
    widths = {event.name: event.sigma for event in fit.run.released_events}
    for name in ("e3 third moment", "e4 second moment", "e8 second moment"):
        assert widths[name] == pytest.approx(math.sqrt(tau(1 / 3, DELTA / 3)) / 3_000, rel=1e-6)


def test_the_printed_scales_of_later_edges(small):
    fit = printed_fit(small[0], 4, 1.0, 0)
    assert isinstance(fit, AsPrinted)
    assert fit.tensor_sensitivity(0.01) == pytest.approx(3**1.5 / (3_000 * 0.01**1.5))
    assert fit.pair_sensitivity(0.01, 0.1) == pytest.approx(3**2 / (3_000 * 0.1 * 0.01**1.5))
    largest = float(fit.whitening.values[0])
    assert fit.topic_sensitivity(0.01, 0.1) == pytest.approx(math.sqrt(largest) * fit.pair_sensitivity(0.01, 0.1))


# -- the authors' code -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_gaussian_noise_of_the_code_is_private(epsilon):
    """Its calibration is right for every epsilon; what is wrong with it are the sensitivities."""
    assert gdp_delta(1.0 / zcdp_sigma(1.0, epsilon, DELTA), epsilon) < DELTA


def test_a_lower_bound_of_the_code_is_never_below_its_floor(small):
    run = AuthorsCode(small[0], 1e-3, 0, scaled=True)
    assert run._floored(0.0, 1.0, 1e-3, DELTA) >= FLOOR
    assert np.isfinite(run.topics(3)).all()


@pytest.mark.slow
def test_the_picture_of_figure_2c_needs_sensitivities_that_are_not_scaled(small):
    """Noise for M2 and M3 on moments a million times larger hardly shows; noise for the scaled ones drowns them."""
    task, truth = small
    nothing = summed_l1(np.tile(truth.mean(axis=0), (3, 1)), truth)
    for number in (1, 2):
        errors = [summed_l1(AuthorsCode(task, 1e6, 1, scaled=False).topics(number), truth)]
        errors += [
            summed_l1(AuthorsCode(task, 100.0, 1, scaled=each).topics(number), truth) for each in (False, True)
        ]
        assert errors[1] < 2 * errors[0] + 0.1
        assert errors[2] > nothing


def test_configurations_2_and_3_of_the_code_unwhiten_without_noise(small):
    """Their topics, before projection, lie in the exact column space of M2: one document away they lie in another."""
    task, _ = small
    run = AuthorsCode(task, 1.0, 0, scaled=False)
    basis = run.nodes.whitening.basis
    projected = []
    original = AuthorsCode.topics.__globals__["project_to_simplex"]
    AuthorsCode.topics.__globals__["project_to_simplex"] = lambda rows: projected.append(rows) or original(rows)
    try:
        for number in (1, 2, 3):
            AuthorsCode(task, 1.0, 0, scaled=False).topics(number)
    finally:
        AuthorsCode.topics.__globals__["project_to_simplex"] = original
    outside = [np.linalg.norm(rows - rows @ basis @ basis.T) / np.linalg.norm(rows) for rows in projected]
    assert outside[0] > 1e-6 > 1e-9 > max(outside[1:])


def test_the_code_adds_no_noise_above_200_words():
    task, _ = Setting(1.0, 20, words=201, lengths=(50, 60)).drawn(0)
    with pytest.raises(InputError, match="200"):
        AuthorsCode(task, 1.0, 0, scaled=True).topics(1)


def test_symmetric_is_the_mean_over_orders():
    tensor = np.random.default_rng(0).random((2, 2, 2))
    assert np.allclose(symmetric(tensor), symmetric(tensor).transpose(1, 2, 0))
    assert np.allclose(symmetric(symmetric(tensor)), symmetric(tensor))


# -- what they cost --------------------------------------------------------------------------------------------------


def test_the_loss_of_configuration_1_as_printed_is_that_of_its_three_releases():
    sizes = {"n_documents": 1000, "alpha0": 1.0}
    second, third = corrected_second_moment_l2(**sizes), attained_third_moment_l2(**sizes)
    squared = (third**2 + 2 * second**2) * 1000**2 / tau(1 / 3, DELTA / 3)
    assert true_epsilon("printed", 1, 1.0, DELTA, 1000, 1.0) == pytest.approx(gdp_epsilon(math.sqrt(squared), DELTA))


@pytest.mark.parametrize("alpha0", [0.1, 1.0, 1000.0])
def test_losses_in_order(alpha0):
    """Printed above the stated epsilon, the appendix below; scaled moments with unscaled noise far above."""
    printed, published, scaled = (
        true_epsilon(each, 1, 1.0, DELTA, 1000, alpha0) for each in ("printed", "published", "scaled")
    )
    assert published < 1.0 < printed
    assert (scaled > published) == (alpha0 > 0.618)
    assert true_epsilon("oracle", 1, 1.0, DELTA, 1000, alpha0) > published
    assert true_epsilon("unscaled", 1, 1.0, DELTA, 1000, 1000.0) > 1e10


def test_a_value_without_noise_costs_infinity_and_topics_an_unknown_amount():
    assert true_epsilon("code", 2, 1.0, DELTA, 1000, 1.0) == math.inf
    assert true_epsilon("published", 4, 1.0, DELTA, 1000, 1.0) is None
    for method in ("vi", "config 1 proved", "unnoised refined"):
        assert loss_of({"method": method, "epsilon": 1.0, "documents": 1000.0, "alpha0": 1.0}, DELTA) is None


# -- the grid --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("configuration", [1, 2, 3, 4])
def test_every_split_spends_the_budget(configuration):
    found = splits(configuration)
    assert len(found) == len(found[0]) + 1
    assert all(sum(shares.values()) == pytest.approx(1.0) for shares in found)


def test_the_first_split_of_the_grid_is_the_published_fit(small):
    task, _ = small
    first = grid(task, 1, 3.0, 5)[0]
    np.testing.assert_array_equal(first, published_fit(task, 1, 3.0, 5).fit(1).topics)


# -- corpora, errors, rows -------------------------------------------------------------------------------------------


def test_a_corpus_of_the_authors_has_their_words_and_lengths():
    setting = AUTHORS["figure-2b-authors"]
    counts, topics = authors_corpus(setting, 1)
    lengths = counts.sum(axis=1)
    assert counts.shape == (1_000, 10)
    assert 100_000 <= lengths.min() < lengths.max() < 200_000
    assert topics.sum(axis=1) == pytest.approx(1.0)


@pytest.mark.statistical
def test_random_topics_score_the_plateau_of_the_plots():
    """Mean over 400 pairs, standard error 0.012: 1.70, near the plotted 1.70 to 1.77."""
    generator = np.random.default_rng(0)
    drawn = generator.random((400, 2, 3, 10))
    drawn /= drawn.sum(axis=-1, keepdims=True)
    assert np.mean([summed_l1(*pair) for pair in drawn]) == pytest.approx(1.70, abs=0.06)


def test_summed_l1_matches_charges_and_tiles():
    truth = np.eye(3)
    assert summed_l1(truth[[2, 0, 1]], truth) == 0.0
    assert summed_l1(truth[:1], truth) == 4.0
    assert summed_l1(tiled(truth[:1], 3), truth) == 4.0
    assert summed_l1(tiled(np.full((1, 3), 1 / 3), 3), truth) == pytest.approx(4.0)
    assert tiled(truth[:2], 3).shape == (3, 3)
    assert tiled(truth, 2).shape == (3, 3)


def test_rows_of_other_methods_and_numbers_of_topics_are_kept_and_say_that_nobody_knows(tmp_path):
    path = tmp_path / "points.csv"
    stored = [("vi", 3), ("vi", 25), ("sequential", 3)]
    write_rows(path, [{"method": method, "topics": topics, "error": 1.0} for method, topics in stored])
    kept = kept_rows(path, [{"method": "vi", "topics": 3, "error": 3.0}])
    assert [(row["method"], row["topics"]) for row in kept] == stored[1:]
    assert {row[MEASURED_AT] for row in kept} == {UNRECORDED}
    assert kept_rows(tmp_path / "none.csv", kept) == []


def test_a_row_says_at_which_commit_when_and_where_it_was_measured():
    commit = r"commit ([0-9a-f]{12}( with changes)?|\S+)"
    assert re.fullmatch(
        rf"private-topics \S+, {commit}, [-\d]{{10}}, \d+ cores, .+; Python 3.+numba \S+", provenance()
    )


@pytest.mark.parametrize(("name", "methods"), [("figure-2a", ["vi", "unknown"]), ("figure-3a", ["vi"])])
def test_methods_are_those_of_figures_2_and_4(name, methods, tmp_path):
    with pytest.raises(InputError, match="'methods' parameter"):
        reproduce(name, out=tmp_path, methods=methods)
    assert set(AUTHORS) < set(FIGURE_TWO)


@pytest.mark.parametrize(("name", "topics"), [("figure-4", [26]), ("figure-2a", [25])])
def test_numbers_of_topics_are_those_of_figure_4(name, topics, tmp_path):
    with pytest.raises(InputError, match="'topics' parameter"):
        reproduce(name, out=tmp_path, topics=topics)

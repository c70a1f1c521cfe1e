"""Errors about the moments (docs/errata.md, part 1): each claim is violated, each correction holds and is tight."""

from __future__ import annotations

import math

import numpy as np
import pytest

from counterexamples import moments
from counterexamples.corpora import Corpus, features, lda_moments, raw_moments, single_words, triples_of_words
from private_topics.paper import bounds

ALPHAS = (0.1, 1.0, 10.0, 1000.0)


def random_neighbours(seed):
    """Eight documents over four words, some long, and another in the place of the first."""
    generator = np.random.default_rng(seed)
    counts = generator.integers(0, 5, size=(9, 4)) + np.eye(4, dtype=int)[generator.integers(0, 4, size=9)] * 3
    corpus = Corpus(counts, np.array([1] * 8 + [0]))
    return corpus, corpus.replaced(0, 8)


def test_the_moments_used_here_are_those_of_lda():
    """Triples of words in the proportions of LDA: the moments are the model's, to 1/N."""
    alpha = np.array([0.5, 0.3, 0.2])
    m2, m3 = lda_moments(triples_of_words(alpha, 10**7), 1.0)
    assert np.allclose(m2, np.diag(alpha / 2), atol=1e-6)
    assert np.allclose(m3, np.einsum("i,ij,il->ijl", alpha / 3, np.eye(3), np.eye(3)), atol=1e-6)
    for array in features(np.array([[2, 1, 4, 0]])):
        assert array.sum() == pytest.approx(1.0)
        assert array.min() >= 0.0


@pytest.mark.parametrize("alpha0", ALPHAS)
def test_second_moment_l1(alpha0):
    found = moments.second_moment(1, alpha0, n=12)
    assert found.attained > 1.1 * found.published
    assert found.attained == pytest.approx(found.corrected)
    assert moments.largest_second_change(alpha0, 1) == pytest.approx(found.corrected)


@pytest.mark.parametrize("alpha0", ALPHAS)
def test_second_moment_l2(alpha0):
    found = moments.second_moment(2, alpha0)
    assert found.attained == pytest.approx(found.corrected)
    assert moments.largest_second_change(alpha0, 2) == pytest.approx(found.corrected)
    assert (found.attained > found.published) == (alpha0 > 1 + math.sqrt(2))


@pytest.mark.slow
@pytest.mark.parametrize("alpha0", ALPHAS)
def test_third_moment_l1(alpha0):
    theorem, appendix = (moments.third_moment_l1(alpha0, 40, appendix=each) for each in (False, True))
    assert theorem.attained == appendix.attained == pytest.approx(theorem.corrected)
    assert theorem.attained > 1.3 * theorem.published
    assert appendix.attained > 1.05 * appendix.published


def test_third_moment_l1_at_alpha_one_is_eight_against_five_and_a_third():
    found = moments.third_moment_l1(1.0)
    assert found.attained == pytest.approx(8.0)
    assert found.published == pytest.approx(16 / 3, rel=0.02)


@pytest.mark.parametrize("seed", range(20))
def test_no_neighbours_exceed_the_corrected_bounds(seed):
    corpus, neighbour = random_neighbours(seed)
    n = corpus.n_documents
    for alpha0 in ALPHAS:
        second, third = moments.changes(corpus, neighbour, alpha0)
        documents = {"n_documents": n, "alpha0": alpha0}
        assert np.abs(second).sum() <= n * bounds.corrected_second_moment_l1(**documents)
        assert np.linalg.norm(second) <= n * bounds.corrected_second_moment_l2(**documents)
        assert np.abs(third).sum() <= n * bounds.corrected_third_moment_l1(**documents)
        assert np.linalg.norm(second, 2) <= n * bounds.corrected_singular_value_sensitivity(n_documents=n)


@pytest.mark.parametrize("alpha0", ALPHAS)
def test_the_l2_change_of_the_third_moment_that_is_attained(alpha0):
    _, change = moments.changes(*moments.all_others_alike(2000), alpha0)
    sizes = {"n_documents": 2000, "alpha0": alpha0}
    assert np.linalg.norm(change) == pytest.approx(2000 * bounds.attained_third_moment_l2(**sizes), rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("alpha0", ALPHAS)
def test_the_noise_of_configuration_1_suffices_with_the_constants_of_the_appendix(alpha0):
    """The appendix misses terms of the L1 sensitivity of M3; in L2, which Gaussian noise needs, it has enough."""
    sizes = {"n_documents": 10**6, "alpha0": alpha0}
    largest = moments.largest_third_change(alpha0)
    assert 1.0 <= largest / (10**6 * bounds.attained_third_moment_l2(**sizes)) < 2.01
    assert largest < 10**6 * bounds.published_third_moment_sensitivity(**sizes)
    assert bounds.corrected_second_moment_l2(**sizes) < bounds.published_second_moment_sensitivity(**sizes)


def test_third_moment_prefactor():
    found = moments.third_moment_prefactor()
    assert found.attained == pytest.approx(found.corrected)
    assert found.attained / moments.third_moment_l1(1000.0).attained == pytest.approx(1000 * 1001 * 1002 / 2)
    assert found.attained > 1e8 * found.published


def test_moment_lemma():
    found = moments.moment_lemma()
    assert found.attained > 1.0
    assert found.corrected == 0.0


def test_moment_lemma_is_right_at_alpha_one_alone(monkeypatch):
    """At alpha0 = 1 the two weights agree, which hides the misprint."""
    monkeypatch.setattr(moments, "ALPHA", np.array([0.5, 0.3, 0.2]))
    assert moments.moment_lemma().attained == 0.0


def test_the_proof_for_the_second_moment_is_a_slip_of_notation():
    """App. F has the weight 1/(alpha0(alpha0+1)): right if its M1 is the sum of alpha_i mu_i, alpha0 times E[x1]."""
    alpha0 = moments.ALPHA.sum()
    printed = 1 / (alpha0 * (alpha0 + 1))
    assert moments.second_moment_error(printed) > 1.0
    assert moments.second_moment_error(printed * alpha0**2) == 0.0


@pytest.mark.statistical
def test_raw_moments_are_those_of_the_model():
    """Three entries, five standard errors of 400,000 draws: a false alarm in 500,000."""
    generator = np.random.default_rng(2)
    theta = generator.dirichlet(moments.ALPHA, size=400_000) @ moments.TOPICS
    first, second, third = raw_moments(moments.ALPHA, moments.TOPICS)
    samples = [theta[:, 0], theta[:, 0] * theta[:, 1], theta[:, 0] * theta[:, 1] * theta[:, 4]]
    for sample, expected in zip(samples, (first[0], second[0, 1], third[0, 1, 4]), strict=True):
        assert abs(sample.mean() - expected) < 5 * sample.std() / math.sqrt(len(sample))


@pytest.mark.parametrize("alpha0", [0.1, 1.0, 10.0])
def test_estimator_bias(alpha0):
    found = moments.estimator_bias(alpha0)
    assert found.attained > 0.01
    assert found.corrected == 0.0


@pytest.mark.parametrize("alpha0", [0.1, 1.0, 10.0])
def test_prefactor_bias(alpha0):
    found = moments.prefactor_bias(alpha0)
    assert found.attained == pytest.approx(alpha0 * (alpha0 + 1) * (alpha0 + 2) / 2)
    assert found.corrected == pytest.approx(1.0)


def test_cube_identity():
    found = moments.cube_identity()
    assert found.attained > 0.1
    assert found.corrected == 0.0


def test_double_sum():
    found = moments.double_sum()
    assert found.attained == pytest.approx(2.0)
    assert found.corrected == pytest.approx(1.0)


@pytest.mark.parametrize("alpha0", [0.2, 5.0, 1000.0])
def test_unwhitening_scale(alpha0):
    found = moments.unwhitening_scale(alpha0 * moments.ALPHA / moments.ALPHA.sum())
    assert found.attained == pytest.approx(1 / math.sqrt(alpha0 * (alpha0 + 1)))
    assert found.corrected == pytest.approx(1.0)


@pytest.mark.parametrize(("alpha0", "too_small"), [(0.1, False), (0.6, False), (0.63, True), (1000.0, True)])
def test_the_sensitivity_of_topics_is_too_small_above_the_golden_ratio(alpha0, too_small):
    """Below 0.618 the printed scale is too large, at 0.1 three times: wasteful, not unsafe."""
    right = (alpha0 + 2) / 2
    assert (bounds.unwhitening_factor(alpha0) < right) is too_small
    assert bounds.unwhitening_factor(0.1) / (2.1 / 2) == pytest.approx(3.0, abs=0.02)


def test_the_corpora_are_neighbours():
    for corpus, neighbour in (moments.all_words_different(7), moments.all_others_alike(7)):
        moved = neighbour.times - corpus.times
        assert sorted(moved[moved != 0]) == [-1, 1]
        assert neighbour.n_documents == corpus.n_documents == 7
    assert single_words([2, 1]).n_documents == 3

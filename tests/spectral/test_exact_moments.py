"""Fed the exact population moments of LDA, the spectral stage gives back topics and alpha to 1e-8."""

import numpy as np
import pytest

from private_topics.spectral.power_method import decompose
from private_topics.spectral.topics import (
    lda_second_moment,
    lda_third_moment,
    project_to_simplex,
    simplex_rows,
    topic_weights,
)
from private_topics.spectral.whitening import DENSE_LIMIT, whitening_of


def population_inside(topics, alpha, frame):
    """E3(W,W,W), E2(W,W) and W'm of LDA, from the Dirichlet moments of theta: never a d³ array."""
    total, inside = alpha.sum(), topics @ frame
    first = alpha @ inside / total
    pairs = (np.outer(alpha, alpha) + np.diag(alpha)) / (total * (total + 1))
    second = inside.T @ pairs @ inside
    unit = np.eye(len(alpha))
    mixed = np.einsum("i,j,ia,ib,jc->abc", alpha, alpha, unit, unit, unit)
    third = np.einsum("a,b,c->abc", alpha, alpha, alpha) + 2 * np.einsum("i,ia,ib,ic->abc", alpha, unit, unit, unit)
    third = third + mixed + mixed.transpose(0, 2, 1) + mixed.transpose(2, 1, 0)
    third = third / (total * (total + 1) * (total + 2))
    return np.einsum("ijk,ia,jb,kc->abc", third, inside, inside, inside), second, first


def population_second(topics, alpha):
    total = alpha.sum()
    return topics.T @ ((np.outer(alpha, alpha) + np.diag(alpha)) / (total * (total + 1))) @ topics


@pytest.mark.parametrize("n_words", [30, DENSE_LIMIT - 1, DENSE_LIMIT + 1, 700])
@pytest.mark.parametrize(("n_topics", "alpha0"), [(1, 1.0), (4, 0.1), (8, 1.0), (8, 25.0)])
def test_topics_and_alpha_come_back(n_words, n_topics, alpha0):
    rng = np.random.default_rng(n_words + n_topics)
    topics = rng.dirichlet(np.full(n_words, 0.1), n_topics)
    alpha = alpha0 * rng.dirichlet(np.full(n_topics, 20.0))
    first = alpha @ topics / alpha0
    whitening = whitening_of(lda_second_moment(population_second(topics, alpha), first, alpha0), n_topics)
    frame = whitening.frame
    tensor = lda_third_moment(*population_inside(topics, alpha, frame), alpha0)
    pairs = decompose(tensor)

    directions = whitening.unwhiten(pairs.vectors).T  # each is mu_i · sqrt(s_i)
    found = simplex_rows(directions)
    order = np.argmax(found @ topics.T / np.linalg.norm(topics, axis=1), axis=1)
    assert sorted(order) == list(range(n_topics))
    np.testing.assert_allclose(found, topics[order], atol=1e-8)
    np.testing.assert_allclose(topic_weights(pairs.values, alpha0), alpha[order], atol=1e-8 * max(1.0, alpha0))
    # The scale of the recovery formula, without help from the simplex: mu_i = (alpha0+2)/2 · λ_i · (W†)'v_i.
    scaled = 0.5 * (alpha0 + 2.0) * pairs.values[:, None] * directions
    np.testing.assert_allclose(scaled, topics[order], atol=1e-8)


def test_moments_of_lda_are_those_of_independent_topics():
    """M2 = Σ s_i mu_i⊗mu_i and M3 = Σ 2/(alpha0+2) s_i mu_i⊗mu_i⊗mu_i, written out."""
    rng = np.random.default_rng(2)
    topics, alpha = rng.dirichlet(np.ones(6), 3), np.array([0.2, 0.5, 1.1])
    total = alpha.sum()
    weight = alpha / (total * (total + 1))
    third, second, first = population_inside(topics, alpha, np.eye(6))
    np.testing.assert_allclose(
        lda_second_moment(second, first, total), np.einsum("i,ia,ib->ab", weight, topics, topics), atol=1e-15
    )
    expected = np.einsum("i,ia,ib,ic->abc", 2 / (total + 2) * weight, topics, topics, topics)
    np.testing.assert_allclose(lda_third_moment(third, second, first, total), expected, atol=1e-15)


def test_topic_weights_sum_to_alpha0_even_for_vanishing_eigenvalues():
    weights = topic_weights(np.array([2.0, 1.0, 0.0]), 1.5)
    assert np.isfinite(weights).all()
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1.5)


def test_simplex_rows_do_not_depend_on_scale_or_sign():
    rows = np.array([[0.2, 0.3, 0.5], [0.9, 0.2, -0.1]])
    expected = project_to_simplex(rows)
    np.testing.assert_allclose(simplex_rows(rows * np.array([[7.0], [-0.01]])), expected, atol=1e-15)
    np.testing.assert_allclose(simplex_rows(np.zeros((1, 4))), 0.25)

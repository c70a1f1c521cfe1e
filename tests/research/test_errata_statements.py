"""Errors in the utility theorems, the remarks and the figures (docs/errata.md, parts 4 and 5)."""

from __future__ import annotations

import numpy as np
import pytest

from counterexamples import statements
from counterexamples.corpora import lda_moments, raw_moments, triples_of_words


def test_root_of_topics():
    found = statements.root_of_topics(16)
    assert found.attained / found.published == pytest.approx(32.0)


def test_cube_exponent():
    found = statements.cube_exponent()
    assert found.attained < 1e-3
    assert found.corrected == pytest.approx(1.0)


def test_table_exponent():
    found = statements.table_exponent()
    assert found.attained / found.published == pytest.approx(10**1.5)


def test_vector_constant():
    assert statements.vector_constant().attained == pytest.approx(0.5**0.5)


def test_first_against_second():
    found = statements.first_against_second()
    assert found.attained < 1.0 < found.published
    assert statements.first_against_second(d=10**6, k=2).attained > 1.0


def test_third_against_fourth():
    assert statements.third_against_fourth().attained > 1.0


def test_tensor_condition():
    found = statements.tensor_condition()
    assert found.published < 1.0 < found.attained


def test_vacuous_bound():
    found = statements.vacuous_bound()
    assert found.attained > 1000 * found.published


@pytest.mark.parametrize("alpha0", [0.1, 10.0, 1000.0])
def test_no_model_exceeds_the_largest_singular_value(alpha0):
    generator = np.random.default_rng(4)
    largest = statements.largest_singular_value(alpha0, 3)
    for _ in range(50):
        alpha = alpha0 * generator.dirichlet(np.ones(3))
        topics = generator.dirichlet(np.full(6, 0.3), size=3)
        first, second, _ = raw_moments(alpha, topics)
        m2 = second - alpha0 / (alpha0 + 1) * np.outer(first, first)
        assert np.linalg.svd(m2, compute_uv=False)[2] <= largest
    attained = raw_moments(np.full(3, alpha0 / 3), np.eye(3))
    m2 = attained[1] - alpha0 / (alpha0 + 1) * np.outer(attained[0], attained[0])
    assert np.linalg.svd(m2, compute_uv=False)[2] == pytest.approx(largest)


@pytest.mark.parametrize("alpha0", [0.1, 1000.0])
def test_no_corpus_exceeds_the_largest_empirical_singular_value(alpha0):
    for shape in ([0.5, 0.3, 0.2], [5.0, 0.1, 0.1], [40.0, 40.0, 40.0]):
        m2 = lda_moments(triples_of_words(np.array(shape), 200), alpha0)[0]
        largest = statements.largest_empirical_singular_value(alpha0, 3)
        assert np.linalg.svd(m2, compute_uv=False)[2] <= largest


def test_plotted_singular_value():
    """From alpha0 = 10 on they exceed the model's bound, at 500 and 1000 that of any corpus."""
    found = statements.plotted_singular_value()
    assert found.published > found.corrected > found.attained
    for alpha0, plotted in statements.PLOTTED_SINGULAR_VALUES.items():
        assert (plotted > statements.largest_singular_value(alpha0, 3)) == (alpha0 >= 10)
        assert (plotted > statements.largest_empirical_singular_value(alpha0, 3)) == (alpha0 >= 500)


def test_scaling_does_not_explain_the_plotted_singular_values():
    """`alpha0(alpha0+1) M2` is `Σ α_i μ_i⊗μ_i`: it grows like alpha0, ten thousandfold; the plot a hundredfold."""
    plotted = statements.PLOTTED_SINGULAR_VALUES
    scaled = [alpha0 * (alpha0 + 1) * statements.largest_singular_value(alpha0, 3) for alpha0 in (0.1, 1000.0)]
    assert scaled[1] / scaled[0] == pytest.approx(1e4)
    assert plotted[1000.0] / plotted[0.1] < 110


def test_larger_alpha_means_smaller_singular_values():
    """The paper finds the opposite, for M2 times alpha0 (alpha0+1)."""
    largest = [statements.largest_singular_value(alpha0, 3) for alpha0 in sorted(statements.PLOTTED_SINGULAR_VALUES)]
    assert largest == sorted(largest, reverse=True)


def test_plotted_gap():
    """Gaps of ordered numbers are not negative; in the order of a decomposition, without sorting, they are."""
    assert all(gap < 0 for gap in statements.PLOTTED_GAPS.values())
    assert statements.plotted_gap().attained == 0.0
    generator = np.random.default_rng(5)
    for k in (10, 30, 100):
        values = generator.random(k)
        assert statements.unordered_gap(values) < 0.0 <= statements.unordered_gap(np.sort(values)[::-1])


def test_systematically_better():
    assert statements.perplexity_losses() == (7, 36)


def test_best_at_large_alpha():
    assert statements.best_at_large_alpha().attained == 3

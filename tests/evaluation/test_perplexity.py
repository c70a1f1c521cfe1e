"""Document completion against pure Python, its invariances and its refusals."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from private_topics.errors import InputError
from private_topics.evaluation import (
    document_completion_perplexity,
    perplexity,
    split_document,
    unigram_perplexity,
)

FLOOR = 1e-12


def reference_perplexity(components, X, prior, iterations):
    k, d = components.shape
    phi = [[(1 - FLOOR) * components[i, w] + FLOOR / d for w in range(d)] for i in range(k)]
    log_likelihood, n_tokens = 0.0, 0
    halves = zip(*(part.toarray() for part in split_document(X)), strict=True)
    for observed_counts, held_out_counts in halves:
        observed = np.repeat(np.arange(d), observed_counts)
        held_out = np.repeat(np.arange(d), held_out_counts)
        theta = [1 / k] * k
        for _ in range(iterations):
            expected = list(prior)
            for word in observed:
                joint = [theta[i] * phi[i][word] for i in range(k)]
                for i in range(k):
                    expected[i] += joint[i] / sum(joint)
            theta = [value / sum(expected) for value in expected]
        for word in held_out:
            log_likelihood += math.log(sum(theta[i] * phi[i][word] for i in range(k)))
            n_tokens += 1
    return math.exp(-log_likelihood / n_tokens)


@pytest.fixture
def case():
    rng = np.random.default_rng(3)
    components = rng.dirichlet(np.full(12, 0.3), size=4)
    X = rng.poisson(0.8, size=(15, 12))
    X[2] = 0  # an empty document
    X[5] = np.eye(12, dtype=int)[7]  # one token
    X[6] = 3 * np.eye(12, dtype=int)[0]  # one word
    return components, X


@settings(max_examples=60, deadline=None)
@given(arrays(np.int64, (5, 7), elements=st.integers(0, 4)), st.integers(0, 3))
def test_split_is_two_halves(X, seed):
    observed, held_out = split_document(X, seed=seed)
    np.testing.assert_array_equal((observed + held_out).toarray(), X)
    np.testing.assert_array_equal(held_out.sum(axis=1), X.sum(axis=1) // 2)
    assert (observed.data > 0).all()
    assert (held_out.data > 0).all()


@pytest.mark.statistical
@pytest.mark.parametrize("written_out", [10**6, 0])
def test_split_is_a_random_half(monkeypatch, written_out):
    """Both ways of drawing have the hypergeometric mean and variance (false-alarm rate below 1e-6: 5.5 sigma)."""
    monkeypatch.setattr(perplexity, "WRITTEN_OUT", written_out)
    document = np.array([6, 1, 3, 2])
    n = 20_000
    _, held_out = split_document(np.tile(document, (n, 1)))
    drawn = held_out.toarray()
    total, half = document.sum(), document.sum() // 2
    share = document / total
    variance = half * share * (1 - share) * (total - half) / (total - 1)
    z = (drawn.mean(axis=0) - half * share) / np.sqrt(variance / n)
    assert np.abs(z).max() < 5.5
    np.testing.assert_allclose(drawn.var(axis=0), variance, rtol=0.06)


def test_split_follows_its_seed():
    X = np.full((3, 5), 4)
    first, again, other = (split_document(X, seed=seed)[1].toarray() for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_split_leaves_its_argument_alone():
    X = sp.csr_array(np.array([[3, 0, 1], [0, 2, 2]], dtype=np.int32))
    before = X.toarray()
    split_document(X)
    np.testing.assert_array_equal(X.toarray(), before)


@pytest.mark.parametrize("iterations", [0, 1, 7, 50])
def test_equals_pure_python(case, iterations):
    components, X = case
    expected = reference_perplexity(components, X, [1 / 4] * 4, iterations)
    assert document_completion_perplexity(components, X, iterations=iterations) == pytest.approx(expected, rel=1e-12)


def test_equals_pure_python_with_a_prior_per_topic(case):
    components, X = case
    prior = [0.05, 2.0, 0.7, 0.3]
    actual = document_completion_perplexity(components, X, doc_topic_prior=prior, iterations=9)
    assert actual == pytest.approx(reference_perplexity(components, X, prior, 9), rel=1e-12)


def test_default_prior_is_one_over_k(case):
    components, X = case
    assert document_completion_perplexity(components, X) == document_completion_perplexity(
        components, X, doc_topic_prior=0.25
    )


def test_does_not_depend_on_the_number_of_threads(case):
    components, X = case
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        one = document_completion_perplexity(components, X)
        numba.set_num_threads(before)
        assert document_completion_perplexity(components, X) == one
    finally:
        numba.set_num_threads(before)


def test_order_of_topics_does_not_matter(case):
    components, X = case
    expected = document_completion_perplexity(components, X)
    rng = np.random.default_rng(0)
    shuffled = document_completion_perplexity(rng.permutation(components), X)
    assert shuffled == pytest.approx(expected, rel=1e-12)


def test_documents_without_a_held_out_half_do_not_count(case):
    components, X = case
    expected = document_completion_perplexity(components, X)
    assert document_completion_perplexity(components, X[X.sum(axis=1) > 1]) == expected


def test_kinds_of_input_agree(case):
    components, X = case
    expected = document_completion_perplexity(components, X)
    for same in (sp.csr_array(X), sp.csc_matrix(X), sp.coo_array(X), X.astype(float)):
        assert document_completion_perplexity(components, same) == expected


def test_true_topics_beat_the_unigram():
    rng = np.random.default_rng(1)
    components = rng.dirichlet(np.full(50, 0.1), size=3)
    theta = rng.dirichlet(np.full(3, 0.2), size=200)
    X = np.array([rng.multinomial(60, row @ components) for row in theta])
    assert document_completion_perplexity(components, X) < 0.8 * unigram_perplexity(X, X)


def test_identical_topics_are_the_unigram(case):
    _, X = case
    unigram = X.sum(axis=0) / X.sum()
    actual = document_completion_perplexity(np.tile(unigram, (3, 1)), X)
    assert actual == pytest.approx(unigram_perplexity(unigram, X), rel=1e-12)
    assert actual == pytest.approx(unigram_perplexity(sp.csr_array(X), X), rel=1e-12)
    counts = split_document(X)[1].sum(axis=0)
    held_out = np.repeat(np.arange(len(counts)), counts)
    expected = math.exp(-sum(math.log(unigram[word]) for word in held_out) / len(held_out))
    assert actual == pytest.approx(expected, rel=1e-9)


def test_uniform_unigram_has_the_perplexity_of_the_vocabulary(case):
    _, X = case
    assert unigram_perplexity(np.ones(12), X) == pytest.approx(12.0, rel=1e-12)


def test_impossible_word_costs_the_floor_and_not_infinity():
    components = np.array([[1.0, 0.0], [1.0, 0.0]])
    X = np.array([[0, 2]])
    assert document_completion_perplexity(components, X) == pytest.approx(2 / FLOOR, rel=1e-9)
    assert unigram_perplexity([1.0, 0.0], X) == pytest.approx(2 / FLOOR, rel=1e-9)


@pytest.mark.parametrize("X", [np.zeros((4, 12), int), np.eye(12, dtype=int)])
def test_nothing_to_score_is_refused(case, X):
    components, _ = case
    with pytest.raises(InputError, match="none to score"):
        document_completion_perplexity(components, X)
    with pytest.raises(InputError, match="none to score"):
        unigram_perplexity(np.ones(12), X)


def test_no_documents_are_refused(case):
    with pytest.raises(InputError):
        document_completion_perplexity(case[0], np.zeros((0, 12), int))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"components": np.full((2, 12), 0.5)}, "sum to one"),
        ({"components": np.full(12, 1 / 12)}, "two dimensions"),
        ({"components": np.full((2, 12), np.nan)}, "NaN"),
        ({"components": np.array([[2.0, -1.0] + [0.0] * 10])}, "negative"),
        ({"components": [["a"] * 12]}, "numbers"),
        ({"components": np.full((2, 11), 1 / 11)}, "one column per word"),
        ({"X": -np.ones((2, 12))}, "Negative"),
        ({"X": np.full((2, 12), 0.5)}, "fractional"),
        ({"doc_topic_prior": [1.0, 1.0]}, "one per topic"),
        ({"doc_topic_prior": -1.0}, "non-negative"),
        ({"doc_topic_prior": 0.0}, "not all zero"),
        ({"doc_topic_prior": np.inf}, "finite"),
        ({"doc_topic_prior": "auto"}, "numeric"),
        ({"iterations": -1}, "integer"),
        ({"iterations": 2.5}, "integer"),
        ({"iterations": True}, "integer"),
    ],
)
def test_bad_arguments_are_refused(case, change, message):
    components, X = case
    arguments = {"components": components, "X": X} | change
    with pytest.raises(InputError, match=message):
        document_completion_perplexity(**arguments)


@pytest.mark.parametrize("unigram", [np.zeros(12), -np.ones(12), np.full(12, np.nan), np.ones(11)])
def test_bad_unigrams_are_refused(case, unigram):
    with pytest.raises(InputError):
        unigram_perplexity(unigram, case[1])

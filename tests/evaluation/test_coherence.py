"""Coherence and diversity against their definitions, written out in pure Python."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp

from private_topics.errors import InputError
from private_topics.evaluation import npmi_coherence, topic_diversity, umass_coherence


def top_words(topic, top_n):
    return sorted(range(len(topic)), key=lambda word: (-topic[word], word))[:top_n]


def documents_with(X, *words):
    return sum(all(document[word] > 0 for word in words) for document in X)


def reference_npmi(components, X, top_n):
    D = len(X)
    result = []
    for topic in components:
        scores = []
        for v, w in itertools.combinations(top_words(topic, top_n), 2):
            both = documents_with(X, v, w) / D
            if both in (0, 1):
                scores.append(2 * both - 1)
                continue
            alone = documents_with(X, v) * documents_with(X, w) / D**2
            scores.append(math.log(both / alone) / -math.log(both))
        result.append(sum(scores) / len(scores))
    return result


def reference_umass(components, X, top_n):
    result = []
    for topic in components:
        scores = []
        for higher, lower in itertools.combinations(top_words(topic, top_n), 2):
            condition = documents_with(X, higher)
            both = documents_with(X, higher, lower)
            scores.append(math.log((both + 1) / condition) if condition else -math.log(len(X)))
        result.append(sum(scores) / len(scores))
    return result


@pytest.fixture
def case():
    rng = np.random.default_rng(5)
    components = rng.dirichlet(np.full(14, 0.4), size=6)
    components[3, :6] = components[3].max()  # ties
    X = rng.poisson(0.5, size=(30, 14))
    X[:, 4] = 0  # a word that never occurs
    X[:, 9] += 1  # a word of every document
    X[:, 10] += 1  # and another
    X[7] = 0  # an empty document
    return components, X


@pytest.mark.parametrize("top_n", [2, 5, 10, 14])
@pytest.mark.parametrize(
    ("coherence", "reference"), [(npmi_coherence, reference_npmi), (umass_coherence, reference_umass)]
)
def test_coherence_equals_its_definition(case, coherence, reference, top_n):
    components, X = case
    actual = coherence(components, X, top_n=top_n)
    assert actual.shape == (6,)
    np.testing.assert_allclose(actual, reference(components, X, top_n), rtol=1e-12)


def test_words_of_every_document(case):
    components, X = case
    X = X[X.sum(axis=1) > 0]
    np.testing.assert_allclose(npmi_coherence(components, X, top_n=14), reference_npmi(components, X, 14), rtol=1e-12)


def test_npmi_extremes():
    components = np.array([[0.6, 0.4, 0.0, 0.0], [0.0, 0.0, 0.6, 0.4]])
    X = np.array([[1, 2, 1, 0], [3, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 5]])
    np.testing.assert_allclose(npmi_coherence(components, X, top_n=2), [1.0, -1.0])


def test_words_that_never_occur_score_worst():
    components = np.array([[0.6, 0.4, 0.0], [0.0, 0.6, 0.4]])
    X = np.array([[0, 0, 1], [0, 0, 2], [0, 0, 1], [0, 0, 1]])
    np.testing.assert_array_equal(npmi_coherence(components, X, top_n=2), [-1.0, -1.0])
    np.testing.assert_allclose(umass_coherence(components, X, top_n=2), [-math.log(4), -math.log(4)])


@pytest.mark.parametrize("coherence", [npmi_coherence, umass_coherence])
def test_invariances(case, coherence):
    components, X = case
    expected = coherence(components, X, top_n=5)
    order = np.random.default_rng(0).permutation(6)
    np.testing.assert_array_equal(coherence(components[order], X, top_n=5), expected[order])
    np.testing.assert_array_equal(coherence(components, X[::-1], top_n=5), expected)
    np.testing.assert_array_equal(coherence(components, 3 * X, top_n=5), expected)  # presence, not counts
    np.testing.assert_array_equal(coherence(7 * components, sp.csc_array(X), top_n=5), expected)


@pytest.mark.parametrize("coherence", [npmi_coherence, umass_coherence])
def test_reference_is_left_alone(case, coherence):
    components, X = case
    counts = sp.csr_array(X.astype(np.int32))
    coherence(components, counts, top_n=14)
    np.testing.assert_array_equal(counts.toarray(), X)


@pytest.mark.parametrize("coherence", [npmi_coherence, umass_coherence])
@pytest.mark.parametrize("top_n", [1, 15, 2.0, True])
def test_bad_top_n_is_refused(case, coherence, top_n):
    with pytest.raises(InputError, match="top_n"):
        coherence(*case, top_n=top_n)


@pytest.mark.parametrize("coherence", [npmi_coherence, umass_coherence])
def test_bad_references_are_refused(case, coherence):
    components, X = case
    with pytest.raises(InputError, match="at least one token"):
        coherence(components, np.zeros((3, 14), int), top_n=5)
    with pytest.raises(InputError, match="one column per word"):
        coherence(components, X[:, 1:], top_n=5)
    with pytest.raises(InputError, match="Negative"):
        coherence(components, -X, top_n=5)


def test_diversity_counts_different_words():
    apart = np.eye(4)
    assert topic_diversity(apart, top_n=1) == 1.0
    assert topic_diversity(np.tile(apart[:1], (4, 1)), top_n=1) == 0.25
    overlapping = np.array([[0.5, 0.4, 0.1, 0.0], [0.0, 0.5, 0.4, 0.1]])
    assert topic_diversity(overlapping, top_n=2) == 0.75
    assert topic_diversity(overlapping, top_n=4) == 0.5


@pytest.mark.parametrize("top_n", [0, 5])
def test_diversity_refuses_bad_top_n(top_n):
    with pytest.raises(InputError, match="top_n"):
        topic_diversity(np.eye(4), top_n=top_n)

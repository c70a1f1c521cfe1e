"""Proportions are the fixed point of mean-field inference: compared with plain rounds, as many as it takes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit
from scipy.special import digamma

from private_topics import make_lda_corpus
from private_topics.inference.document_lanes import LANES, pulls
from private_topics.inference.fold_in import fold_in
from private_topics.inference.proportions import STILL, proportions, proportions_of_some, word_weights


@pytest.fixture(scope="module", params=[(0.3, 5), (3.0, 7), (1.0, 1)])
def corpus(request):
    alpha0, k = request.param
    counts, topics, prior = make_lda_corpus(400, 120, k, alpha0=alpha0, mean_length=40, random_state=k)
    counts = sp.csr_array(counts)
    counts.data[counts.indptr[3] : counts.indptr[4]] = 1_000  # one long document
    counts.data[counts.indptr[5] : counts.indptr[6]] = 0  # and an empty one
    counts.eliminate_zeros()
    return counts, np.ascontiguousarray(topics.T), np.asarray(prior, dtype=np.float64)


def arrays(corpus):
    counts, word_topics, prior = corpus
    return counts.indptr, counts.indices, counts.data, word_topics, prior


def prepared(corpus):
    counts, word_topics, prior = corpus
    return counts.indptr, counts.indices, counts.data, word_weights(word_topics), prior


def test_they_are_where_many_rounds_end(corpus):
    gamma, _ = fold_in(*arrays(corpus), 3_000)
    expected = gamma / gamma.sum(axis=1, keepdims=True)
    found = proportions(*prepared(corpus))
    away = np.abs(found - expected).max(axis=1)
    assert np.quantile(away, 0.98) < 1e-3  # a few documents have several fixed points
    assert away.mean() < 2e-3


def test_a_further_round_moves_nothing(corpus):
    """Where it stops is a fixed point, not merely a place where it got tired."""
    counts, word_topics, prior = corpus
    found = proportions(*prepared(corpus))
    length = np.asarray(counts.sum(axis=1)).ravel()
    gamma = found * (prior.sum() + length)[:, None]
    pull = np.exp(digamma(gamma))
    seen = pull @ word_topics.T
    ratio = counts.toarray() / np.maximum(seen, 1e-300)
    again = prior + pull * (ratio @ word_topics)
    moved = np.abs(again - gamma).max(axis=1) / np.maximum(length, 1.0)
    assert np.quantile(moved, 0.99) < 3 * STILL


def test_rows_sum_to_one_and_an_empty_document_has_the_prior(corpus):
    found = proportions(*prepared(corpus))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(found[5], corpus[2] / corpus[2].sum())


def test_a_document_does_not_depend_on_its_company(corpus):
    """Eight at a time, longest first, the next in the place of one that has come to rest: to the last bit."""
    counts, word_topics, prior = corpus
    found = proportions(*prepared(corpus))
    np.testing.assert_array_equal(found, proportions_of_some(*prepared(corpus)))
    for rows in ([17], range(11), range(399, -1, -7)):
        some = counts[list(rows)]
        alone = proportions_of_some(some.indptr, some.indices, some.data, word_weights(word_topics), prior)
        np.testing.assert_array_equal(alone, found[list(rows)])


def test_no_documents_and_no_words(corpus):
    counts, word_topics, prior = corpus
    for rows in (counts[:0], counts[[5]], counts[[5] * 9]):
        found = proportions_of_some(rows.indptr, rows.indices, rows.data, word_weights(word_topics), prior)
        np.testing.assert_allclose(found, np.tile(prior / prior.sum(), (rows.shape[0], 1)), rtol=1e-6)


def test_probabilities_of_every_size_and_long_documents():
    """Single precision holds no 1e-60 and no 1e40: a word's weights are relative, and so are its documents."""
    indptr, words = np.array([0, 2, 3, 5]), np.array([0, 1, 1, 0, 3], dtype=np.int32)
    counts = np.array([3, 1, 2, 10**7, 10**8], dtype=np.int64)
    word_topics = np.array([[3e-60, 1e-60], [1e-3, 0.0], [2e-300, 1e-300], [0.0, 0.0]])  # the last is of no topic
    prior = np.array([0.7, 1e-60])
    found = proportions(indptr, words, counts, word_weights(word_topics), prior)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(found[1], [1.0, 0.0], atol=1e-6)
    likely = np.array([[3.0, 1.0], [1.0, 0.0], [2.0, 1.0], [1.0, 1.0]])
    same = proportions(indptr[:3], words[:3], counts[:3], word_weights(likely), prior)
    np.testing.assert_allclose(found[:2], same, atol=1e-6)


@pytest.mark.parametrize("count", [2**28, 2**31 - 1])
def test_any_number_of_words_that_no_topic_has_is_a_number(count):
    likely = np.array([[0.7, 0.1], [0.3, 0.9], [0.0, 0.0]])
    found = proportions(
        np.array([0, 1, 3]), np.array([2, 0, 2]), np.array([count, 5, count]), word_weights(likely), np.full(2, 0.5)
    )
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert found[1, 0] > 0.5


def test_the_pull_of_a_topic():
    """`exp(digamma)`, from the priors of many topics to the longest documents."""
    at = np.geomspace(0.02, 1e7, 4_000).astype(np.float32)
    expected = np.exp(digamma(at.astype(np.float64)))
    np.testing.assert_allclose(_pulls(at), expected, rtol=1e-5)
    np.testing.assert_allclose(_pulls(at[at > 1]), expected[at > 1], rtol=6e-7)


def _pulls(gamma):
    padded = np.ones(-(-len(gamma) // LANES) * LANES, dtype=np.float32)
    padded[: len(gamma)] = gamma
    pull = np.empty_like(padded)
    _call(padded, len(padded) // LANES, pull)
    return pull[: len(gamma)]


@njit
def _call(gamma, vectors, pull):
    pulls(gamma, vectors, pull)

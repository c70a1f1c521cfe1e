"""Proportions are the fixed point of mean-field inference: compared with plain rounds, as many as it takes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import digamma

from private_topics import make_lda_corpus
from private_topics.inference.fold_in import fold_in
from private_topics.inference.proportions import STILL, proportions, proportions_of_some


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


def test_they_are_where_many_rounds_end(corpus):
    gamma, _ = fold_in(*arrays(corpus), 3_000)
    expected = gamma / gamma.sum(axis=1, keepdims=True)
    found = proportions(*arrays(corpus))
    away = np.abs(found - expected).max(axis=1)
    assert np.quantile(away, 0.98) < 1e-3  # a few documents have several fixed points
    assert away.mean() < 2e-3


def test_a_further_round_moves_nothing(corpus):
    """Where it stops is a fixed point, not merely a place where it got tired."""
    counts, word_topics, prior = corpus
    found = proportions(*arrays(corpus))
    length = np.asarray(counts.sum(axis=1)).ravel()
    gamma = found * (prior.sum() + length)[:, None]
    pull = np.exp(digamma(gamma))
    seen = pull @ word_topics.T
    ratio = counts.toarray() / np.maximum(seen, 1e-300)
    again = prior + pull * (ratio @ word_topics)
    moved = np.abs(again - gamma).max(axis=1) / np.maximum(length, 1.0)
    assert np.quantile(moved, 0.99) < 3 * STILL


def test_rows_sum_to_one_and_an_empty_document_has_the_prior(corpus):
    found = proportions(*arrays(corpus))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    np.testing.assert_allclose(found[5], corpus[2] / corpus[2].sum())


def test_a_document_does_not_depend_on_its_company(corpus):
    counts, word_topics, prior = corpus
    found = proportions(*arrays(corpus))
    np.testing.assert_array_equal(found, proportions_of_some(*arrays(corpus)))
    one = counts[[17]]
    np.testing.assert_array_equal(proportions(one.indptr, one.indices, one.data, word_topics, prior)[0], found[17])

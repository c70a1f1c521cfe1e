"""Mean-field fold-in and its statistic against plain numpy with scipy's digamma."""

import numba
import numpy as np
import pytest
from scipy.special import digamma

from private_topics import make_lda_corpus
from private_topics.corpus.counts.layout import select_words
from private_topics.corpus.counts.matrix import validate_counts
from private_topics.inference.fold_in import exp_digamma, fold_in, topic_statistic

DIGAMMA_ERROR = 2e-6  # stated in exp_digamma


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    counts = validate_counts(rng.poisson(0.7, (40, 25)) * (rng.random((40, 1)) > 0.1))
    word_topics = np.ascontiguousarray(rng.dirichlet(np.full(25, 0.3), 4).T)
    return counts, word_topics, rng.uniform(0.05, 2.0, 4)


def reference_fold_in(dense, word_topics, prior, rounds, plain=False):
    k = len(prior)
    gamma = prior + dense.sum(axis=1, keepdims=True) / k
    pull = np.exp(digamma(gamma))
    for number in range(1, rounds + 1):
        share = word_topics[None] * pull[:, None]  # documents × words × topics
        share /= np.maximum(share.sum(axis=2, keepdims=True), 1e-300)
        gamma = prior + (dense[:, :, None] * share).sum(axis=1)
        power = 1 if plain or number % 2 == 0 or number == rounds else 2 if number == 1 else 3
        pull = pull * (np.exp(digamma(gamma)) / pull) ** power
    return gamma, pull


def run(counts, word_topics, prior, rounds):
    return fold_in(counts.indptr, counts.indices, counts.data, word_topics, prior, rounds)


@pytest.mark.parametrize("rounds", [0, 1, 10, 50])
def test_fold_in_equals_numpy(case, rounds):
    counts, word_topics, prior = case
    gamma, pull = run(counts, word_topics, prior, rounds)
    expected_gamma, expected_pull = reference_fold_in(counts.toarray(), word_topics, prior, rounds)
    np.testing.assert_allclose(gamma, expected_gamma, rtol=1e-5)
    np.testing.assert_allclose(pull, expected_pull, rtol=5e-5)
    np.testing.assert_allclose(gamma.sum(axis=1), prior.sum() + counts.toarray().sum(axis=1), rtol=1e-12)


def test_many_rounds_end_where_plain_ones_do(case):
    counts, word_topics, prior = case
    gamma, _ = run(counts, word_topics, prior, 2000)
    expected, _ = reference_fold_in(counts.toarray(), word_topics, prior, 2000, plain=True)
    np.testing.assert_allclose(gamma, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("words", [20, 300])
def test_the_usual_rounds_come_as_close_as_ten_plain_ones(words):
    """Topics of a refinement lean on the unigram: plain rounds are slow with them."""
    counts, topics, alpha = make_lda_corpus(300, 200, 8, alpha0=1.0, mean_length=words, random_state=4)
    dense, word_topics = counts.toarray(), np.ascontiguousarray((0.3 * topics + 0.7 * alpha @ topics / alpha.sum()).T)
    end = reference_fold_in(dense, word_topics, alpha, 1000, plain=True)[0]
    counts = validate_counts(counts)
    found = fold_in(counts.indptr, counts.indices, counts.data, word_topics, alpha)
    plain = reference_fold_in(dense, word_topics, alpha, 10, plain=True)
    assert np.abs(found[0] - end).mean() < np.abs(plain[0] - end).mean()


def test_exp_digamma_is_as_good_as_stated():
    points = np.concatenate([np.geomspace(0.02, 10, 2000), np.geomspace(10, 1e8, 500)])
    values = np.array([exp_digamma(x) for x in points])
    np.testing.assert_allclose(values, np.exp(digamma(points)), rtol=DIGAMMA_ERROR)
    assert 0.0 < exp_digamma(1e-6) < 1e-40


def test_statistic_equals_numpy(case):
    counts, word_topics, prior = case
    _, pull = run(counts, word_topics, prior, 10)
    share = word_topics[None] * pull[:, None]
    share /= np.maximum(share.sum(axis=2, keepdims=True), 1e-300)
    expected = (counts.toarray()[:, :, None] * share).sum(axis=0)
    statistic = topic_statistic(select_words(counts, None, 25), word_topics, pull)
    np.testing.assert_allclose(statistic, expected, rtol=1e-12, atol=1e-14)


def test_a_document_does_not_see_its_neighbours(case):
    counts, word_topics, prior = case
    together, _ = run(counts, word_topics, prior, 10)
    for n in range(counts.shape[0]):
        alone, _ = run(validate_counts(counts[n : n + 1]), word_topics, prior, 10)
        np.testing.assert_array_equal(alone[0], together[n])


def test_an_empty_document_keeps_the_prior(case):
    _, word_topics, prior = case
    gamma, _ = run(validate_counts(np.zeros((1, 25))), word_topics, prior, 10)
    np.testing.assert_allclose(gamma[0], prior, rtol=1e-15)


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
def test_bits_do_not_depend_on_the_number_of_threads(case):
    counts, word_topics, prior = case
    block = select_words(counts, None, 25)
    before, results = numba.get_num_threads(), []
    try:
        for threads in (1, 2):
            numba.set_num_threads(threads)
            gamma, pull = run(counts, word_topics, prior, 10)
            results.append((gamma, pull, topic_statistic(block, word_topics, pull)))
    finally:
        numba.set_num_threads(before)
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)

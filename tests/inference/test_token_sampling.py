"""Gibbs sampling of topic assignments: reproducible, thread-independent, and right against full enumeration."""

import itertools

import numba
import numpy as np
import pytest
from scipy.stats import norm

from private_topics.corpus.counts.layout import select_words
from private_topics.corpus.counts.matrix import validate_counts
from private_topics.inference import token_sampling
from private_topics.inference.token_sampling import document_statistic

FALSE_ALARM = 1e-6


def statistic(counts, word_topics, prior=0.2, seed=3, burn_in=5):
    return document_statistic(select_words(counts, None, counts.shape[1]), word_topics, prior, seed, burn_in, 4)


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    counts = validate_counts(rng.poisson(0.5, (300, 40)) * (rng.random((300, 1)) > 0.1))
    return counts, np.ascontiguousarray(rng.dirichlet(np.full(40, 0.3), 5).T)


def test_every_token_is_counted_once(case):
    counts, word_topics = case
    result = statistic(counts, word_topics)
    assert result.shape == (40, 5)
    assert result.min() >= 0
    np.testing.assert_allclose(result.sum(axis=1), counts.toarray().sum(axis=0), rtol=1e-5)  # single precision


def test_the_seed_decides(case):
    counts, word_topics = case
    np.testing.assert_array_equal(statistic(counts, word_topics, seed=5), statistic(counts, word_topics, seed=5))
    assert (statistic(counts, word_topics, seed=5) != statistic(counts, word_topics, seed=6)).any()


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
def test_bits_do_not_depend_on_the_number_of_threads(case):
    before, results = numba.get_num_threads(), []
    try:
        for threads in (1, 2):
            numba.set_num_threads(threads)
            results.append(statistic(*case))
    finally:
        numba.set_num_threads(before)
    np.testing.assert_array_equal(*results)


def test_documents_taken_a_few_at_a_time_are_sampled_the_same(case, monkeypatch):
    whole = statistic(*case)
    for most in (0, 100, 1000):
        monkeypatch.setattr(token_sampling, "MOST_HELD", most)
        np.testing.assert_allclose(statistic(*case), whole, rtol=1e-12)


def test_later_passes_and_the_last_sweep_more():
    early, late = token_sampling.sweeps(0, last=False), token_sampling.sweeps(4, last=False)
    assert sum(early) < sum(late) < sum(token_sampling.sweeps(4, last=True))
    assert sum(early) < sum(token_sampling.sweeps(0, last=True))


def test_impossible_topics_are_never_drawn():
    """Words 0 and 1 belong to one topic each: no sample may put them into the other."""
    word_topics = np.array([[0.5, 0.0], [0.0, 0.5], [0.5, 0.5]])
    result = statistic(validate_counts(np.full((50, 3), 4)), word_topics)
    assert result[0, 1] == result[1, 0] == 0.0
    assert result[2].min() > 0


def test_long_documents_take_the_mean_field_path(case, monkeypatch):
    counts, word_topics = case
    lengths = counts.toarray().sum(axis=1)
    limit = int(np.median(lengths))
    short = np.flatnonzero(lengths <= limit)
    monkeypatch.setattr(token_sampling, "LONGEST_SAMPLED", limit)
    mixed = statistic(counts, word_topics)
    np.testing.assert_allclose(mixed.sum(axis=1), counts.toarray().sum(axis=0), rtol=1e-5)
    # The short documents are sampled as before (same positions, same streams); the rest is fold-in, without noise.
    kept = counts.toarray().copy()
    kept[lengths > limit] = 0
    rest = counts.toarray() - kept
    difference = mixed - statistic(validate_counts(kept), word_topics)
    monkeypatch.setattr(token_sampling, "LONGEST_SAMPLED", -1)
    np.testing.assert_allclose(difference, statistic(validate_counts(rest), word_topics), atol=1e-9)
    assert len(short) not in (0, len(lengths))


def exact_statistic(tokens, word_topics, prior):
    """Posterior expectation of the words × topics counts of one document, over all topic assignments."""
    n_words, k = word_topics.shape
    total, result = 0.0, np.zeros((n_words, k))
    for assignment in itertools.product(range(k), repeat=len(tokens)):
        weight, sizes = 1.0, np.zeros(k)
        for token, topic in zip(tokens, assignment, strict=True):
            weight *= (sizes[topic] + prior) * word_topics[token, topic]  # Pólya urn, one token at a time
            sizes[topic] += 1
        total += weight
        for token, topic in zip(tokens, assignment, strict=True):
            result[token, topic] += weight
    return result / total


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize("tokens", [[0, 1, 2], [0, 0, 1, 2], [2, 2, 2], [1]])
@pytest.mark.parametrize("prior", [0.1, 1.0])
def test_expectations_agree_with_enumeration(tokens, prior):
    """Many copies of one document, each its own stream: their mean is the posterior's, after a long burn-in.

    z-scores from the scatter of groups of copies, Bonferroni over words × topics at a false-alarm rate of 1e-6.
    """
    word_topics = np.array([[0.7, 0.1], [0.2, 0.3], [0.1, 0.6]])
    row = np.bincount(tokens, minlength=3)
    block = validate_counts(np.tile(row, (500, 1)))
    groups = np.array([statistic(block, word_topics, prior, seed, burn_in=60) / 500 for seed in range(100)])
    expected = exact_statistic(tokens, word_topics, prior)
    error = np.maximum(groups.std(axis=0, ddof=1) / np.sqrt(len(groups)), 1e-12)
    z = np.abs(groups.mean(axis=0) - expected) / error
    assert z.max() < norm.isf(FALSE_ALARM / 2 / z.size)
    assert error.max() < 0.005  # sharp enough to notice: mean-field differs by more

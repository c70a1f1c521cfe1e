"""Private Gibbs sampling: what its published epsilon covers, and a variant that holds for documents."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm

from private_topics import make_lda_corpus, topic_error_l2
from private_topics.privacy.curves import mu_of_budget
from rival_gibbs import (
    MOST_TOKENS,
    REPLACED,
    PerDocument,
    PerWord,
    Tokens,
    clipped_weights,
    counts_of,
    scaled_sum,
    tokens_of,
)

DELTA = 1e-6


def gaussian_delta(sensitivities_over_sigmas, epsilon):
    """Of Gaussian releases together (Balle and Wang 2018), written down once more."""
    mu = math.sqrt(sum(ratio**2 for ratio in sensitivities_over_sigmas))
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


def one_document(words, n_words):
    return Tokens(np.array([0, len(words)]), np.asarray(words, np.int32), n_words)


# -- documents ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_the_noise_of_all_rounds_costs_the_epsilon_asked_for(epsilon):
    settings = PerDocument()
    first, later = settings.sigmas(mu_of_budget(epsilon, DELTA))
    ratios = [math.sqrt(2.0) / first] + settings.rounds * [math.sqrt(2.0) / later]
    assert gaussian_delta(ratios, epsilon) == pytest.approx(DELTA, rel=1e-6)
    assert settings.mu((first, later)) == pytest.approx(mu_of_budget(epsilon, DELTA))


def test_no_document_moves_a_round_by_more_than_its_sensitivity():
    rng = np.random.default_rng(0)
    sums = [scaled_sum(one_document([], 6), np.empty(0, np.int64), 3)]
    for size in (1, 1, 1, *rng.integers(1, 40, 60)):
        document = one_document(rng.integers(0, 6, size), 6)
        sums.append(scaled_sum(document, rng.integers(0, 3, size), 3))
    norms = [np.linalg.norm(one) for one in sums[1:]]
    assert norms == pytest.approx(np.ones(len(norms)))
    largest = max(np.linalg.norm(a - b) for a in sums for b in sums)
    assert largest <= REPLACED + 1e-12
    assert largest == pytest.approx(math.sqrt(2.0))


def test_the_sum_over_documents_is_that_of_each():
    counts, _, _ = make_lda_corpus(50, 20, 3, random_state=0)
    tokens = tokens_of(counts, 30, np.random.default_rng(0))
    topics = np.random.default_rng(1).integers(0, 3, len(tokens.words))
    expected = np.zeros((20, 3))
    for first, last in zip(tokens.starts[:-1], tokens.starts[1:], strict=True):
        mine = counts_of(one_document(tokens.words[first:last], 20), topics[first:last], 3)
        expected += mine / max(np.linalg.norm(mine), 1e-300)
    np.testing.assert_allclose(scaled_sum(tokens, topics, 3), expected)


def test_long_documents_are_cut_and_short_ones_kept():
    counts = sp.csr_array(np.array([[300, 0, 200], [1, 2, 0], [0, 0, 0]]))
    tokens = tokens_of(counts, 100, np.random.default_rng(0))
    assert np.diff(tokens.starts).tolist() == [100, 3, 0]
    assert tokens.words[100:].tolist() == [0, 1, 1]


def test_with_a_huge_budget_it_is_the_sampler_without_noise():
    counts, truth, _ = make_lda_corpus(3_000, 60, 3, alpha0=0.05, random_state=0)
    found = [PerDocument().fit(counts, 3, 0.05, mu, 0) for mu in (1e7, math.inf)]
    assert topic_error_l2(*found) < 0.02
    nothing = topic_error_l2(np.tile(counts.sum(axis=0) / counts.sum(), (3, 1)), truth)
    assert topic_error_l2(found[0], truth) < 0.2 * nothing


# -- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1.0, 30.0])
def test_the_published_sum_is_the_epsilon_asked_for(epsilon):
    """`rounds · (epsilon_L + 2 log(C/beta + 1))`, and the noise of the last release."""
    settings = PerWord()
    of_noise, drawn = settings.shares(epsilon)
    limit = 7.0
    beta = limit / math.expm1(drawn / 2.0)
    published = settings.rounds * (of_noise + 2.0 * math.log(limit / beta + 1.0))
    assert published + of_noise == pytest.approx(epsilon) == pytest.approx(settings.epsilon(of_noise, drawn))


def test_a_draw_tells_no_more_of_its_word_than_its_share():
    rng, drawn, limit = np.random.default_rng(0), 0.4, 5.0
    beta = limit / math.expm1(drawn / 2.0)
    losses = []
    for _ in range(300):
        noisy = np.where(rng.random((8, 4)) < 0.5, -3.0, 50.0) if rng.random() < 0.5 else rng.normal(0, 10, (8, 4))
        weights = clipped_weights(noisy, rng.integers(0, 99, 4), limit, beta) * rng.integers(1, 9, 4)
        chances = weights / weights.sum(axis=1, keepdims=True)
        losses.append(np.abs(np.log(chances[0] / chances[1])).max())
    assert 0.5 * drawn < max(losses) <= drawn + 1e-12


def test_one_word_moves_the_counts_by_two_and_a_document_by_twice_its_length():
    topics = np.array([0, 1, 0, 1, 1])
    counts = [counts_of(one_document(words, 4), topics, 2) for words in ([0, 0, 1, 2, 0], [3, 0, 1, 2, 0], 5 * [3])]
    assert np.abs(counts[0] - counts[1]).sum() == 2.0
    assert np.abs(counts[0] - counts[2]).sum() == 10.0


def test_for_a_document_the_noise_loses_as_many_times_as_it_has_words():
    """One word, repeated, for another: in each release the two counts lie beyond their means with probability 1/4.

    Under the other corpus that has probability exp(-L epsilon_L)/4: a lower bound on the epsilon that holds at delta,
    far above the one stated for a word.
    """
    settings, epsilon = PerWord(), 1.0
    of_noise, _ = settings.shares(epsilon)
    releases, scale = settings.rounds + 1, 2.0 / of_noise
    here, there = 0.25**releases, (0.5 * math.exp(-MOST_TOKENS / scale)) ** (2 * releases)
    attained = math.log((here - DELTA) / there)
    assert attained == pytest.approx(MOST_TOKENS * releases * of_noise, rel=1e-3)
    assert 25.0 < attained <= settings.document_epsilon(epsilon) == 100.0


def test_counts_that_are_updated_during_a_round_move_by_more_than_its_noise_covers():
    """The tokens drawn before and after the replaced one see it in other places: 4 in all, where the noise has 2."""
    before, after = (
        [counts_of(one_document([word], 2), np.array([topic]), 2) for word in (0, 1)] for topic in (0, 1)
    )
    assert sum(np.abs(one - other).sum() for one, other in (before, after)) == 4.0


def test_at_epsilon_one_for_a_word_the_topics_are_copies_of_the_word_frequencies():
    counts, truth, _ = make_lda_corpus(3_000, 60, 3, alpha0=0.05, random_state=0)
    nothing = topic_error_l2(np.tile(counts.sum(axis=0) / counts.sum(), (3, 1)), truth)
    assert topic_error_l2(PerWord().fit(counts, 3, 0.05, 1.0, 0), truth) > 0.8 * nothing
    assert topic_error_l2(PerWord(rounds=60).fit(counts, 3, 0.05, 1e4, 0), truth) < 0.5 * nothing

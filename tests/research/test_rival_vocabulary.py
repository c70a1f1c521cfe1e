"""The pipeline of a private vocabulary and a private topic model: what it lacks as published, and one that holds."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm

from private_topics import make_lda_corpus
from private_topics.privacy.set_union import units_to_pass
from rival_gibbs import REPLACED
from rival_vocabulary import (
    CUTOFF,
    MOST_WORDS,
    THRESHOLD_PART,
    Pipeline,
    greedy_threshold,
    greedy_weights,
    last_sweep_topics,
    published,
    spread,
    threshold,
    word_totals,
    word_weights,
)

DELTA = 1e-6


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_words_and_topics_together_cost_the_budget(epsilon):
    """`delta_G(epsilon + log(1 - delta')) + delta'`, docs/proofs/composition.md."""
    mus, spent = Pipeline().mus(epsilon, DELTA), THRESHOLD_PART * DELTA
    mu, shifted = math.hypot(*mus), epsilon + math.log1p(-spent)
    gaussian = norm.cdf(mu / 2 - shifted / mu) - math.exp(shifted) * norm.cdf(-mu / 2 - shifted / mu)
    assert gaussian + spent == pytest.approx(DELTA, rel=1e-6)
    assert Pipeline().delta(mus, epsilon, spent) == pytest.approx(DELTA, rel=1e-6)


@pytest.mark.parametrize("sigma", [2.0, 40.0])
def test_words_of_one_document_pass_the_threshold_with_probability_delta_at_most(sigma):
    limit = threshold(sigma, 1e-7)
    passed = [-math.expm1(t * norm.logcdf((limit - 1 / math.sqrt(t)) / sigma)) for t in range(1, MOST_WORDS + 1)]
    assert max(passed) == pytest.approx(1e-7, rel=1e-6)
    assert limit == pytest.approx(units_to_pass(1, MOST_WORDS, sigma, 1e-7))


def test_no_document_moves_the_weights_by_more_than_their_sensitivity():
    rng = np.random.default_rng(0)
    rows = [np.zeros(300), np.eye(300)[0], np.eye(300)[1], np.ones(300)]
    rows += [rng.random(300) < rng.random() for _ in range(40)]
    weights = [word_weights(sp.csr_array(np.array([row], dtype=np.int64)), rng) for row in rows]
    largest = max(np.linalg.norm(a - b) for a in weights for b in weights)
    assert largest <= REPLACED + 1e-12
    assert largest == pytest.approx(math.sqrt(2.0))
    assert max((one > 0).sum() for one in weights) == MOST_WORDS


def test_with_a_huge_budget_all_words_are_named_and_the_fit_gets_all_of_it():
    counts = sp.csr_array(np.random.default_rng(0).integers(1, 4, (500, 40)))
    seen = []

    def fit(given, mu):
        seen.append((given, mu))
        return np.full((2, given.shape[1]), 1.0 / given.shape[1])

    topics = Pipeline().topics(counts, 40, fit, 1e4, DELTA, 0)
    assert (seen[0][0] != counts).nnz == 0
    assert seen[0][1] == Pipeline().mus(1e4, DELTA)[1]
    np.testing.assert_allclose(topics, 1.0 / 40)


def test_words_that_were_not_named_share_a_small_part():
    topics = spread(np.array([[0.75, 0.25]]), np.array([0, 2]), 4, weight=8.0, unnamed=1.0)
    np.testing.assert_allclose(topics, [[0.6, 0.1, 0.2, 0.1]])


# -- as published ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.01, 10.0])
def test_the_sampler_prints_how_often_each_word_occurs(epsilon):
    """Noise on what the last sweep reads moves tokens between topics, and none of them out of the counts."""
    counts = np.array([[3, 1, 0, 2, 0], [0, 4, 1, 0, 0], [1, 1, 1, 0, 0]])
    neighbour = counts.copy()
    neighbour[2] = [1, 0, 1, 1, 0]
    for corpus in (counts, neighbour):
        for seed in range(5):
            topics = last_sweep_topics(sp.csr_array(corpus), 2, epsilon, seed, beta=0.5)
            np.testing.assert_allclose(word_totals(topics, absent=4, beta=0.5), corpus.sum(axis=0), atol=1e-9)
    assert (counts.sum(axis=0) != neighbour.sum(axis=0)).any()  # so no output of one is an output of the other


@pytest.mark.slow
def test_a_document_can_make_several_words_of_others_appear():
    """Words that the other corpus does not have are named with more than delta, for documents in a given order.

    A word is full at 33.5. The words a, b, c, d have 33 each; the document "a b" fills two of them. Of the two that
    follow, "a a a c c e" and "b b b d d f", each then has a half left for a new word, and none without it.
    """
    epsilon = 0.5
    delta = 0.5 * math.exp(-26.5 * epsilon)
    assert greedy_threshold(epsilon, delta) + CUTOFF / epsilon == pytest.approx(33.5)
    alone = np.repeat(np.eye(6, dtype=np.int64)[:4], 33, axis=0)
    last = np.array([[3, 0, 2, 0, 1, 0], [0, 3, 0, 2, 0, 1]])
    without = greedy_weights(sp.csr_array(np.vstack([alone, last])), epsilon, delta)
    weights = greedy_weights(sp.csr_array(np.vstack([alone, [[1, 1, 0, 0, 0, 0]], last])), epsilon, delta)
    assert without[4:] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert weights[4:] == pytest.approx([0.5, 0.5])
    passed = 0.5 * np.exp(-epsilon * (greedy_threshold(epsilon, delta) - weights[4:]))
    assert 1.0 - np.prod(1.0 - passed) == pytest.approx(2.0 * math.exp(-epsilon / 2.0) * delta, rel=1e-3)
    assert 1.0 - np.prod(1.0 - passed) > 1.5 * delta


def test_as_published_the_pipeline_runs():
    counts, _, _ = make_lda_corpus(2_000, 40, 3, random_state=0)
    topics = published(sp.csr_array(counts), 30, 3, 10.0, DELTA, 0)
    assert topics.shape == (3, 30)
    np.testing.assert_allclose(topics.sum(axis=1), 1.0)

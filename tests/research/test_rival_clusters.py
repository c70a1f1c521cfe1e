"""The rival by clustering: its sensitivities are attained and not exceeded, and its budget is spent exactly."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import rival_clusters
from private_topics import make_lda_corpus, topic_error_l2
from private_topics.privacy.curves import gdp_delta, mu_of_budget
from rival_clusters import Clusters


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_all_releases_together_cost_the_budget(epsilon):
    settings = Clusters()
    spent = settings.mu(settings.sigmas(mu_of_budget(epsilon, 1e-6)))
    assert gdp_delta(spent, epsilon) == pytest.approx(1e-6, rel=1e-6)


def test_no_document_moves_a_round_by_more_than_its_sensitivity():
    """Attained by documents of norm one in different clusters."""
    centres = np.eye(3)
    others = np.random.default_rng(0).dirichlet(np.ones(3), 20)
    drawn = sp.csr_array(np.random.default_rng(1).integers(0, 9, (20, 3)))
    documents = [*np.eye(3), *rival_clusters.vectors_of(rival_clusters.unit_documents(drawn), 20), np.zeros(3)]
    sums = [rival_clusters.cluster_sums(np.vstack([others, one]), centres)[1] for one in documents]
    largest = max(np.linalg.norm(a - b) for a in sums for b in sums)
    assert largest <= rival_clusters.ROUND_SENSITIVITY + 1e-12
    assert largest == pytest.approx(2.0)


def test_no_document_moves_the_keywords_by_more_than_their_sensitivity():
    documents = rival_clusters.unit_documents(sp.csr_array(np.array([[5, 0, 0], [0, 7, 0], [1, 1, 1], [0, 0, 0]])))
    sums = [
        rival_clusters.keyword_sums(documents[[row]], np.array([place]), 2) for row in range(4) for place in (0, 1)
    ]
    largest = max(np.linalg.norm(a - b) for a in sums for b in sums)
    assert largest == pytest.approx(math.sqrt(2.0))


def test_vectors_have_norm_at_most_one():
    counts = sp.csr_array(np.random.default_rng(0).integers(0, 50, (200, 100)))
    vectors = rival_clusters.vectors_of(rival_clusters.unit_documents(counts), 20)
    assert np.linalg.norm(vectors, axis=1).max() <= 1.0 + 1e-12


def test_it_finds_topics_where_that_is_easy():
    counts, truth, _ = make_lda_corpus(3_000, 60, 3, alpha0=0.05, random_state=0)
    mu = mu_of_budget(50.0, 1e-6)
    errors = [topic_error_l2(Clusters().fit(counts, 3, mu, seed), truth) for seed in range(5)]
    nothing = topic_error_l2(np.tile(counts.sum(axis=0) / counts.sum(), (3, 1)), truth)
    assert np.median(errors) < 0.5 * nothing

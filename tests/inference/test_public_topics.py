"""Topics before any is learnt: clusters of words, and topics of other documents with the frequencies of these."""

from __future__ import annotations

import numpy as np
import pytest

from private_topics.inference import public_topics
from private_topics.inference.public_topics import UNIGRAM_PART, with_frequencies, word_clusters

N_WORDS, N_CLUSTERS = 90, 3


def pointing() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words around three directions, their frequencies, and which direction each has."""
    generator = np.random.default_rng(0)
    belongs = np.arange(N_WORDS) % N_CLUSTERS
    coordinates = np.eye(N_CLUSTERS)[belongs] + 0.1 * generator.standard_normal((N_WORDS, N_CLUSTERS))
    lengths = generator.uniform(0.1, 10.0, (N_WORDS, 1))
    return coordinates * lengths, generator.dirichlet(np.ones(N_WORDS)), belongs


def test_words_that_point_the_same_way_are_a_topic():
    coordinates, unigram, belongs = pointing()
    topics, shares = word_clusters(coordinates, unigram, N_CLUSTERS)
    np.testing.assert_allclose(topics.sum(axis=1), 1.0)
    own = np.array([unigram[belongs == cluster].sum() for cluster in range(N_CLUSTERS)])
    np.testing.assert_allclose(np.sort(shares), np.sort(own), atol=0.05)
    inside = np.array([[topic[belongs == cluster].sum() for cluster in range(N_CLUSTERS)] for topic in topics])
    assert (inside.max(axis=1) > 0.9).all()
    assert set(inside.argmax(axis=1)) == set(range(N_CLUSTERS))


def test_frequent_words_along_which_documents_hardly_vary_make_no_cluster():
    """As many as the others together, and all over the place: they would take clusters from those that matter."""
    coordinates, unigram, belongs = pointing()
    generator = np.random.default_rng(1)
    general = 0.05 * generator.standard_normal((N_WORDS, N_CLUSTERS))
    with_general = np.vstack([coordinates, general])
    unigram = np.concatenate([unigram, generator.dirichlet(np.ones(N_WORDS))]) / 2.0
    topics, _ = word_clusters(with_general, unigram, N_CLUSTERS)
    inside = np.array([[topic[:N_WORDS][belongs == c].sum() for c in range(N_CLUSTERS)] for topic in topics])
    assert set(inside.argmax(axis=1)) == set(range(N_CLUSTERS))
    assert (inside.max(axis=1) > 0.9 * inside.sum(axis=1)).all()


def test_the_best_of_several_starts_is_taken(monkeypatch):
    def closeness(starts: int, seed: int) -> float:
        generator = np.random.default_rng(seed)
        pointing = generator.standard_normal((300, 5))
        pointing /= np.linalg.norm(pointing, axis=1, keepdims=True)
        weight = generator.dirichlet(np.ones(300))
        monkeypatch.setattr(public_topics, "STARTS", starts)
        return float(weight @ (pointing @ public_topics._centres(pointing, weight, 12).T).max(axis=1))

    gains = [closeness(10, seed) - closeness(1, seed) for seed in range(5)]
    assert min(gains) >= 0.0
    assert sum(gains) > 0.01


def test_clusters_mix_to_the_unigram_and_are_the_same_each_time():
    coordinates, unigram, _ = pointing()
    topics, shares = word_clusters(coordinates, unigram, 7)
    np.testing.assert_allclose(shares @ topics, unigram, atol=1e-12)
    np.testing.assert_array_equal(topics, word_clusters(coordinates, unigram, 7)[0])


@pytest.mark.parametrize("coordinates", [np.zeros((5, 2)), np.eye(5)[:, :1], np.ones((5, 3))])
def test_words_that_cannot_be_told_apart_give_topics_all_the_same(coordinates):
    unigram = np.full(5, 0.2)
    topics, shares = word_clusters(coordinates, unigram, 8)
    assert np.isfinite(topics).all()
    np.testing.assert_allclose(topics.sum(axis=1), 1.0)
    assert shares.sum() == pytest.approx(1.0)


def test_topics_of_other_documents_take_the_frequencies_of_these():
    generator = np.random.default_rng(1)
    topics, shares = generator.dirichlet(np.ones(N_WORDS), size=4), generator.dirichlet(np.ones(4))
    np.testing.assert_allclose(
        with_frequencies(topics, shares, shares @ topics),
        (1 - UNIGRAM_PART) * topics + UNIGRAM_PART * (shares @ topics),
    )
    unigram = generator.dirichlet(np.ones(N_WORDS))
    found = with_frequencies(topics, shares, unigram)
    expected = topics * (unigram / (shares @ topics))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, (1 - UNIGRAM_PART) * expected + UNIGRAM_PART * unigram)


def test_a_topic_on_words_that_do_not_occur_is_the_unigram():
    unigram = np.array([0.5, 0.5, 0.0])
    found = with_frequencies(np.array([[0.0, 0.0, 1.0], [0.5, 0.5, 0.0]]), np.array([0.5, 0.5]), unigram)
    np.testing.assert_allclose(found, [unigram, unigram])

"""Topics from their mean features: exact without noise, the expected ones where noise hides everything."""

from __future__ import annotations

import numpy as np
import pytest

from private_topics.inference.features import CONSTANT, UNIGRAM_PART, Expected, Features

N_WORDS, RANK = 80, 6


def features(n_topics: int = 2, around: np.ndarray | None = None) -> Features:
    """Around the unigram, or around given topics."""
    generator = np.random.default_rng(0)
    centre = generator.dirichlet(np.full(N_WORDS, 2.0))
    expected = np.tile(centre, (n_topics, 1)) if around is None else around
    shares = np.full(len(expected), 1 / len(expected))
    return Features.of(generator.normal(size=(N_WORDS, RANK)), centre, Expected(expected, shares, 0.02, 0.5))


def tilted(known: Features, theta: np.ndarray) -> np.ndarray:
    """The exponential family itself, in the coordinates of the prior."""
    topic = known.centre * np.exp(np.sqrt(RANK) * known.values @ theta)
    return topic / topic.sum()


def test_features_are_centred_and_of_mean_square_one():
    known = features()
    np.testing.assert_allclose(known.centre @ known.values, 0.0, atol=1e-14)
    assert known.centre @ (known.values**2).sum(axis=1) == pytest.approx(1.0)
    np.testing.assert_array_equal(known.rows[:, 0], CONSTANT)


@pytest.mark.parametrize("size", [0.1, 1.0, 3.0])
def test_without_noise_a_topic_of_the_family_is_found_exactly(size):
    known = features()
    wanted = tilted(known, size * np.random.default_rng(1).normal(size=RANK))
    np.testing.assert_allclose(known.matched(wanted @ known.values, 1e-9, known.centre), wanted, atol=1e-7)


def test_a_topic_outside_the_family_keeps_its_mean_feature():
    known = features()
    wanted = np.random.default_rng(2).dirichlet(np.full(N_WORDS, 0.3))
    found = known.matched(wanted @ known.values, 1e-6, known.centre)
    np.testing.assert_allclose(found @ known.values, wanted @ known.values, atol=1e-5)


@pytest.mark.parametrize("base", ["centre", "other"])
def test_noise_pulls_towards_what_is_expected(base):
    known = features()
    expected = known.centre if base == "centre" else np.random.default_rng(5).dirichlet(np.ones(N_WORDS))
    mean = tilted(known, np.ones(RANK)) @ known.values
    distances = [np.abs(known.matched(mean, noise, expected) - expected).sum() for noise in (1e-3, 0.1, 1.0, 100.0)]
    assert all(np.diff(distances) < 0)
    assert distances[-1] < 1e-3


def test_a_mean_that_no_distribution_has_still_gives_a_topic():
    known = features()
    far = 10.0 * np.abs(known.values).max() * np.ones(RANK)
    found = known.matched(far, 0.1, known.centre)
    assert np.isfinite(found).all()
    assert found.sum() == pytest.approx(1.0)


def test_topics_from_sums_of_rows():
    """Masses, and topics that mix to the unigram but for the part that each has of it."""
    known = features()
    true = np.stack([tilted(known, s * np.eye(RANK)[0]) for s in (-0.6, 0.6)])
    mass = np.array([300.0, 100.0])
    unigram = mass @ true / mass.sum()
    topics, found = known.topics(mass[:, None] * (true @ known.rows), 1e-6, unigram)
    np.testing.assert_allclose(found, mass, rtol=1e-6)
    np.testing.assert_allclose(topics, (1 - UNIGRAM_PART) * true + UNIGRAM_PART * unigram, atol=2e-3)


def test_words_that_no_topic_has_keep_a_part_of_their_frequency():
    """Means far outside of what any distribution has push all topics to a few words."""
    known = features()
    far = np.full((2, 1 + RANK), 1e4)
    far[:, 0] = 100.0 * CONSTANT
    topics, _ = known.topics(far, 1e-9, known.centre)
    assert np.isfinite(topics).all()
    assert (topics > 0).all()
    np.testing.assert_allclose(topics.sum(axis=1), 1.0)


def test_sums_that_are_noise_give_the_expected_topics():
    expected = np.random.default_rng(3).dirichlet(np.ones(N_WORDS), size=3)
    known = features(around=expected)
    unigram = expected.mean(axis=0)
    topics, mass = known.topics(np.zeros((3, 1 + RANK)), 5.0, unigram)
    np.testing.assert_allclose(topics, (1 - UNIGRAM_PART) * expected + UNIGRAM_PART * unigram, atol=1e-3)
    np.testing.assert_allclose(mass, mass.mean())

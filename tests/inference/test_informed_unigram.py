"""Word frequencies with public ones beside them: better where those are good, hardly worse where they are not."""

from __future__ import annotations

import numpy as np
import pytest

from private_topics.inference.denoising import unigram_posterior
from private_topics.inference.informed_unigram import informed_unigram

N_WORDS = 1500
SEEDS = range(4)


def case(seed: int, sigma: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """True frequencies, noisy weights, public log-frequencies that are right but for a factor of two, features."""
    generator = np.random.default_rng(seed)
    true = 1.0 / np.arange(3, N_WORDS + 3)
    true = generator.permutation(true / true.sum())
    noisy = 5_000 * true + sigma * generator.standard_normal(N_WORDS)
    public = np.log(true) + 0.7 * generator.standard_normal(N_WORDS)
    return true, noisy, public[:, None], generator.standard_normal((N_WORDS, 10))


def loss(true: np.ndarray, found: np.ndarray) -> float:
    return float(true @ np.log(true / found))


@pytest.mark.parametrize("sigma", [3.0, 10.0, 40.0])
def test_public_frequencies_help_where_noise_is_large(sigma):
    """The mean over fixed seeds: no false alarm."""
    gains = []
    for seed in SEEDS:
        true, noisy, public, features = case(seed, sigma)
        informed = informed_unigram(noisy, sigma, public, features)
        gains.append(loss(true, unigram_posterior(noisy, sigma)) - loss(true, informed))
    assert np.mean(gains) > 0.01


@pytest.mark.parametrize("sigma", [0.03, 0.3, 3.0, 10.0])
def test_wrong_frequencies_hardly_hurt(sigma):
    for seed in SEEDS:
        true, noisy, public, features = case(seed, sigma)
        wrong = np.random.default_rng(9).permutation(public)
        excess = loss(true, informed_unigram(noisy, sigma, wrong, features)) - loss(
            true, unigram_posterior(noisy, sigma)
        )
        assert excess < 0.01


def test_of_two_sources_the_nearer_counts():
    """The second is right but for a factor, the first is of other texts."""
    for seed in SEEDS:
        true, noisy, public, features = case(seed, 10.0)
        both = np.column_stack([np.random.default_rng(9).permutation(public[:, 0]), np.log(true) - 3.0])
        found = loss(true, informed_unigram(noisy, 10.0, both, features))
        assert found < 0.5 * loss(true, informed_unigram(noisy, 10.0, public, features))
        assert found < 0.05


def test_small_noise_gives_the_values_themselves():
    true, noisy, public, features = case(0, 1e-4)
    np.testing.assert_allclose(informed_unigram(noisy, 1e-4, public, features), true, rtol=1e-2, atol=1e-6)


@pytest.mark.parametrize("known", [0, 1, N_WORDS // 2])
def test_frequencies_may_be_unknown(known):
    true, noisy, public, features = case(0, 10.0)
    public[known:] = np.nan
    found = informed_unigram(noisy, 10.0, public, features)
    assert (found > 0).all()
    assert found.sum() == pytest.approx(1.0)
    assert loss(true, found) < 1.05 * loss(true, unigram_posterior(noisy, 10.0)) + 0.01


@pytest.mark.parametrize("noisy", [np.zeros(50), -np.ones(50), np.full(50, 1e9), np.r_[1e12, np.zeros(49)]])
def test_any_values_give_probabilities(noisy):
    found = informed_unigram(noisy, 1.0, np.linspace(-12.0, -3.0, 50)[:, None], np.eye(50)[:, :3])
    assert np.isfinite(found).all()
    assert (found > 0).all()
    assert found.sum() == pytest.approx(1.0)

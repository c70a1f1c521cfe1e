"""Which words the refinement sees: all of a small vocabulary, the frequent ones of a large one."""

from __future__ import annotations

import numpy as np
import pytest

from private_topics.configurations.word_choice import (
    SMALLEST_REFINED,
    TAIL_SHARE,
    RefinedWords,
    carried_topics,
    on_all_words,
)


def zipf(n_words: int) -> np.ndarray:
    weights = 1.0 / np.arange(1.0, n_words + 1.0)
    return np.random.default_rng(0).permutation(weights / weights.sum())


@pytest.mark.parametrize("n_words", [10, SMALLEST_REFINED, 2 * SMALLEST_REFINED - 1])
def test_a_small_vocabulary_is_refined_whole(n_words):
    assert RefinedWords.of(zipf(n_words), 1.0, 20).words is None


def test_a_large_vocabulary_is_refined_whole_where_the_budget_carries_it():
    chosen = RefinedWords.of(zipf(50_000), 1e-7, 20)
    assert chosen.words is None
    assert chosen.noise == pytest.approx(50_000 * 1e-7)


def test_a_large_vocabulary_is_cut_to_its_frequent_words():
    unigram = zipf(100_000)
    noise = 1.0 / 300_000  # three topics on all words
    chosen = RefinedWords.of(unigram, noise, 20)
    assert chosen.words is not None
    assert carried_topics(noise * 100_000) < 20 <= carried_topics(chosen.noise)
    assert np.all(np.diff(chosen.words) > 0)
    left_out = np.setdiff1d(np.arange(100_000), chosen.words)
    assert unigram[chosen.words].min() >= unigram[left_out].max()
    per_entry = noise / np.sqrt(1.0 - TAIL_SHARE)  # the words left out take their share of the budget
    assert chosen.noise == pytest.approx(per_entry * len(chosen.words) / unigram[chosen.words].sum())


def test_equally_frequent_words_are_not_cut():
    """Fewer of them carry no more topics."""
    assert RefinedWords.of(np.full(50_000, 1 / 50_000), 1e-3, 20).words is None


def test_words_left_out_keep_their_share_of_the_unigram():
    unigram = zipf(12)
    words = np.array([1, 4, 7])
    inside = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    topics = on_all_words(inside, words, unigram)
    np.testing.assert_allclose(topics.sum(axis=1), 1.0)
    np.testing.assert_allclose(topics[:, words], inside * unigram[words].sum())
    left_out = np.setdiff1d(np.arange(12), words)
    np.testing.assert_allclose(topics[:, left_out], np.tile(unigram[left_out], (2, 1)))

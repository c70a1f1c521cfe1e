"""Which words the refinement sees: all of a small vocabulary, the frequent ones of a large one."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from private_topics import PrivacyWarning
from private_topics.fits.sequential import HALF_START_NOISE, NOISY_START, REFUTED_START, unigram_in_start
from private_topics.inference.carried import (
    LEAST_COVERED,
    SMALLEST_REFINED,
    TAIL_SHARE,
    RefinedWords,
    carried_topics,
    occurring_words,
    on_all_words,
    refined_size,
    warn_if_fewer,
)


def zipf(n_words: int) -> np.ndarray:
    weights = 1.0 / np.arange(1.0, n_words + 1.0)
    return np.random.default_rng(0).permutation(weights / weights.sum())


@pytest.mark.parametrize("n_words", [10, SMALLEST_REFINED, 2 * SMALLEST_REFINED - 1])
def test_a_small_vocabulary_is_refined_whole(n_words):
    assert RefinedWords.of(zipf(n_words), 1.0, 20).words is None


def padded(unigram: np.ndarray, n_words: int) -> np.ndarray:
    """With words that hardly occur, all of them together in a hundredth of the text."""
    rest = n_words - len(unigram)
    return np.concatenate([0.99 * unigram, np.full(rest, 0.01 / rest)])


def test_words_that_hardly_occur_are_not_counted():
    even = np.full(100, 0.01)
    assert occurring_words(even) == 100
    assert occurring_words(zipf(3_000)) == 3_000
    assert occurring_words(padded(even, 1_000)) == 96  # 95 % of the text
    assert occurring_words(padded(even, 150)) == 150  # too few others to leave out


def test_words_that_hardly_occur_cost_no_topics():
    """Of a vocabulary that could not be cut: a larger one is, and pays for the words it leaves out."""
    even = np.full(100, 0.01)
    assert RefinedWords.of(padded(even, 1_000), 1e-3, 20) == RefinedWords(None, 96e-3)
    assert carried_topics(1.0) < 20
    large = RefinedWords.of(padded(even, 2 * SMALLEST_REFINED), 1e-3, 20)
    assert large.words is not None
    assert len(large.words) == SMALLEST_REFINED


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


@pytest.mark.parametrize("wanted", [1, 5, 20, 100])
def test_the_size_follows_from_what_the_frequent_words_cover(wanted):
    """Only the sizes tried are asked for, from a half downwards."""
    unigram, asked = zipf(40_000), []

    def covered(size: int) -> float:
        asked.append(size)
        return float(np.sort(unigram)[::-1][:size].sum())

    size, noise = refined_size(40_000, 1e-5, wanted, covered)
    chosen = RefinedWords.of(unigram, 1e-5, wanted)
    assert (40_000 if chosen.words is None else len(chosen.words)) == size
    assert chosen.noise == pytest.approx(noise)
    assert asked == [20_000, 10_000, 5_000][: len(asked)]


@pytest.mark.parametrize(("carried", "wanted", "said"), [(0, 1, None), (1, 1, None), (0, 3, "1 of the 3"),
                                                         (2, 3, "2 of the 3"), (3, 3, None)])  # fmt: skip
def test_a_warning_only_where_topics_are_missing(carried, wanted, said):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", PrivacyWarning)
        warn_if_fewer(carried, wanted)
    assert [said in str(each.message) for each in heard] == ([] if said is None else [True])


def test_the_start_leans_on_the_unigram_where_documents_refute_the_model_or_noise_is_large():
    assert unigram_in_start(0.0, refuted=False) == 0.0
    assert unigram_in_start(HALF_START_NOISE, refuted=False) == pytest.approx(NOISY_START / 2)
    assert unigram_in_start(0.0, refuted=True) == unigram_in_start(5.0, refuted=True) == REFUTED_START


def test_equally_frequent_words_are_not_cut():
    """Fewer of them carry no more topics."""
    assert RefinedWords.of(np.full(50_000, 1 / 50_000), 1e-3, 20).words is None


def test_words_that_make_up_too_little_of_the_text_are_not_refined_alone():
    """Topics that are Dirichlet draws: an eighth of the words would carry all topics, and 30 % of the text."""
    topics = np.random.default_rng(0).gamma(0.1, size=(20, 100_000))
    unigram = (topics / topics.sum(axis=1, keepdims=True)).mean(axis=0)
    chosen = RefinedWords.of(unigram, 9e-7, 20)
    assert chosen.words is not None
    assert len(chosen.words) == 25_000
    assert carried_topics(chosen.noise) < 20
    assert unigram[chosen.words].sum() > LEAST_COVERED


def test_words_left_out_keep_their_share_of_the_unigram():
    unigram = zipf(12)
    words = np.array([1, 4, 7])
    inside = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    topics = on_all_words(inside, words, unigram)
    np.testing.assert_allclose(topics.sum(axis=1), 1.0)
    np.testing.assert_allclose(topics[:, words], inside * unigram[words].sum())
    left_out = np.setdiff1d(np.arange(12), words)
    np.testing.assert_allclose(topics[:, left_out], np.tile(unigram[left_out], (2, 1)))

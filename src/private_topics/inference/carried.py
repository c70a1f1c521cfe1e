"""How many words and topics the budget carries: functions of released values and public settings only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from private_topics.errors import InputError, warn_user

MOST_WORDS, MOST_TOPICS = 2**23, 1000  # within these SAFETY covers the rounding of a norm: docs/proofs/refinement.md
FEWEST_SPECTRAL_WORDS, SPECTRAL_WORDS, MOST_SPECTRAL_WORDS = 100, 500, 1000
BUDGET_PER_WORD, LARGE_BUDGET = 20.0, 25_000.0
SMALLEST_REFINED = 3000  # words: a smaller vocabulary is refined whole
LEAST_COVERED = 0.4  # of the text: topics that are refined on less of it predict worse
WORTH_CUTTING = 0.8  # of the noise: fewer words must carry clearly more topics
NEARLY_ALL, HARDLY_ANY_OTHERS = 0.95, 0.5  # of the text; of the words
TAIL_SHARE = 0.4  # of the refinement, for the words it does not see
CARRIED_NOISE = 1.0  # topics beyond this cost perplexity: research/choices.py
FEWEST_CARRIED, NEARLY_CARRIED = 3, 2.5  # fewer predict worse than the unigram: research/choices.py
SMALLEST_NOISE = 1e-12


def check_size(n_words: int, n_topics: int) -> None:
    if n_words > MOST_WORDS or n_topics > MOST_TOPICS:
        raise InputError(f"A private fit takes at most {MOST_WORDS} words and {MOST_TOPICS} topics.")


def spectral_words(mu_total: float, n_units: int) -> int:
    """How many words the spectral stage sees: its noise edge grows with their root, so few where noise is large."""
    budget = mu_total * n_units
    if budget >= LARGE_BUDGET:
        return MOST_SPECTRAL_WORDS
    return int(np.clip(budget / BUDGET_PER_WORD, FEWEST_SPECTRAL_WORDS, SPECTRAL_WORDS))


def most_frequent(unigram: np.ndarray, count: int) -> np.ndarray:
    """The `count` words with the largest shares, in the order of the vocabulary."""
    return np.sort(np.argsort(-unigram, kind="stable")[:count])


@dataclass(frozen=True)
class RefinedWords:
    """The words that the refinement sees (None: all).

    `noise` is that of an entry of the averaged statistic over the mean entry, if there were one topic. In a large
    vocabulary most words are too rare to tell about a topic, and the noise on them would cost topics. The words
    left out take `TAIL_SHARE` of the refinement's budget for their unigram. Words that hardly occur cost nothing.
    """

    words: np.ndarray | None
    noise: float

    @classmethod
    def of(cls, unigram: np.ndarray, noise: float, wanted: int) -> RefinedWords:
        """As many of the most frequent words as `refined_size` says."""

        @cache
        def covered() -> np.ndarray:
            return np.cumsum(np.sort(unigram)[::-1])

        n_words = len(unigram)
        if n_words < 2 * SMALLEST_REFINED:
            return cls(None, noise * occurring_words(unigram))
        size, found = refined_size(n_words, noise, wanted, lambda size: float(covered()[size - 1]))
        return cls(None if size == n_words else most_frequent(unigram, size), found)


def occurring_words(unigram: np.ndarray) -> int:
    """How many words make up nearly all of the text; all of them where hardly any could be left out."""
    filling = int(np.searchsorted(np.cumsum(np.sort(unigram)[::-1]), NEARLY_ALL)) + 1
    return filling if filling < HARDLY_ANY_OTHERS * len(unigram) else len(unigram)


def refined_size(n_words: int, noise: float, wanted: int, covered: Callable[[int], float]) -> tuple[int, float]:
    """How many of the most frequent words the refinement sees, and the `noise` of `RefinedWords` on them.

    All words, or a half, a quarter, … where that carries more of the `wanted` topics. `noise` is that of an entry
    over the sum of all, where the refinement has its whole budget; `covered(size)` is the share of the text that the
    `size` most frequent words make up.
    """
    chosen = n_words, noise * n_words
    inside = noise / np.sqrt(1.0 - TAIL_SHARE)
    size = n_words // 2
    while size >= SMALLEST_REFINED and carried_topics(chosen[1]) < wanted:
        share = covered(size)
        if share < LEAST_COVERED:
            break
        fewer = inside * size / share
        if fewer < WORTH_CUTTING * chosen[1]:
            chosen = size, float(fewer)
        size //= 2
    return chosen


def carried_topics(noise_per_topic: float) -> int:
    """How many topics a refinement of this noise can estimate; one where more predict worse than the unigram.

    Its noise stays below `CARRIED_NOISE` of a mean entry, or hardly above where there would be one topic else.
    """
    carried = CARRIED_NOISE / max(noise_per_topic, SMALLEST_NOISE)
    return max(int(carried), FEWEST_CARRIED) if carried >= NEARLY_CARRIED else 1


def averaged_noise(mu_total: float, share: float, steps: int) -> float:
    """Noise of an entry of the refinement statistic, averaged over `steps` releases with weights 1, 2, 3, …"""
    return float(np.sqrt(2.0 * steps / share) / mu_total * averaging(steps))


def averaging(steps: int) -> float:
    """The noise of an average with weights 1, 2, 3, …, over that of each."""
    weights = np.arange(1, steps + 1)
    return float(np.sqrt((weights**2).sum()) / weights.sum())


class Averaged:
    """Released arrays, averaged with weights 1, 2, 3, …: later ones come from better topics."""

    def __init__(self) -> None:
        self._total: np.ndarray | float = 0.0
        self._weights = self._squares = 0.0

    def add(self, step: int, value: np.ndarray) -> None:
        self._total = self._total + step * value
        self._weights += step
        self._squares += step**2

    @property
    def value(self) -> np.ndarray:
        return np.asarray(self._total / self._weights)

    @property
    def noise(self) -> float:
        """Of the average, where each of them has noise one."""
        return float(np.sqrt(self._squares) / self._weights)


def shares_of(statistic: np.ndarray) -> np.ndarray:
    """The parts of the topics in a noisy statistic (topics × words); none is without a part."""
    shares = np.maximum(statistic.sum(axis=1), 1e-3 * np.abs(statistic).sum() / len(statistic))
    result: np.ndarray = shares / shares.sum()
    return result


def on_all_words(inside: np.ndarray, words: np.ndarray, unigram: np.ndarray) -> np.ndarray:
    """Topics known on some words: the others keep their unigram share."""
    topics = np.tile(unigram, (len(inside), 1))
    topics[:, words] = inside * unigram[words].sum()
    result: np.ndarray = topics / topics.sum(axis=1, keepdims=True)
    return result


def warn_if_fewer(carried: int, wanted: int) -> None:
    """Warn that the model has fewer topics than were asked for."""
    carried = max(carried, 1)  # the word frequencies are one
    if carried < wanted:
        warn_user(
            f"At this budget the model carries {carried} of the {wanted} topics asked for; the others would "
            "be noise. It uses those it carries. More documents or a larger epsilon would carry more: see "
            "private_topics.plan."
        )

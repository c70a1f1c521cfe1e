"""Words that one unit alone has: a private vocabulary may name one of them with probability `threshold_delta` only.

Two attacks. With the weights of the replayed neighbours and the threshold of the recorded release, the probability is
computed: nothing is counted, however small it is. And since a bug may be where names are chosen, real releases are
made with a `threshold_delta` large enough to count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from scipy.special import log_ndtr
from scipy.stats import beta

from private_topics.audit.games import TrialRun
from private_topics.audit.recording import EnteringWords
from private_topics.corpus.words.vocabulary import union_weights
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.mechanisms import ReleasedWords
from private_topics.privacy.neighbours import REPLACE, Neighbours
from private_topics.privacy.set_union import word_weight
from private_topics.releases.vocabulary import vocabulary_query

COUNTED = 0.2
"""The threshold_delta of the releases that are counted."""
BUDGET = PrivacyBudget(1.0, 0.5)
FEW, MANY = 1, 100
TESTS = 2
ROUNDING = 1.0 + 1e-9


@dataclass(frozen=True)
class LonelyWords:
    """`computed`: the largest probability that a neighbour's lonely words are named, of what is allowed.

    `named` of `trials` releases, for units of few and of many lonely words, named one; `at_least` bounds the worse
    probability from below, and `allowed` is what it may be.
    """

    computed: float
    named: tuple[int, ...]
    trials: int
    at_least: float
    allowed: float

    @property
    def passed(self) -> bool:
        return self.computed <= ROUNDING and self.at_least <= self.allowed


def attack_lonely_words(
    members: list[EnteringWords],
    released: ReleasedWords,
    neighbours: Neighbours = REPLACE,
    *,
    trials: int,
    level: float,
    seed: int | None,
) -> LonelyWords:
    """`members`: what enters the release for each neighbour, over the same words."""
    sizes = sorted({FEW, min(MANY, members[0].most_words)})
    named = tuple(_times_named(size, members[0].most_words, neighbours, trials, seed) for size in sizes)
    at_least = lower_rate(max(named), trials, level)
    return LonelyWords(naming_probability(members, released), named, trials, at_least, COUNTED)


def naming_probability(members: list[EnteringWords], released: ReleasedWords) -> float:
    """The largest probability, over threshold_delta, that words of one neighbour that another lacks are named."""
    step, sigma = members[0].query.step, released.sigma
    worst = 0.0
    for one in members:
        for other in members:
            weights = one.aggregate[(one.aggregate > 0) & (other.aggregate == 0)] * step
            hidden = float(log_ndtr((released.threshold - 0.5 * step - weights) / sigma).sum())
            worst = max(worst, -math.expm1(hidden))
    return worst / members[0].threshold_delta


def lower_rate(successes: int, trials: int, level: float) -> float:
    """Clopper and Pearson 1934: the rate is below this with probability at most `level`."""
    return float(beta.ppf(level, successes, trials - successes + 1)) if successes else 0.0


def _times_named(size: int, most_words: int, neighbours: Neighbours, trials: int, seed: int | None) -> int:
    """How often a release of one unit with `size` words, in a corpus of nothing else, names any of them."""
    run = TrialRun(BUDGET, noise_seed=seed, threshold_delta=COUNTED, neighbours=neighbours)
    query = vocabulary_query(run, 1.0)
    unit = [f"word{number}" for number in range(size)]
    weights = union_weights([unit], most_words, cache(lambda count: word_weight(count, query.step)))
    named = 0
    for _ in range(trials):
        run.begin()
        words = run.release_words(query, weights, 1.0, threshold_delta=COUNTED, most_words=most_words).words
        named += bool(words)
    return named

"""A vocabulary chosen among public names: a noisy weight for every candidate, of which those that stand out are kept.

Every unit spreads the weight 1/sqrt(t) over its t different words that are candidates, as in `vocabulary.py`. But the
names are public here and need not be hidden: noise goes on the weight of every candidate, used or not, and there is
no threshold that a lonely word must stay below, and no part of delta for it. Which words are kept is computed from
released numbers. Proof: docs/proofs/candidates.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from private_topics.corpus.words.vocabulary import candidate_weights
from private_topics.errors import InputError
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.mechanisms import PrivateRun, Query
from private_topics.privacy.set_union import RADIUS, SENSITIVITY, word_weight
from private_topics.releases.release import Release
from private_topics.releases.vocabulary import VOCABULARY_SHARE, WORDS_PER_UNIT, check_limits, weights_query

CANDIDATES = Release(
    "candidate words", "vocabulary", None, "vector", "candidates", SENSITIVITY, "vocabulary", radius=RADIUS
)
CANDIDATES_PER_UNIT = 1_000
"""The default maximum number of different candidates counted per unit. It only limits the memory that users take: a
word of a long unit gets 1/sqrt(t) without the limit and, on average, less with it."""
CHOSEN_WORDS = 3_000
"""The default maximum number of words kept."""
UNUSED_SHARE = 0.01
"""How many of the kept words may be words that nobody uses, on average."""
USUAL_CANDIDATES = 50_000
"""The words of the English list that comes with the package."""
FEWEST_WORDS, FEWEST_LIKELY = 20, 400
"""Where fewer words stand out from the noise, the first candidates of the list make up the first number; where it is
publicly known how frequent words are and which go together, the likeliest make up the second."""
LIKELY = 0.4
"""A word is likely where its expected weight is so many times the noise: at a tenth of (1, 1e-6), where some 75 units
of 100 different words each use it."""
Expected = Callable[[npt.NDArray[np.float64], float], npt.NDArray[np.float64]]
"""What public knowledge makes of noisy weights and their noise: the expected weights, in units of the noise."""


def release_candidates(
    run: PrivateRun,
    units: Iterable[Iterable[str]],
    candidates: Sequence[str],
    *,
    share: float,
    most_words_per_unit: int = CANDIDATES_PER_UNIT,
    size: int | None = CHOSEN_WORDS,
    expected: Expected | None = None,
) -> list[str]:
    """The candidates that many units use, sorted, under the budget of `run`.

    Parameters
    ----------
    run : of which no part of delta is needed.
    units : the words of each privacy unit, read once. Words that are not candidates are ignored; where users are
        units, `user_units` must not see them either, or they would count against its limit.
    candidates : public names, all different, in an order that is public too: the likelier words first.
    share : fraction of the budget, `BudgetSplit.vocabulary`.
    most_words_per_unit : public limit on the different candidates counted per unit.
    size : keep at most this many words; None for all that stand out.
    expected : what public knowledge makes of noisy weights; None where there is none.
    """
    check_limits("release_candidates", most_words_per_unit, size)
    names = _checked(candidates)
    query = candidates_query(run, share)
    weight = cache(lambda count: word_weight(count, query.step))
    weights = candidate_weights(units, names, int(most_words_per_unit), weight)
    released = run.release(query, weights, share, consume=True)
    return sorted(names[index] for index in chosen(released.value, released.sigma, size, expected))


def candidates_query(run: PrivateRun, share: float) -> Query:
    """The sum of the units' weights, a number for each candidate. docs/proofs/candidates.md"""
    return weights_query(CANDIDATES, run, share)


def usual_units_to_stand_out(budget: PrivacyBudget) -> tuple[int, int]:
    """How many units with `WORDS_PER_UNIT` different candidates must share a word for it to be kept without noise.

    At the default settings of a fit with the list of `USUAL_CANDIDATES`: where the vocabulary is full, and for the
    first word. With fewer units than the second none stands out but by noise.
    """
    run = PrivateRun(budget)
    limits = _limits(USUAL_CANDIDATES, run.sigma(candidates_query(run, VOCABULARY_SHARE), VOCABULARY_SHARE))
    full, first = (math.ceil(limits[place - 1] * math.sqrt(WORDS_PER_UNIT)) for place in (CHOSEN_WORDS, 1))
    return full, first


def chosen(
    noisy: npt.NDArray[np.float64], sigma: float, size: int | None, expected: Expected | None = None
) -> list[int]:
    """Which candidates are kept, given their noisy weights: those that stand out from the noise, at most `size`.

    The k largest stand out where the smallest of them exceeds sigma times the deviation that a number without any
    weight exceeds with probability UNUSED_SHARE k/n: then n UNUSED_SHARE k/n words that nobody uses are expected
    among the k (Benjamini and Hochberg 1995). With 3,000 words of 50,000 that is 3.2 sigma, with 30 words 4.4. A
    word that nobody uses does no harm but the noise that later releases put on it.
    Words that do not stand out are kept too where public knowledge makes them LIKELY: a corpus whose noisy weights
    are those of nurses and wards uses *bed* as well. Where fewer than FEWEST_LIKELY are kept, the next likeliest join
    them, and without knowledge the first of the list, up to FEWEST_WORDS: a corpus without common words gives a poor
    vocabulary, and not an error after the budget is spent.
    """
    count = len(noisy)
    most = count if size is None else min(int(size), count)
    order = np.argsort(-noisy, kind="stable")
    passing = np.flatnonzero(noisy[order] >= _limits(count, sigma))
    clear = min(most, int(passing[-1]) + 1 if passing.size else 0)
    if clear == most:
        return order[:clear].tolist()
    weights = np.zeros(count) if expected is None else expected(noisy, sigma)
    fewest = FEWEST_WORDS if expected is None else max(FEWEST_LIKELY, int((weights >= LIKELY).sum()))
    likely = np.argsort(-weights, kind="stable")
    return list(dict.fromkeys([*order[:clear].tolist(), *likely.tolist()]))[: min(most, max(clear, fewest))]


def _limits(count: int, sigma: float) -> npt.NDArray[np.float64]:
    """What the smallest of the 1, 2, 3, … largest of `count` noisy weights must exceed."""
    result: npt.NDArray[np.float64] = -sigma * ndtri(UNUSED_SHARE * np.arange(1, count + 1) / count)
    return result


def _checked(candidates: Sequence[str]) -> list[str]:
    if isinstance(candidates, str) or not all(isinstance(word, str) for word in candidates):
        raise InputError("The 'candidates' parameter of release_candidates must be a list of words.")
    names = list(candidates)
    if not names or len(set(names)) != len(names):
        raise InputError("The 'candidates' parameter of release_candidates must hold at least one word, none twice.")
    return names

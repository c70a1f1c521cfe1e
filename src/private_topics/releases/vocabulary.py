"""A vocabulary read off a private corpus, released like any other statistic: a weighted Gaussian set union.

Every unit spreads the weight 1/sqrt(t) over its t different words; words whose sum plus noise reaches a threshold are
named. The threshold depends on public numbers only, and hides, except with probability `threshold_delta`, any
word that a single unit brings. Proof: docs/proofs/vocabulary.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import numpy as np

from private_topics.corpus.words.vocabulary import union_weights
from private_topics.errors import InputError, PrivacyError
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.lattice import step_for
from private_topics.privacy.mechanisms import PrivateRun, Query, ReleasedWords
from private_topics.privacy.neighbours import REPLACE, Neighbours
from private_topics.privacy.set_union import MOST_WORDS_PER_UNIT, RADIUS, SENSITIVITY, units_to_pass, word_weight
from private_topics.releases.release import Release

VOCABULARY = Release(
    "vocabulary", "vocabulary", None, "vector", "vocabulary", SENSITIVITY, "vocabulary", radius=RADIUS
)
MOST_UNITS = 2.0**40
FEWEST_UNITS = 2
VOCABULARY_SHARE, THRESHOLD_SHARE = 0.1, 0.1
"""The part of the budget for the vocabulary of a fit, and the part of delta for the threshold of any."""
WORDS_PER_UNIT = 100
"""The default maximum number of different words counted per unit."""


def release_vocabulary(
    run: PrivateRun,
    units: Iterable[Iterable[str]],
    *,
    share: float,
    threshold_delta: float | None = None,
    most_words_per_unit: int = WORDS_PER_UNIT,
    size: int | None = None,
) -> list[str]:
    """Words that many units use, sorted, under the budget of `run`.

    Parameters
    ----------
    run : made with `PrivateRun(budget, threshold_delta=...)`, the part of delta for the threshold.
    units : the words of each privacy unit (a document, or a user: `user_units` of `corpus.words.vocabulary`), read
        once. Only the sum of weights is kept, a number for each different word.
    share : fraction of the budget, `BudgetSplit.vocabulary`.
    threshold_delta : probability with which a word of one unit alone may be named; None: all that is set aside.
    most_words_per_unit : public limit on the different words counted per unit.
    size : keep at most this many words, those with the largest noisy weights. Free: they are released.
    """
    check_limits("release_vocabulary", most_words_per_unit, size)
    if not run.threshold_delta > 0:  # known before the corpus is read
        raise PrivacyError("A private vocabulary needs a part of delta: PrivateRun(budget, threshold_delta=...).")
    query = vocabulary_query(run, share)
    weight = cache(lambda count: word_weight(count, query.step))
    released = run.release_words(
        query,
        union_weights(units, int(most_words_per_unit), weight),
        share,
        threshold_delta=run.threshold_delta if threshold_delta is None else threshold_delta,
        most_words=int(most_words_per_unit),
    )
    return _largest(released, size)


def units_needed(run: PrivateRun, share: float, most_words_per_unit: int, words: int = 1) -> int:
    """How many units, of `words` different words each, must share a word for it to be named even without noise.

    A public number. With fewer units than `units_needed` for one word, a word can be named only through noise.
    """
    check_limits("release_vocabulary", most_words_per_unit)
    sigma = run.sigma(vocabulary_query(run, share), share)
    return max(FEWEST_UNITS, math.ceil(units_to_pass(words, int(most_words_per_unit), sigma, run.threshold_delta)))


def usual_units_needed(budget: PrivacyBudget, neighbours: Neighbours = REPLACE) -> tuple[float, float]:
    """`units_needed` of a fit with its default settings: for units with the maximum number of words, and with one.

    Infinite where the budget has no room for a vocabulary.
    """
    try:
        run = PrivateRun(budget, threshold_delta=THRESHOLD_SHARE * budget.delta, neighbours=neighbours)
        many, one = (units_needed(run, VOCABULARY_SHARE, WORDS_PER_UNIT, words) for words in (WORDS_PER_UNIT, 1))
    except (PrivacyError, InputError):
        return math.inf, math.inf
    return many, one


def check_limits(caller: str, most_words_per_unit: int, size: int | None = None) -> None:
    """Refuse limits of a vocabulary that are none."""
    if isinstance(most_words_per_unit, bool) or not isinstance(most_words_per_unit, int | np.integer):
        raise InputError(f"The 'most_words_per_unit' parameter of {caller} must be an int.")
    if not 1 <= most_words_per_unit <= MOST_WORDS_PER_UNIT:
        raise InputError(
            f"The 'most_words_per_unit' parameter of {caller} must be an int in the range [1, 2**20]. "
            f"Got {most_words_per_unit!r} instead."
        )
    if size is not None and (isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1):
        raise InputError(
            f"The 'size' parameter of {caller} must be None or an int in the range [1, inf). Got {size!r}."
        )


def vocabulary_query(run: PrivateRun, share: float) -> Query:
    """The sum of the units' weights, on a lattice that suits its noise. docs/proofs/vocabulary.md"""
    return weights_query(VOCABULARY, run, share)


def weights_query(release: Release, run: PrivateRun, share: float) -> Query:
    """The sum of weights that a release of words asks for. How many units there are is not known yet."""
    draft = Query(release.name, release.kind, release.sensitivity_to(run.neighbours), 1.0, release.proof)
    return replace(draft, step=step_for(run.sigma(draft, share), 1, MOST_UNITS))


def _largest(released: ReleasedWords, size: int | None) -> list[str]:
    """At most `size` words by noisy weight, the earlier word first where weights are equal; sorted."""
    if size is None or len(released.words) <= size:
        return list(released.words)
    order = np.argsort(-released.value, kind="stable")[: int(size)]
    return sorted(released.words[index] for index in order)

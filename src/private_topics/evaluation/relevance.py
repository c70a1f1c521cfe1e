"""Which words tell a topic from the others: relevance and lift, from released topics and their shares alone.

The most probable words of topics are often common to all of them. Relevance (Sievert and Shirley 2014) weighs how
probable a word is in a topic against how much more probable it is there than on the whole: λ log p(w|k) +
(1 - λ) log(p(w|k) / p(w)), where p(w) is the mean over the topics. λ = 1 ranks by probability, λ = 0 by lift.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from private_topics.errors import InputError
from private_topics.evaluation._checks import check_topics

USUAL = 0.6
"""The value that people found best in their study."""
TINY = np.finfo(np.float64).tiny


def shares_of(prior: Any) -> np.ndarray:
    """How common topics are: their parts of the prior."""
    weights = np.asarray(prior, dtype=np.float64)
    shares: np.ndarray = weights / weights.sum()
    return shares


def lift(components: Any, weights: Any) -> np.ndarray:
    """How many times as probable a word is in a topic as on the whole (topics × words); 0 for a word of no topic.

    Parameters
    ----------
    components : topics × words, rows sum to one.
    weights : how common the topics are, for example `doc_topic_prior_`.
    """
    topics, shares = _checked(components, weights, "lift")
    overall = shares @ topics
    ratio: np.ndarray = np.divide(topics, overall, out=np.zeros_like(topics), where=overall > 0)
    return ratio


def relevance(components: Any, weights: Any, lam: float = USUAL) -> np.ndarray:
    """The relevance of each word to each topic (topics × words): the larger, the more it tells of the topic.

    Parameters
    ----------
    components : topics × words, rows sum to one.
    weights : how common the topics are, for example `doc_topic_prior_`.
    lam : from 0 (how distinctive a word is) to 1 (how probable it is).
    """
    topics, shares = _checked(components, weights, "relevance")
    weight = check_lambda(lam, "lam", "relevance")
    probable = np.log(np.maximum(topics, TINY))
    if weight == 1.0:
        return probable
    overall = np.log(np.maximum(shares @ topics, TINY))
    found: np.ndarray = probable - (1.0 - weight) * overall  # λ log p + (1 - λ)(log p - log p(w))
    return found


def ranked(components: Any, weights: Any, lam: float) -> np.ndarray:
    """The numbers of the words of each topic, the most relevant first; by probability where λ = 1."""
    key = np.asarray(components) if lam == 1 else relevance(components, weights, lam)
    order: np.ndarray = np.argsort(-key, axis=1, kind="stable")
    return order


def as_floats(value: Any, name: str, caller: str) -> np.ndarray:
    """An array of floats, if it is one."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"The {name!r} parameter of {caller} must hold numbers.") from None


def check_lambda(value: Any, name: str, caller: str) -> float:
    """Return `value` where it is a number from 0 to 1."""
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not number or not 0.0 <= value <= 1.0:
        raise InputError(f"The {name!r} parameter of {caller} must be a number from 0 to 1. Got {value!r} instead.")
    return float(value)


class FoundTopic(NamedTuple):
    """A topic that uses a word: how probable the word is in it, and the part of the word's uses that are in it."""

    topic: int
    probability: float
    part: float


def find_topics(model: Any, word: str) -> list[FoundTopic]:
    """The topics in which a word occurs, those with most of its uses first; none for a word that the model lacks.

    Parameters
    ----------
    model : a fitted model with words.
    word : as the model has it, or as it is written where the model knows how text becomes words.
    """
    check_is_fitted(model)
    names = list(getattr(model, "feature_names_in_", ()))
    tokeniser = getattr(model, "tokeniser_", None)
    forms = {word, *(tokeniser.words(word) if tokeniser is not None else ())}
    columns = [column for column, name in enumerate(names) if name in forms]
    mass = shares_of(model.doc_topic_prior_)[:, None] * model.components_[:, columns]
    used = mass.sum(axis=1) / max(float(mass.sum()), TINY)
    order = np.argsort(-used, kind="stable")
    probability = model.components_[:, columns].sum(axis=1)
    return [FoundTopic(int(k), float(probability[k]), float(used[k])) for k in order if used[k] > 0]


def _checked(components: Any, weights: Any, caller: str) -> tuple[np.ndarray, np.ndarray]:
    topics = check_topics(components, caller=caller, probabilities=True)
    given = as_floats(weights, "weights", caller)
    if given.shape != (len(topics),) or not np.isfinite(given).all() or given.min() < 0 or not given.sum() > 0:
        raise InputError(
            f"The 'weights' parameter of {caller} must hold a number for each topic, none negative, not all zero."
        )
    return topics, shares_of(given)

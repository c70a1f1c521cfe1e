"""Edits of a released model: block words, rename, merge and drop topics. Each returns a new model.

All of it is computed from released values, so it costs no privacy, and the statement stays what it was. What the
editor brings must come from the released words or from public sources: a list read off the private texts would put
something of them into the model that nobody accounted for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from private_topics.corpus.words.phrases import JOINT
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.errors import InputError
from private_topics.estimators.base import TopicEstimator
from private_topics.estimators.edited import Edits, check_label
from private_topics.evaluation.relevance import USUAL

if TYPE_CHECKING:
    from private_topics.estimators.private_topics import PrivateTopics

Model = TypeVar("Model", bound="TopicEstimator | PrivateTopics")
EVERY_WORD = Tokeniser(min_length=1, languages=(), digits=True, stemmer="s", segmented=True)
Namer = Callable[[list[str]], str]


def block_words(model: Model, words: Iterable[str]) -> Model:
    """The model without these words: their columns are removed and each topic sums to one again.

    The new model says how many words were blocked, not which. A topic of which nothing is left is dropped, and labels
    with such a word are forgotten.

    Parameters
    ----------
    model : a fitted model with words.
    words : as the model has them, or as they are written; those that it lacks are ignored. A phrase with a blocked
        word in it is blocked too. Chosen from released words or a public list, never from the private texts.
    """
    names = _names(model, "block_words")
    if isinstance(words, str):
        raise InputError("The 'words' parameter of block_words must be words, not one string.")
    blocked = _forms(model, words)
    stays = np.array([not blocked & {name, *name.split(JOINT)} for name in names], dtype=bool)
    if stays.all():
        return _edited(model)
    components = model.components_[:, stays]
    mass = components.sum(axis=1)
    kept = np.flatnonzero(mass > 0)
    if not len(kept):
        raise InputError("block_words would leave no word that a topic uses: block fewer.")
    labels = [None if _mentions(label, blocked) else label for label in _labels(model)]
    return _edited(
        model,
        {"components_": components[kept] / mass[kept, None], "doc_topic_prior_": model.doc_topic_prior_[kept]},
        names=[name for name, stay in zip(names, stays, strict=True) if stay],
        labels=[labels[topic] for topic in kept],
        blocked_words=int((~stays).sum()),
        dropped_topics=len(mass) - len(kept),
    )


def rename_topics(model: Model, names: Mapping[int, str]) -> Model:
    """The model with labels for some of its topics: `{3: "heart failure"}`. The others keep what they have."""
    labels = _labels(model)
    for topic in _topics(names, len(labels), "rename_topics"):
        labels[topic] = check_label(names[topic], "rename_topics")
    return _edited(model, labels=labels, renamed_topics=len(names))


def name_topics(model: Model, namer: Namer, *, n_words: int = 20, relevance: float = USUAL) -> Model:
    """The model with labels that a function gives: a language model, a thesaurus, a person.

    Parameters
    ----------
    model : a fitted model.
    namer : gets the top words of a topic, which are all it ever sees of the corpus, released ones of a private
        model, and returns its label.
    n_words, relevance : which words, as in `top_words`.
    """
    top = _of_counts(model).top_words(n=n_words, relevance=relevance)
    found = [check_label(namer(words), "name_topics") for words in top]
    return rename_topics(model, dict(enumerate(found)))


def merge_topics(model: Model, *groups: Sequence[int]) -> Model:
    """The model with topics put together: `merge_topics(model, [2, 5], [1, 3, 4])`.

    A merged topic stands where the first of its group stood and has its label; its words are weighed by the prior of
    the topics, whose sum it gets. Topics behind it move up.
    """
    return regroup_topics(model, merged=groups)


def drop_topics(model: Model, topics: Iterable[int]) -> Model:
    """The model without these topics; those behind them move up. What remains is shared among the others."""
    return regroup_topics(model, dropped=topics)


def regroup_topics(model: Model, *, merged: Iterable[Sequence[int]] = (), dropped: Iterable[int] = ()) -> Model:
    """`merge_topics` and `drop_topics` at once, all by the numbers that topics have now."""
    _of_counts(model)
    n_topics, labels = len(model.components_), _labels(model)
    groups = [_topics(group, n_topics, "merge_topics") for group in merged]
    gone = set(_topics(dropped, n_topics, "drop_topics"))
    named = [topic for group in groups for topic in group] + sorted(gone)
    if len(set(named)) != len(named) or any(len(group) < 2 for group in groups):
        raise InputError("A topic can be merged once or dropped, and a group to merge needs two or more topics.")
    if len(gone) == n_topics:
        raise InputError("A model needs at least one topic: drop fewer.")
    of_first = {group[0]: group for group in groups}
    absorbed = {topic for group in groups for topic in group[1:]}
    parts = [of_first.get(topic, [topic]) for topic in range(n_topics) if topic not in absorbed | gone]
    prior = model.doc_topic_prior_
    mixed = [
        np.average(model.components_[part], axis=0, weights=prior[part])
        if len(part) > 1
        else model.components_[part[0]]
        for part in parts
    ]
    return _edited(
        model,
        {"components_": np.array(mixed), "doc_topic_prior_": np.array([prior[part].sum() for part in parts])},
        labels=[next((labels[topic] for topic in part if labels[topic] is not None), None) for part in parts],
        merged_topics=len(absorbed),
        dropped_topics=len(gone),
    )


def _edited(
    model: Model,
    arrays: Mapping[str, np.ndarray] | None = None,
    *,
    names: list[str] | None = None,
    labels: list[str | None] | None = None,
    **counts: int,
) -> Model:
    """A new model of the parts of this one's file, checked as a file is."""
    inner = _of_counts(model)
    header, stored = inner._parts()
    if any(counts.values()):
        before = getattr(inner, "edits_", None) or Edits(inner._file_digest())
        header["edits"] = asdict(before.more(**counts))
    if arrays is not None and len(arrays["doc_topic_prior_"]) != len(inner.doc_topic_prior_):
        header.pop("evidence", None)  # it is for the topics as they were
    if names is not None:
        header["feature_names"] = names
    if labels is not None:
        header.pop("topic_labels", None)
        if any(label is not None for label in labels):
            header["topic_labels"] = labels
    edited: Any = type(inner)._from_parts(header, {**stored, **(arrays or {})}, "The edited model")
    if inner is not model:
        made, edited = edited, copy(model)
        edited.model_, edited.reliability_ = made, None
    return edited


def _of_counts(model: Any) -> Any:
    """Return the fitted estimator inside a `PrivateTopics`, or any other fitted model as it is."""
    check_is_fitted(model)
    inner = getattr(model, "model_", model)
    if not isinstance(inner, TopicEstimator):
        raise InputError(f"A fitted topic model can be edited. Got {type(model).__name__} instead.")
    return inner


def _names(model: Any, caller: str) -> list[str]:
    _of_counts(model)
    if not hasattr(model, "feature_names_in_"):
        raise InputError(f"{caller} needs a model that knows its words: fit it to text, or to counts with names.")
    return [str(name) for name in model.feature_names_in_]


def _labels(model: Any) -> list[str | None]:
    _of_counts(model)
    return list(getattr(model, "topic_labels_", None) or [None] * len(model.components_))


def _forms(model: Any, words: Iterable[str]) -> set[str]:
    """Words as given, and as the tokeniser of the model makes them."""
    given = [str(word).strip() for word in words]
    tokeniser = getattr(model, "tokeniser_", None)
    made = [] if tokeniser is None else [tokeniser.words(word) for word in given]
    return {*given, *(found[0] for found in made if len(found) == 1)} - {""}


def _mentions(label: str | None, blocked: set[str]) -> bool:
    """Whether a blocked word is in a label, in any case and number."""
    return label is not None and bool(set(EVERY_WORD.words(" ".join(blocked))) & set(EVERY_WORD.words(label)))


def _topics(numbers: Iterable[Any], n_topics: int, caller: str) -> list[int]:
    """Numbers of topics, if they are."""
    found = list(numbers)
    for number in found:
        whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if not whole or not 0 <= number < n_topics:
            raise InputError(f"Topics of {caller} must be integers from 0 to {n_topics - 1}. Got {number!r} instead.")
    if len(set(found)) != len(found):
        raise InputError(f"A topic is given to {caller} twice.")
    return [int(number) for number in found]

"""A fitted model applied to new documents, for whoever holds them: proportions, and nothing where nothing is known.

A document without a word of the vocabulary says nothing about topics. The estimator's own `transform` gives it the
prior, since scikit-learn's conventions ask for rows that sum to one; here its row is missing (NaN), and whoever
asked is told how many there are. None of this is private: the guarantee does not cover what a model is applied to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from private_topics.corpus.counts.counting import counted_chunks
from private_topics.corpus.texts.source import Document
from private_topics.errors import InputError
from private_topics.estimators.base import TopicEstimator
from private_topics.inference.proportions import proportions_of_some, word_weights

FITTED_TO_COUNTS = "The model was fitted to counts and does not know how text becomes words: give counts."


def text_proportions(
    model: TopicEstimator, texts: Iterable[str | Document], n_jobs: int | None = None
) -> Iterator[np.ndarray]:
    """Topic proportions of texts, some of them at a time and in order; NaN for a text without a known word."""
    if not hasattr(model, "tokeniser_"):
        raise InputError(FITTED_TO_COUNTS)
    weights, prior = word_weights(model.components_.T), model.doc_topic_prior_

    def applied(counts: Any) -> np.ndarray:
        return _known_only(counts, proportions_of_some(counts.indptr, counts.indices, counts.data, weights, prior))

    return counted_chunks(texts, list(model.feature_names_in_), model.tokeniser_, applied, n_jobs=n_jobs)


def count_proportions(model: TopicEstimator, blocks: Iterable[Any]) -> Iterator[np.ndarray]:
    """The same for documents that were counted already."""
    return (_known_only(counts, model.transform(counts)) for counts in blocks)


def unknown_rows(found: np.ndarray) -> int:
    """How many rows say nothing."""
    return int(np.isnan(found[:, 0]).sum())


def unknown_line(unknown: int, total: int) -> str:
    """The same for a person."""
    return (
        f"{unknown:,} of {total:,} documents hold no word of the model's vocabulary: their proportions are missing "
        "(NaN), not the prior."
    )


def _known_only(counts: Any, found: np.ndarray) -> np.ndarray:
    found[np.diff(counts.indptr) == 0] = np.nan
    return found

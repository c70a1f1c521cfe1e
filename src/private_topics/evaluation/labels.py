"""Labels for topics, from released words alone: those that a person gave, else the most distinctive words."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from private_topics.errors import InputError
from private_topics.evaluation.relevance import as_floats, ranked, shares_of

LABEL_WORDS, LEADING, DISTINCTIVE = 3, 30, 0.3
"""Of the leading words, by relevance with a λ below the usual: a label has to tell topics apart."""
CENTRAL = 10


def labels_of(model: Any) -> list[str]:
    """The label of each topic: as renamed (`topic_labels_`), else its most distinctive words. No two are equal."""
    check_is_fitted(model)
    given = getattr(model, "topic_labels_", None) or [None] * len(model.components_)
    found: list[str] = []
    for label, made in zip(given, labels(model), strict=True):
        wanted = made if label is None else label
        numbered = (f"{wanted} ({number})" for number in count(2))
        found.append(wanted if wanted not in found else next(name for name in numbered if name not in found))
    return found


def labels(model: Any, vectors: Any = None) -> list[str]:
    """A label for each topic, of three of its leading words; no word is in two labels unless there are too few.

    Parameters
    ----------
    model : a fitted model. Its topics, prior and words are looked at, which are released.
    vectors : public word vectors, one row for each word of the model, or a `PublicKnowledge` of them. Then a label
        has the words nearest to the centre of the topic's words; without, those that tell it most from other topics.
    """
    check_is_fitted(model)
    components = np.asarray(model.components_)
    words = word_names(model)
    shares = shares_of(model.doc_topic_prior_)
    order = ranked(components, model.doc_topic_prior_, DISTINCTIVE if len(components) > 1 else 1.0)
    table = None if vectors is None else _rows(vectors, len(words))
    taken: set[int] = set()
    found = [""] * len(components)
    for topic in np.argsort(-shares, kind="stable").tolist():
        leading = np.argsort(-components[topic], kind="stable")[: min(LEADING, len(words))].tolist()
        leading = [word for word in leading if components[topic, word] > 0]
        among = set(leading)
        candidates = [word for word in order[topic].tolist() if word in among]
        if table is not None:
            candidates = _nearest(candidates, components[topic], leading[:CENTRAL], table)
        free = [word for word in candidates if word not in taken]
        chosen = (free + [word for word in candidates if word in taken])[:LABEL_WORDS]
        taken.update(chosen)
        found[topic] = ", ".join(words[word] for word in chosen)
    return found


def word_names(model: Any) -> list[str]:
    """The words of the columns; their numbers where the model was fitted to counts without names."""
    names = getattr(model, "feature_names_in_", None)
    return [f"word{j}" for j in range(model.components_.shape[1])] if names is None else list(map(str, names))


def _rows(vectors: Any, n_words: int) -> np.ndarray:
    table = as_floats(getattr(vectors, "vectors", vectors), "vectors", "labels")
    if table.ndim != 2 or len(table) != n_words or not np.isfinite(table).all():
        raise InputError(
            f"The 'vectors' parameter of labels must have a row of finite numbers for each of the {n_words} words. "
            f"Got shape {table.shape!r} instead."
        )
    lengths = np.linalg.norm(table, axis=1, keepdims=True)
    unit: np.ndarray = np.divide(table, lengths, out=np.zeros_like(table), where=lengths > 0)
    return unit


def _nearest(candidates: list[int], topic: np.ndarray, central: list[int], table: np.ndarray) -> list[int]:
    """Words by their cosine with the mean of the topic's leading ones; those without a vector last, as they were."""
    centre = topic[central] @ table[central]
    cosine = table[candidates] @ centre
    known = np.abs(table[candidates]).sum(axis=1) > 0
    order = np.lexsort((np.arange(len(candidates)), -cosine, ~known))
    return [candidates[i] for i in order]

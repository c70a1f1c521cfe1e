"""Validation shared by the measures: what may be scored as topics, and against which counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from private_topics.corpus.counts.matrix import validate_counts
from private_topics.errors import InputError

ROW_SUM_TOLERANCE = 1e-6


def check_topics(
    components: Any, *, caller: str, name: str = "components", probabilities: bool = False
) -> np.ndarray:
    """Return topics as a finite `float64` array (topics × words); rows sum to one where `probabilities`."""
    try:
        topics = np.asarray(components, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"The {name!r} parameter of {caller} must be an array of numbers.") from error
    if topics.ndim != 2 or topics.shape[0] < 1 or topics.shape[1] < 1:
        raise InputError(
            f"The {name!r} parameter of {caller} must have two dimensions, topics × words, neither empty. "
            f"Got shape {topics.shape!r} instead."
        )
    if not np.isfinite(topics).all():
        raise InputError(f"The {name!r} parameter of {caller} must not contain NaN or infinity.")
    if probabilities:
        if topics.min() < 0:
            raise InputError(f"The {name!r} parameter of {caller} must not contain negative values.")
        if np.abs(topics.sum(axis=1) - 1.0).max() > ROW_SUM_TOLERANCE:
            raise InputError(f"The {name!r} parameter of {caller} must have rows that sum to one.")
    return topics


def check_counts(X: Any, n_words: int, *, caller: str, name: str = "X") -> sp.csr_array:
    """Return validated counts with as many words as the topics."""
    counts = validate_counts(X, caller=caller)
    if counts.shape[1] != n_words:
        raise InputError(
            f"The {name!r} parameter of {caller} must have one column per word of the topics: "
            f"{n_words} expected, got {counts.shape[1]} instead."
        )
    return counts


def check_integer(value: Any, *, caller: str, name: str, low: int, high: int | None = None) -> int:
    """Return `value` where it is an integer in [low, high]."""
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)
    if not is_integer or value < low or (high is not None and value > high):
        bounds = f"of at least {low}" if high is None else f"between {low} and {high}"
        raise InputError(f"The {name!r} parameter of {caller} must be an integer {bounds}. Got {value!r} instead.")
    return int(value)

"""Distance between estimated and true topics, whose order is arbitrary: match them first, then compare.

One matching serves both errors: the one-to-one assignment (Hungarian algorithm) that minimises the sum of
squared Euclidean distances of the rows scaled to unit Euclidean length, which is the one that maximises the
sum of cosines.

Where the numbers of topics differ, errors are still means over the *true* topics: a true topic left without a
partner counts as if estimated by a topic that shares no word with it (L1 distance 2, squared distance of unit
rows 2), and superfluous estimated topics are ignored.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from private_topics.errors import InputError
from private_topics.evaluation._checks import check_topics

NO_PARTNER = -1
DISJOINT_L1 = 2.0
DISJOINT_SQUARED_L2 = 2.0


def match_topics(estimate: Any, truth: Any, *, within: float = math.inf) -> np.ndarray:
    """Row of `estimate` matched to each row of `truth`, shape (true topics,); -1 where there is none.

    With equal numbers of topics it is a permutation, and `estimate[match_topics(estimate, truth)]` is in the
    order of `truth`. With `within`, topics must be probabilities, and only rows at an L1 distance below it match.
    """
    if not isinstance(within, Real) or not within > 0.0:
        raise InputError(f"The 'within' parameter of match_topics must be a positive number. Got {within!r}.")
    found, wanted = _check_pair(estimate, truth, "match_topics", probabilities=within < math.inf)
    match = _match(found, wanted)
    far = np.abs(found[match] - wanted).sum(axis=1) >= within
    match[far] = NO_PARTNER
    return match


def topic_error_l1(estimate: Any, truth: Any) -> float:
    """Mean over true topics of the L1 distance to the matched row: 0 to 2, twice the total variation."""
    found, wanted = _check_pair(estimate, truth, "topic_error_l1", probabilities=True)
    match = _match(found, wanted)
    errors = np.full(len(wanted), DISJOINT_L1)
    matched = match != NO_PARTNER
    errors[matched] = np.abs(found[match[matched]] - wanted[matched]).sum(axis=1)
    return float(errors.mean())


def topic_error_l2(estimate: Any, truth: Any) -> float:
    """Matched relative L2 topic error: root of the mean over true topics of squared distances of unit rows.

    Rows are scaled to unit Euclidean length first, so rows need not be normalised; for non-negative rows the
    error lies between 0 and the square root of 2. A row of zeros stays zero.
    """
    found, wanted = _check_pair(estimate, truth, "topic_error_l2")
    match = _match(found, wanted)
    errors = np.full(len(wanted), DISJOINT_SQUARED_L2)
    matched = match != NO_PARTNER
    differences = _unit_rows(found)[match[matched]] - _unit_rows(wanted)[matched]
    errors[matched] = np.einsum("ij,ij->i", differences, differences)
    return float(np.sqrt(errors.mean()))


def _match(found: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    true_rows, estimated_rows = linear_sum_assignment(_unit_rows(wanted) @ _unit_rows(found).T, maximize=True)
    match = np.full(len(wanted), NO_PARTNER, dtype=np.int64)
    match[true_rows] = estimated_rows
    return match


def _unit_rows(rows: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: np.ndarray = rows / np.where(norms > 0.0, norms, 1.0)
    return unit


def _check_pair(
    estimate: Any, truth: Any, caller: str, *, probabilities: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    found = check_topics(estimate, caller=caller, name="estimate", probabilities=probabilities)
    wanted = check_topics(truth, caller=caller, name="truth", probabilities=probabilities)
    if found.shape[1] != wanted.shape[1]:
        raise InputError(f"The 'estimate' and 'truth' parameters of {caller} must have the same number of words.")
    return found, wanted

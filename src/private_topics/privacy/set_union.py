"""Which words of many units may be named: what each unit gives its words, and how high the threshold has to be.

A unit spreads the weight 1/sqrt(t) over its t different words, an array of norm one. The words that only one unit has
must stay below the threshold, noise included, except with probability ``threshold_delta``; there are at most
``most_words`` of them. All on the integer lattice. Proof: docs/proofs/vocabulary.md.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from private_topics.errors import PrivacyError
from private_topics.privacy.lattice import LARGEST_INTEGER

MOST_WORDS_PER_UNIT = 2**20
TOO_SMALL = "The 'threshold_delta' of a release of words is too small to compute its threshold."
SENSITIVITY = math.sqrt(2.0)
"""Replacing a unit: two non-negative arrays of norm at most one are at most this far apart (rounded up)."""
RADIUS = 1.0
"""Emptying, adding or removing a unit: the norm of what it gives."""


def word_weight(count: int, step: float) -> int:
    """The weight, in steps, of each of a unit's ``count`` different words: count · (weight · step)² <= 1, exactly."""
    exponent = math.frexp(step)[1] - 1  # the step is a power of two
    return math.isqrt((1 << (-2 * exponent)) // count) if exponent <= 0 else 0


def threshold_steps(most_words: int, step: float, ratio: float, threshold_delta: float) -> int:
    """The smallest weight plus noise, in steps, at which a word is named.

    max over t <= most_words of 1/sqrt(t) + sigma · isf(1 - (1 - threshold_delta)^(1/t)), and one step more, which
    covers both integer noises; ``ratio`` is sigma in steps. Rounded up.
    """
    deviations = _deviations(most_words, threshold_delta)
    weights = np.array([word_weight(count, step) for count in range(1, most_words + 1)], dtype=np.float64)
    limit = float(np.max(weights + ratio * deviations)) * (1.0 + 1e-9)
    if not limit < LARGEST_INTEGER:
        raise PrivacyError(TOO_SMALL)
    return math.ceil(limit) + 2


def units_to_pass(words: int, most_words: int, sigma: float, threshold_delta: float) -> float:
    """How many units, of ``words`` different words each, must share a word that reaches the threshold without noise.

    With fewer than this for ``words = 1`` no word can: no unit gives more than one.
    """
    deviations = _deviations(most_words, threshold_delta)
    weights = 1.0 / np.sqrt(np.arange(1.0, most_words + 1.0))
    return math.sqrt(words) * float(np.max(weights + sigma * deviations))


def _deviations(most_words: int, threshold_delta: float) -> npt.NDArray[np.float64]:
    """For each number of words of a unit, the deviations that their noise exceeds with probability delta at most."""
    if isinstance(most_words, bool) or not isinstance(most_words, int) or not 1 <= most_words <= MOST_WORDS_PER_UNIT:
        raise PrivacyError(
            f"The largest number of words per unit must be an int from 1 to 2**20. Got {most_words!r} instead."
        )
    counts = np.arange(1, most_words + 1, dtype=np.float64)
    passing = -np.expm1(np.log1p(-threshold_delta) / counts)
    deviations: npt.NDArray[np.float64] = np.maximum(-ndtri(passing), 0.0)
    if not np.isfinite(deviations).all():
        raise PrivacyError(TOO_SMALL)
    return deviations

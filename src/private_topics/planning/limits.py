"""How many documents any method needs, private or not: lower bounds with their constants, proved in docs/limits.md.

All of them are for LDA with equal topic weights and documents of the same length. A method *finds* the topics if the
root mean square of its relative error is at most `LARGEST_ERROR`. Below `documents_for_directions` no method does, on
average over topics that share no word and have equally likely words; below `documents_in_private` no differentially
private one does. Below `documents_for_orientation` no method tells three topics that share their words from their
mirror image with more than two guesses right in three; words of one topic alone would tell them apart.

The last three functions are no bounds: where a method of moments is expected to begin to see.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from private_topics.planning.constants import LARGEST_ERROR
from private_topics.planning.expected_errors import PlannedFit

LONGEST = 1_000_000  # words of a document up to which its information is summed term by term
LARGEST_EXPONENT = 700.0  # beyond, exp overflows
CONTRAST = 0.5  # of the topics that have a mirror image: own words twice as likely as on average, others half
GUESSES_RIGHT = 2.0 / 3.0
APART = 2.0 * GUESSES_RIGHT - 1.0  # the total variation that so many right guesses need
GAUSSIAN_ODDS = 0.1855  # the squared quantile of a Gaussian at `GUESSES_RIGHT`
STEPS = 1_000  # of the search for the best tangent in `information_per_word`
NODES, TERMS = 40, 79  # of the quadrature, which is exact up to the degree of the last term
LEFT_OUT = 1e-6  # the last term of the series over its sum; where it is larger no claim is made


@dataclass(frozen=True)
class Limits:
    """Documents that any method needs, or any private one: proved lower bounds, zero where nothing is proved."""

    directions: float
    orientation: float
    private_directions: float
    private_orientation: float


def limits(fit: PlannedFit) -> Limits:
    return Limits(
        documents_for_directions(fit),
        documents_for_orientation(fit),
        documents_in_private(fit),
        documents_to_orient_in_private(fit),
    )


# -- which words belong together ------------------------------------------------------------------------------------


def documents_for_directions(fit: PlannedFit) -> float:
    """Below, no method finds random topics that share no word: their assignment to words is too much to learn."""
    topics = fit.n_components
    each = fit.n_words // topics
    if topics < 2 or each < 1:
        return 0.0
    words = each * topics
    entropy = float(gammaln(words + 1) - topics * gammaln(each + 1) - gammaln(topics + 1))
    missing = entropy - words * (math.log(topics) - information_per_word(topics))
    return max(0.0, missing) / document_information(_length(fit), fit.alpha0, topics)


@lru_cache(maxsize=1024)
def document_information(length: int, alpha0: float, n_topics: int) -> float:
    """Divergence of a document's topic labels from independent ones: what it tells of the topics, at most, in nats.

    About `(k-1) l² / (4 alpha0²)` for `l` far below `alpha0`, and `(k-1) l / (2 alpha0)` far above.
    """
    if length > LONGEST:
        return length * math.log1p((n_topics - 1.0) / (alpha0 + 1.0))
    share = alpha0 / n_topics
    own, rest, whole = (_log_rising(first, length) for first in (share, alpha0 - share, alpha0))
    counts = np.arange(length + 1)
    ways = gammaln(length + 1) - gammaln(counts + 1) - gammaln(length - counts + 1)
    log_mass = ways + own + rest[::-1] + counts * math.log(share / alpha0)
    log_mass += (length - counts) * math.log1p(-share / alpha0)
    mass = np.exp(log_mass - log_mass.max())
    found = n_topics * float(mass @ own / mass.sum()) - float(whole[-1])
    return max(found, math.ulp(0.0)) if length > 1 else math.ulp(0.0)


def _log_rising(first: float, length: int) -> np.ndarray:
    """`log (a (a+1) … (a+n-1) / a^n)` for n = 0 … length."""
    terms: np.ndarray = np.log1p(np.arange(length) / first)
    return np.concatenate(([0.0], np.cumsum(terms)))


@lru_cache(maxsize=1024)
def information_per_word(n_topics: int, error: float = LARGEST_ERROR) -> float:
    """What must be known of a word's topic, in nats, for a mean squared relative error of `error²`."""
    most = 1.0 - 1.0 / n_topics
    if error**2 >= most:
        return 0.0
    others = n_topics - 1.0
    last = (1.0 - math.sqrt(1.0 - n_topics / others * error**2)) / n_topics  # 1 - large² - others small² = error²
    small = last * np.linspace(0.0, 1.0 + 1.0 / STEPS, STEPS + 2)[1:]
    large = 1.0 - others * small
    logs = np.log(large / small)
    rising = np.diff((large - small) / logs) >= 0.0
    small, large, logs = small[:-1][rising], large[:-1][rising], logs[:-1][rising]
    entropy = -large * np.log(large) - others * small * np.log(small)
    slope = logs / (2.0 * (large - small))
    more = error**2 - (1.0 - large**2 - others * small**2)
    return float(np.minimum(math.log(n_topics) - entropy - slope * more, slope * (most - error**2)).max())


# -- with privacy ---------------------------------------------------------------------------------------------------


def documents_in_private(fit: PlannedFit) -> float:
    """Below, no (epsilon, delta)-private method finds topics that share pairs of words, each likelier in one."""
    topics = fit.n_components
    pairs = topics * (fit.n_words // (2 * topics)) if topics > 1 else 0
    told = math.sqrt(fit.mean_length / (3.0 * (1.0 + 2.0 * fit.alpha0 / topics)))
    one = math.sinh(min(fit.epsilon, LARGEST_EXPONENT)) * told + 4.0 * fit.delta * fit.mean_length
    return pairs / 8.0 / one


# -- which directions are topics ------------------------------------------------------------------------------------


def documents_for_orientation(fit: PlannedFit) -> float:
    """Below, no method tells three topics that share their words from their mirror image."""
    squared = _mirror_distance_of(fit)
    slack = _length(fit) * _below_uniform(fit.alpha0 / fit.n_components)
    hellinger = 0.25 * squared * math.exp(min(LARGEST_EXPONENT, slack))
    return 2.0 * (1.0 - math.sqrt(1.0 - APART**2)) / hellinger


def documents_to_orient_in_private(fit: PlannedFit) -> float:
    """Below, no (epsilon, delta)-private method does: two laws whose documents are `distance` in total variation."""
    distance = math.sqrt(_mirror_distance_of(fit)) / 2.0
    factor = 1.0 + 2.0 * fit.delta / math.expm1(min(fit.epsilon, LARGEST_EXPONENT))
    return 2.0 * math.atanh(APART / factor) / (fit.epsilon * distance)


def _mirror_distance_of(fit: PlannedFit) -> float:
    """Infinite where fewer than three topics have no mirror image and where nothing is known."""
    if fit.n_components < 3:
        return math.inf
    found = mirror_distance(_length(fit), fit.alpha0, fit.alpha0 / fit.n_components)
    return found if found > 0.0 else math.inf


@lru_cache(maxsize=1024)
def mirror_distance(length: int, alpha0: float, share: float) -> float:
    """`∫ (a - b)² / q` for a document under three topics, under their mirror image and under their mean.

    A series over odd moments, three first; about `l³ / (12 alpha0⁴)` for three topics and `l` far below `alpha0`.
    """
    first, first_weights = _beta_nodes(share, 2.0 * share)
    second, second_weights = _beta_nodes(share, share)
    left = (1.0 - first)[:, None]
    weights = np.stack(np.broadcast_arrays(first[:, None], left * second, left * (1.0 - second)))
    centred = 3.0 * weights - 1.0
    squares, cubes = (centred**2).sum(axis=0) / 2.0, centred.prod(axis=0)
    mean = first_weights[:, None] * second_weights
    series = [np.ones_like(squares), np.zeros_like(squares), share * squares]
    total, factor, term = 0.0, 4.0, math.inf
    for order in range(TERMS + 1):
        if order > 2:
            two, three = (order - 2 + 2 * share) * series[-2], (order - 3 + 3 * share) * series[-3]
            series.append((squares * two + cubes * three) / order)
        if order % 2:
            term = factor * float((mean * series[order]).sum())
            total += term
        factor *= CONTRAST**2 * max(0, length - order) / (alpha0 + order)
    return total if abs(term) <= LEFT_OUT * total else math.inf


def _beta_nodes(first: float, second: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the mean over a beta distribution: Gauss-Jacobi, by the eigenvectors of its matrix."""
    order, both = np.arange(1, NODES), first + second
    middle = np.concatenate(([0.0], (first - second) * (both - 2.0) / ((2 * order + both - 2) * (2 * order + both))))
    middle[0] = (first - second) / both
    side = order * (order + first - 1) * (order + second - 1) * (order + both - 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        side = 4.0 * side / ((2 * order + both - 2) ** 2 * (2 * order + both - 1) * (2 * order + both - 3))
    side[0] = 4.0 * first * second / (both**2 * (both + 1.0))
    nodes, vectors = np.linalg.eigh(np.diag(middle) + np.diag(np.sqrt(side), 1) + np.diag(np.sqrt(side), -1))
    return (1.0 + nodes) / 2.0, vectors[0] ** 2


def _below_uniform(share: float) -> float:
    """How fast, per word, the geometric mean of the two laws may fall below that of independent words."""
    three = 3.0 * share
    return 3.0 / (8.0 * three) + 3.0 / (32.0 * three**2)


# -- what a method of moments needs, argued and not proved ----------------------------------------------------------


def moment_documents(fit: PlannedFit) -> float:
    """Documents for the directions of disjoint topics to stand out of the sampling noise of the second moment."""
    ratio = (fit.alpha0 + 1.0) / fit.mean_length
    return fit.n_words * ratio * (1.0 + ratio)


def noisy_moment_documents(fit: PlannedFit) -> float:
    """The same for the noise of a Gaussian mechanism, each document of typical norm."""
    norm = (fit.n_words - 1.0) / fit.mean_length + (fit.n_components - 1.0) / (fit.alpha0 + 1.0)
    return math.sqrt(2.0 * fit.n_words) * norm * (fit.alpha0 + 1.0) / fit.mu


def third_moment_documents(fit: PlannedFit, contrast: float = CONTRAST) -> float:
    """Documents to orient three topics with two guesses right in three, directions known, to leading order."""
    return GAUSSIAN_ODDS * 3.0 * fit.alpha0 / 4.0 * (1.0 + fit.alpha0 / (contrast**2 * fit.mean_length)) ** 3


def _length(fit: PlannedFit) -> int:
    return max(1, math.ceil(fit.mean_length))

"""What a fit with public knowledge is expected to do: its releases, topics, their error, and what it gains.

Its releases and their shares are those of `fits/informed.py`. How many topics are found and what is gained depends on
how well the vectors know the corpus, which nobody knows before it is read: hence ranges. Fitted to real text, the
error to topics made of the vectors: research/knowledge_cells.py.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from private_topics.fits.fit import BudgetSplit
from private_topics.fits.informed import (
    FEATURE_STEPS,
    INFORMED,
    PUBLIC,
    basis_rank,
    fractions_for,
    words_enough,
)
from private_topics.inference.carried import averaging
from private_topics.planning.constants import (
    KNOWN_ERROR,
    KNOWN_SEEN,
    KNOWN_SEEN_BY_EDGE,
    KNOWS_LITTLE,
    KNOWS_MUCH,
    LEAST_LOST,
    LENGTH,
    LOST,
    LOST_BEYOND,
    LOST_BY_LENGTH,
    MOST_LOST,
)
from private_topics.planning.expected_errors import SEQUENTIAL, PlannedFit, expected_error, expected_topics
from private_topics.privacy.budget import sigma_for
from private_topics.releases.features import FEATURES
from private_topics.releases.release import Release
from private_topics.releases.statistic import REFINEMENT
from private_topics.spectral.topics import equal_eigenvalue


@dataclass(frozen=True)
class PlannedRelease:
    """A release of the fit, its share of the budget, and its noise: as much as this many units contribute at most.

    Of one that is made several times all shares together, and the noise of the average that the fit takes.
    """

    name: str
    share: float
    noise: float


@dataclass(frozen=True)
class Range:
    """A forecast, and what it would be if the vectors knew the corpus as badly, or as well, as any that was tried."""

    low: float
    middle: float
    high: float


def needs_no_knowledge(fit: PlannedFit) -> bool:
    """Whether the budget is so large that the sequential fit is used."""
    return words_enough(_budget(fit), fit.n_components)


def informed_split(fit: PlannedFit) -> BudgetSplit:
    """How a fit with these public numbers and a public vocabulary splits its budget."""
    fractions = fractions_for(_budget(fit), fit.n_components, fit.n_words)
    return INFORMED.split(fit.refine_steps, equal_eigenvalue(fit.n_components, fit.alpha0), fractions)


def planned_releases(fit: PlannedFit) -> tuple[PlannedRelease, ...]:
    """In their order; none where the sequential fit is used."""
    if needs_no_knowledge(fit):
        return ()
    split = informed_split(fit)
    sharing = Counter(release.share for release in PUBLIC)
    shares = {release: split[release.share] / sharing[release.share] for release in PUBLIC if release.share}
    return tuple(_planned(release, share, fit) for release, share in shares.items() if share > 0.0)


def _planned(release: Release, share: float, fit: PlannedFit) -> PlannedRelease:
    """Two releases of one sum are averaged by their noise, and are as good as one with the share of both."""
    assert release.sensitivity is not None
    steps = {FEATURES: FEATURE_STEPS, REFINEMENT: fit.refine_steps}.get(release, 1)
    return PlannedRelease(
        release.name, share, sigma_for(share / steps, release.sensitivity, fit.mu) * averaging(steps)
    )


def topics_found(fit: PlannedFit) -> Range:
    """How many of the topics asked for are found: one more than the directions above the noise; the unigram is one.

    Where the vectors are not needed, as many as without them.
    """
    if needs_no_knowledge(fit):
        found = float(expected_topics(fit, SEQUENTIAL))
        return Range(found, found, found)
    edge = noise_edge(fit) * (fit.alpha0 + 1.0) / 2.0
    seen = KNOWN_SEEN / edge**KNOWN_SEEN_BY_EDGE
    most = min(fit.n_components, basis_rank(_budget(fit)) + 1, fit.n_words)
    low, middle, high = (float(max(1, int(min(most, seen * knows)))) for knows in (KNOWS_LITTLE, 1.0, KNOWS_MUCH))
    return Range(low, middle, high)


def noise_edge(fit: PlannedFit) -> float:
    """The largest eigenvalue of the noise on the second moment in the public basis, if documents have norm one."""
    share = informed_split(fit)["second"]
    return 2.0 * math.sqrt(2.0 * basis_rank(_budget(fit))) / (_budget(fit) * math.sqrt(share))


def error(fit: PlannedFit) -> float:
    """The relative error of the topics found.

    The noise on an entry of the topics' counts, over a mean entry, is their number times the words over the budget;
    what is expected of each topic, from its features, lets the error grow with the root of the noise only.
    """
    if needs_no_knowledge(fit):
        return expected_error(fit, SEQUENTIAL)
    return KNOWN_ERROR * math.sqrt(fit.n_topics * fit.n_words / _budget(fit))


def kept(fit: PlannedFit) -> Range:
    """How far held-out perplexity falls: 0 as with exact word frequencies, 1 as without privacy, in logarithms.

    What is lost grows with the root of the noise on a word, until the fit has hardly more than what is public.
    """
    lost = LOST * (LENGTH / fit.mean_length) ** LOST_BY_LENGTH * math.sqrt(fit.n_words / _budget(fit))
    lost = min(lost, lost**LOST_BEYOND)
    most = 1.0 if topics_found(fit).high > 1 else 0.0  # one topic is the word frequencies, and noisy
    low, middle, high = (min(most, 1.0 - part * lost) for part in (MOST_LOST, 1.0, LEAST_LOST))
    return Range(low, middle, high)


def _budget(fit: PlannedFit) -> float:
    return fit.mu * fit.n_documents

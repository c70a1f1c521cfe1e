"""What a fit with public knowledge is expected to do: its releases, topics, their error, and what it gains.

Its releases and their shares are those of `fits/informed.py`. It has all topics asked for wherever it sees that the
vectors know the corpus, and is the sequential fit elsewhere. What is gained depends on how well they know it, which
nobody knows before it is read: hence ranges. Fitted to real text, the error to topics made of the vectors:
research/knowledge_cells.py.
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
    fractions_for,
    words_enough,
)
from private_topics.inference.carried import averaging
from private_topics.planning.constants import (
    KNOWN_ERROR,
    LEAST_LOST,
    LENGTH,
    LOOK_SURE,
    LOOK_TRIED,
    LOST,
    LOST_BY_LENGTH,
    LOST_BY_NOISE,
    MOST_LOST,
)
from private_topics.planning.expected_errors import SEQUENTIAL, PlannedFit, expected_error, expected_topics
from private_topics.privacy.budget import sigma_for
from private_topics.releases.evidence import EVIDENCE, EVIDENCE_SHARE
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
    return words_enough(_budget(fit), fit.n_components, fit.n_words)


def informed_split(fit: PlannedFit) -> BudgetSplit:
    """How a fit with these public numbers and a public vocabulary splits its budget."""
    fractions = fractions_for(_budget(fit), fit.n_components, fit.n_words)
    evidence = EVIDENCE_SHARE if fit.n_components > 1 else 0.0
    eigenvalue = equal_eigenvalue(fit.n_components, fit.alpha0)
    return INFORMED.split(fit.refine_steps, eigenvalue, fractions, evidence=evidence)


def planned_releases(fit: PlannedFit) -> tuple[PlannedRelease, ...]:
    """In their order; none where the sequential fit is used."""
    if needs_no_knowledge(fit):
        return ()
    split = informed_split(fit)
    sharing = Counter(release.share for release in PUBLIC)
    shares = {release: split[release.share] / sharing[release.share] for release in PUBLIC if release.share}
    shares[EVIDENCE] = split["evidence"]
    return tuple(_planned(release, share, fit) for release, share in shares.items() if share > 0.0)


def _planned(release: Release, share: float, fit: PlannedFit) -> PlannedRelease:
    """Two releases of one sum are averaged by their noise, and are as good as one with the share of both."""
    assert release.sensitivity is not None
    steps = {FEATURES: FEATURE_STEPS, REFINEMENT: fit.refine_steps}.get(release, 1)
    return PlannedRelease(
        release.name, share, sigma_for(share / steps, release.sensitivity, fit.mu) * averaging(steps)
    )


def topics_found(fit: PlannedFit) -> Range:
    """How many topics the model has: all asked for where the look at the vectors sees that they know the corpus.

    Where that look is little but noise, chance decides between all and what the sequential fit finds; where vectors
    are not needed, as many as without them. Nothing is promised of budgets that are smaller than any that was tried.
    """
    without = float(expected_topics(fit, SEQUENTIAL))
    if needs_no_knowledge(fit):
        return Range(without, without, without)
    asked, budget = float(fit.n_components), _budget(fit)
    low, middle = (asked if budget >= least else without for least in (LOOK_SURE, LOOK_TRIED))
    return Range(low, middle, asked)


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

    What is lost grows slowly with the noise on a word: what is public stays.
    """
    noise = fit.n_words / _budget(fit)
    lost = LOST * (LENGTH / fit.mean_length) ** LOST_BY_LENGTH * noise**LOST_BY_NOISE
    most = 1.0 if topics_found(fit).middle > 1 else 0.0  # one topic is the word frequencies, and noisy
    low, middle, high = (min(most, 1.0 - part * lost) for part in (MOST_LOST, 1.0, LEAST_LOST))
    return Range(low, middle, high)


def _budget(fit: PlannedFit) -> float:
    return fit.mu * fit.n_documents

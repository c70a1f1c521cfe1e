"""Word frequencies, pairs and triples of words: sums of moments over the words of a document.

unigram         `Σ c/||c||` over all words, non-negative and of norm one (docs/proofs/unigram.md)
second moment   `Σ s·phi2` on the words of the spectral stage (docs/proofs/second_moment.md), or of their deviations
                from the released unigram, where documents are nearly alike (docs/proofs/frame_second.md)
third moment    `Σ s·phi3(U, U, U)` inside an orthonormal basis, clipped by its norm over all words, which is the law
                of noise on every triple of words, seen through the basis (docs/proofs/configuration_1.md)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from private_topics.privacy.mechanisms import Released
from private_topics.releases.inside_frame import ask_moment
from private_topics.releases.norms import (
    CENTRED_NORMS,
    SECOND_FACTORS,
    SECOND_NORMS,
    THIRD_FACTORS,
    THIRD_NORMS,
    clip_of,
    scale_of,
)
from private_topics.releases.release import NON_NEGATIVE, FitContext, Release
from private_topics.sums.frame_second import ClippedFrameSecond, PairNormHistograms, deviations_from
from private_topics.sums.norms import clear_bins, median_norm
from private_topics.sums.quantised import finest_step
from private_topics.sums.triple_norms import PROJECTION_ERROR, ClippedTriples, TripleNormHistogram
from private_topics.sums.unit_sums import ClippedPairs, NormedCounts, PairNormHistogram

UNIGRAM = Release(
    "unigram", "word frequencies", "e0", "vector", "unigram", NON_NEGATIVE, "unigram", NormedCounts, radius=1.0
)
UNIGRAM_AGAIN = Release(
    "unigram again", "word frequencies", "s1", "vector", "unigram", NON_NEGATIVE, None, NormedCounts, radius=1.0
)


def release_unigram(context: FitContext, release: Release = UNIGRAM, share: float | None = None) -> Released:
    asked = context.ask(release, share)
    whole = replace(context, learns=False)  # frequencies tell no topic from another: no test needs them held out
    (released,) = whole.release([asked], NormedCounts(context.n_words, asked.step))
    return released


def sharpened_unigram(context: FitContext, first: Released, share: float) -> tuple[np.ndarray, float]:
    """The unigram released a second time, averaged with the first by their noise; and the remaining noise."""
    again = release_unigram(context, UNIGRAM_AGAIN, share)
    return averaged(first.value, first.sigma, again)


def averaged(value: np.ndarray, sigma: float, again: Released) -> tuple[np.ndarray, float]:
    """A released value and the same sum released again, weighed by their noise; and the remaining noise."""
    weight = sigma**2 / (sigma**2 + again.sigma**2)
    return weight * again.value + (1.0 - weight) * value, sigma * again.sigma / float(np.hypot(sigma, again.sigma))


SECOND_MOMENT = Release(
    "second moment", "pairs of words", "e0", "symmetric_matrix", "second_moment", NON_NEGATIVE, "second",
    ClippedPairs, radius=1.0,
)  # fmt: skip
CENTRED_SECOND = Release(
    "centred second moment", "pairs of words", "e0", "symmetric_matrix", "frame_second", 2.0, "second",
    ClippedFrameSecond, in_place_of="second moment", radius=1.0,
)  # fmt: skip

DISTORTION = 0.1  # what clipping does to the directions of topics: research/choices.py
CLEARLY_LESS = 0.25


@dataclass(frozen=True)
class SecondMoment:
    """`E2` on the words of the spectral stage, its noise, and where norms of `phi2` would be clipped."""

    value: np.ndarray
    noise: float
    clip: float


def release_second_moment(context: FitContext, words: np.ndarray) -> SecondMoment:
    """`Σ s·phi2 / Σ s`, clipped at a threshold that a histogram of norms suggests."""
    norms = context.ask(SECOND_NORMS)
    (histogram,) = context.release([norms], PairNormHistogram(words, norms.step))
    return _plain_pairs(context, words, _plain_clip(context, words, histogram))


def release_either_second_moment(context: FitContext, words: np.ndarray, centre: np.ndarray) -> SecondMoment:
    """As it is or, where that has clearly less noise, as deviations from the released `centre`."""
    norms = context.ask(SECOND_NORMS)
    histograms = PairNormHistograms(words, centre, norms.step)
    plain, centred = context.release([norms, context.ask(CENTRED_NORMS)], histograms)
    clip = _plain_clip(context, words, plain)
    noise = context.noise(CENTRED_SECOND) * np.sqrt(2.0 * len(words)) * context.n_topics
    other = clip_of(centred, noise / median_norm(centred.value), DISTORTION)
    less = context.noise(CENTRED_SECOND) * other < CLEARLY_LESS * context.noise(SECOND_MOMENT) * clip
    if not less or len(clear_bins(centred.value, centred.sigma)) == 0:
        return _plain_pairs(context, words, clip)
    frame = deviations_from(centre)
    moment, factors = ask_moment(context, CENTRED_SECOND, other, frame), context.ask(SECOND_FACTORS)
    clipped = ClippedFrameSecond(words, frame, context.unit_bound, other, moment.step, factors.step)
    released, released_factors = context.release([moment, factors], clipped)
    scale = scale_of(released_factors)
    return SecondMoment(released.value / scale + np.outer(centre, centre), released.sigma / scale, clip)


def _plain_clip(context: FitContext, words: np.ndarray, histogram: Released) -> float:
    """The weakest of the topics has about this part of the norm of a document: 1/(k (alpha0 + 1))."""
    noise = context.noise(SECOND_MOMENT) * np.sqrt(2.0 * len(words)) * context.n_topics * (context.alpha0 + 1.0)
    return min(1.0, clip_of(histogram, noise / median_norm(histogram.value), DISTORTION))  # no norm is larger


def _plain_pairs(context: FitContext, words: np.ndarray, clip: float) -> SecondMoment:
    moment, factors = context.ask(SECOND_MOMENT, clip=clip), context.ask(SECOND_FACTORS)
    clipped = ClippedPairs(words, clip, moment.step, factors.step)
    released, released_factors = context.release([moment, factors], clipped)
    scale = scale_of(released_factors)
    return SecondMoment(released.value / scale, released.sigma / scale, clip)


THIRD_MOMENT = Release(
    "third moment", "triples of words", "e3", "symmetric_tensor", "configuration_1", NON_NEGATIVE, "tensor",
    ClippedTriples,
)  # fmt: skip


def release_third_moment(context: FitContext, words: np.ndarray, basis: np.ndarray) -> tuple[Released, Released]:
    """`Σ s·phi3(U, U, U)` and `Σ s`."""
    norms = context.ask(THIRD_NORMS)
    (histogram,) = context.release([norms], TripleNormHistogram(words, norms.step))
    n_units, rank = context.n_units, basis.shape[1]
    noise = context.noise(THIRD_MOMENT) * np.sqrt(rank / 3.0) * (rank * (context.alpha0 + 1.0)) ** 1.5
    clip = clip_of(histogram, noise / median_norm(histogram.value), DISTORTION)
    error = PROJECTION_ERROR * rank**1.5 * n_units * clip
    moment = context.ask_assembled(THIRD_MOMENT, clip=clip, error=error, entries=rank**3)
    factors = context.ask(THIRD_FACTORS)
    grid = finest_step(2.0 * n_units * clip)
    clipped = ClippedTriples(words, basis, clip, grid, moment.step, factors.step)
    released, released_factors = context.release([moment, factors], clipped)
    return released, released_factors

"""Word frequencies, pairs and triples of words: sums of moments over the words of a document.

unigram         `Σ c/||c||` over all words, non-negative and of norm one (docs/proofs/unigram.md)
second moment   `Σ s·phi2` on the words of the spectral stage (docs/proofs/second_moment.md)
third moment    `Σ s·phi3(U, U, U)` inside an orthonormal basis, clipped by its norm over all words, which is the law
                of noise on every triple of words, seen through the basis (docs/proofs/configuration_1.md)
"""

from __future__ import annotations

import numpy as np

from private_topics.privacy.mechanisms import Released
from private_topics.releases.norms import SECOND_FACTORS, SECOND_NORMS, THIRD_FACTORS, THIRD_NORMS, clips_of
from private_topics.releases.release import NON_NEGATIVE, FitContext, Release
from private_topics.sums.quantised import finest_step
from private_topics.sums.triple_norms import PROJECTION_ERROR, ClippedTriples, TripleNormHistogram
from private_topics.sums.unit_sums import ClippedPairs, NormedCounts, PairNormHistogram

UNIGRAM = Release("unigram", "word frequencies", "e0", "vector", "unigram", NON_NEGATIVE, "unigram", NormedCounts)
UNIGRAM_AGAIN = Release(
    "unigram again", "word frequencies", "s1", "vector", "unigram", NON_NEGATIVE, None, NormedCounts
)


def release_unigram(context: FitContext, release: Release = UNIGRAM, share: float | None = None) -> Released:
    asked = context.ask(release, share)
    (released,) = context.release([asked], NormedCounts(context.n_words, asked.step))
    return released


def sharpened_unigram(context: FitContext, first: Released, share: float) -> tuple[np.ndarray, float]:
    """The unigram released a second time, averaged with the first by their noise; and the remaining noise."""
    again = release_unigram(context, UNIGRAM_AGAIN, share)
    weight = first.sigma**2 / (first.sigma**2 + again.sigma**2)
    sigma = first.sigma * again.sigma / float(np.hypot(first.sigma, again.sigma))
    return weight * again.value + (1.0 - weight) * first.value, sigma


SECOND_MOMENT = Release(
    "second moment", "pairs of words", "e0", "symmetric_matrix", "second_moment", NON_NEGATIVE, "second", ClippedPairs
)
SECOND_QUANTILE = 0.1  # of the units: larger contributions are clipped


def release_second_moment(context: FitContext, words: np.ndarray) -> tuple[Released, Released]:
    """`Σ s·phi2` and `Σ s`, clipped at a quantile of the norms, which is released first."""
    norms = context.ask(SECOND_NORMS)
    (clip,) = clips_of(context.release([norms], PairNormHistogram(words, norms.step)), SECOND_QUANTILE)
    moment, factors = context.ask(SECOND_MOMENT, clip=clip), context.ask(SECOND_FACTORS)
    clipped = ClippedPairs(words, clip, moment.step, factors.step)
    released, released_factors = context.release([moment, factors], clipped)
    return released, released_factors


THIRD_MOMENT = Release(
    "third moment", "triples of words", "e3", "symmetric_tensor", "configuration_1", NON_NEGATIVE, "tensor",
    ClippedTriples,
)  # fmt: skip
THIRD_QUANTILE = 0.5  # of the units: larger contributions are clipped


def release_third_moment(context: FitContext, words: np.ndarray, basis: np.ndarray) -> tuple[Released, Released]:
    """`Σ s·phi3(U, U, U)` and `Σ s`."""
    norms = context.ask(THIRD_NORMS)
    (clip,) = clips_of(context.release([norms], TripleNormHistogram(words, norms.step)), THIRD_QUANTILE)
    n_units, rank = context.n_units, basis.shape[1]
    error = PROJECTION_ERROR * rank**1.5 * n_units * clip
    moment = context.ask_assembled(THIRD_MOMENT, clip=clip, error=error, entries=rank**3)
    factors = context.ask(THIRD_FACTORS)
    grid = finest_step(2.0 * n_units * clip)
    clipped = ClippedTriples(words, basis, clip, grid, moment.step, factors.step)
    released, released_factors = context.release([moment, factors], clipped)
    return released, released_factors

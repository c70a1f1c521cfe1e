"""Word frequencies: `Σ c/||c||` over all words, non-negative and of norm one. Proof: docs/proofs/unigram.md."""

from __future__ import annotations

import numpy as np

from private_topics.privacy.mechanisms import Released
from private_topics.releases.context import FitContext
from private_topics.releases.release import NON_NEGATIVE, Release
from private_topics.sums.unit_sums import NormedCounts

UNIGRAM = Release("unigram", "word frequencies", "e0", "vector", "unigram", NON_NEGATIVE, "unigram", NormedCounts)
UNIGRAM_AGAIN = Release(
    "unigram again", "word frequencies", "s1", "vector", "unigram", NON_NEGATIVE, None, NormedCounts
)


def release_unigram(context: FitContext, release: Release = UNIGRAM, share: float | None = None) -> Released:
    asked = context.ask(release, share)
    (released,) = context.release([asked], NormedCounts(context.n_words, asked.step))
    return released


def sharpened_unigram(context: FitContext, first: Released, share: float) -> tuple[np.ndarray, float]:
    """The unigram released a second time, averaged with the first by their noise; and the noise that is left."""
    again = release_unigram(context, UNIGRAM_AGAIN, share)
    weight = first.sigma**2 / (first.sigma**2 + again.sigma**2)
    sigma = first.sigma * again.sigma / float(np.hypot(first.sigma, again.sigma))
    return weight * again.value + (1.0 - weight) * first.value, sigma

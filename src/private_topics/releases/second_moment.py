"""Pairs of words: `Σ s·phi2` on the words of the spectral stage. Proof: docs/proofs/second_moment.md."""

from __future__ import annotations

import numpy as np

from private_topics.privacy.mechanisms import Released
from private_topics.releases.context import FitContext
from private_topics.releases.norms import SECOND_FACTORS, SECOND_NORMS, clips_of
from private_topics.releases.release import NON_NEGATIVE, Release
from private_topics.sums.unit_sums import ClippedPairs, PairNormHistogram

SECOND_MOMENT = Release(
    "second moment", "pairs of words", "e0", "symmetric_matrix", "second_moment", NON_NEGATIVE, "second", ClippedPairs
)
QUANTILE = 0.1  # of the units: larger contributions are clipped


def release_second_moment(context: FitContext, words: np.ndarray) -> tuple[Released, Released]:
    """`Σ s·phi2` and `Σ s`, clipped at a quantile of the norms, which is released first."""
    norms = context.ask(SECOND_NORMS)
    (clip,) = clips_of(context.release([norms], PairNormHistogram(words, norms.step)), QUANTILE)
    moment, factors = context.ask(SECOND_MOMENT, clip=clip), context.ask(SECOND_FACTORS)
    clipped = ClippedPairs(words, clip, moment.step, factors.step)
    released, released_factors = context.release([moment, factors], clipped)
    return released, released_factors

"""Triples of words inside an orthonormal basis, clipped by their norm over all words: `Σ s·phi3(U, U, U)`.

That is the law of noise on every triple of words, seen through the basis. Proof: docs/proofs/configuration_1.md.
"""

from __future__ import annotations

import numpy as np

from private_topics.privacy.mechanisms import Released
from private_topics.releases.context import FitContext
from private_topics.releases.norms import THIRD_FACTORS, THIRD_NORMS, clips_of
from private_topics.releases.release import NON_NEGATIVE, Release
from private_topics.sums.quantised import finest_step
from private_topics.sums.triple_norms import PROJECTION_ERROR, ClippedTriples, TripleNormHistogram

THIRD_MOMENT = Release(
    "third moment", "triples of words", "e3", "symmetric_tensor", "configuration_1", NON_NEGATIVE, "tensor",
    ClippedTriples,
)  # fmt: skip
QUANTILE = 0.5  # of the units: larger contributions are clipped


def release_third_moment(context: FitContext, words: np.ndarray, basis: np.ndarray) -> tuple[Released, Released]:
    """`Σ s·phi3(U, U, U)` and `Σ s`."""
    norms = context.ask(THIRD_NORMS)
    (clip,) = clips_of(context.release([norms], TripleNormHistogram(words, norms.step)), QUANTILE)
    n_units, rank = context.n_units, basis.shape[1]
    error = PROJECTION_ERROR * rank**1.5 * n_units * clip
    moment = context.ask_assembled(THIRD_MOMENT, clip=clip, error=error, entries=rank**3)
    factors = context.ask(THIRD_FACTORS)
    grid = finest_step(2.0 * n_units * clip)
    clipped = ClippedTriples(words, basis, clip, grid, moment.step, factors.step)
    released, released_factors = context.release([moment, factors], clipped)
    return released, released_factors

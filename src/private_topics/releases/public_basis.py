"""The second moment of documents' deviations from the unigram, in a basis that public word vectors suggest.

Proof: docs/proofs/frame_second.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from private_topics.releases.inside_frame import ask_moment
from private_topics.releases.norms import PUBLIC_NORMS, clip_of
from private_topics.releases.release import FitContext, Release
from private_topics.spectral.public_basis import PublicBasis
from private_topics.sums.frame_second import ClippedFrameSecond
from private_topics.sums.norms import median_norm
from private_topics.sums.unit_sums import FrameNormHistograms

PUBLIC_SECOND = Release(
    "public second moment", "pairs of words", "e0", "symmetric_matrix", "frame_second", 2.0, "second",
    ClippedFrameSecond,
)  # fmt: skip
DISTORTION = 0.1
COLUMN = 1.0


@dataclass(frozen=True)
class BasisMoment:
    """The second central moment in a public basis, and its noise."""

    value: np.ndarray
    noise: float


def with_constant(rows: np.ndarray, constant: float = 1.0) -> np.ndarray:
    """A column of ones, which counts documents as they are clipped, before the others."""
    return np.hstack([np.full((len(rows), 1), constant), rows])


def release_public_second(context: FitContext, basis: PublicBasis) -> BasisMoment:
    words, frame = np.arange(context.n_words), with_constant(basis.rows, COLUMN)
    norms = context.ask(PUBLIC_NORMS)
    histograms = FrameNormHistograms(words, frame, norms.step)
    (histogram,) = context.release([norms], histograms, histograms.second_alone)
    noise = context.noise(PUBLIC_SECOND) * np.sqrt(2.0 * basis.rank) * context.n_topics
    clip = clip_of(histogram, noise / median_norm(histogram.value), DISTORTION)
    asked = ask_moment(context, PUBLIC_SECOND, clip, frame)
    clipped = ClippedFrameSecond(words, frame, context.n_units, clip, asked.step, 1.0)
    (released,) = context.release([asked], clipped, clipped.second_alone)
    weight = max(float(released.value[0, 0]), released.sigma) / COLUMN**2
    mean = released.value[0, 1:] / (weight * COLUMN)
    return BasisMoment(released.value[1:, 1:] / weight - np.outer(mean, mean), released.sigma / weight)

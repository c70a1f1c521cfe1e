"""Both moments inside a released frame: `Σ s·W'phi2 W` and `Σ s·phi3(W, W, W)`, assembled from exact sums.

Proofs: docs/proofs/frame_second.md, docs/proofs/tensor.md. The sequential release asks for both, the paper's
configurations 2, 3 and 4 for the third alone.
"""

from __future__ import annotations

import numpy as np

from private_topics.privacy.mechanisms import Asked, Released
from private_topics.releases.norms import (
    FRAME_FACTORS,
    FRAME_SECOND_NORMS,
    FRAME_THIRD_FACTORS,
    FRAME_THIRD_NORMS,
    clips_of,
)
from private_topics.releases.release import FitContext, Release
from private_topics.sums.quantised import ASSEMBLY_ERROR
from private_topics.sums.unit_sums import ClippedFrameMoments, FrameNormHistograms

FRAME_SECOND = Release(
    "frame second moment", "pairs, inside the frame", "e6", "symmetric_matrix", "frame_second", 2.0, "frame",
    ClippedFrameMoments,
)  # fmt: skip
FRAME_THIRD = Release(
    "frame third moment", "triples, inside the frame", "e6", "symmetric_tensor", "tensor", 2.0, "tensor",
    ClippedFrameMoments,
)  # fmt: skip
FRAME_THIRD_AGAIN = Release(
    "frame third moment again", "triples, inside the frame", "e6", "symmetric_tensor", "tensor", 2.0, None,
    ClippedFrameMoments,
)  # fmt: skip
QUANTILE = 0.5  # of the units: larger contributions are clipped


def release_inside_frame(
    context: FitContext, words: np.ndarray, frame: np.ndarray
) -> tuple[Released, Released, Released]:
    """Second moment, third moment and both sums of clip factors."""
    norms = [context.ask(release) for release in (FRAME_SECOND_NORMS, FRAME_THIRD_NORMS)]
    histograms = FrameNormHistograms(words, frame, norms[0].step)
    second_clip, third_clip = clips_of(context.release(norms, histograms), QUANTILE)
    second = ask_moment(context, FRAME_SECOND, second_clip, frame)
    third = ask_moment(context, FRAME_THIRD, third_clip, frame)
    factors = context.ask(FRAME_FACTORS)
    clipped = ClippedFrameMoments(
        words, frame, context.n_units, second_clip, third_clip, second.step, third.step, factors.step
    )
    released = context.release([second, third, factors], clipped)
    return released[0], released[1], released[2]


def release_third(
    context: FitContext, words: np.ndarray, frame: np.ndarray
) -> tuple[Released, Released, ClippedFrameMoments]:
    """The third moment, its sum of clip factors, and the sum behind both, which can be asked for more."""
    norms = context.ask(FRAME_THIRD_NORMS)
    histograms = FrameNormHistograms(words, frame, norms.step)
    (clip,) = clips_of(context.release([norms], histograms, histograms.third_alone), QUANTILE)
    third, factors = ask_moment(context, FRAME_THIRD, clip, frame), context.ask(FRAME_THIRD_FACTORS)
    clipped = ClippedFrameMoments(words, frame, context.n_units, clip, clip, third.step, third.step, factors.step)
    released, released_factors = context.release([third, factors], clipped, clipped.third_alone)
    return released, released_factors, clipped


def ask_moment(
    context: FitContext, release: Release, clip: float, frame: np.ndarray, share: float | None = None
) -> Asked:
    """A moment inside a frame, whose sensitivity carries the error of its assembly."""
    order = 2 if release.kind == "symmetric_matrix" else 3
    error = ASSEMBLY_ERROR * context.n_units * clip
    return context.ask_assembled(release, share, clip=clip, error=error, entries=frame.shape[1] ** order)

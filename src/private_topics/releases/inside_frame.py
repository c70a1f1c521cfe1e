"""Both moments inside a released frame: `Σ s·W'phi2 W` and `Σ s·phi3(W, W, W)`, assembled from exact sums.

Proofs: docs/proofs/frame_second.md, docs/proofs/tensor.md. The sequential release asks for both, the paper's
configurations 2, 3 and 4 for the third alone.
"""

from __future__ import annotations

import numpy as np

from private_topics.privacy.mechanisms import Asked, Released
from private_topics.releases.norms import (
    FRAME_SECOND_NORMS,
    FRAME_THIRD_FACTORS,
    FRAME_THIRD_NORMS,
    clip_of,
)
from private_topics.releases.release import FitContext, Release
from private_topics.spectral.topics import equal_eigenvalue
from private_topics.sums.quantised import assembly_error
from private_topics.sums.unit_sums import ClippedFrameMoments, FrameNormHistograms

FRAME_SECOND = Release(
    "frame second moment", "pairs, inside the frame", "e6", "symmetric_matrix", "frame_second", 2.0, "frame",
    ClippedFrameMoments, radius=1.0,
)  # fmt: skip
FRAME_THIRD = Release(
    "frame third moment", "triples, inside the frame", "e6", "symmetric_tensor", "tensor", 2.0, "tensor",
    ClippedFrameMoments, radius=1.0,
)  # fmt: skip
FRAME_THIRD_AGAIN = Release(
    "frame third moment again", "triples, inside the frame", "e6", "symmetric_tensor", "tensor", 2.0, None,
    ClippedFrameMoments,
)  # fmt: skip
SECOND_DISTORTION, THIRD_DISTORTION = 0.5, 0.2  # what clipping does to topics: research/choices.py


def release_inside_frame(context: FitContext, words: np.ndarray, frame: np.ndarray) -> tuple[Released, Released]:
    """Second and third moment."""
    norms = [context.ask(release) for release in (FRAME_SECOND_NORMS, FRAME_THIRD_NORMS)]
    histograms = context.release(norms, FrameNormHistograms(words, frame, norms[0].step))
    edge = context.noise(FRAME_SECOND) * float(np.sqrt(2.0 * frame.shape[1]))
    second_clip = clip_of(histograms[0], edge, SECOND_DISTORTION)
    third_clip = _third_clip(context, histograms[1], frame)
    second = ask_moment(context, FRAME_SECOND, second_clip, frame)
    third = ask_moment(context, FRAME_THIRD, third_clip, frame)
    clipped = ClippedFrameMoments(words, frame, context.unit_bound, second_clip, third_clip, second.step, third.step)
    released = context.release([second, third], clipped, clipped.moments)
    return released[0], released[1]


def release_third(
    context: FitContext, words: np.ndarray, frame: np.ndarray
) -> tuple[Released, Released, ClippedFrameMoments]:
    """The third moment, its sum of clip factors, and the sum behind both, which can be asked for more."""
    norms = context.ask(FRAME_THIRD_NORMS)
    histograms = FrameNormHistograms(words, frame, norms.step)
    (histogram,) = context.release([norms], histograms, histograms.third_alone)
    clip = _third_clip(context, histogram, frame)
    third, factors = ask_moment(context, FRAME_THIRD, clip, frame), context.ask(FRAME_THIRD_FACTORS)
    clipped = ClippedFrameMoments(words, frame, context.n_units, clip, clip, third.step, third.step, factors.step)
    released, released_factors = context.release([third, factors], clipped, clipped.third_alone)
    return released, released_factors, clipped


def _third_clip(context: FitContext, histogram: Released, frame: np.ndarray) -> float:
    """Noise turns an eigenvector of the tensor by a third of its entries, all over the eigenvalue of equal topics."""
    rank = frame.shape[1]
    eigenvalue = equal_eigenvalue(rank, context.alpha0)
    noise = context.noise(FRAME_THIRD) * float(np.sqrt(rank / 3.0))
    return clip_of(histogram, noise / eigenvalue, THIRD_DISTORTION / min(1.0, eigenvalue))


def ask_moment(
    context: FitContext, release: Release, clip: float, frame: np.ndarray, share: float | None = None
) -> Asked:
    """A moment inside a frame, whose sensitivity carries the error of its assembly."""
    order = 2 if release.kind == "symmetric_matrix" else 3
    error = assembly_error(len(frame)) * context.unit_bound * clip
    return context.ask_assembled(release, share, clip=clip, error=error, entries=frame.shape[1] ** order)

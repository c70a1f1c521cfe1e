"""How large contributions are: histograms of norms, from which clip thresholds follow, and sums of clip factors.

Histograms count units by the logarithm of a norm (docs/proofs/histogram.md). A sum of clip factors, each in [0, 1]
per unit, says how far to scale up a clipped sum (docs/proofs/clip_sums.md). All share one fraction.
"""

from __future__ import annotations

from private_topics.privacy.mechanisms import Released
from private_topics.releases.release import NON_NEGATIVE, Release
from private_topics.sums.frame_second import PairNormHistograms
from private_topics.sums.norms import best_clip
from private_topics.sums.triple_norms import ClippedTriples, TripleNormHistogram
from private_topics.sums.unit_sums import (
    ClippedFrameMoments,
    ClippedPairs,
    FrameNormHistograms,
    PairNormHistogram,
    UnitSum,
)

STAGE, SHARE = "sizes of contributions", "histograms"


def _histogram(name: str, edge: str, unit_sum: type[UnitSum]) -> Release:
    return Release(name, STAGE, edge, "histogram", "histogram", NON_NEGATIVE, SHARE, unit_sum, radius=1.0)


def _factors(name: str, edge: str, unit_sum: type[UnitSum]) -> Release:
    return Release(name, STAGE, edge, "vector", "clip_sums", 1.0, SHARE, unit_sum, radius=1.0)


SECOND_NORMS = _histogram("second norms", "e0", PairNormHistogram)
CENTRED_NORMS = _histogram("centred second norms", "e0", PairNormHistograms)
PUBLIC_NORMS = _histogram("public second norms", "e0", FrameNormHistograms)
SECOND_FACTORS = _factors("second clip factors", "e0", ClippedPairs)
THIRD_NORMS = _histogram("third norms", "e3", TripleNormHistogram)
THIRD_FACTORS = _factors("third clip factors", "e3", ClippedTriples)
FRAME_SECOND_NORMS = _histogram("frame second norms", "e6", FrameNormHistograms)
FRAME_THIRD_NORMS = _histogram("frame third norms", "e6", FrameNormHistograms)
FRAME_THIRD_FACTORS = _factors("third clip factors", "e6", ClippedFrameMoments)


def clip_of(histogram: Released, noise: float, distortion: float) -> float:
    """From a released histogram of norms, where larger contributions are clipped: see `best_clip`."""
    return best_clip(histogram.value, histogram.sigma, noise, distortion)


def scale_of(factors: Released) -> float:
    """A released sum of clip factors, floored at its own noise."""
    return float(max(factors.value[0], factors.sigma))

"""How large contributions are: histograms of norms, from which clip thresholds follow, and sums of clip factors.

Histograms count units by the logarithm of a norm (docs/proofs/histogram.md). A sum of clip factors, each in [0, 1]
per unit, says how far to scale up a clipped sum (docs/proofs/clip_sums.md). All share one fraction.
"""

from __future__ import annotations

from collections.abc import Iterable

from private_topics.privacy.mechanisms import Released
from private_topics.releases.release import NON_NEGATIVE, Release
from private_topics.sums.norms import clip_threshold
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
    return Release(name, STAGE, edge, "histogram", "histogram", NON_NEGATIVE, SHARE, unit_sum)


def _factors(name: str, edge: str, count: int, unit_sum: type[UnitSum]) -> Release:
    return Release(name, STAGE, edge, "vector", "clip_sums", count**0.5, SHARE, unit_sum)


SECOND_NORMS = _histogram("second norms", "e0", PairNormHistogram)
SECOND_FACTORS = _factors("second clip factors", "e0", 1, ClippedPairs)
THIRD_NORMS = _histogram("third norms", "e3", TripleNormHistogram)
THIRD_FACTORS = _factors("third clip factors", "e3", 1, ClippedTriples)
FRAME_SECOND_NORMS = _histogram("frame second norms", "e6", FrameNormHistograms)
FRAME_THIRD_NORMS = _histogram("frame third norms", "e6", FrameNormHistograms)
FRAME_FACTORS = _factors("frame clip factors", "e6", 2, ClippedFrameMoments)
FRAME_THIRD_FACTORS = _factors("third clip factors", "e6", 1, ClippedFrameMoments)


def clips_of(histograms: Iterable[Released], quantile: float) -> tuple[float, ...]:
    """Where released histograms of norms reach `quantile` of their units: larger contributions are clipped."""
    return tuple(clip_threshold(histogram.value, quantile) for histogram in histograms)


def scale_of(factors: Released, index: int = 0) -> float:
    """A released sum of clip factors, floored at its own noise."""
    return float(max(factors.value[index], factors.sigma))

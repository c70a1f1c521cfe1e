"""The second moment between all words and the directions of the topics: what the fit without privacy ends with.

Proof: docs/proofs/cross_moment.md.
"""

from __future__ import annotations

import numpy as np

from private_topics.privacy.mechanisms import Released
from private_topics.releases.release import FitContext, Release
from private_topics.sums.cross_moment import ClippedCross

CROSS_MOMENT = Release(
    "cross moment", "pairs, all words", "s1", "array", "cross_moment", 2.0, None, ClippedCross, radius=1.0
)


def release_cross_moment(context: FitContext, frame: np.ndarray, clip: float, share: float) -> Released:
    """`Σ s·phi2 F`, words × directions."""
    asked = context.ask(CROSS_MOMENT, share, clip=clip)
    (released,) = context.release([asked], ClippedCross(frame, clip, asked.step))
    return released

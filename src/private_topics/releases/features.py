"""Expected features of topics, where public word vectors give every word its features.

Proof: docs/proofs/features.md.
"""

from __future__ import annotations

import numpy as np

from private_topics.privacy.mechanisms import Released
from private_topics.releases.release import FitContext, Release
from private_topics.sums.features import FeatureStatistic

FEATURES = Release(
    "features", "features of the topics", "s1", "array", "features", 2.0, "features", FeatureStatistic,
    repeated=True, radius=1.0,
)  # fmt: skip


def release_features(
    context: FitContext, topics: np.ndarray, rows: np.ndarray, number: int, share: float
) -> Released:
    """The sum of the features of each topic's words: topics × columns of `rows`."""
    asked = context.ask(FEATURES.numbered(number), share)
    prior = np.full(len(topics), context.alpha0 / len(topics))
    statistic = FeatureStatistic(np.ascontiguousarray(topics.T), prior, rows, asked.step)
    (released,) = context.release([asked], statistic)
    return released

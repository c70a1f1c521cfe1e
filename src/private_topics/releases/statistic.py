"""Expected counts under released topics: `Σ c_w r_wi / norm`, non-negative and of norm one.

Proofs: docs/proofs/refinement.md; docs/proofs/variational.md for minibatches.
"""

from __future__ import annotations

import numpy as np

from private_topics.privacy.mechanisms import Released
from private_topics.releases.release import NON_NEGATIVE, FitContext, Release
from private_topics.sums.unit_sums import TopicStatistic

REFINEMENT = Release(
    "refinement", "refinement of the topics", "s1", "array", "refinement", NON_NEGATIVE, "refine", TopicStatistic,
    repeated=True,
)  # fmt: skip
MINIBATCH = Release(
    "minibatch statistic", "minibatches", None, "array", "variational", NON_NEGATIVE, None, TopicStatistic,
    repeated=True,
)  # fmt: skip


def release_statistic(
    context: FitContext, topics: np.ndarray, release: Release, share: float, words: np.ndarray | None = None
) -> Released:
    """The statistic over some words, or all: words × topics."""
    asked = context.ask(release, share)
    prior = np.full(len(topics), context.alpha0 / len(topics))
    statistic = TopicStatistic(words, np.ascontiguousarray(topics.T), prior, asked.step)
    (released,) = context.release([asked], statistic)
    return released

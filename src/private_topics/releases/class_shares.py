"""How much of each class's documents every topic takes up, under topics that are already released.

Proof: docs/proofs/class_shares.md.
"""

from __future__ import annotations

import numpy as np

from private_topics.privacy.mechanisms import Released
from private_topics.releases.release import NON_NEGATIVE, FitContext, Release
from private_topics.sums.class_shares import ClassProportions

CLASS_SHARES = Release(
    "class shares", "topics of each class", None, "array", "class_shares", NON_NEGATIVE, None, ClassProportions,
    radius=1.0,
)  # fmt: skip


def release_class_shares(
    context: FitContext, topics: np.ndarray, prior: np.ndarray, n_classes: int, rounds: int, share: float
) -> Released:
    """The sum of the topic proportions of each class's documents: classes × topics.

    The last `n_classes` columns of the corpus say which class a document belongs to. `share`: of the budget.
    """
    asked = context.ask(CLASS_SHARES, share)
    word_topics = np.ascontiguousarray(topics.T)
    (released,) = context.release([asked], ClassProportions(word_topics, prior, n_classes, rounds, asked.step))
    return released

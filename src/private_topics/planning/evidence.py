"""Forecast how many topics the documents would show beyond doubt, by the test that ends a fit."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from private_topics.planning.constants import AGREEMENT, UNEVENLY
from private_topics.planning.expected_errors import PlannedFit
from private_topics.releases.evidence import limit_of, noise_of

STEPS = 100
MOST_TESTED = 1_000


def topics_shown(fit: PlannedFit, topics: int) -> int:
    """Return the most topics that are expected to be seen of so many, or of fewer: the finer, the weaker is each."""
    noise = noise_of(fit.mu, fit.n_documents)
    places = UNEVENLY * (np.arange(STEPS) + 0.5) / STEPS
    shown = [
        made * float(ndtr(places * AGREEMENT / made / noise - limit_of(made)).mean())
        for made in range(2, min(topics, MOST_TESTED) + 1)
    ]
    return round(max(shown, default=0.0))

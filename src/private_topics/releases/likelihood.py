"""How well released topics explain the documents: a mean of scores between zero and one, one number.

The score of a document is its mean log-likelihood per word, clipped below at a public `-floor` and moved into [0, 1].
Paper, App. K, puts noise on a topics × words statistic instead and computes the likelihood from that; a number that
every document moves by at most one needs noise once. Proof: docs/proofs/likelihood.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from private_topics.releases.release import FitContext, Release
from private_topics.sums.scores import ClippedLikelihoods

LIKELIHOOD = Release(
    "log-likelihood", "likelihood", None, "vector", "likelihood", 1.0, None, ClippedLikelihoods, radius=1.0
)


@dataclass(frozen=True)
class NoisyLikelihood:
    """Natural logarithms per word, and the standard deviation of their noise."""

    value: float
    noise: float


def release_likelihood(context: FitContext, topics: np.ndarray, prior: np.ndarray, floor: float) -> NoisyLikelihood:
    """The mean over units of `max(-floor, log-likelihood per word)`; a document without words counts as `-floor`."""
    asked = context.ask(LIKELIHOOD, 1.0)
    word_topics = np.ascontiguousarray(topics.T, dtype=np.float64)
    (released,) = context.release([asked], ClippedLikelihoods(word_topics, prior, floor, asked.step))
    mean = float(released.value[0]) / context.n_units
    return NoisyLikelihood(floor * (mean - 1.0), floor * float(released.sigma) / context.n_units)

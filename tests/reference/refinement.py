"""The statistic of a refinement step (docs/proofs/refinement.md): weighted expected counts, of norm one.

gamma_i = prior_i + Σ_w c_w r_wi,   r_wi ∝ e_i β_wi,   e_i = exp(digamma(gamma_i)),   six rounds

Rounds 1, 3 and 5 multiply e by the square (round 1) or the cube of what a plain round multiplies it by.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import mpmath

from reference.interval import Interval, exact, root
from reference.lattice import SAFETY, truncated
from reference.moments import SHORTEST, Document, Unit, documents, length

ROUNDS = 6

Topics = Sequence[Sequence[float]]  # words × topics


def pull(document: Document, topics: Topics, prior: Sequence[float]) -> list[float]:
    """`exp(digamma(gamma))` after mean-field inference of one document under fixed topics."""
    return posterior(document, topics, prior, ROUNDS)[1]


def posterior(
    document: Document, topics: Topics, prior: Sequence[float], rounds: int
) -> tuple[list[float], list[float]]:
    """`gamma` and `exp(digamma(gamma))` after so many rounds."""
    gamma = [alpha + length(document) / len(prior) for alpha in prior]
    strength = _exp_digamma(gamma)
    for number in range(1, rounds + 1):
        gamma = list(prior)
        for word, count in document.items():
            parts = responsibilities(strength, topics[word])
            gamma = [entry + count * part for entry, part in zip(gamma, parts, strict=True)]
        power = 1 if number % 2 == 0 or number == rounds else 2 if number == 1 else 3
        strength = [old * (new / old) ** power for old, new in zip(strength, _exp_digamma(gamma), strict=True)]
    return gamma, strength


def _exp_digamma(gamma: Sequence[float]) -> list[float]:
    return [float(mpmath.exp(mpmath.digamma(entry))) for entry in gamma]


def responsibilities(strength: Sequence[float], topic: Sequence[float]) -> list[float]:
    parts = [e * beta for e, beta in zip(strength, topic, strict=True)]
    return [part / sum(parts) for part in parts]


def expected_counts(
    document: Document, topics: Topics, weights: Sequence[float], strength: Sequence[float]
) -> dict[int, list[Fraction]]:
    """`g_w c_w r_wi`, in rational arithmetic, for whatever numbers the topics, the weights and the pull are."""
    found = {}
    for word, count in document.items():
        parts = [Fraction(e) * Fraction(beta) for e, beta in zip(strength, topics[word], strict=True)]
        if sum(parts) > 0:
            found[word] = [Fraction(weights[word]) * count * part / sum(parts) for part in parts]
    return found


def statistic(
    units: Sequence[Unit],
    topics: Topics,
    weights: Sequence[float],
    pulls: Sequence[Sequence[float]],
    step: Fraction,
    words: Sequence[int] | None = None,
) -> list[list[Interval]]:
    """`Σ g_w c_w r_wi / norm`, words × topics; `pulls` has a row for each document.

    With `words`, those alone are counted, and topics and weights are given on them; lengths are of whole documents.
    """
    sums = [[exact(0)] * len(topics[0]) for _ in topics]
    for (document, share), strength in zip(documents(units), pulls, strict=True):
        expected = expected_counts(on(document, words), topics, weights, strength)
        squares = sum((entry**2 for row in expected.values() for entry in row), Fraction(0))
        if length(document) >= SHORTEST and squares:
            norm = root(squares)
            for word, row in expected.items():
                for i, entry in enumerate(row):
                    part = exact(share * SAFETY * entry) / norm
                    sums[word][i] += truncated(part.rounded_by_floats(), step)
    return sums


def on(document: Document, words: Sequence[int] | None) -> Document:
    """A document on some words, which are numbered anew."""
    if words is None:
        return document
    return {place: document[word] for place, word in enumerate(words) if word in document}

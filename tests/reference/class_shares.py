"""Topic shares of classes (docs/proofs/class_shares.md): proportions of documents, added up by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from reference.interval import Interval, exact
from reference.lattice import SAFETY, truncated

Classified = tuple[Mapping[int, int], int | None]
"""A document and the place of its class in the list; None where it has none of the list."""


def sums(
    units: Sequence[Sequence[Classified]], gammas: Sequence[Sequence[float]], n_classes: int, step: Fraction
) -> list[list[Interval]]:
    """Classes × topics, in whole steps; `gammas` has a row for each document."""
    found = [[exact(0) for _ in gammas[0]] for _ in range(n_classes)]
    rows = iter(gammas)
    for unit in units:
        for document, place in unit:
            gamma = [Fraction(float(entry)) for entry in next(rows)]
            if document and place is not None:
                for topic, entry in enumerate(gamma):
                    part = exact(Fraction(1, len(unit)) * SAFETY * entry / sum(gamma))
                    found[place][topic] += truncated(part.rounded_by_floats(), step)
    return found

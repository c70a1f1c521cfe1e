"""The features of the topics (docs/proofs/features.md): `Σ_w c_w r_wi z_w` for each topic, of norm one together."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from reference.interval import Interval, exact, root, square, total
from reference.lattice import SAFETY, truncated
from reference.moments import SHORTEST, Unit, documents, length
from reference.norms import ROUNDING
from reference.refinement import Topics, expected_counts


def statistic(
    units: Sequence[Unit],
    topics: Topics,
    rows: Sequence[Sequence[float]],
    pulls: Sequence[Sequence[float]],
    step: Fraction,
) -> list[list[Interval]]:
    """Topics × columns of `rows`."""
    k, columns = len(topics[0]), range(len(rows[0]))
    sums = [[exact(0) for _ in columns] for _ in range(k)]
    alike = [1.0] * len(topics)
    for (document, share), strength in zip(documents(units), pulls, strict=True):
        if length(document) < SHORTEST:
            continue
        expected = expected_counts(document, topics, alike, strength)
        one = [[_sum_of([row[i] * Fraction(rows[word][b]) for word, row in expected.items()]) for b in columns]
               for i in range(k)]  # fmt: skip
        norm = root(total(square(entry) for row in one for entry in row))
        if norm.low > 0:
            for i in range(k):
                for b in columns:
                    part = (one[i][b] * (share * SAFETY)) / norm
                    sums[i][b] += truncated(part.rounded_by_floats(), step)
    return sums


def _sum_of(terms: Sequence[Fraction]) -> Interval:
    """Terms of either sign: the error of their float sum is that of the sum of absolute values."""
    return exact(sum(terms, Fraction(0))).moved_by((len(terms) + 8) * ROUNDING * sum(map(abs, terms), Fraction(0)))

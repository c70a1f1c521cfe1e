"""How long a contribution is, what it is clipped to, and in which bin it is counted (docs/proofs/histogram.md).

Norms are those of the arrays themselves, entry by entry; inside a frame they are the bounds of
docs/proofs/frame_second.md and tensor.md, from `y = W'c`, `r2 = Σ c ‖w‖²` and `r3 = Σ c ‖w‖³`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import mpmath

from reference.interval import Interval, exact, root, smaller, square, total
from reference.lattice import SAFETY
from reference.moments import SHORTEST, Document, Unit, counts_on, documents, length, phi2

BINS, LARGEST_LOG = 64, 14
EDGE_ERROR = Fraction(1, 2**22)  # the edges are kept to single precision
ABOVE_ONE = BINS // 2 + 1  # the bin whose lower edge is one
EXACT_LENGTH = 2**13  # up to here a norm of pairs that is one is one in float64 too (docs/proofs/second_moment.md)
NOTHING = exact(0)
ROUNDING = Fraction(1, 2**53)

Row = Sequence[Fraction]
Frame = Sequence[Row]


def count_norm(document: Document) -> Interval:
    if length(document) < SHORTEST:
        return NOTHING
    return root(Fraction(sum(count**2 for count in document.values())))


def pair_norm(document: Document, words: Sequence[int]) -> Interval:
    """The Frobenius norm of phi2 on some words."""
    squares = sum((entry**2 for row in phi2(document, words) for entry in row), Fraction(0))
    return root(squares) if squares else NOTHING


def projected(document: Document, words: Sequence[int], frame: Frame) -> list[Interval]:
    """`y = W'c`. Terms of either sign may cancel, so the error of its float is that of the sum of absolute values."""
    counts = counts_on(document, words, len(frame) > len(words))
    columns = range(len(frame[0]))
    size = len(counts) + 2
    return [
        exact(sum(count * row[a] for count, row in zip(counts, frame, strict=True))).moved_by(
            size * ROUNDING * sum(count * abs(row[a]) for count, row in zip(counts, frame, strict=True))
        )
        for a in columns
    ]


def frame_bounds(document: Document, words: Sequence[int], frame: Frame) -> tuple[Interval, Interval]:
    """Bounds on the norms of `W'phi2 W` and of `phi3(W, W, W)`."""
    tokens = length(document)
    if tokens < SHORTEST:
        return NOTHING, NOTHING
    counts = counts_on(document, words, len(frame) > len(words))
    squares = [sum(entry**2 for entry in row) for row in frame]
    along = total(square(entry) for entry in projected(document, words, frame))
    second = sum(count * size for count, size in zip(counts, squares, strict=True))
    third = total(root(size) * (size * count) for count, size in zip(counts, squares, strict=True))
    pairs = tokens * (tokens - 1)
    norm = root(along)
    return (
        root(along * along + exact(second**2)) / pairs,
        (norm * along + norm * second * 3 + third * 2) / (pairs * (tokens - 2)),
    )


def factor(norm: Interval, clip: Fraction) -> Interval:
    """`min(1, C/norm)`, a little less where it clips; zero where there is nothing to clip."""
    if norm.high == 0:
        return NOTHING
    if norm.low == 0:  # so small that no clip of a fit reaches it
        return exact(1)
    return smaller(exact(1), exact(clip * SAFETY) / norm)


def edges() -> list[Fraction]:
    """The bins are equally wide in the logarithm of the norm, from -14 to 14."""
    with mpmath.workdps(30):
        logs = [mpmath.mpf(-LARGEST_LOG) + mpmath.mpf(2 * LARGEST_LOG) * b / BINS for b in range(BINS + 1)]
        return [Fraction(str(mpmath.nstr(mpmath.exp(log), 25))) for log in logs]


EDGES = edges()


def bins_of(norm: Interval) -> list[int]:
    """In which bin a norm falls; two where it is too close to an edge to tell. Bin 0 is below all edges, 65 above."""
    norm = norm * Interval(1 - EDGE_ERROR, 1 + EDGE_ERROR)
    return sorted({sum(edge <= end for edge in EDGES) for end in (norm.low, norm.high)})


def histogram(units: Sequence[Unit], norm_of, step: Fraction) -> list[Interval]:
    """Units by their norms, in whole steps; a document without a norm counts nowhere."""
    low, high = [0] * (BINS + 2), [0] * (BINS + 2)
    for document, share in documents(units):
        norm = norm_of(document)
        if norm.high > 0:
            steps = share // step
            found = [ABOVE_ONE] if norm.low == 1 and length(document) <= EXACT_LENGTH else bins_of(norm)
            for index in found:
                high[index] += steps
                low[index] += steps if len(found) == 1 else 0
    return [Interval(Fraction(one), Fraction(other)) for one, other in zip(low, high, strict=True)]

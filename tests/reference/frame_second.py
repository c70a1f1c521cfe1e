"""The second moment inside a frame, as docs/proofs/frame_second.md puts it together: squares less a diagonal.

    P = g² Σ QQ' - h_m Σ_w m_w ww',   Q = trunc(y √a / g),   m_w = trunc(c_w a / h_m),   a = share · s / (l(l-1))

`unquantised` is what it stands for, `Σ s·W'phi2 W`, from phi2 itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from reference.interval import Interval, exact, root, total
from reference.lattice import SAFETY, finest_step, room, root_step, truncated
from reference.moments import SHORTEST, Document, Unit, counts_on, documents, length, phi2
from reference.norms import NOTHING, Frame, factor, frame_bounds, projected

SQUARE_BITS = 22


def kept(document: Document, words: Sequence[int], frame: Frame, clip: Fraction, order: int) -> Interval:
    """The clip factor of one of the two moments; zero where no counted word has a row."""
    counts = counts_on(document, words, len(frame) > len(words))
    rows = [row for count, row in zip(counts, frame, strict=True) if count]
    if length(document) < SHORTEST or not any(entry for row in rows for entry in row):
        return NOTHING
    return factor(frame_bounds(document, words, frame)[order - 2], clip)


def second_moment(
    units: Sequence[Unit], words: Sequence[int], frame: Frame, n_units: int, clip: Fraction
) -> list[list[Interval]]:
    columns = range(len(frame[0]))
    square_step = root_step(root(clip), min(SQUARE_BITS, room(n_units, 2)))
    mass_step = finest_step(Fraction(n_units, 2))
    sums = [[exact(0) for _ in columns] for _ in columns]
    masses = [exact(0) for _ in frame]
    for document, share in documents(units):
        tokens = length(document)
        if tokens < SHORTEST:
            continue
        weight = kept(document, words, frame, clip, 2) * share / (tokens * (tokens - 1))
        wide = root(weight * SAFETY).rounded_by_floats()
        along = [truncated(entry * wide, square_step) for entry in projected(document, words, frame)]
        for a in columns:
            for b in columns:
                sums[a][b] += along[a] * along[b] * square_step**2
        for word, count in enumerate(counts_on(document, words, len(frame) > len(words))):
            masses[word] += truncated((weight * count).rounded_by_floats(), mass_step)
    return [
        [sums[a][b] - total(mass * (mass_step * row[a] * row[b]) for mass, row in zip(masses, frame, strict=True))
         for b in columns]
        for a in columns
    ]  # fmt: skip


def unquantised(units: Sequence[Unit], words: Sequence[int], frame: Frame, clip: Fraction) -> list[list[Interval]]:
    """`Σ s·W'phi2 W`. The frame needs a row for every word of the corpus, or one for all others."""
    columns = range(len(frame[0]))
    sums = [[exact(0) for _ in columns] for _ in columns]
    for document, share in documents(units):
        part = kept(document, words, frame, clip, 2) * share
        merged = dict(enumerate(counts_on(document, words, len(frame) > len(words))))
        missing = length(document) - sum(merged.values())
        pairs = phi2(merged | {len(merged): missing}, range(len(frame)))
        for a in columns:
            for b in columns:
                entry = sum(
                    pairs[i][j] * frame[i][a] * frame[j][b] for i in range(len(frame)) for j in range(len(frame))
                )
                sums[a][b] += part * entry
    return sums


def loss(units: Sequence[Unit], frame: Frame, clip: Fraction) -> Fraction:
    """How far truncation and `SAFETY` take an entry from `unquantised`: g per factor of a square, h_m per mass."""
    n_units = len(units)
    step = root_step(root(clip), min(SQUARE_BITS, room(n_units, 2)))
    widest = max(sum(entry**2 for entry in row) for row in frame)
    masses = len(frame) * finest_step(Fraction(n_units, 2)) * widest
    lost = 2 * n_units * clip * (1 - SAFETY)
    for share in [share for document, share in documents(units) if length(document) >= SHORTEST]:
        lost += 2 * step * root(clip * share).high + step**2 + masses
    return lost

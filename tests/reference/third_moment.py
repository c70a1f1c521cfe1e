"""The third moment inside a frame, as docs/proofs/tensor.md puts it together: cubes, three placements, a diagonal.

    T = g³ Σ Q⊗Q⊗Q - h_r Σ_w (w⊗w⊗R_w, three placements) + 2 h_m Σ_w m_w w⊗w⊗w,
    Q = trunc(y ∛a / g),   R_w = trunc(c_w y a / h_r),   m_w = trunc(c_w a / h_m),   a = share · s / (l(l-1)(l-2))

`unquantised` is what it stands for, `Σ s·phi3(W, W, W)`, from phi3 itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

from reference.frame_second import kept
from reference.interval import Interval, exact, root, total
from reference.lattice import SAFETY, finest_step, room, root_step, truncated
from reference.moments import SHORTEST, Unit, counts_on, documents, length, phi3
from reference.norms import Frame, projected

CUBE_BITS = 14

Tensor = dict[tuple[int, int, int], Interval]


def third_moment(units: Sequence[Unit], words: Sequence[int], frame: Frame, n_units: int, clip: Fraction) -> Tensor:
    columns = range(len(frame[0]))
    cube_step = root_step(root(clip, 3), min(CUBE_BITS, room(n_units, 3)))
    row_step, mass_step = row_step_of(frame, n_units), finest_step(Fraction(n_units, 2))
    cubes = {index: exact(0) for index in itertools.product(columns, repeat=3)}
    rows = [[exact(0) for _ in columns] for _ in frame]
    masses = [exact(0) for _ in frame]
    for document, share in documents(units):
        tokens = length(document)
        if tokens < SHORTEST:
            continue
        weight = kept(document, words, frame, clip, 3) * share / (tokens * (tokens - 1) * (tokens - 2))
        y = projected(document, words, frame)
        wide = root(weight * SAFETY, 3).rounded_by_floats()
        along = [truncated(entry * wide, cube_step) for entry in y]
        for a, b, c in cubes:
            cubes[a, b, c] += along[a] * along[b] * along[c] * cube_step**3
        for word, count in enumerate(counts_on(document, words, len(frame) > len(words))):
            if count:
                masses[word] += truncated((weight * count).rounded_by_floats(), mass_step)
                for a in columns:
                    rows[word][a] += truncated((y[a] * (weight * count)).rounded_by_floats(), row_step)
    found = {}
    for a, b, c in cubes:
        placed = total(
            row[a] * (w[b] * w[c] * row_step) + row[b] * (w[a] * w[c] * row_step) + row[c] * (w[a] * w[b] * row_step)
            for row, w in zip(rows, frame, strict=True)
        )
        diagonal = total(mass * (2 * mass_step * w[a] * w[b] * w[c]) for mass, w in zip(masses, frame, strict=True))
        found[a, b, c] = cubes[a, b, c] - placed + diagonal
    return found


def row_step_of(frame: Frame, n_units: int) -> Fraction:
    widest = root(max(sum(entry**2 for entry in row) for row in frame))
    return finest_step(widest.high * n_units * Fraction(3, 2))


def unquantised(units: Sequence[Unit], words: Sequence[int], frame: Frame, clip: Fraction) -> Tensor:
    """`Σ s·phi3(W, W, W)`."""
    columns, every = range(len(frame[0])), range(len(frame))
    sums = {index: exact(0) for index in itertools.product(columns, repeat=3)}
    for document, share in documents(units):
        part = kept(document, words, frame, clip, 3) * share
        if part.high == 0:
            continue
        merged = dict(enumerate(counts_on(document, words, len(frame) > len(words))))
        triples = phi3(merged | {len(merged): length(document) - sum(merged.values())}, every)
        for a, b, c in sums:
            if a <= b <= c:
                entry = sum(
                    triples[i][j][m] * frame[i][a] * frame[j][b] * frame[m][c]
                    for i in every if merged[i] for j in every if merged[j] for m in every if merged[m]
                )  # fmt: skip
                sums[a, b, c] += part * entry
    return {index: sums[tuple(sorted(index))] for index in sums}


def loss(units: Sequence[Unit], frame: Frame, clip: Fraction) -> Fraction:
    """How far truncation and `SAFETY` take an entry from `unquantised`."""
    n_units = len(units)
    widest = root(max(sum(entry**2 for entry in row) for row in frame)).high
    step = root_step(root(clip, 3), min(CUBE_BITS, room(n_units, 3)))
    rows = 3 * len(frame) * widest**2 * row_step_of(frame, n_units)
    masses = 2 * len(frame) * widest**3 * finest_step(Fraction(n_units, 2))
    lost = 2 * n_units * clip * (1 - SAFETY)
    for share in [share for document, share in documents(units) if length(document) >= SHORTEST]:
        largest = root(clip * share, 3).high
        lost += 3 * step * largest**2 + 3 * step**2 * largest + step**3 + rows + masses
    return lost

"""Where noise goes (docs/proofs/lattice.md): one variable for p entries equal by symmetry, of width σ/√p."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

Index = tuple[int, ...]


def places(kind: str, shape: Sequence[int]) -> list[list[Index]]:
    """Indices in the order in which they are drawn, in groups of one width: for 1, 2 or for 1, 3, 6 entries."""
    if not kind.startswith("symmetric"):
        return [list(itertools.product(*map(range, shape)))]
    ordered = list(itertools.combinations_with_replacement(range(shape[0]), len(shape)))
    groups = [[index for index in ordered if len(set(index)) == distinct] for distinct in range(1, len(shape) + 1)]
    return [group for group in groups if group]


def copies(index: Index, kind: str) -> set[Index]:
    """The entries that one variable stands for."""
    return set(itertools.permutations(index)) if kind.startswith("symmetric") else {index}


def noise(kind: str, shape: Sequence[int], drawn: Sequence[Sequence[int]]) -> dict[Index, int]:
    """The noise on every entry, from draws in the order of `places`."""
    found = {}
    for group, values in zip(places(kind, shape), drawn, strict=True):
        for index, value in zip(group, values, strict=True):
            found |= dict.fromkeys(copies(index, kind), value)
    return found

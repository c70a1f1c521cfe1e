"""Totals in tiles: a sum of any size travels as numbered pieces of at most `TILE_ENTRIES` integers.

The arrays of a sum are laid end to end and cut. A tile of zeros is not sent. Tiles of the same number add up, in any
order, so a tree of machines can add them without any one of them holding a whole sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from private_topics.sums.unit_sums import Totals

TILE_ENTRIES = 2**19
TILE_BYTES = 8 * TILE_ENTRIES
"""No message that carries sums is longer, but for its envelope of less than a kilobyte."""

Tile = tuple[int, np.ndarray]


def cut(totals: Totals, tile_entries: int = TILE_ENTRIES) -> Iterator[Tile]:
    """The tiles of `totals` that are not all zero, in order."""
    for number in range(count(totals, tile_entries)):
        start = number * tile_entries
        pieces = [flat[first:last] for flat, first, last in _spans(totals, start, start + tile_entries)]
        if any(piece.any() for piece in pieces):
            yield number, np.concatenate(pieces)


def put_together(tiles: Iterable[Tile], totals: Totals, tile_entries: int = TILE_ENTRIES) -> None:
    """Write the tiles into `totals`, which were zero."""
    for number, values in tiles:
        at = 0
        for flat, first, last in _spans(totals, number * tile_entries, number * tile_entries + len(values)):
            flat[first:last] = values[at : at + last - first]
            at += last - first


def count(totals: Totals, tile_entries: int = TILE_ENTRIES) -> int:
    """How many tiles there are, those of zeros included."""
    return -(-sum(array.size for array in totals) // tile_entries)


def _spans(totals: Totals, start: int, stop: int) -> Iterator[tuple[np.ndarray, int, int]]:
    """The arrays that entries `start:stop` of all of them, end to end, fall into, with the entries of each."""
    before = 0
    for array in totals:
        first, last = max(start - before, 0), min(stop - before, array.size)
        if first < last:
            yield array.reshape(-1), first, last
        before += array.size

"""Cut and put together, totals are what they were; no tile is larger than stated, and zeros stay at home."""

from __future__ import annotations

import pickle
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from private_topics.engines.spark.corpus import TILE_BYTES, TILE_ENTRIES, cut_tiles, n_tiles, put_together

SHAPES = st.lists(st.lists(st.integers(0, 7), max_size=3).map(tuple), max_size=5)


def totals_of(shapes, seed):
    generator = np.random.default_rng(seed)
    made = [generator.integers(-(2**62), 2**62, shape) for shape in shapes]
    return tuple(np.where(generator.random(array.shape) < 0.7, 0, array).astype(np.int64) for array in made)


@given(shapes=SHAPES, size=st.integers(1, 9), seed=st.integers(0, 2**32 - 1))
def test_cut_and_put_together_again(shapes, size, seed):
    totals = totals_of(shapes, seed)
    cut = list(cut_tiles(totals, size))
    assert all(0 < len(values) <= size and values.any() for _, values in cut)
    assert all(0 <= number < n_tiles(totals, size) for number, _ in cut)
    again = tuple(np.zeros_like(array) for array in totals)
    put_together(reversed(cut), again, size)
    assert all(np.array_equal(one, other) for one, other in zip(totals, again, strict=True))


@given(shapes=SHAPES, size=st.integers(1, 9), seed=st.integers(0, 2**32 - 1))
def test_tiles_add_up_like_their_totals(shapes, size, seed):
    first, second = totals_of(shapes, seed), totals_of(shapes, seed + 1)
    with np.errstate(over="ignore"):
        added = dict(cut_tiles(first, size))
        for number, values in cut_tiles(second, size):
            added[number] = add(added[number], values) if number in added else values
        together = tuple(np.zeros_like(array) for array in first)
        put_together(added.items(), together, size)
        assert all(np.array_equal(one + two, sum_) for one, two, sum_ in zip(first, second, together, strict=True))


@pytest.mark.parametrize("entries", [1, TILE_ENTRIES, TILE_ENTRIES + 1, 3 * TILE_ENTRIES - 1])
def test_a_message_is_no_longer_than_stated(entries):
    totals = (np.ones(1, np.int64), np.ones(entries, np.int64))
    cut = list(cut_tiles(totals))
    assert len(cut) == n_tiles(totals) == -(-(entries + 1) // TILE_ENTRIES)
    assert max(len(pickle.dumps(tile)) for tile in cut) < TILE_BYTES + 1_000

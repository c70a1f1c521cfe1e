"""What is assembled in fine steps is linear in the sums to the last bit, and within the allowance of the moments."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from private_topics.sums.fine import LIMB, ROWS, _blocks, _sum_of_products, in_fine_steps
from private_topics.sums.frame_second import ClippedFrameSecond
from private_topics.sums.quantised import assembly_error
from private_topics.sums.unit_sums import ClippedFrameMoments

UNITS, STEP = 5000, 2.0**-20


def frame_of(rows, columns, scale=1.0, uneven=0.0):
    """A frame whose rows differ in length by powers of ten."""
    generator = np.random.default_rng(3)
    frame = generator.normal(size=(rows, columns)) * 10.0 ** (uneven * generator.random((rows, 1)))
    return scale * frame


def clipped_in(frame, clip):
    words = np.arange(len(frame))
    second = ClippedFrameSecond(words, frame, UNITS, clip, STEP, 1.0)
    return second, ClippedFrameMoments(words, frame, UNITS, clip, clip, STEP, STEP)


def full_totals(unit_sum, seed):
    """Sums as large as they can be: masses and rows up to 2^59 in all, squares and cubes up to 2^61."""
    generator, totals = np.random.default_rng(seed), unit_sum.zeros()
    for total in totals[:-1]:
        if total.ndim == 2 and total.shape[0] == total.shape[1]:
            values = generator.integers(-(2**61), 2**61, total.shape)
            total[...] = np.triu(values) + np.triu(values, 1).T
        elif total.shape[0] == unit_sum.frame.shape[1]:
            total[...] = generator.integers(-(2**61), 2**61, total.shape)
        else:
            largest = 2**59 // len(unit_sum.frame)
            low = 0 if total.ndim == 1 or total.shape[0] == 2 else -largest
            total[...] = generator.integers(low, largest, total.shape)
    return totals


def moments_of(unit_sum, totals):
    """The second and third moment as fractions, in the true frame, by sorted indices."""
    frame = [[Fraction(entry) for entry in row] for row in unit_sum.frame.tolist()]
    sums, rank = unit_sum.sums(totals), unit_sum.frame.shape[1]
    square = getattr(sums, "inner", sums)
    found = {}
    for a in range(rank):
        for b in range(a, rank):
            pairs = [row[a] * row[b] for row in frame]
            mass = sum(m * pair for m, pair in zip(square.mass.tolist(), pairs, strict=True))
            found[a, b] = int(square.square[a, b]) * Fraction(square.square_step) ** 2
            found[a, b] -= mass * Fraction(square.mass_step)
    if not hasattr(sums, "cube"):
        return found
    pair = {places: index for index, places in enumerate(zip(*np.triu_indices(rank), strict=True))}
    for a in range(rank):
        for b in range(a, rank):
            for c in range(b, rank):
                value = int(sums.cube[a, pair[b, c]]) * Fraction(sums.cube_step) ** 3
                for one, two, three in ((a, b, c), (a, c, b), (b, c, a)):
                    rows = zip(frame, sums.cross[:, three], strict=True)
                    mixed = sum(row[one] * row[two] * int(r) for row, r in rows)
                    value -= mixed * Fraction(sums.row_step)
                triple = sum(row[a] * row[b] * row[c] * int(m) for row, m in zip(frame, sums.mass[1], strict=True))
                found[a, b, c] = value + 2 * triple * Fraction(sums.mass_step)
    return found


def products_round(unit_sum, totals):
    """What float64 products of two entries of the frame lose; of clipped documents below 2^-52 units × clip."""
    sums, norms = unit_sum.sums(totals), np.sqrt((unit_sum.frame**2).sum(axis=1))
    rows = np.sqrt((sums.cross.astype(float) ** 2).sum(axis=1)) * sums.row_step
    return float(3 * (norms**2 * rows).sum() + 2 * (norms**3 * sums.mass[1]).sum() * sums.mass_step) * 2.0**-53


def in_fractions(fine):
    return {
        tuple(place): Fraction(value) * Fraction(STEP) / 2**fine.bits
        for place, value in zip(np.transpose(fine.places).tolist(), fine.values, strict=True)
    }


@pytest.mark.parametrize(
    ("frame", "clip"),
    [
        (frame_of(40, 3), 1.0),
        (frame_of(40, 3), 1e-3),
        (frame_of(2 * ROWS + 7, 2), 0.1),
        (frame_of(40, 3, scale=1e-3, uneven=4.0), 1e-4),
        (frame_of(40, 3, scale=1e6, uneven=4.0), 1e8),
        (np.zeros((4, 2)), 1.0),
    ],
    ids=["plain", "small clip", "blocks", "uneven", "large", "zero"],
)
@pytest.mark.parametrize("which", [0, 1], ids=["second", "both"])
def test_within_the_allowance_of_the_moments(frame, clip, which):
    unit_sum = clipped_in(frame, clip)[which]
    totals = full_totals(unit_sum, seed=1)
    fine = in_fine_steps(unit_sum.moments if which else unit_sum.second_alone)(totals)
    exact = moments_of(unit_sum, totals)
    for one in fine:
        found = in_fractions(one)
        counted = {place: len(set(permutations(place))) for place in found}
        square = sum(counted[place] * (found[place] - exact[place]) ** 2 for place in found)
        allowed = assembly_error(len(frame)) * UNITS * clip
        more = products_round(unit_sum, totals) if len(one.places) == 3 else 0.0
        assert math.sqrt(square) <= allowed / 4 + more


@pytest.mark.parametrize("which", [0, 1], ids=["second", "both"])
def test_linear_to_the_last_bit(which):
    unit_sum = clipped_in(frame_of(ROWS + 100, 3, uneven=3.0), 1e-2)[which]
    derived = in_fine_steps(unit_sum.moments if which else unit_sum.aggregates)
    parts = [tuple(total // 4 for total in full_totals(unit_sum, seed)) for seed in range(3)]
    whole = derived(tuple(sum(totals) for totals in zip(*parts, strict=True)))
    for one, *some in zip(whole, *map(derived, parts), strict=True):
        if isinstance(one, tuple):
            assert {part.bits for part in some} == {one.bits}
            one, some = one.values, [part.values for part in some]
        assert np.array_equal(one, sum(some))


def test_everything_else_is_left_as_it_is():
    unit_sum = clipped_in(frame_of(4, 2), 1.0)[1]

    def other(totals):
        return totals

    assert in_fine_steps(other) is other
    assert in_fine_steps(unit_sum.zeros) == unit_sum.zeros


def test_the_largest_limbs_of_a_block_add_up_exactly():
    """Of as many rows as a block may have: one more would leave what float64 holds."""
    largest, rows = 2**LIMB - 1, 3 * ROWS + 1
    column = np.full((rows, 1), float(largest))
    low, *high = (int(digit[0, 0]) for digit in _sum_of_products(([some], [some]) for (some,) in _blocks(column)))
    assert low + sum(digit << LIMB * place for place, digit in enumerate(high, start=1)) == rows * largest**2

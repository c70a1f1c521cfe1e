"""The integer sums inside a frame fit 64 bits for any number of units: what one unit adds leaves room for all."""

from __future__ import annotations

import numpy as np
import pytest

from private_topics.errors import InputError
from private_topics.sums.quantised import (
    SAFETY,
    QuantisedFrameSums,
    QuantisedSecond,
    assembly_error,
    finest_step,
    rounded,
)
from private_topics.sums.unit_sums import clip_factors, unit_weights


@pytest.mark.parametrize("n_units", [1, 2**16, 2**20, 2**20 + 1, 2**25, 2**31])
def test_no_number_of_units_overflows(n_units: int) -> None:
    """One unit of the largest norm that a clip lets pass, as many times as there are units."""
    for clip in (1e-6, 0.9999, 1.0, 1e6):
        second = QuantisedSecond(np.ones((1, 1)), n_units, clip)
        second.add_squares(np.full((1, 1), np.sqrt(clip)), np.ones(1))
        third = QuantisedFrameSums(np.ones((1, 1)), n_units, clip, clip)
        third._add_cubes(np.full((1, 1), np.cbrt(clip * SAFETY)))
        for total, step, bits in ((second.square, second.square_step**2, 38), (third.cube, third.cube_step**3, 36)):
            largest = int(total[0, 0])
            assert largest * n_units < 2**63
            assert 0.5 * clip < largest * step <= clip  # not coarser than it must be
            assert largest * n_units > 2**bits


@pytest.mark.parametrize("row", [0.0, 1e-9, 1.0])
def test_rows_of_the_widest_word_fit_whatever_the_others_are(row):
    """docs/proofs/tensor.md: at most 1.5 N max‖w‖ in every entry, which stays below 2^60 steps."""
    n_units, widest = 1_000, np.hypot(3e4, 4e4)
    sums = QuantisedFrameSums(np.array([[row, row], [3e4, 4e4], [row, 0.0]]), n_units, 1.0, 1.0)
    assert 2.0**58 < 1.5 * n_units * widest / sums.row_step < 2.0**60


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_one_value_that_does_not_fit_is_refused(bad):
    with pytest.raises(InputError, match="does not fit the lattice"):
        rounded([1.0, bad], 0.5)
    np.testing.assert_array_equal(rounded([1.0, -0.25, 0.25], 0.5), [2, 0, 1])


@pytest.mark.parametrize("step", [0.0, -0.5, 3.0, 0.1, np.nan, np.inf, -np.inf])
def test_a_lattice_whose_step_is_no_power_of_two_is_refused(step):
    with pytest.raises(InputError, match="must be a power of two"):
        rounded([0.0], step)


@pytest.mark.parametrize("root", [0.5, 1.0, 2.0, 3 * 2.0**-9])
def test_squares_shrink_before_they_are_truncated(root):
    """What is a whole number of steps comes out one step less: rounding up has room below the clip."""
    second = QuantisedSecond(np.ones((1, 1)), 1, root**2)
    second.add_squares(np.full((1, 1), root), np.ones(1))
    steps = root / second.square_step
    assert steps == int(steps)
    assert second.square[0, 0] == (int(steps) - 1) ** 2


@pytest.mark.parametrize("largest", [1e-9, 0.5, 0.75, 1.0, 3.0, 2.0**31, 1e12])
def test_sums_stay_below_2_to_the_60_as_the_proofs_say(largest):
    """Three bits from overflow (tensor.md), and no coarser than that."""
    assert 2.0**59 <= largest / finest_step(largest) < 2.0**60


def test_errors_of_assembly_are_those_of_the_proofs():
    """frame_second.md and tensor.md: 2^-40, or 2^-51 for each row where that is more."""
    assert [assembly_error(rows) for rows in (1, 2000, 2**11, 2**21)] == [2.0**-40, 2.0**-40, 2.0**-40, 2.0**-30]


@pytest.mark.parametrize("size", [0.0, 5e-324, 2.0**-530, 2.0**-300, 2.0**-200])
def test_no_step_is_below_2_to_the_minus_262_as_the_proof_says(size):
    for n_units in (1, 2**31):
        assert QuantisedFrameSums(np.full((3, 2), size), n_units, 1.0, 1.0).row_step >= 2.0**-262


def test_the_step_of_rows_is_that_of_the_widest():
    """However many rows there are: a coarser one would lose more of each document."""
    one, many = np.full((1, 2), 0.5), np.vstack([np.full((1000, 2), 0.4), np.full((1, 2), 0.5)])
    steps = [QuantisedFrameSums(frame, 100, 1.0, 1.0).row_step for frame in (one, many)]
    assert steps == [finest_step(1.5 * 100 * 0.5**0.5)] * 2


def test_weights_shrink_by_the_billionth_of_the_proofs():
    """class_shares.md and features.md count on 1e-9 to cover the rounding of norms."""
    assert unit_weights(np.full(1, 4.0), np.ones(1)) * 4.0 == pytest.approx(1.0 - 1e-9, abs=1e-12)
    assert clip_factors(np.full(1, 4.0), 2.0) * 2.0 == pytest.approx(1.0 - 1e-9, abs=1e-12)

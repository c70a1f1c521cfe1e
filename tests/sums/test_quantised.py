"""The integer sums inside a frame fit 64 bits for any number of units: what one unit adds leaves room for all."""

from __future__ import annotations

import numpy as np
import pytest

from private_topics.errors import InputError
from private_topics.sums.quantised import SAFETY, QuantisedFrameSums, QuantisedSecond, rounded


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


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_one_value_that_does_not_fit_is_refused(bad):
    with pytest.raises(InputError, match="does not fit the lattice"):
        rounded([1.0, bad], 0.5)
    np.testing.assert_array_equal(rounded([1.0, -0.25, 0.25], 0.5), [2, 0, 1])

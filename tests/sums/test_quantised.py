"""The integer sums inside a frame fit 64 bits for any number of units: what one unit adds leaves room for all."""

from __future__ import annotations

import numpy as np
import pytest

from private_topics.sums.quantised import SAFETY, QuantisedFrameSums, QuantisedSecond


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

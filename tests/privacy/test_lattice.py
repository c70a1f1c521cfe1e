"""Steps are public powers of two, truncation never grows a norm, rounding commutes with integer shifts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from private_topics.errors import InputError
from private_topics.privacy.lattice import (
    LARGEST_INTEGER,
    coarse_enough,
    step_for,
    widened,
)
from private_topics.privacy.randomness import LARGEST_RATIO
from private_topics.sums.quantised import rounded, truncated

values = arrays(np.float64, 20, elements=st.floats(-1e3, 1e3))


@given(values, st.integers(-30, 5))
def test_truncation_never_grows_an_entry(vector: np.ndarray, exponent: int) -> None:
    step = 2.0**exponent
    quantised = truncated(vector, step) * step
    assert np.all(np.abs(quantised) <= np.abs(vector))
    assert np.all(np.abs(quantised - vector) < step)


def test_rounding_to_nearest_would_grow_a_norm() -> None:
    """Why contributions are truncated: 200 equal entries of a unit vector on a coarse grid."""
    vector = np.full(200, 200**-0.5)
    step = 2.0**-3
    assert np.linalg.norm(rounded(vector, step) * step) > 1.5
    assert np.linalg.norm(truncated(vector, step) * step) <= 1.0


@given(values, st.integers(-(10**6), 10**6))
def test_rounding_half_up_commutes_with_integer_shifts(vector: np.ndarray, shift: int) -> None:
    vector = np.round(vector * 2**20) / 2**20  # so that the shift itself is exact
    assert np.array_equal(rounded(vector + shift, 1.0), rounded(vector, 1.0) + shift)


def test_half_to_even_does_not_commute() -> None:
    halves = np.array([0.5, 1.5, 2.5])
    assert not np.array_equal(np.rint(halves + 1), np.rint(halves) + 1)
    assert rounded(halves, 1.0).tolist() == [1, 2, 3]
    assert rounded([-0.5, np.nextafter(0.5, 0), 2.0**52 + 1], 1.0).tolist() == [0, 0, 2**52 + 1]


@given(st.floats(1e-9, 1e9), st.integers(1, 10**9), st.floats(1e-3, 1e12))
def test_step_is_a_power_of_two_that_fits(sigma: float, n_units: int, largest_sum: float) -> None:
    if largest_sum > sigma * 2.0**59:
        return
    step = step_for(sigma, n_units, largest_sum)
    assert math.frexp(step)[0] == 0.5
    assert largest_sum / step <= LARGEST_INTEGER
    assert step <= sigma
    if largest_sum < sigma * 2.0**30:
        assert 2.0**20 <= sigma / step < 2.0**29
        if n_units <= 2**18:
            assert n_units * step <= sigma / 1000


def test_the_finest_step_is_the_one_that_is_documented() -> None:
    """sigma / 2^(10 + log2 n_units), down to sigma / 2^28 at 262,144 units."""
    for n_units, bits in ((1, 20), (2**10, 20), (2**17, 27), (2**18, 28), (2**18 + 1, 28), (10**9, 28)):
        assert step_for(1.0, n_units, 1.0) == 2.0**-bits


def test_a_sum_of_as_much_noise_as_the_message_allows_has_a_step() -> None:
    assert step_for(1.0, 1, 2.0**60) == 1.0
    with pytest.raises(InputError, match=r"more than 2\*\*60 times"):
        step_for(1.0, 1, 2.0**61)


@pytest.mark.parametrize("arguments", [(0.0, 10, 1.0), (math.nan, 10, 1.0), (1.0, 0, 1.0), (1.0, 1, 2.0**70)])
def test_impossible_lattices_are_refused(arguments: tuple[float, int, float]) -> None:
    with pytest.raises(InputError):
        step_for(*arguments)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 2.0**62])
def test_values_off_the_lattice_are_refused_without_naming_them(bad: float) -> None:
    with pytest.raises(InputError) as caught:
        rounded([1.0, bad], 1.0)
    assert str(bad) not in str(caught.value)


@pytest.mark.parametrize("step", [0.0, -0.5, 0.3, np.nan, np.inf])
def test_steps_must_be_powers_of_two(step: float) -> None:
    with pytest.raises(InputError, match="power of two"):
        rounded([1.0], step)


@given(values, values)
def test_widened_covers_a_rounded_aggregate(first: np.ndarray, second: np.ndarray) -> None:
    step = 0.25
    distance = float(np.linalg.norm(first - second))
    moved = np.linalg.norm((rounded(first, step) - rounded(second, step)) * step)
    assert moved <= widened(distance, step=step, entries=first.size)
    assert widened(1.0, float_error=0.125) >= 1.25


@given(st.floats(1e-300, 1e300))
def test_a_coarse_step_leaves_noise_that_can_be_drawn(sigma: float) -> None:
    step = coarse_enough(sigma)
    assert math.frexp(step)[0] == 0.5
    assert LARGEST_RATIO / 8 <= sigma / step < LARGEST_RATIO / 4

"""Bisection returns a point that was tried and holds, and a search a value that is enough."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from private_topics.bisection import last_that_holds, smallest


def within(tolerance):
    return lambda low, high: high - low > tolerance


@given(st.floats(0.0, 100.0), st.booleans())
def test_the_last_point_holds_and_the_limit_is_beside_it(limit, upwards):
    tried = {0.0, 100.0}

    def holds(point):
        tried.add(point)
        return point <= limit if upwards else point >= limit

    good, bad = (0.0, 100.0) if upwards else (100.0, 0.0)
    if holds(bad):
        return
    found = last_that_holds(holds, good, bad, within(1e-9))
    assert holds(found)
    assert found in tried
    assert abs(found - limit) <= 1e-9


def test_ends_that_are_close_enough_are_left_alone():
    assert last_that_holds(lambda point: 1 / 0, 2.0, 2.5, within(1.0)) == 2.0


@pytest.mark.parametrize("most", range(6))
def test_whole_numbers(most):
    found = last_that_holds(lambda n: n <= most, 0, 6, within(1), lambda low, high: (low + high) // 2)
    assert found == most


def test_the_search():
    assert smallest(lambda value: value >= 1234.0, 3.0) == pytest.approx(1234, rel=0.02)
    assert smallest(lambda value: value >= 1234.0, 3.0) >= 1234.0
    assert smallest(lambda value: False, 3.0) == math.inf
    assert smallest(lambda value: True, 3.0) == 3.0


def test_the_search_goes_up_to_the_largest_value_by_doubling():
    assert smallest(lambda value: value >= 8.0, 1.0, largest=8.0) == 8.0
    assert smallest(lambda value: value >= 8.0, 1.0, largest=7.9) == math.inf

"""Where a released histogram of norms suggests to clip: `best_clip` is post-processing, and total."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from private_topics.sums.norms import (
    BINS,
    CLEAR,
    EDGES,
    UNCLEAR_QUANTILE,
    _quantile,
    add_norms,
    best_clip,
    clear_bins,
)

SPREAD = np.r_[np.zeros(20), 10.0 * np.arange(1, 11), 10.0 * np.arange(10, 0, -1), np.zeros(26)]
TOP, BOTTOM = 39, 20  # the bins of `SPREAD` that count


def test_the_histogram_of_these_tests_has_all_bins():
    assert len(SPREAD) == BINS + 2
    np.testing.assert_array_equal(np.flatnonzero(SPREAD), np.arange(BOTTOM, TOP + 1))


def test_every_norm_has_a_bin_and_the_outer_ones_take_the_rest():
    inner = np.sqrt(EDGES[:-1] * EDGES[1:])
    norms = np.r_[5e-324, EDGES[0] / 2, inner, EDGES[-1], 1e300, np.inf, 0.0]
    counts = np.zeros(BINS + 2, np.int64)
    add_norms(norms, np.ones(len(norms)), 1.0, counts)
    np.testing.assert_array_equal(counts, [2, *[1] * BINS, 3])


@pytest.mark.parametrize("place", [1, 2, 30, BINS - 1, BINS])
def test_every_inner_bin_can_stand_out(place):
    histogram = np.zeros(BINS + 2)
    histogram[[0, place, -1]] = 100.0
    np.testing.assert_array_equal(clear_bins(histogram, 1.0), [place - 1])
    assert best_clip(histogram, 1.0, 1.0, 0.1) == EDGES[place]


def test_clips_rise_as_noise_falls():
    noises = np.geomspace(1e8, 1e-8, 60)
    clips = [best_clip(SPREAD, 0.1, noise, 0.1) for noise in noises]
    assert (np.diff(clips) >= 0).all()
    assert len(set(clips)) > 8
    assert clips[0] == EDGES[BOTTOM]  # all noise: the lowest bin that counts
    assert clips[-1] == EDGES[TOP]  # none: the highest, where nothing is clipped


def test_clips_fall_as_distortion_matters_less():
    clips = [best_clip(SPREAD, 0.1, 1.0, distortion) for distortion in np.geomspace(10.0, 1e-6, 40)]
    assert (np.diff(clips) <= 0).all()
    assert clips[0] > clips[-1]


def test_more_units_of_the_same_norms_are_clipped_less():
    clips = [best_clip(SPREAD * times, 0.1, 100.0, 0.1) for times in 10.0 ** np.arange(8)]
    assert (np.diff(clips) >= 0).all()
    assert clips[0] < clips[-1] == EDGES[TOP]


def test_bins_within_their_noise_do_not_count():
    noisy = SPREAD.copy()
    noisy[60] = 0.9 * CLEAR * 5.0
    assert best_clip(noisy, 5.0, 1e-9, 0.1) == best_clip(SPREAD, 5.0, 1e-9, 0.1) < EDGES[60]
    noisy[60] = 1.1 * CLEAR * 5.0
    assert best_clip(noisy, 5.0, 1e-9, 0.1) == EDGES[60]


def test_without_a_bin_that_counts_the_clip_is_low():
    assert best_clip(SPREAD, 1e3, 1.0, 0.1) == _quantile(SPREAD, UNCLEAR_QUANTILE) < _quantile(SPREAD, 0.5)


@pytest.mark.parametrize("fill", [-1e9, -1.0, 0.0, 1e-300, 1e15])
@pytest.mark.parametrize("noise", [1e-12, 1.0, 1e12])
def test_flat_and_negative_histograms_have_a_clip(fill, noise):
    assert EDGES[1] <= best_clip(np.full(BINS + 2, fill), 1.0, noise, 0.1) <= EDGES[BINS]


numbers = st.one_of(st.floats(-1e15, 1e15), st.sampled_from([0.0, -1e15, 1e15, 3.0]))


@given(
    arrays(np.float64, BINS + 2, elements=numbers), st.floats(1e-6, 1e9), st.floats(1e-9, 1e9), st.floats(1e-6, 10)
)
def test_every_finite_histogram_has_a_clip(histogram, sigma, noise, distortion):
    assert best_clip(histogram, sigma, noise, distortion) in EDGES[1:]

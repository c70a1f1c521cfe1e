"""`Σ s·phi2 F` on all words: against its formula, exact in every order, and within the sensitivity it declares."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sum_support import (
    LARGEST_COUNT,
    Unit,
    extreme_parts,
    extreme_units,
    farther,
    length_of,
    part_of,
    random_units,
    slice_of,
    total_of,
)

from private_topics.privacy.lattice import step_for
from private_topics.releases.cross_moment import CROSS_MOMENT
from private_topics.sums.cross_moment import ClippedCross

N_WORDS, FINE = 12, 2.0**-40
SIGNS = np.where(np.arange(N_WORDS) % 2, -100.0, 1.0)


def frames() -> dict[str, np.ndarray]:
    """A row for each word: as the fit makes them, of opposite signs, of every size, with rows of zero."""
    normal = np.random.default_rng(1).normal(size=(N_WORDS, 3))
    return {
        "a constant and directions": np.hstack([np.ones((N_WORDS, 1)), normal]),
        "opposite": SIGNS[:, None],
        "balanced": np.sign(SIGNS)[:, None],
        "every size": normal * 10.0 ** np.linspace(-6, 6, N_WORDS)[:, None],
        "zero rows": normal * (np.arange(N_WORDS) % 3 > 0)[:, None],
    }


FRAMES = pytest.mark.parametrize("frame", frames().values(), ids=frames())
CLIPS = pytest.mark.parametrize("clip", [1e-3, 0.5, 1e4])


def by_formula(units: list[Unit], frame: np.ndarray, clip: float) -> np.ndarray:
    """In float64, document by document, with `phi2` written out."""
    part = part_of(units, len(frame))
    total = np.zeros(frame.shape)
    for counts, length, share in zip(part.block.toarray().astype(float), part.lengths, part.share, strict=True):
        if length >= 3:
            one = (np.outer(counts, counts) - np.diag(counts)) @ frame / (length * (length - 1.0))
            norm = np.linalg.norm(one)
            total += share * min(1.0, clip / norm if norm else 1.0) * one
    return total


@CLIPS
@FRAMES
def test_the_sum_is_that_of_the_formula(frame, clip):
    units = random_units(60, N_WORDS)
    (total,) = total_of(ClippedCross(frame, clip, FINE), part_of(units, N_WORDS))
    expected = by_formula(units, frame, clip)
    assert np.abs(expected).max() > 0
    np.testing.assert_allclose(total * FINE, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


@FRAMES
def test_order_blocks_and_threads_do_not_matter(frame):
    cross, part = ClippedCross(frame, 0.5, FINE), part_of(random_units(80, N_WORDS), N_WORDS)
    (whole,) = total_of(cross, part)
    order = np.random.default_rng(0).permutation(len(part.lengths))
    pieces = [slice_of(part, rows) for rows in np.split(order, [1, 8, 40])]
    np.testing.assert_array_equal(total_of(cross, *pieces)[0], whole)
    np.testing.assert_array_equal(total_of(cross, part, threads=2)[0], whole)


@pytest.mark.parametrize("step", [FINE, 2.0**-6])
@CLIPS
@FRAMES
def test_no_neighbours_exceed_the_sensitivity(frame, clip, step):
    """In units of the clip the coarser lattice has steps of a sixty-fourth: rounding up would show."""
    cross = ClippedCross(frame, clip, step * 2.0 ** np.floor(np.log2(clip)))
    sums = [total_of(cross, part)[0] for part in extreme_parts(N_WORDS)]
    for one in sums:
        assert not farther(one, np.zeros_like(one), cross.step, clip)
    for one, other in itertools.combinations(sums, 2):
        assert not farther(one, other, cross.step, CROSS_MOMENT.sensitivity * clip)


def test_the_sensitivity_is_needed():
    """The same row up and down: pairs of one word, and the same word beside a few that outweigh it."""
    frame, clip = frames()["opposite"], 0.1
    cross = ClippedCross(frame, clip, FINE)
    up, down = (total_of(cross, part_of([(text,)], N_WORDS))[0] for text in ({0: 1000}, {0: 1000, 1: 20}))
    assert up[0, 0] > 0 > down[0, 0]
    assert farther(up, down, FINE, 0.999 * CROSS_MOMENT.sensitivity * clip)
    assert farther(up, down, FINE, 2.0**0.5 * clip)  # that of non-negative arrays


@pytest.mark.parametrize("size", [1, 2, 1000, 100_000])
def test_a_user_of_any_number_of_documents_has_the_weight_of_one(size):
    frame, clip, step = frames()["opposite"], 0.1, 2.0**-44
    user = tuple({0: 1000, 2 * (n % 5): 3} for n in range(size))
    (total,) = total_of(ClippedCross(frame, clip, step), part_of([user], N_WORDS))
    assert 0.99 * clip < length_of(total, step)
    assert not farther(total, np.zeros_like(total), step, clip)


@pytest.mark.parametrize("n_units", [1, 2**20, 2**25, 2**30])
@pytest.mark.parametrize("clip", [1e-6, 1.0, 1e6])
def test_units_all_alike_stay_integers_of_64_bits(n_units, clip):
    """The lattice that the fit asks for: no document's entry times the number of units leaves it."""
    step = step_for(1e-6 * clip, n_units, n_units * clip)
    cross = ClippedCross(1e9 * frames()["opposite"], clip, step)
    for text in ({0: LARGEST_COUNT}, {1: 3}, dict.fromkeys(range(N_WORDS), LARGEST_COUNT)):
        (total,) = total_of(cross, part_of([(text,)], N_WORDS))
        largest = int(np.abs(total).max())
        assert largest * max(n_units, 2**10) > 2**20
        assert largest * n_units < 2**61


def test_short_documents_and_frames_of_zero_contribute_nothing():
    part = part_of([({},), ({0: 2},), ({0: 1, 1: 1},)], N_WORDS)
    assert not total_of(ClippedCross(frames()["opposite"], 1.0, FINE), part)[0].any()
    part = part_of(extreme_units(N_WORDS), N_WORDS)
    assert not total_of(ClippedCross(np.zeros((N_WORDS, 2)), 1.0, FINE), part)[0].any()

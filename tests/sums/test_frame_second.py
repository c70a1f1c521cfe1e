"""The second moment inside a public frame with a row for all other words: formula, order, sensitivity, integers."""

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

from private_topics.privacy.lattice import step_for, widened
from private_topics.releases.moments import CENTRED_SECOND
from private_topics.sums import frame_second
from private_topics.sums.frame_second import (
    ClippedFrameSecond,
    PairNormHistograms,
    deviation_norms,
    deviations_from,
)
from private_topics.sums.quantised import ASSEMBLY_ERROR, MOST_ROWS, FrameNorms, assembly_error
from private_topics.sums.unit_sums import ClippedFrameMoments, FrameNormHistograms, on_rows

N_WORDS, WORDS = 12, np.arange(8)
FINE = 2.0**-40


def frames() -> dict[str, np.ndarray]:
    """A row for each of the words, and one for all others."""
    generator = np.random.default_rng(2)
    normal = generator.normal(size=(len(WORDS), 3))
    rows = np.vstack([normal, np.zeros(3)]) - np.full(len(WORDS), 0.1) @ normal
    return {
        "deviations": deviations_from(generator.dirichlet(np.ones(N_WORDS))[: len(WORDS)]),
        "a constant and directions": np.hstack([np.ones((len(rows), 1)), rows]),
        "parallel": np.array([1, -1, 1, -1, 0.5, 1, -1, 1, -1])[:, None],
        "one heavy row": rows * np.where(np.arange(9) == 2, 100.0, 1.0)[:, None],
        "heavy others": rows * np.where(np.arange(9) == 8, 100.0, 1.0)[:, None],
    }


FRAMES = pytest.mark.parametrize("frame", frames().values(), ids=frames())


def clipped_of(frame: np.ndarray, clip: float, n_units: int = 1, step: float = FINE) -> ClippedFrameSecond:
    return ClippedFrameSecond(WORDS, frame, n_units, clip, step, FINE)


def on_every_word(frame: np.ndarray) -> np.ndarray:
    rows = np.tile(frame[-1], (N_WORDS, 1))
    rows[WORDS] = frame[:-1]
    return rows


def by_formula(units: list[Unit], frame: np.ndarray, clip: float, order: int) -> tuple[np.ndarray, float]:
    """The clipped moment and the sum of clip factors in float64, `phi2` or `phi3` written out inside the frame."""
    rows, rank = on_every_word(frame), frame.shape[1]
    total, factors, part = np.zeros((rank,) * order), 0.0, part_of(units, N_WORDS)
    for counts, length, share in zip(part.block.toarray().astype(float), part.lengths, part.share, strict=True):
        if length < 3:
            continue
        y, size = rows.T @ counts, np.linalg.norm(rows, axis=1)
        spread, length_of_y = counts @ size**2, np.linalg.norm(y)
        pairs = (rows.T * counts) @ rows
        if order == 2:
            one, scale = np.outer(y, y) - pairs, length * (length - 1.0)
            bound = np.hypot(length_of_y**2, spread) / scale
        else:
            mixed = pairs[:, :, None] * y
            placed = mixed + mixed.transpose(0, 2, 1) + mixed.transpose(2, 1, 0)
            triple = np.einsum("w,wa,wb,wc->abc", counts, rows, rows, rows)
            one, scale = np.einsum("a,b,c->abc", y, y, y) - placed + 2 * triple, length * (length - 1) * (length - 2)
            bound = (length_of_y**3 + 3 * length_of_y * spread + 2 * (counts @ size**3)) / scale
        factor = min(1.0, clip / bound)
        total += share * factor * one / scale
        factors += share * factor
    return total, factors


@pytest.mark.parametrize("part_of_largest", [0.01, 1.01])
@FRAMES
def test_the_sums_are_those_of_the_formulas(frame, part_of_largest):
    """Loosely clipped and tightly, with several documents to a unit; both sums that know the second moment."""
    units = random_units(60, N_WORDS)
    part = part_of(units, N_WORDS)
    norms = FrameNorms.of(on_rows(part, WORDS, frame), part.lengths, frame)
    clips = [part_of_largest * float(bound.max()) for bound in (norms.second_bound(), norms.third_bound())]
    both = ClippedFrameMoments(WORDS, frame, len(units), *clips, FINE, FINE, FINE)
    inside = both.sums(total_of(both, part))
    clipped = clipped_of(frame, clips[0], len(units))
    totals = total_of(clipped, part)
    second, factors = by_formula(units, frame, clips[0], 2)
    third, _ = by_formula(units, frame, clips[1], 3)
    for found, expected, clip in (
        (clipped.sums(totals).assembled(), second, clips[0]),
        (inside.second(), second, clips[0]),
        (inside.third(), third, 1e2 * clips[1]),  # on a coarser grid: 14 bits
    ):
        np.testing.assert_allclose(found, expected, atol=1e-5 * clip * len(units))
        assert np.abs(expected).max() > 1e-3 * clips[0]
    assert totals[2][0] * FINE == pytest.approx(factors, rel=1e-6)


@FRAMES
def test_order_blocks_and_threads_do_not_matter(frame, monkeypatch):
    clipped, part = clipped_of(frame, 0.05, 80), part_of(random_units(80, N_WORDS), N_WORDS)
    whole = total_of(clipped, part)
    order = np.random.default_rng(0).permutation(len(part.lengths))
    pieces = [slice_of(part, rows) for rows in np.split(order, [1, 8, 40])]
    others = [total_of(clipped, *pieces), total_of(clipped, part, threads=2)]
    monkeypatch.setattr(frame_second, "DOCUMENTS_AT_ONCE", 7)
    others.append(total_of(clipped, part))
    for other in others:
        for one, expected in zip(other, whole, strict=True):
            np.testing.assert_array_equal(one, expected)


def declared(clip: float, n_units: int, step: float, rank: int) -> float:
    """As `ask_moment` has it."""
    sensitivity = CENTRED_SECOND.sensitivity * clip
    return widened(sensitivity, float_error=ASSEMBLY_ERROR * n_units * clip, step=step, entries=rank**2)


@pytest.mark.parametrize("clip", [1e-6, 1e-3, 0.05, 1e4])
@FRAMES
def test_no_neighbours_exceed_the_sensitivity(frame, clip):
    step, rank = FINE * 2.0 ** np.floor(np.log2(clip)), frame.shape[1]
    clipped = clipped_of(frame, clip, step=step)
    sums = [clipped.aggregates(total_of(clipped, part))[0] for part in extreme_parts(N_WORDS)]
    for one in sums:
        assert not farther(one, np.zeros_like(one), step, clip * (1 + ASSEMBLY_ERROR) + step * rank)
    for one, other in itertools.combinations(sums, 2):
        assert not farther(one, other, step, declared(clip, 1, step, rank))


def test_the_sensitivity_is_needed():
    """Documents of two words in equal parts are nothing but spread, those of one word nothing but deviation."""
    frame, clip = deviations_from(np.array([0.5, 0.5])), 0.1
    clipped = ClippedFrameSecond(np.arange(2), frame, 1, clip, FINE, FINE)
    up, down = (clipped.aggregates(total_of(clipped, part_of([(text,)], 3)))[0] for text in ({0: 1000}, {0: 2, 1: 2}))
    assert np.trace(up) > 0 > np.trace(down)
    assert farther(up, down, FINE, 0.999 * CENTRED_SECOND.sensitivity * clip)
    assert not farther(up, down, FINE, declared(clip, 1, FINE, 2))


@pytest.mark.parametrize("text", [{0: 1, 2: 2}, {0: 2, 2: 1}, {2: 3}, {2: LARGEST_COUNT}], ids=str)
def test_other_words_count_in_the_norm_and_in_the_sum_alike(text):
    """The row of all others is as long as that of a word: without it a norm would come out too small, or zero."""
    frame, clip = deviations_from(np.array([0.5, 0.5])), 0.01
    clipped = ClippedFrameSecond(np.arange(2), frame, 1, clip, FINE, FINE)
    (total, _) = clipped.aggregates(total_of(clipped, part_of([(text,)], 3)))
    assert 0.3 * clip < length_of(total, FINE) <= clip


@pytest.mark.parametrize("size", [1, 2, 1000, 100_000])
def test_a_user_of_any_number_of_documents_has_the_weight_of_one(size):
    clip = 0.01
    clipped = clipped_of(frames()["parallel"], clip)
    user = tuple({0: 1000, 2 + 2 * (n % 3): 3} for n in range(size))
    total, factors = clipped.aggregates(total_of(clipped, part_of([user], N_WORDS)))
    assert 0.9 * clip < length_of(total, FINE) <= clip
    assert 0 < factors[0] * FINE <= 1.0


@pytest.mark.parametrize("n_units", [1, 2**20, 2**21 + 2**17, 2**25, 2**30])
@pytest.mark.parametrize("clip", [1e-6, 1.0, 1e6])
def test_units_all_alike_stay_integers_of_64_bits(n_units, clip):
    """What one unit adds to any of the exact sums, times the number of units, fits; and the grid is not coarse."""
    clipped = clipped_of(
        1e9 * frames()["parallel"], clip, n_units, step_for(1e-6 * clip, n_units, 2 * n_units * clip)
    )
    for text in ({0: 1000}, {1: 3}, {0: 1, 1: 1, 2: 1}, dict.fromkeys(range(8, 12), LARGEST_COUNT)):
        square, mass, factors = total_of(clipped, part_of([(text,)], N_WORDS))
        for largest in (int(np.abs(array).max()) for array in (square, mass)):
            assert largest * n_units < 2**62
        assert int(factors[0]) <= 1 / FINE
    (square, *_) = total_of(clipped, part_of([({0: 1000},)], N_WORDS))
    assert int(square[0, 0]) * n_units > 2**41


def test_a_frame_of_a_thousand_columns_is_within_the_bounds():
    """As many words as the spectral stage has: the assembly errs by less than certified, against exact products."""
    n_words, n_units = 1000, 3
    centre = np.random.default_rng(5).dirichlet(np.full(n_words, 0.3))
    frame, words = deviations_from(centre), np.arange(n_words)
    units: list[Unit] = [(dict.fromkeys(range(0, n_words, 7), 3),), ({3: 10**6, n_words: 5},), ({0: 1, 5: 1, 9: 1},)]
    part = part_of(units, n_words + 1)
    clip = 0.9 * float(FrameNorms.of(on_rows(part, words, frame), part.lengths, frame).second_bound().min())
    clipped = ClippedFrameSecond(words, frame, n_units, clip, FINE, FINE)
    sums = clipped.sums(total_of(clipped, part))
    rows, mass = frame.astype(np.longdouble), sums.mass.astype(np.longdouble) * sums.mass_step
    present = np.flatnonzero(sums.mass)
    exact = sums.square * np.longdouble(sums.square_step) ** 2
    exact = exact - (rows[present].T * mass[present]) @ rows[present]
    error = float(np.linalg.norm((sums.assembled() - exact).astype(float)))
    assert error <= ASSEMBLY_ERROR * n_units * clip
    assert 0.9 * clip < np.linalg.norm(sums.assembled()) <= n_units * clip


def test_both_histograms_count_a_unit_once():
    centre = np.full(len(WORDS), 1.0 / N_WORDS)
    for unit, part in zip(extreme_units(N_WORDS), extreme_parts(N_WORDS), strict=True):
        for unit_sum in (
            PairNormHistograms(WORDS, centre, FINE),
            FrameNormHistograms(WORDS, frames()["deviations"], FINE),
        ):
            for histogram in unit_sum.aggregates(total_of(unit_sum, part)):
                assert histogram.min() >= 0
                assert histogram.sum() <= 1 / FINE, unit
    used = PairNormHistograms(WORDS, centre, FINE)
    plain, centred = used.aggregates(total_of(used, part_of([({0: 3},), ({11: 3},)], N_WORDS)))
    assert plain.sum() * FINE == 1.0  # no pair of the words in the second document
    assert centred.sum() * FINE == 2.0


def test_deviation_norms_are_about_the_bounds():
    centre = np.random.default_rng(3).dirichlet(np.ones(N_WORDS))[: len(WORDS)]
    part = part_of(random_units(60, N_WORDS), N_WORDS)
    block = part.on(WORDS)
    found = deviation_norms(block.indptr, block.words, block.counts, part.lengths, centre)
    frame = deviations_from(centre)
    bounds = FrameNorms.of(on_rows(part, WORDS, frame), part.lengths, frame).second_bound()
    np.testing.assert_allclose(found, np.where(part.lengths >= 3, bounds, 0.0), rtol=1e-9)


@pytest.mark.parametrize("rows", [1, 1_001, 2_000, 2_001, 5_000, 50_000, 2**18, MOST_ROWS])
def test_the_error_of_assembly_covers_every_number_of_rows(rows):
    """Twice gamma of rows + 6 for the second moment, gamma of rows + 12 for the third: see the proofs."""
    unit = 2.0**-53

    def gamma(operations: int) -> float:
        return operations * unit / (1.0 - operations * unit)

    assert assembly_error(rows) >= max(2.0 * gamma(rows + 6), gamma(rows + 12))
    assert (rows + 2_016) * unit < 1e-9 - 1e-10, "SAFETY covers the rounding of a norm"


def test_a_row_for_each_of_many_words():
    """A frame with more rows than any other test has: against its formula."""
    n_words, rank = 6_000, 3
    frame = np.random.default_rng(0).normal(size=(n_words, rank))
    units = [({int(word): 1 + int(word) % 3 for word in some},) for some in np.arange(n_words).reshape(-1, 40)]
    part = part_of(units, n_words)
    clip, step = 0.05, 2.0**-40
    clipped = ClippedFrameSecond(np.arange(n_words), frame, len(units), clip, step, step)
    second = clipped.aggregates(total_of(clipped, part))[0] * step
    expected = np.zeros((rank, rank))
    for counts, length in zip(part.block.toarray().astype(float), part.lengths, strict=True):
        one = (frame.T @ (np.outer(counts, counts) - np.diag(counts)) @ frame) / (length * (length - 1.0))
        y, spread = frame.T @ counts, counts @ (frame**2).sum(axis=1)
        expected += min(1.0, clip * length * (length - 1.0) / np.hypot(y @ y, spread)) * one
    np.testing.assert_allclose(second, expected, atol=1e-6)

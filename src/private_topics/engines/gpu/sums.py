"""Each unit sum on a GPU: which kernels add one slab to it. The integers are those of `sums/unit_sums.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from private_topics.engines.gpu.device import Slab, cupy, launch, module_of
from private_topics.errors import InputError
from private_topics.sums import quantised, unit_sums
from private_topics.sums.cross_moment import ClippedCross
from private_topics.sums.evidence import Agreement
from private_topics.sums.features import FeatureStatistic
from private_topics.sums.frame_second import ClippedFrameSecond, PairNormHistograms
from private_topics.sums.norms import EDGES
from private_topics.sums.quantised import PRODUCT_ROWS, SMALLEST_BOUND
from private_topics.sums.scores import WithWords
from private_topics.sums.unit_sums import (
    ClippedFrameMoments,
    ClippedPairs,
    FrameNormHistograms,
    NormedCounts,
    PairNormHistogram,
    TopicStatistic,
    UnitSum,
)

ON_HOST: tuple[type, ...] = (FeatureStatistic, WithWords, Agreement)
"""Sums without a kernel, which the code of `local` adds up."""
ROWS_AT_ONCE = 128 * PRODUCT_ROWS  # of products of up to 1,000 columns
DeviceTotals = tuple[Any, ...]
Add = Callable[[Any, Slab, DeviceTotals], None]


def adder_of(unit_sum: UnitSum) -> Add:
    """How a slab is added to this sum."""
    try:
        return _ADDERS[type(unit_sum)]
    except KeyError:
        raise InputError(f"engine='gpu' has no kernel for {type(unit_sum).__name__}. Use engine='local'.") from None


def kernel(name: str) -> Any:
    return module_of("unit_sums.cu").get_function(name)


def _add_normed_counts(wanted: NormedCounts, slab: Slab, totals: DeviceTotals) -> None:
    number, order, start, _, counts = slab.rows
    weights = cupy().empty(slab.n)
    launch(
        kernel("norm_weights"), slab.n, number, order, start, counts, slab.lengths, slab.share,
        np.float64(unit_sums.SAFETY), np.float64(wanted.step), weights,
    )  # fmt: skip
    launch(kernel("add_counts"), slab.n, *slab.rows, weights, totals[0])


def _pair_norms(slab: Slab) -> Any:
    norms = cupy().empty(slab.n)
    number, order, start, _, counts = slab.rows
    launch(kernel("pair_norms"), slab.n, number, order, start, counts, slab.lengths, norms)
    return norms


def _add_norms(norms: Any, slab: Slab, step: float, total: Any) -> None:
    edges = cupy().asarray(EDGES)
    launch(
        kernel("add_norms"), slab.n, np.int32(slab.n), norms, slab.share, np.float64(step), np.int32(len(EDGES)),
        edges, total,
    )  # fmt: skip


def _add_pair_norms(wanted: PairNormHistogram, slab: Slab, totals: DeviceTotals) -> None:
    _add_norms(_pair_norms(slab), slab, wanted.step, totals[0])


def _add_clipped_pairs(wanted: ClippedPairs, slab: Slab, totals: DeviceTotals) -> None:
    numbers = unit_sums.SAFETY, wanted.clip, wanted.step, wanted.factor_step
    weights = cupy().empty(slab.n)
    launch(
        kernel("clip_pairs"), slab.n, np.int32(slab.n), slab.lengths, slab.share, _pair_norms(slab),
        *map(np.float64, numbers), weights, totals[1],
    )  # fmt: skip
    launch(kernel("add_pairs"), 32 * slab.n, *slab.rows, weights, np.int64(len(wanted.words)), totals[0])


def project(slab: Slab, frame: np.ndarray) -> Any:
    """Counts times the frame, documents × rank."""
    xp, rank = cupy(), frame.shape[1]
    projected = xp.empty((slab.n, rank))
    by_rows = xp.asarray(np.ascontiguousarray(frame))
    launch(kernel("project"), 32 * slab.n, *slab.rows, by_rows, np.int32(rank), projected)
    return projected


@dataclass(frozen=True)
class _Inside:
    """A slab inside a frame: projections, bounds on both norms, whether a document is counted at all."""

    projected: Any
    second: Any
    third: Any
    used: Any

    @classmethod
    def of(cls, slab: Slab, frame: np.ndarray) -> _Inside:
        xp, rank = cupy(), frame.shape[1]
        projected = project(slab, frame)
        square = np.zeros(len(frame))
        for column in frame.T:  # in the order of `frame_norms`
            square += column * column
        powers = xp.asarray(square), xp.asarray(square * np.sqrt(square))
        bounds = xp.empty(slab.n), xp.empty(slab.n), xp.empty(slab.n, bool)
        launch(kernel("frame_bounds"), slab.n, *slab.rows, slab.lengths, *powers, projected, np.int32(rank), *bounds)
        return cls(projected, *bounds)


def _add_frame_norms(wanted: FrameNormHistograms, slab: Slab, totals: DeviceTotals) -> None:
    inside = _Inside.of(slab, wanted.frame)
    for row, bound in enumerate((inside.second, inside.third)):
        _add_norms(bound, slab, wanted.step, totals[0][row])


def _add_pair_norm_histograms(wanted: PairNormHistograms, slab: Slab, totals: DeviceTotals) -> None:
    _add_norms(_pair_norms(slab), slab, wanted.step, totals[0][0])
    norms, centre = cupy().empty(slab.n), cupy().asarray(wanted.centre)
    launch(kernel("deviation_norms"), slab.n, *slab.rows, slab.lengths, np.int32(len(centre)), centre, norms)
    _add_norms(norms, slab, wanted.step, totals[0][1])


def _add_frame_second(wanted: ClippedFrameSecond, slab: Slab, totals: DeviceTotals) -> None:
    """As `ClippedFrameSecond.add`, array by array: every operation rounds as it does there."""
    xp, sums, rank = cupy(), wanted.sums(), wanted.frame.shape[1]
    inside, (square, mass, factors) = _Inside.of(slab, wanted.frame), totals
    ratio = sums.clip * quantised.SAFETY / xp.maximum(inside.second, SMALLEST_BOUND)
    factor = xp.where(inside.used, xp.minimum(1.0, ratio), 0.0)
    length = xp.maximum(slab.lengths, 3).astype(np.float64)
    weight = slab.share * factor / (length * (length - 1.0))
    launch(kernel("add_counts"), slab.n, *slab.rows, weight / sums.mass_step, mass)
    factors += xp.trunc(slab.share * factor / wanted.factor_step).astype(np.int64).sum()
    roots = xp.sqrt(weight * quantised.SAFETY)
    for start in range(0, slab.n, ROWS_AT_ONCE):
        some = slice(start, start + ROWS_AT_ONCE)
        rows = xp.trunc(inside.projected[some] * roots[some, None] / sums.square_step)
        padded = xp.zeros((-(-len(rows) // PRODUCT_ROWS) * PRODUCT_ROWS, rank))
        padded[: len(rows)] = rows
        padded = padded.reshape(-1, PRODUCT_ROWS, rank)
        square += _exact(padded, padded)


def _add_cross(wanted: ClippedCross, slab: Slab, totals: DeviceTotals) -> None:
    xp, rank = cupy(), wanted.frame.shape[1]
    projected, frame, weights = (
        project(slab, wanted.frame),
        xp.asarray(np.ascontiguousarray(wanted.frame)),
        xp.empty(slab.n),
    )
    numbers = map(np.float64, (unit_sums.SAFETY, wanted.clip, wanted.step))
    launch(
        kernel("clip_cross"), slab.n, *slab.rows, slab.lengths, slab.share, frame, projected, np.int32(rank),
        *numbers, weights,
    )  # fmt: skip
    launch(kernel("add_cross"), 32 * slab.n, *slab.rows, weights, frame, projected, np.int32(rank), totals[0])


def _add_frame_moments(wanted: ClippedFrameMoments, slab: Slab, totals: DeviceTotals) -> None:
    xp = cupy()
    inside, sums, rank = _Inside.of(slab, wanted.frame), wanted.sums(), wanted.frame.shape[1]
    square, cube, cross, mass, factors = totals
    padded = -(-slab.n // PRODUCT_ROWS) * PRODUCT_ROWS
    for_square, for_cube = xp.zeros((padded, rank)), xp.zeros((padded, rank))
    rows, document_mass = xp.empty((slab.n, rank)), xp.empty((2, slab.n))
    numbers = (
        quantised.SAFETY, SMALLEST_BOUND, sums.second_clip, sums.third_clip, sums.square_step, sums.cube_step,
        sums.row_step, sums.mass_step, wanted.factor_step,
    )  # fmt: skip
    launch(
        kernel("clip_inside_frame"), slab.n, np.int32(slab.n), slab.lengths, slab.share, inside.second, inside.third,
        inside.used, inside.projected, np.int32(rank), *map(np.float64, numbers), for_square, for_cube, rows,
        document_mass, factors,
    )  # fmt: skip
    launch(kernel("add_rows"), 32 * slab.n, *slab.rows, rows, np.int32(rank), cross)
    for row in range(2):
        launch(kernel("add_counts"), slab.n, *slab.rows, document_mass[row], mass[row])
    for_square, for_cube = (array.reshape(-1, PRODUCT_ROWS, rank) for array in (for_square, for_cube))
    square += _exact(for_square, for_square)
    at_once = max(1, (1 << 29) // (PRODUCT_ROWS * rank * (rank + 1) * 4))  # half a gigabyte of products
    for first in range(0, len(for_cube), at_once):
        some = for_cube[first : first + at_once]
        cube += _exact(some, products_of_pairs(some))


def _exact(left: Any, right: Any) -> Any:
    """`Σ left'right` over batches of rows, each batch so small that its sums are exact integers in float64."""
    return cupy().matmul(left.transpose(0, 2, 1), right).astype(np.int64).sum(axis=0)


def products_of_pairs(rows: Any) -> Any:
    batches, height, rank = rows.shape
    products = cupy().empty((batches, height, rank * (rank + 1) // 2))
    number = batches * height
    kernel("products_of_pairs")((number,), (32, 4), (np.int64(number), np.int32(rank), rows, products))
    return products


def _add_topic_statistic(wanted: TopicStatistic, slab: Slab, totals: DeviceTotals) -> None:
    xp = cupy()
    statistic = module_of("unit_sums.cu", TOPICS=len(wanted.prior)).get_function("topic_statistic")
    topics, weights = xp.asarray(np.ascontiguousarray(wanted.word_topics)), xp.asarray(wanted.weights)
    launch(
        statistic, 4 * slab.n, *slab.rows, slab.lengths, slab.share, topics, weights, xp.asarray(wanted.prior),
        np.float64(unit_sums.SAFETY), np.float64(wanted.step), totals[0],
    )  # fmt: skip


_ADDERS: dict[type, Add] = {
    NormedCounts: _add_normed_counts,
    PairNormHistogram: _add_pair_norms,
    ClippedPairs: _add_clipped_pairs,
    PairNormHistograms: _add_pair_norm_histograms,
    ClippedFrameSecond: _add_frame_second,
    ClippedCross: _add_cross,
    FrameNormHistograms: _add_frame_norms,
    ClippedFrameMoments: _add_frame_moments,
    TopicStatistic: _add_topic_statistic,
}

"""The library at work: what every pass over a corpus was asked, what it added up, its noise, what was released."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from private_topics.inference.fold_in import fold_in
from private_topics.privacy.mechanisms import Asked, PrivateRun, Released
from private_topics.privacy.randomness import NoiseStream
from private_topics.sums.cross_moment import ClippedCross
from private_topics.sums.features import FeatureStatistic
from private_topics.sums.frame_second import ClippedFrameSecond, PairNormHistograms
from private_topics.sums.unit_sums import (
    ClippedFrameMoments,
    ClippedPairs,
    FrameNormHistograms,
    NormedCounts,
    PairNormHistogram,
    TopicStatistic,
)
from reference import features, frame_second, norms, refinement, third_moment, word_sums
from reference.interval import Interval
from reference.lattice import assembly_error
from reference.moments import Unit
from reference.refinement import on


@dataclass
class Pass:
    """One pass over the corpus: a sum of the library, the releases it served, and their exact aggregates."""

    unit_sum: Any
    asked: Sequence[Asked]
    aggregates: list[np.ndarray]
    released: tuple[Released, ...] = ()
    drawn: list[tuple[float, np.ndarray]] = field(default_factory=list)
    """Noise in whole steps, as it was drawn: its width, its values."""


@contextmanager
def watched_passes() -> Iterator[list[Pass]]:
    passes: list[Pass] = []
    release_sums, rounded_gaussian = PrivateRun.release_sums, NoiseStream.rounded_gaussian

    def watched_sums(self: PrivateRun, source: Any, unit_sum: Any, asked: Any, aggregates: Any) -> Any:
        def copied(totals: Any) -> Any:
            exact = list(aggregates(totals))
            passes.append(Pass(unit_sum, asked, [np.array(one) for one in exact]))
            return exact

        released = release_sums(self, source, unit_sum, asked, copied)
        passes[-1].released = released
        return released

    def watched_noise(self: NoiseStream, count: int, ratio: float) -> np.ndarray:
        noise = rounded_gaussian(self, count, ratio)
        if passes:
            passes[-1].drawn.append((ratio, noise.copy()))
        return noise

    PrivateRun.release_sums, NoiseStream.rounded_gaussian = watched_sums, watched_noise
    try:
        yield passes
    finally:
        PrivateRun.release_sums, NoiseStream.rounded_gaussian = release_sums, rounded_gaussian


Intervals = Any
"""Intervals, nested as the array of the library is."""


def expected(one: Pass, units: Sequence[Unit], n_units: int) -> dict[str, tuple[Intervals, Fraction]]:
    """For each release of a pass what its aggregate must be, in whole steps, and by how many steps it may be off."""
    found = EXPECTED[type(one.unit_sum)](one, units, n_units)
    return {asked.query.name: found[place] for place, asked in enumerate(one.asked)}


EXACT = Fraction(0)


def _unigram(one: Pass, units: Sequence[Unit], n_units: int) -> list[Any]:
    s = one.unit_sum
    return [(word_sums.unigram(units, s.n_words, Fraction(s.step)), EXACT)]


def _pair_norms(one: Pass, units: Sequence[Unit], n_units: int) -> list[Any]:
    s = one.unit_sum
    words = s.words.tolist()
    return [(norms.histogram(units, lambda document: norms.pair_norm(document, words), Fraction(s.step)), EXACT)]


def _both_pair_norms(one: Pass, units: Sequence[Unit], n_units: int) -> list[Any]:
    s = one.unit_sum
    words, frame = s.words.tolist(), deviations(s.centre)
    centred = norms.histogram(units, lambda document: norms.frame_bounds(document, words, frame)[0], Fraction(s.step))
    return [*_pair_norms(one, units, n_units), (centred, EXACT)]


def deviations(centre: np.ndarray) -> norms.Frame:
    """A row `e_w - p` for each word, and `-p` for all others."""
    p = [Fraction(float(entry)) for entry in centre]
    return [[Fraction(int(i == j)) - p[j] for j in range(len(p))] for i in range(len(p) + 1)]


def _frame_norms(one: Pass, units: Sequence[Unit], n_units: int) -> list[Any]:
    s = one.unit_sum
    words, frame = s.words.tolist(), rational(s.frame)
    found = [
        (norms.histogram(units, lambda d, o=order: norms.frame_bounds(d, words, frame)[o], Fraction(s.step)), EXACT)
        for order in (0, 1)
    ]
    return found if len(one.asked) == 2 else [found["third" in one.asked[0].query.name]]


def _pairs(one: Pass, units: Sequence[Unit], n_units: int) -> list[Any]:
    s = one.unit_sum
    words, clip = s.words.tolist(), Fraction(s.clip)
    factors = word_sums.clip_factors(
        units, lambda document: norms.pair_norm(document, words), clip, Fraction(s.factor_step)
    )
    return [(word_sums.second_moment(units, words, clip, Fraction(s.step)), EXACT), ([factors], EXACT)]


def _assembled(moment: Any, step: float, rows: int, n_units: int, clip: float) -> Any:
    """In whole steps; what float64 may lose in putting it together, and half a step of rounding."""
    off = Fraction(assembly_error(rows)) * n_units * Fraction(clip) / Fraction(step) + Fraction(1, 2)
    return nested(moment, lambda entry: entry / Fraction(step)), off


def _frame_second(one: Pass, units: Sequence[Unit], n_units: int) -> list[Any]:
    s = one.unit_sum
    words, frame, clip = s.words.tolist(), rational(s.frame), Fraction(s.clip)
    moment = frame_second.second_moment(units, words, frame, n_units, clip)
    found = [_assembled(moment, s.step, len(frame), n_units, s.clip)]
    if len(one.asked) == 2:
        factors = word_sums.clip_factors(
            units, lambda document: norms.frame_bounds(document, words, frame)[0], clip, Fraction(s.factor_step)
        )
        found.append(([factors], EXACT))
    return found


def _frame_moments(one: Pass, units: Sequence[Unit], n_units: int) -> list[Any]:
    s = one.unit_sum
    words, frame = s.words.tolist(), rational(s.frame)
    second = frame_second.second_moment(units, words, frame, n_units, Fraction(s.second_clip))
    third = third_moment.third_moment(units, words, frame, n_units, Fraction(s.third_clip))
    rank = range(len(frame[0]))
    cube = [[[third[a, b, c] for c in rank] for b in rank] for a in rank]
    return [
        _assembled(second, s.second_step, len(frame), n_units, s.second_clip),
        _assembled(cube, s.third_step, len(frame), n_units, s.third_clip),
    ]


def _statistic(one: Pass, units: Sequence[Unit], n_units: int) -> list[Any]:
    s = one.unit_sum
    words = None if s.words is None else s.words.tolist()
    topics, weights = s.word_topics.tolist(), s.weights.tolist()
    pulls = pulls_of(units, s.word_topics, s.prior, words)
    return [(refinement.statistic(units, topics, weights, pulls, Fraction(s.step), words), EXACT)]


def _features(one: Pass, units: Sequence[Unit], n_units: int) -> list[Any]:
    s = one.unit_sum
    pulls = pulls_of(units, s.word_topics, s.prior, None)
    return [(features.statistic(units, s.word_topics.tolist(), s.rows.tolist(), pulls, Fraction(s.step)), EXACT)]


def _cross(one: Pass, units: Sequence[Unit], n_units: int) -> list[Any]:
    s = one.unit_sum
    return [(word_sums.cross_moment(units, rational(s.frame), Fraction(s.clip), Fraction(s.step)), EXACT)]


EXPECTED = {
    NormedCounts: _unigram,
    PairNormHistogram: _pair_norms,
    PairNormHistograms: _both_pair_norms,
    FrameNormHistograms: _frame_norms,
    ClippedPairs: _pairs,
    ClippedFrameSecond: _frame_second,
    ClippedFrameMoments: _frame_moments,
    TopicStatistic: _statistic,
    FeatureStatistic: _features,
    ClippedCross: _cross,
}


def rational(array: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(float(entry)) for entry in row] for row in array]


def nested(array: Any, function: Any) -> Any:
    return [nested(entry, function) for entry in array] if isinstance(array, list) else function(array)


def flat(array: Any) -> list[Interval]:
    return [entry for part in array for entry in flat(part)] if isinstance(array, list) else [array]


def pulls_of(
    units: Sequence[Unit], word_topics: np.ndarray, prior: np.ndarray, words: Sequence[int] | None
) -> list[list[float]]:
    """The pull of every document as the library stores it: the proof holds for any numbers (refinement.md)."""
    documents = [on(document, words) for unit in units for document in unit]
    entries = [sorted(document.items()) for document in documents]
    indptr = np.cumsum([0, *map(len, entries)]).astype(np.int64)
    found = np.array([word for entry in entries for word, _ in entry], np.int32)
    counts = np.array([count for entry in entries for _, count in entry], np.int32)
    return fold_in(indptr, found, counts, word_topics, prior)[1].tolist()


def compare(one: Pass, units: Sequence[Unit], n_units: int) -> tuple[int, int]:
    """Assert that every aggregate of a pass is what the reference says.

    Returns how many entries there are, and for how many of them the reference leaves more than one integer open.
    """
    entries_open = entries_seen = 0
    found = expected(one, units, n_units)
    for (name, (intervals, off)), aggregate in zip(found.items(), one.aggregates, strict=True):
        entries, values = flat(intervals), aggregate.ravel().tolist()
        assert len(entries) == len(values), f"{name}: another shape"
        wrong = [
            f"{value} is not in {float(entry.low)} … {float(entry.high)} (± {float(off)})"
            for entry, value in zip(entries, values, strict=True)
            if not entry.moved_by(off).holds(value)
        ]
        assert not wrong, f"{name}: {len(wrong)} of {len(values)} entries, {wrong[0]}"
        entries_seen += len(entries)
        entries_open += sum(entry.width + 2 * off > 2 for entry in entries)
    return entries_seen, entries_open

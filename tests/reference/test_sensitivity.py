"""Every declared sensitivity against a search over all small units: never exceeded, attained where a proof says so.

The reference knows what one unit adds to a sum; the search finds the two units that are farthest apart; and the
library adds up the two corpora that differ in them. Frames, clips, weights of words; documents and users.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from private_support import counts_of
from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.engines.local import LocalCorpus
from private_topics.fits.informed import INFORMED
from private_topics.fits.sequential import SEQUENTIAL
from private_topics.sums.cross_moment import ClippedCross
from private_topics.sums.features import FeatureStatistic
from private_topics.sums.frame_second import ClippedFrameSecond, PairNormHistograms
from private_topics.sums.unit_sums import (
    ClippedFrameMoments,
    ClippedPairs,
    FrameNormHistograms,
    NormedCounts,
    TopicStatistic,
)
from reference import features, frame_second, norms, refinement, third_moment, word_sums
from reference.corpora import ENORMOUS
from reference.moments import Unit
from reference.sensitivity import declared, every_document, farthest
from reference.watched import deviations, pulls_of, rational

N_WORDS, LONGEST = 3, 5
STEP = 2.0**-24
COARSE = 2.0**-6
CLIP = 0.05
WORDS = np.arange(N_WORDS)
FRAME = np.array([[1.0, 2.0], [1.0, -1.5], [1.0, 0.1]])
PARALLEL = np.array([[1.0, 1.0], [-1.0, -1.0], [0.3, 0.3]])
TOPICS = np.array([[0.7, 0.1], [0.2, 0.3], [0.1, 0.6]])  # words × topics
CERTAIN = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
PRIOR = np.array([0.4, 0.6])
WEIGHTS = np.array([1.0, 40.0, 5.0])
ROWS = np.array([[0.05, 3.0], [0.05, -2.0], [0.05, 0.5]])
CENTRE = np.array([0.5, 0.5, 0.0])
BASE: list[Unit] = [[{0: 2, 1: 1, 2: 1}], [{1: 3}]]
N_UNITS = len(BASE) + 1


def every_unit(kind: str) -> list[Unit]:
    """All documents of up to five tokens and some enormous ones, or users of them."""
    documents = list(every_document(N_WORDS, LONGEST))
    documents += [{0: 1000}, {1: 1000}, {0: 500, 1: 500}, {0: 1000, 1: 30}, {0: ENORMOUS}, {1: ENORMOUS, 0: 1}]
    if kind == "documents":
        return [[document] for document in documents]
    mixed = itertools.combinations(documents[::6], 2)
    return [*([document] * 3 for document in documents[::2]), *map(list, mixed)]


@dataclass(frozen=True)
class Case:
    """A sum of the library, one of its aggregates, the same of the reference, and how close to the bound it comes."""

    release: str
    unit_sum: Any
    place: int
    reference: Callable[[list[Unit]], Any]
    attained: float  # of the declared sensitivity, by documents
    clip: float = 1.0
    step: float = STEP

    @property
    def bound(self) -> float:
        shape = np.shape(self.aggregate(BASE))
        rows = len(self.unit_sum.frame) if hasattr(self.unit_sum, "frame") else 0
        return declared(self.release, N_UNITS, self.clip, self.step, shape, rows)

    def aggregate(self, units: list[Unit]) -> np.ndarray:
        documents = [document for unit in units for document in unit]
        labels = [label for label, unit in enumerate(units) for _ in unit]
        groups = labels if len(documents) > len(units) else None
        corpus = LocalCorpus.of(MatrixBlocks(counts_of(documents, N_WORDS)), groups)
        return np.array(self.unit_sum.aggregates(corpus.total(self.unit_sum))[self.place])


def clipped_pairs(clip: float, place: int, attained: float, release: str) -> Case:
    words, step = WORDS.tolist(), Fraction(STEP)
    reference = (
        (lambda units: word_sums.second_moment(units, words, Fraction(clip), step))
        if place == 0
        else lambda units: [
            word_sums.clip_factors(units, lambda one: norms.pair_norm(one, words), Fraction(clip), step)
        ]
    )
    return Case(
        release, ClippedPairs(WORDS, clip, STEP, STEP), place, reference, attained, clip if place == 0 else 1.0
    )


def inside(frame: np.ndarray, release: str, attained: float) -> Case:
    """In steps of the reference's own, which are those of the library before it rounds to its lattice."""
    place = 1 if "third" in release else 0
    rows, words, clip = rational(frame), WORDS.tolist(), Fraction(CLIP)
    moment = third_moment.third_moment if place else frame_second.second_moment

    def reference(units: list[Unit]) -> Any:
        found = moment(units, words, rows, N_UNITS, clip)
        entries = list(found.values()) if place else [entry for row in found for entry in row]
        return [entry / Fraction(STEP) for entry in entries]

    unit_sum = ClippedFrameMoments(WORDS, frame, N_UNITS, CLIP, CLIP, STEP, STEP)
    return Case(release, unit_sum, place, reference, attained, CLIP)


def histogram(place: int, release: str, norm_of: Callable[[Any], Any], unit_sum: Any) -> Case:
    return Case(release, unit_sum, place, lambda units: norms.histogram(units, norm_of, Fraction(STEP)), 0.999)


def statistic(topics: np.ndarray, weights: np.ndarray, attained: float) -> Case:
    def reference(units: list[Unit]) -> Any:
        pulls = pulls_of(units, topics, PRIOR, None)
        return refinement.statistic(units, topics.tolist(), weights.tolist(), pulls, Fraction(STEP))

    return Case("refinement 1", TopicStatistic(None, topics, weights, PRIOR, STEP), 0, reference, attained)


def feature_sums(topics: np.ndarray) -> Case:
    def reference(units: list[Unit]) -> Any:
        pulls = pulls_of(units, topics, PRIOR, None)
        return features.statistic(units, topics.tolist(), ROWS.tolist(), pulls, Fraction(STEP))

    return Case("features 1", FeatureStatistic(topics, PRIOR, ROWS, STEP), 0, reference, 0.98)


def centred() -> Case:
    rows = deviations(CENTRE)

    def reference(units: list[Unit]) -> Any:
        found = frame_second.second_moment(units, WORDS.tolist(), rows, N_UNITS, Fraction(CLIP))
        return [[entry / Fraction(STEP) for entry in row] for row in found]

    frame = np.array([[float(entry) for entry in row] for row in rows])
    unit_sum = ClippedFrameSecond(WORDS, frame, N_UNITS, CLIP, STEP, STEP)
    return Case("centred second moment", unit_sum, 0, reference, 0.99, CLIP)


def cases() -> dict[str, Case]:
    words, step, frame = WORDS.tolist(), Fraction(STEP), rational(FRAME)
    both, inner = PairNormHistograms(WORDS, CENTRE, STEP), FrameNormHistograms(WORDS, FRAME, STEP)
    rows = deviations(CENTRE)
    return {
        "unigram": Case(
            "unigram", NormedCounts(N_WORDS, STEP), 0, lambda units: word_sums.unigram(units, N_WORDS, step), 0.999
        ),
        "unigram on a coarse lattice": Case(
            "unigram", NormedCounts(N_WORDS, COARSE), 0,
            lambda units: word_sums.unigram(units, N_WORDS, Fraction(COARSE)), 0.97, step=COARSE,
        ),
        "second norms": histogram(0, "second norms", lambda one: norms.pair_norm(one, words), both),
        "centred second norms": histogram(
            1, "centred second norms", lambda one: norms.frame_bounds(one, words, rows)[0], both
        ),
        "frame second norms": histogram(
            0, "frame second norms", lambda one: norms.frame_bounds(one, words, frame)[0], inner
        ),
        "frame third norms": histogram(
            1, "frame third norms", lambda one: norms.frame_bounds(one, words, frame)[1], inner
        ),
        "second moment": clipped_pairs(CLIP, 0, 0.999, "second moment"),
        "second clip factors": clipped_pairs(1.0, 1, 0.999, "second clip factors"),
        "centred second moment": centred(),
        "frame second moment": inside(PARALLEL, "frame second moment", 0.99),
        "frame second moment, another frame": inside(FRAME, "frame second moment", 0.2),
        "frame third moment": inside(PARALLEL, "frame third moment", 0.9),
        "frame third moment, another frame": inside(FRAME, "frame third moment", 0.2),
        "refinement": statistic(TOPICS, np.ones(3), 0.99),
        "refinement with weights of words": statistic(TOPICS, WEIGHTS, 0.99),
        "refinement of certain topics": statistic(CERTAIN, WEIGHTS, 0.99),
        "features": feature_sums(CERTAIN),
        "features of mixed topics": feature_sums(TOPICS),
        "cross moment": Case(
            "cross moment", ClippedCross(np.array([[1.0], [-100.0], [0.5]]), CLIP, STEP), 0,
            lambda units: word_sums.cross_moment(
                units, rational(np.array([[1.0], [-100.0], [0.5]])), Fraction(CLIP), step
            ),
            0.99, CLIP,
        ),
    }  # fmt: skip


CASES = cases()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["documents", "users"])
@pytest.mark.parametrize("name", CASES)
def test_no_two_units_are_further_apart_than_declared(name, kind):
    case = CASES[name]
    found, one, other = farthest(every_unit(kind), case.reference)
    assert found * case.step <= case.bound
    if kind == "documents":
        assert found * case.step >= case.attained * case.bound
    neighbours = [case.aggregate([*BASE, unit]) for unit in (one, other)]
    squares = sum(int(entry) ** 2 for entry in (neighbours[0] - neighbours[1]).ravel())
    assert squares * Fraction(case.step) ** 2 <= Fraction(case.bound) ** 2
    assert math.isclose(math.sqrt(squares), found, rel_tol=1e-5, abs_tol=2.0 * math.sqrt(neighbours[0].size))


@cache
def names() -> set[str]:
    return {case.release.rstrip(" 1") for case in CASES.values()}


def test_every_kind_of_release_is_searched():
    proofs = {release.proof for fit in (SEQUENTIAL, INFORMED) for release in fit.releases}
    searched = {r.proof for fit in (SEQUENTIAL, INFORMED) for r in fit.releases if r.name in names()}
    assert searched == proofs


@pytest.mark.parametrize("release", [*SEQUENTIAL.releases, *INFORMED.releases], ids=lambda release: release.name)
def test_what_the_list_of_a_fit_declares(release):
    """The sensitivity for contributions of norm one, as the proofs have it, rounded up."""
    assert release.sensitivity is not None
    meant = declared(release.name, 1, 1.0, 0.0, (0,), 0)
    meant -= 2 * 2.0**-40 if release.proof in ("frame_second", "tensor") else 0.0
    assert Fraction(release.sensitivity) ** 2 >= round(meant**2)
    assert release.sensitivity == pytest.approx(meant, rel=1e-12)

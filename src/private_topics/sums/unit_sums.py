"""Every sum of a private fit over the privacy units, as a small object that can be sent to the documents.

    zeros()             the arrays of the sum, all int64
    add(part, totals)   the part's contribution, in place
    aggregates(totals)  what is made of the whole sum: one int64 array for each release that it serves

A document's contribution is a function of its own counts, its share of its unit and the public fields of the object;
it is clipped, truncated to a public grid and only then added. Sums of integers are exact, so the total does not
depend on how the corpus is cut, in which order the parts are added, or where.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from private_topics.corpus.counts.layout import WordBlock, add_whole_counts
from private_topics.inference.fold_in import fold_in
from private_topics.sums.moments import add_whole_pairs, mirror_upper
from private_topics.sums.norms import BINS, add_norms, count_norms, pair_norms, statistic_norms
from private_topics.sums.parts import Part
from private_topics.sums.quantised import (
    SAFETY,
    FrameNorms,
    QuantisedFrameSums,
    add_statistic,
    rounded,
    truncated,
)
from private_topics.threads import one_order

Totals = tuple[np.ndarray, ...]


class UnitSum(Protocol):
    """What an engine computes: picklable, and knows how to add one part."""

    def zeros(self) -> Totals: ...

    def add(self, part: Part, totals: Totals) -> None: ...

    def aggregates(self, totals: Totals) -> Totals: ...


class AddedUp:
    """A sum whose totals are what is released."""

    def aggregates(self, totals: Totals) -> Totals:
        return totals


@dataclass(frozen=True)
class NormedCounts(AddedUp):
    """`Σ c/||c||` over all words."""

    n_words: int
    step: float

    def zeros(self) -> Totals:
        return (np.zeros(self.n_words, np.int64),)

    def add(self, part: Part, totals: Totals) -> None:
        norms = count_norms(part.block.indptr, part.block.data, part.lengths)
        block, weights = part.block, unit_weights(norms, part.share) / self.step
        add_whole_counts(block.indptr, block.indices, block.data, weights, totals[0])


@dataclass(frozen=True)
class PairNormHistogram(AddedUp):
    """Units by the norm of `phi2` on the words of the spectral stage."""

    words: np.ndarray
    step: float

    norms: ClassVar = staticmethod(pair_norms)

    def zeros(self) -> Totals:
        return (np.zeros(BINS + 2, np.int64),)

    def add(self, part: Part, totals: Totals) -> None:
        block = part.on(self.words)
        add_norms(self.norms(block.indptr, block.counts, part.lengths), part.share, self.step, totals[0])


@dataclass(frozen=True)
class ClippedPairs:
    """`Σ s·phi2` on the words of the spectral stage, of which the upper triangle is added up, and `Σ s`."""

    words: np.ndarray
    clip: float
    step: float
    factor_step: float

    def zeros(self) -> Totals:
        return np.zeros((len(self.words), len(self.words)), np.int64), np.zeros(1, np.int64)

    def add(self, part: Part, totals: Totals) -> None:
        block = part.on(self.words)
        factor = clip_factors(pair_norms(block.indptr, block.counts, part.lengths), self.clip)
        length = np.maximum(part.lengths, 3).astype(np.float64)
        weights = part.share * factor / (length * (length - 1.0))
        add_whole_pairs(block, weights / self.step, totals[0])
        totals[1][0] += truncated(part.share * factor, self.factor_step).sum()

    def aggregates(self, totals: Totals) -> Totals:
        mirror_upper(totals[0])
        return totals


class TwoHistograms(ABC):
    """Units by each of two norms, in one pass."""

    step: float

    @abstractmethod
    def norms(self, part: Part) -> tuple[np.ndarray, np.ndarray]: ...

    def zeros(self) -> Totals:
        return (np.zeros((2, BINS + 2), np.int64),)

    def add(self, part: Part, totals: Totals) -> None:
        for histogram, norms in zip(totals[0], self.norms(part), strict=True):
            add_norms(norms, part.share, self.step, histogram)

    def aggregates(self, totals: Totals) -> Totals:
        return tuple(totals[0])


@dataclass(frozen=True)
class FrameNormHistograms(TwoHistograms):
    """Units by the bounds on the norms of both moments inside a released frame."""

    words: np.ndarray
    frame: np.ndarray
    step: float

    def norms(self, part: Part) -> tuple[np.ndarray, np.ndarray]:
        norms = FrameNorms.of(on_rows(part, self.words, self.frame), part.lengths, self.frame)
        return norms.second_bound(), norms.third_bound()

    def second_alone(self, totals: Totals) -> Totals:
        return (totals[0][0],)

    def third_alone(self, totals: Totals) -> Totals:
        return (totals[0][1],)


@dataclass(frozen=True)
class ClippedFrameMoments:
    """Both clipped moments inside a released frame, assembled from exact sums, and both sums of clip factors."""

    words: np.ndarray
    frame: np.ndarray
    n_units: int
    second_clip: float
    third_clip: float
    second_step: float
    third_step: float
    factor_step: float = 1.0

    def zeros(self) -> Totals:
        sums = self.sums()
        return sums.square, sums.cube, sums.cross, sums.mass, np.zeros(2, np.int64)

    def add(self, part: Part, totals: Totals) -> None:
        block = on_rows(part, self.words, self.frame)
        factors = self.sums(totals).add(block, FrameNorms.of(block, part.lengths, self.frame), part.share)
        totals[-1][:] += [truncated(part.share * factor, self.factor_step).sum() for factor in factors]

    def sums(self, totals: Totals | None = None) -> QuantisedFrameSums:
        """The sums as the moments are assembled from them; new ones without `totals`."""
        kept = None if totals is None else totals[:-1]
        return QuantisedFrameSums(self.frame, self.n_units, self.second_clip, self.third_clip, kept)

    def aggregates(self, totals: Totals) -> Totals:
        """Second moment, third moment, sums of clip factors."""
        return *self.moments(totals), totals[-1]

    def moments(self, totals: Totals) -> Totals:
        """Second and third moment."""
        with one_order():
            second = self.sums(totals).second()
        return rounded(second, self.second_step), rounded(self.third(totals), self.third_step)

    def third_alone(self, totals: Totals) -> Totals:
        """Third moment and the sum of its clip factors."""
        return rounded(self.third(totals), self.third_step), totals[-1][1:]

    def third(self, totals: Totals) -> np.ndarray:
        """The third moment in float64: `docs/proofs/tensor.md` bounds its error."""
        with one_order():
            return self.sums(totals).third()


@dataclass(frozen=True)
class TopicStatistic(AddedUp):
    """`Σ g_w c_w r_wi / norm` under public topics, over some words (None: all): words × topics.

    `weights` are the public `g` of those words, all at least one.
    """

    words: np.ndarray | None
    word_topics: np.ndarray
    weights: np.ndarray
    prior: np.ndarray
    step: float

    def zeros(self) -> Totals:
        return (np.zeros(self.word_topics.shape, np.int64),)

    def add(self, part: Part, totals: Totals) -> None:
        block = part.on_all_words() if self.words is None else part.on(self.words)
        _, pull = fold_in(block.indptr, block.words, block.counts, self.word_topics, self.prior)
        norms, sums = statistic_norms(block.indptr, block.words, block.counts, self.word_topics, self.weights, pull)
        weights = unit_weights(np.where(part.lengths >= 3, norms, 0.0), part.share)
        add_statistic(block, self.word_topics, self.weights, pull, sums, weights, self.step, totals[0])


def on_rows(part: Part, words: np.ndarray, frame: np.ndarray) -> WordBlock:
    """The counts of the words that have a row in the frame; a row more than words is that of all others."""
    return part.on(words, rest=len(frame) > len(words))


def unit_weights(norms: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Slightly less than `share/norm`; zero where the norm is zero."""
    used = norms > 0
    return np.where(used, share * SAFETY / np.where(used, norms, 1.0), 0.0)


def clip_factors(norms: np.ndarray, clip: float) -> np.ndarray:
    """Slightly less than `min(1, clip/norm)`; zero where the norm is zero."""
    used = norms > 0
    return np.where(used, np.minimum(1.0, clip * SAFETY / np.where(used, norms, 1.0)), 0.0)

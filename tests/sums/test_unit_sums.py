"""Every contribution is clipped, whatever the size of the corpus, of the vocabulary or of the document.

All documents are equal, so the norm of a sum is that of one contribution times their number: the bound is reached.
"""

from __future__ import annotations

import sys
from fractions import Fraction

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numba.core.errors import TypingError
from sum_support import part_of, random_units

from private_support import Document, counts_of
from private_topics.corpus.counts.matrix import document_lengths, validate_counts
from private_topics.sums import unit_sums as sums
from private_topics.sums.class_shares import ClassProportions
from private_topics.sums.cross_moment import ClippedCross
from private_topics.sums.features import FeatureStatistic
from private_topics.sums.frame_second import ClippedFrameSecond, PairNormHistograms
from private_topics.sums.moments import mirror_upper
from private_topics.sums.packed_moments import PackedMoments
from private_topics.sums.parts import Part
from private_topics.sums.triple_norms import ClippedTriples, TripleNormHistogram

STEP, CLIP = 2.0**-40, 0.01
SIZES = {
    "one": (1, 8, 1),
    "many documents": (20_000, 8, 1),
    "many words": (1, 1_000, 1),
    "a long document": (1, 8, 100),
}


def equal_documents(n_documents: int, n_words: int, times: int) -> Part:
    document: Document = {0: 50 * times, 1: 30 * times, n_words - 1: 20 * times}
    counts = validate_counts(counts_of([document] * n_documents, n_words))
    return Part(counts, document_lengths(counts), np.ones(n_documents))


def total_of(unit_sum: sums.UnitSum, part: Part) -> tuple[np.ndarray, ...]:
    totals = unit_sum.zeros()
    unit_sum.add(part, totals)
    return totals


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_no_size_goes_without_its_clip(size):
    n_documents, n_words, _ = size
    part = equal_documents(*size)
    words, frame = np.arange(n_words), np.ones((n_words, 1))
    topics = np.full((n_words, 2), 1.0 / n_words)
    found = {}
    found["unigram"] = total_of(sums.NormedCounts(n_words, STEP), part)[0] * STEP, 1.0
    pairs, _ = total_of(sums.ClippedPairs(words, CLIP, STEP, STEP), part)
    mirror_upper(pairs)
    found["second moment"] = pairs * STEP, CLIP
    clipped = sums.ClippedFrameMoments(words, frame, n_documents, CLIP, CLIP, STEP, STEP, STEP)
    totals = total_of(clipped, part)
    inside = clipped.sums(totals)
    assert (totals[-1] > 0).all()
    assert (totals[-1] * STEP < n_documents).all()  # clip factors, each below one here
    found["frame second moment"] = inside.second(), CLIP
    found["frame third moment"] = inside.third(), CLIP
    for weights in (np.ones(n_words), np.geomspace(1.0, 1e4, n_words)):
        statistic = sums.TopicStatistic(None, topics, weights, np.ones(2), STEP)
        found[f"refinement, weights up to {weights.max():g}"] = total_of(statistic, part)[0] * STEP, 1.0
    for name, (value, bound) in found.items():
        norm = float(np.linalg.norm(value)) / (n_documents * bound)
        assert 0.9 < norm <= 1.0, name


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_a_unit_counts_once_in_every_histogram(size):
    n_documents, n_words, _ = size
    part, words = equal_documents(*size), np.arange(n_words)
    (pairs,) = total_of(sums.PairNormHistogram(words, STEP), part)
    (inside,) = total_of(sums.FrameNormHistograms(words, np.ones((n_words, 1)), STEP), part)
    for histogram in (pairs, *inside):
        assert histogram.sum() * STEP == histogram.max() * STEP == n_documents


# -- compiled or not -----------------------------------------------------------------------------------------------

FEW = 5
FRAME = np.array([[1.0, 0.5], [-1.0, 0.25], [0.5, -2.0], [0.125, 1.0], [1.0, 1.0]])
TOPICS = np.array([[0.4, 0.1], [0.2, 0.2], [0.2, 0.1], [0.1, 0.1], [0.1, 0.5]])
WORDS, PRIOR = np.arange(FEW), np.full(2, 0.5)
EVERY_SUM: list[sums.UnitSum] = [
    sums.NormedCounts(FEW, STEP),
    sums.PairNormHistogram(WORDS[1:], STEP),
    sums.ClippedPairs(WORDS[1:], 0.3, STEP, STEP),
    sums.FrameNormHistograms(WORDS, FRAME, STEP),
    sums.ClippedFrameMoments(WORDS, FRAME, 100, 0.5, 0.5, STEP, STEP, STEP),
    sums.TopicStatistic(None, TOPICS, np.geomspace(1.0, 9.0, FEW), PRIOR, STEP),
    sums.TopicStatistic(WORDS[2:], TOPICS[2:], np.ones(FEW - 2), PRIOR, STEP),
    ClassProportions(TOPICS[:3].copy(), PRIOR, 2, 20, STEP),
    ClippedCross(FRAME, 0.3, STEP),
    FeatureStatistic(TOPICS, PRIOR, FRAME, STEP),
    ClippedFrameSecond(WORDS, FRAME, 100, 0.5, STEP, STEP),
    PairNormHistograms(WORDS, TOPICS.mean(axis=1), STEP),
    PackedMoments(FEW, STEP, (STEP, STEP, STEP)),
    TripleNormHistogram(WORDS, STEP),
    ClippedTriples(WORDS, np.linalg.qr(FRAME)[0], 0.1, STEP, STEP, STEP),
]


@pytest.mark.parametrize("unit_sum", EVERY_SUM, ids=lambda one: type(one).__name__)
def test_no_loop_leaves_its_arrays(unit_sum, monkeypatch):
    """Compiled loops check no index: run as Python, which does, they give the same integers."""
    part = part_of(random_units(16, FEW), FEW)
    with monkeypatch.context() as patched:
        interpret(patched)
        expected = unit_sum.aggregates(total_of(unit_sum, part))
    found = unit_sum.aggregates(total_of(unit_sum, part))
    assert any(total.any() for total in expected)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("unit_sum", EVERY_SUM, ids=lambda one: type(one).__name__)
def test_documents_under_three_words_add_nothing(unit_sum):
    part = part_of([({},), ({0: 1},), ({2: 2},), ({1: 1, 2: 1},)], FEW)  # of no class, either
    for total in unit_sum.aggregates(total_of(unit_sum, part)):
        assert not total.any()


def test_a_contribution_is_divided_by_its_norm_however_small():
    found = sums.unit_weights(np.array([0.0, 1e-9, 0.5, 1.0, 2.0]), np.array([1.0, 1.0, 0.5, 1.0, 1.0]))
    np.testing.assert_allclose(found, [0.0, 1e9, 1.0, 1.0, 0.5], rtol=2e-9)
    assert (found <= [0.0, 1e9, 1.0, 1.0, 0.5]).all()


def interpret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Call the functions behind the compiled ones, those of other modules of sums too."""
    modules = [module for name, module in sys.modules.items() if name.startswith("private_topics.sums.")]
    for module in [*modules, sys.modules["private_topics.corpus.counts.layout"]]:
        for name, value in list(vars(module).items()):
            if isinstance(value, Dispatcher):
                monkeypatch.setattr(module, name, value.py_func)
        if hasattr(module, "lane_sums"):
            monkeypatch.setattr(module, "lane_sums", lambda x, y: (x[0] * y[0] + x[1] * y[1], ((x * y) ** 2).sum()))
        if hasattr(module, "fused"):
            monkeypatch.setattr(module, "fused", lambda x, y, z: float(Fraction(x) * Fraction(y) + Fraction(z)))
    for histogram in (sums.PairNormHistogram, TripleNormHistogram):
        monkeypatch.setattr(histogram, "norms", staticmethod(histogram.norms.py_func))


LAYOUTS = {
    "statistic": lambda topics: sums.TopicStatistic(None, topics, np.ones(8), np.full(5, 0.1), STEP),
    "features": lambda topics: FeatureStatistic(topics, np.full(5, 0.1), np.eye(8)[:, :6].copy(), STEP),
    "class shares": lambda topics: ClassProportions(topics, np.full(5, 0.1), 2, 50, STEP),
}


@pytest.mark.parametrize("made", LAYOUTS.values(), ids=LAYOUTS)
def test_topics_in_another_layout_give_the_same_sum_or_none(made):
    """A transposed view has strides of its own: read as if it had none, a contribution has a norm of a hundred."""
    n_words = 10 if made is LAYOUTS["class shares"] else 8
    part, topics = equal_documents(3, n_words, 1), np.random.default_rng(0).dirichlet(np.ones(8), 5)
    wanted = total_of(made(np.ascontiguousarray(topics.T)), part)
    assert topics.T.flags.c_contiguous is False
    try:
        found = total_of(made(topics.T), part)
    except TypingError:
        return
    assert all(map(np.array_equal, found, wanted))

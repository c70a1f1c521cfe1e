"""phi1, phi2, phi3 against their definition: averages over ordered tuples of distinct tokens, in exact fractions."""

import itertools
from fractions import Fraction
from math import perm

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from private_topics.corpus.counts.layout import select_words
from private_topics.corpus.counts.matrix import document_lengths, validate_counts
from private_topics.sums.moments import (
    FrameSums,
    add_first_moment,
    add_second_moment,
    mirror_upper,
    rows_of_equal_work,
)
from private_topics.sums.parts import DocumentWeights

WORDS, RANK = 4, 2
documents = st.lists(st.integers(0, WORDS - 1), max_size=6)  # tokens of one document
frames = st.lists(st.integers(-3, 3), min_size=WORDS * RANK, max_size=WORDS * RANK).map(
    lambda entries: np.array(entries).reshape(WORDS, RANK)
)


def counts_of(corpus: list[list[int]], n_words: int = WORDS) -> sp.csr_array:
    return validate_counts(np.array([np.bincount(tokens, minlength=n_words) for tokens in corpus]))


def average_over_tuples(tokens: list[int], order: int, n_words: int = WORDS) -> np.ndarray:
    """Mean of e_a⊗e_b⊗… over ordered tuples of `order` different tokens; zero for documents under three words."""
    total = np.full((n_words,) * order, Fraction(0))
    if len(tokens) >= 3:
        for places in itertools.permutations(range(len(tokens)), order):
            total[tuple(tokens[place] for place in places)] += Fraction(1, perm(len(tokens), order))
    return total


def sum_over_tuples(corpus: list[list[int]], order: int) -> np.ndarray:
    return sum(average_over_tuples(tokens, order) for tokens in corpus)


def falling_formula(count: np.ndarray, order: int) -> np.ndarray:
    """phi2 and phi3 by the formulas of `features`, in exact fractions."""
    c = np.array([Fraction(int(value)) for value in count])
    length = int(count.sum())
    if length < 3:
        return np.full((len(c),) * order, Fraction(0))
    unit = np.array([[Fraction(int(i == j)) for j in range(len(c))] for i in range(len(c))])
    if order == 2:
        return (np.multiply.outer(c, c) - np.diag(c)) / perm(length, 2)
    cube = np.multiply.outer(np.multiply.outer(c, c), c)
    pairs = np.einsum("i,j,ia,ib,jc->abc", c, c, unit, unit, unit)
    placed = pairs + pairs.transpose(0, 2, 1) + pairs.transpose(2, 1, 0)
    return (cube - placed + 2 * np.einsum("i,ia,ib,ic->abc", c, unit, unit, unit)) / perm(length, 3)


@given(documents)
def test_formulas_are_the_averages_over_tuples(tokens):
    count = np.bincount(tokens, minlength=WORDS)
    for order in (2, 3):
        formula, average = falling_formula(count, order), average_over_tuples(tokens, order)
        assert (formula == average).all()
        assert formula.min() >= 0
        assert formula.sum() == (len(tokens) >= 3)


def second_moment(counts: sp.csr_array, weights: np.ndarray) -> np.ndarray:
    out = np.zeros((counts.shape[1], counts.shape[1]), weights.dtype)
    add_second_moment(select_words(counts, None, counts.shape[1]), weights, out)
    mirror_upper(out)
    return out


@given(st.lists(documents, min_size=1, max_size=5))
def test_kernels_with_float_weights(corpus):
    counts = counts_of(corpus)
    weights = DocumentWeights.of_lengths(document_lengths(counts))
    first = np.zeros(WORDS)
    add_first_moment(counts, weights.first, first)
    np.testing.assert_allclose(first, sum_over_tuples(corpus, 1).astype(float), rtol=1e-12, atol=1e-12)
    second = second_moment(counts, weights.second)
    np.testing.assert_allclose(second, sum_over_tuples(corpus, 2).astype(float), rtol=1e-12, atol=1e-12)


@given(st.lists(documents, min_size=1, max_size=5), st.integers(1, 1000))
def test_kernels_with_integer_weights_are_exact(corpus, weight):
    """Weight times l(l-1): every sum is then an integer, and must come out as that integer."""
    counts = counts_of(corpus)
    weights = np.arange(weight, weight + len(corpus), dtype=np.int64)
    second = second_moment(counts, weights)
    assert second.dtype == np.int64
    dense = counts.toarray().astype(np.int64)
    expected = sum(w * (np.outer(c, c) - np.diag(c)) for w, c in zip(weights, dense, strict=True))
    np.testing.assert_array_equal(second, expected)
    first = np.zeros(WORDS, np.int64)
    add_first_moment(counts, weights, first)
    np.testing.assert_array_equal(first, weights @ dense)


@given(st.lists(documents, min_size=1, max_size=4), frames)
def test_sums_inside_a_frame(corpus, frame):
    """P = Σ W'phi2 W and T = Σ phi3(W,W,W) for integer frames, against exact contractions of exact averages."""
    counts = counts_of(corpus)
    weights = DocumentWeights.of_lengths(document_lengths(counts))
    sums = FrameSums(WORDS, RANK)
    sums.add(select_words(counts, None, WORDS), frame.astype(float), weights)
    second, third = sum_over_tuples(corpus, 2), sum_over_tuples(corpus, 3)
    whole = frame.astype(object)
    inside_second = np.einsum("ij,ia,jb->ab", second, whole, whole)
    inside_third = np.einsum("ijk,ia,jb,kc->abc", third, whole, whole, whole)
    floats = frame.astype(float)
    np.testing.assert_allclose(sums.second(floats), inside_second.astype(float), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sums.third(floats), inside_third.astype(float), rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(sums.second_all_words(floats), (second @ whole).astype(float), rtol=1e-12, atol=1e-12)


@given(st.lists(documents, min_size=1, max_size=4), frames)
def test_third_moment_with_integer_weights_is_exact(corpus, frame):
    """With weight one, every term of T is an integer below 2**53, so float64 must hold it exactly."""
    counts = counts_of(corpus)
    ones = np.ones(len(corpus))
    sums = FrameSums(WORDS, RANK)
    sums.add(select_words(counts, None, WORDS), frame.astype(float), DocumentWeights(ones, ones, ones))
    expected = 0
    for tokens in corpus:
        rows = frame[tokens].astype(object)
        for i, j, m in itertools.permutations(range(len(tokens)), 3):
            expected = expected + np.multiply.outer(np.multiply.outer(rows[i], rows[j]), rows[m])
    expected = np.zeros((RANK,) * 3) if np.isscalar(expected) else expected.astype(float)
    # symmetric_part divides a sum of six by six: exact up to one rounding of an integer, so rint recovers it.
    result = sums.third(frame.astype(float))
    np.testing.assert_array_equal(np.rint(result), expected)
    np.testing.assert_allclose(result, expected, rtol=1e-14, atol=1e-12)


def random_counts(n_documents=200, n_words=30, seed=0) -> sp.csr_array:
    return validate_counts(np.random.default_rng(seed).poisson(0.3, (n_documents, n_words)))


def test_restricting_the_words_gives_a_sub_block():
    """Full lengths in the denominators: the restricted second moment is a block of the whole one."""
    counts = random_counts()
    weights = DocumentWeights.of_lengths(document_lengths(counts)).second
    words = np.array([1, 4, 5, 17, 29])
    rank = np.full(30, -1, np.int32)
    rank[words] = np.arange(len(words))
    part = np.zeros((len(words), len(words)))
    add_second_moment(select_words(counts, rank, len(words)), weights, part)
    mirror_upper(part)
    np.testing.assert_array_equal(part, second_moment(counts, weights)[np.ix_(words, words)])


@pytest.mark.parametrize("height", [1, 7, 64, 200])
def test_sums_over_blocks_are_the_whole(height):
    counts = random_counts()
    frame = np.random.default_rng(1).normal(size=(30, 3))
    whole, parts = FrameSums(30, 3), FrameSums(30, 3)
    second = np.zeros((30, 30))
    for sums, size in ((whole, 200), (parts, height)):
        for start in range(0, 200, size):
            block = validate_counts(counts[start : start + size])
            weights = DocumentWeights.of_lengths(document_lengths(block))
            sums.add(select_words(block, None, 30), frame, weights)
            if sums is parts:
                add_second_moment(select_words(block, None, 30), weights.second, second)
    np.testing.assert_allclose(parts.third(frame), whole.third(frame), rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(parts.second(frame), whole.second(frame), rtol=1e-12, atol=1e-12)
    all_weights = DocumentWeights.of_lengths(document_lengths(counts)).second
    mirror_upper(second)
    np.testing.assert_allclose(second, second_moment(counts, all_weights), rtol=1e-12)


def test_short_documents_contribute_nothing():
    counts = counts_of([[], [0], [1, 2], [3, 3]])
    weights = DocumentWeights.of_lengths(document_lengths(counts))
    for array in (weights.first, weights.second, weights.third):
        np.testing.assert_array_equal(array, 0.0)
    sums = FrameSums(WORDS, RANK)
    frame = np.ones((WORDS, RANK))
    sums.add(select_words(counts, None, WORDS), frame, weights)
    assert not sums.third(frame).any()
    assert not sums.second(frame).any()
    assert not second_moment(counts, weights.second).any()


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="needs two threads")
def test_bits_do_not_depend_on_the_number_of_threads():
    counts = random_counts(3000, 60)
    frame = np.random.default_rng(1).normal(size=(60, 4))
    weights = DocumentWeights.of_lengths(document_lengths(counts))
    results = []
    before = numba.get_num_threads()
    try:
        for threads in (1, 2):
            numba.set_num_threads(threads)
            sums = FrameSums(60, 4)
            block = select_words(counts, None, 60)
            sums.add(block, frame, weights)
            results.append((second_moment(counts, weights.second), sums.cross_second, sums.cross_third, sums.cube))
    finally:
        numba.set_num_threads(before)
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("parts", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("rank", [1, 2, 5, 25, 100])
def test_rows_of_the_cube_are_shared_out_whole_and_evenly(rank, parts):
    bounds = rows_of_equal_work(rank, parts)
    assert len(bounds) == parts + 1
    assert (bounds[0], bounds[-1]) == (0, rank)
    assert (np.diff(bounds) >= 0).all()
    left = np.arange(rank, 0, -1)
    work = left * (left + 1) // 2
    largest = max(work[low:high].sum() for low, high in itertools.pairwise(bounds))
    assert largest <= work.sum() / parts + work[0]

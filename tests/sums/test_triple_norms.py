"""Exact norms and packed sums of `phi3`, against arrays over all triples of words in rational arithmetic."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from private_support import LARGEST_COUNT, Document, counts_of, numba_threads
from private_topics.corpus.counts.layout import select_words
from private_topics.corpus.counts.matrix import document_lengths, validate_counts
from private_topics.errors import InputError
from private_topics.sums.packed_moments import (
    PackedMoments,
    _coarser,
    add_packed_triples,
    pack_pairs,
    packed_inside,
    packed_triples,
    unpack_pairs,
)
from private_topics.sums.parts import DocumentWeights, Part
from private_topics.sums.triple_norms import (
    FINE_BITS,
    MOST_DOCUMENTS,
    MOST_PROJECTED,
    PROJECTION_ERROR,
    SMALLEST_SHARE,
    ClippedTriples,
    _add_finely,
    projected_third,
    triple_norms,
)

N_WORDS = 5


def triples_of(document: Document, n_words: int = N_WORDS) -> np.ndarray:
    """Ordered triples of distinct tokens, by word: `l(l-1)(l-2) phi3`, in Python integers."""
    counts = np.array([document.get(word, 0) for word in range(n_words)], object)
    array = np.zeros((n_words,) * 3, object)
    for i, j, k in itertools.product(range(n_words), repeat=3):
        array[i, j, k] = counts[i] * (counts[j] - (i == j)) * (counts[k] - (k == i) - (k == j))
    return array


def block_of(documents: list[Document], n_words: int = N_WORDS):
    counts = validate_counts(counts_of(documents, n_words))
    return select_words(counts, None, n_words), document_lengths(counts)


counts = st.one_of(st.integers(1, 5), st.sampled_from([30, 1000, 10**6, LARGEST_COUNT]))
documents = st.dictionaries(st.integers(0, N_WORDS - 1), counts, max_size=N_WORDS)


@given(documents)
def test_norm_is_exact(document):
    block, lengths = block_of([document])
    with numba_threads(1):
        norm = triple_norms(block.indptr, block.counts, lengths)[0]
    length = sum(document.values())
    squares = sum(entry**2 for entry in triples_of(document).ravel()) if length >= 3 else 0
    if squares == 0:
        assert norm == 0.0
        return
    exact = Fraction(norm) * length * (length - 1) * (length - 2)
    assert abs(exact**2 / squares - 1) < 1e-13


@given(documents)
def test_norm_is_never_raised(document):
    """The floor that the proof takes for granted lies below the norm of every document of three tokens."""
    length = sum(document.values())
    if length >= 3:
        squares = sum(int(entry) ** 2 for entry in triples_of(document).ravel())
        cube = sum(count**2 for count in document.values()) ** 3
        assert squares >= Fraction(SMALLEST_SHARE) ** 2 * cube


def test_norm_counts_the_full_length_and_only_the_words_present():
    block, lengths = block_of([{0: 2, 1: 1, 4: 7}])
    restricted = select_words(validate_counts(counts_of([{0: 2, 1: 1, 4: 7}], 5)), np.array([0, 1, -1, -1, -1]), 2)
    norm = triple_norms(restricted.indptr, restricted.counts, lengths)[0]
    assert norm == pytest.approx(math.sqrt(3 * 4.0) / (10 * 9 * 8))
    assert triple_norms(block.indptr, block.counts, np.array([2]))[0] == 0.0


def test_weights_of_short_documents_are_zero():
    np.testing.assert_array_equal(DocumentWeights.of_lengths(np.array([0, 2, 3, 5])).third, [0.0, 0.0, 1 / 6, 1 / 60])


@given(st.lists(documents, min_size=1, max_size=4))
def test_packed_sum_is_the_whole_array(texts):
    block, _ = block_of(texts)
    weights = np.arange(1, len(texts) + 1)
    small = [text if max(text.values(), default=0) <= 1000 else {} for text in texts]
    block, _ = block_of(small)
    packed = np.zeros(packed_triples(N_WORDS), np.int64)
    with numba_threads(1):
        add_packed_triples(block, weights, packed)
    whole = sum((weight * triples_of(text) for weight, text in zip(weights, small, strict=True)), 0)
    ordered = itertools.combinations_with_replacement(range(N_WORDS), 3)
    places = [(index, len(set(itertools.permutations(index)))) for index in ordered]
    assert packed.tolist() == [place * whole[index] for index, place in places]
    assert packed.sum() == whole.sum()  # the L1 norm


def test_packed_sum_inside_a_frame():
    random = np.random.default_rng(0)
    texts = [{int(w): int(c) for w, c in enumerate(row) if c} for row in random.poisson(1.0, (6, N_WORDS))]
    block, _ = block_of(texts)
    packed = np.zeros(packed_triples(N_WORDS), np.int64)
    add_packed_triples(block, np.ones(6, np.int64), packed)
    frame = random.normal(size=(N_WORDS, 3))
    whole = sum(triples_of(text) for text in texts).astype(float)
    expected = np.einsum("ijk,ia,jb,kc->abc", whole, frame, frame, frame)
    np.testing.assert_allclose(packed_inside(packed.astype(float), frame), expected, rtol=1e-12, atol=1e-12)


def test_packed_pairs_and_back():
    matrix = np.random.default_rng(0).integers(0, 9, (4, 4))
    matrix += matrix.T
    packed = pack_pairs(np.triu(matrix))
    assert packed.sum() == matrix.sum()
    np.testing.assert_array_equal(unpack_pairs(packed.astype(float), 4), matrix)


@given(st.lists(st.integers(-(2**60), 2**60), min_size=1, max_size=5), st.integers(0, 50))
def test_a_coarser_lattice_is_reached_by_rounding_half_up(steps, bits):
    exact = [math.floor(Fraction(step, 2**bits) + Fraction(1, 2)) for step in steps]
    assert _coarser(np.array(steps), bits).tolist() == exact


def test_ties_between_two_lattices_go_up():
    assert _coarser(np.array([-6, -5, -2, -1, 0, 1, 2, 3, 5, 6]), 2).tolist() == [-1, -1, 0, 0, 0, 0, 1, 1, 1, 2]


def test_sums_without_documents_are_zero():
    counts = validate_counts(counts_of([{}, {0: 2}], 3))
    part = Part(counts, document_lengths(counts), np.ones(2))
    packed = PackedMoments(3, 2.0**-30, (2.0**-20, 2.0**-10, 2.0**-30))
    for wanted in (packed, ClippedTriples(np.arange(3), np.eye(3), 1.0, 2.0**-30, 2.0**-20, 2.0**-20)):
        totals = wanted.zeros()
        wanted.add(part, totals)
        assert not any(array.any() for array in totals)


@pytest.mark.parametrize("count", [1, 50, 20_000])
def test_the_error_of_the_projection_is_certified(count):
    """Against rational arithmetic: columns whose words cancel, in long documents, clipped and not."""
    n_words, rank, n_units = 40, 2, 12
    signs = np.where(np.arange(n_words) % 2, -1.0, 1.0)
    basis = np.linalg.qr(np.stack([signs + 1e-3, np.cos(np.arange(n_words))], axis=1))[0] * (1.0 - 2.0**-30)
    texts = [dict.fromkeys(range(n_words), count + n) for n in range(n_units)]
    block, lengths = block_of(texts, n_words)
    clip = 0.7 * float(triple_norms(block.indptr, block.counts, lengths).max())
    weights = (
        np.minimum(1.0, clip / triple_norms(block.indptr, block.counts, lengths))
        * DocumentWeights.of_lengths(lengths).third
    )
    got = projected_third(block, weights, basis)
    columns = np.vectorize(Fraction, otypes=[object])(basis)
    exact = np.zeros((rank,) * 3, object)
    for text, weight in zip(texts, weights, strict=True):
        y = columns.T @ np.array(list(text.values()), object)
        single = [
            [sum(text[w] * columns[w, a] * columns[w, b] for w in text) for b in range(rank)] for a in range(rank)
        ]
        for a, b, c in np.ndindex(rank, rank, rank):
            cube = sum(text[w] * columns[w, a] * columns[w, b] * columns[w, c] for w in text)
            mixed = single[a][b] * y[c] + single[a][c] * y[b] + single[b][c] * y[a]
            exact[a, b, c] += Fraction(weight) * (y[a] * y[b] * y[c] - mixed + 2 * cube)
    error = math.sqrt(
        sum(float(Fraction(float(g)) - e) ** 2 for g, e in zip(got.ravel(), exact.ravel(), strict=True))
    )
    assert 0.0 < error <= PROJECTION_ERROR * rank**1.5 * n_units * clip


def test_no_number_of_pieces_loses_precision():
    """Five pieces that add a part of a step each: rounded to whole steps nothing would be left of them."""
    block, lengths = block_of([{0: 3, 1: 1, 2: 2}], 3)
    basis = np.array([[0.6, -0.3], [0.5, 0.2], [-0.4, 0.7]])
    once = projected_third(block, DocumentWeights.of_lengths(lengths).third, basis)
    counts = validate_counts(counts_of([{0: 3, 1: 1, 2: 2}], 3))
    part = Part(counts, lengths, np.ones(1))
    grid = 2.0 ** math.ceil(math.log2(np.abs(once).max() / 0.4))
    wanted = ClippedTriples(np.arange(3), basis, 10.0, grid, 2.0**-20, 2.0**-20)
    totals = wanted.zeros()
    for _ in range(5):
        wanted.add(part, totals)
    released, factors = wanted.aggregates(totals)
    np.testing.assert_allclose(released * 2.0**-20, 5 * once, atol=2.0**-20)
    assert factors[0] == pytest.approx(5 * 2**20)


def test_a_block_loses_no_more_than_the_proof_says():
    """docs/proofs/configuration_1.md: (2^-41 + 2^-53) of a step of the grid, in every entry."""
    blocks = np.random.default_rng(0).uniform(-1e4, 1e4, size=(50, 8))
    total, fine, exact = np.zeros(8, np.int64), np.zeros(8, np.int64), [Fraction(0)] * 8
    for number, block in enumerate(blocks, start=1):
        _add_finely(block, total, fine)
        exact = [before + Fraction(more) for before, more in zip(exact, block.tolist(), strict=True)]
        for whole, part, one in zip(total.tolist(), fine.tolist(), exact, strict=True):
            assert 0 <= part < 2**FINE_BITS
            lost = abs(whole + Fraction(part, 2**FINE_BITS) - one)
            assert lost <= number * (Fraction(1, 2**41) + Fraction(1, 2**53))


def test_what_is_certified_is_projected():
    for n_documents, n_words in ((MOST_DOCUMENTS, 2), (1, MOST_PROJECTED)):
        block, lengths = block_of([{0: 3}] * n_documents, n_words)
        found = projected_third(block, DocumentWeights.of_lengths(lengths).third, np.ones((n_words, 1)))
        assert found == pytest.approx(n_documents)


def test_the_limits_keep_the_error_of_the_proof():
    """docs/proofs/configuration_1.md: 4,040 roundings of thirty times the clip, the grid and a conversion."""
    roundings = 3 * MOST_PROJECTED + MOST_DOCUMENTS + 16
    assert roundings <= 4_040
    gamma = roundings * 2.0**-53 / (1.0 - roundings * 2.0**-53)
    assert 30.0 * gamma + 2.0**-41 + 2.0**-52 < PROJECTION_ERROR


def test_beyond_what_is_certified_is_refused():
    for n_documents, n_words in ((MOST_DOCUMENTS + 1, 2), (1, MOST_PROJECTED + 1)):
        block, lengths = block_of([{0: 3}] * n_documents, n_words)
        with pytest.raises(InputError, match="at most"):
            projected_third(block, DocumentWeights.of_lengths(lengths).third, np.ones((n_words, 1)))

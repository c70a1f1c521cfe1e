"""Documents of any length keep their weight: what is added is truncated to the lattice, not the weight it is made of.

Lengths from 3 to 10^7 words and counts up to 2^31 - 1 in one corpus; sums beside exact rational arithmetic; integer
ranges at their ends, with lattices for 2^20 to 2^30 units.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from private_support import (
    LARGEST_COUNT,
    PublicInputs,
    check_sensitivity,
    corpus_of_units,
    counts_of,
    entering_releases,
)
from private_topics import PrivateSpectralLDA, topic_error_l2
from private_topics.corpus.counts.matrix import document_lengths, validate_counts
from private_topics.sums.packed_moments import PackedMoments, pack_pairs
from private_topics.sums.parts import Part
from private_topics.sums.unit_sums import ClippedPairs, NormedCounts

N_WORDS = 5
STEP = 2.0**-40
PROPORTIONS = (4, 3, 2, 1, 0)
LENGTHS = (10, 1_000, 100_000, 10**7, 2 * 10**9)
MIXED = [
    {0: 1, 1: 1, 2: 1},
    {0: 3},
    {1: 10**7},
    {0: 4 * 10**6, 3: 6 * 10**6},
    {w: LARGEST_COUNT for w in range(N_WORDS)},
]


def part_of(documents: list[dict[int, int]]) -> Part:
    block = validate_counts(counts_of(documents, N_WORDS))
    return Part(block, document_lengths(block), np.ones(len(documents)))


def scaled(length: int) -> dict[int, int]:
    return {word: length * part // 10 for word, part in enumerate(PROPORTIONS) if part}


def total_of(unit_sum, part):
    totals = unit_sum.zeros()
    unit_sum.add(part, totals)
    return unit_sum.aggregates(totals)


def exact_pairs(document: dict[int, int]) -> dict[tuple[int, int], Fraction]:
    """`phi2` of a document, in rational arithmetic."""
    length = sum(document.values())
    over = Fraction(1, length * (length - 1))
    return {
        (i, j): over * (a * b if i != j else a * (a - 1)) for i, a in document.items() for j, b in document.items()
    }


@pytest.mark.parametrize("length", LENGTHS)
def test_a_document_counts_the_same_at_any_length(length):
    part = part_of([scaled(length)])
    (unigram,) = total_of(NormedCounts(N_WORDS, STEP), part)
    np.testing.assert_allclose(unigram * STEP, np.array(PROPORTIONS) / 30**0.5, atol=1e-8)
    pairs, factors = total_of(ClippedPairs(np.arange(N_WORDS), 1.0, STEP, STEP), part)
    limit = np.outer(PROPORTIONS, PROPORTIONS) / 100.0
    np.testing.assert_allclose(pairs * STEP, limit, atol=1.5 / length + 1e-8)
    assert factors * STEP == pytest.approx(1.0, abs=1e-8)
    first, second, third = total_of(PackedMoments(N_WORDS, STEP, (STEP,) * 3), part)
    np.testing.assert_allclose(first * STEP, np.array(PROPORTIONS) / 10.0, atol=1e-8)
    np.testing.assert_allclose(second * STEP, pack_pairs(np.round(100 * limit)) / 100.0, atol=3.0 / length + 1e-8)
    assert third.sum() * STEP == pytest.approx(1.0, abs=1e-8)


def test_mixed_lengths_add_up_as_in_rational_arithmetic():
    """No entry is above the exact one, and none further below than a step and a rounding for each document."""
    clip = 0.5
    pairs, _ = total_of(ClippedPairs(np.arange(N_WORDS), clip, STEP, STEP), part_of(MIXED))
    expected = np.zeros((N_WORDS, N_WORDS))
    for document in MIXED:
        exact = exact_pairs(document)
        norm = float(sum(value**2 for value in exact.values())) ** 0.5
        for (i, j), value in exact.items():
            expected[i, j] += float(value) * min(1.0, clip / norm)
    below = expected - pairs * STEP
    assert (below >= 0.0).all()
    assert (below <= len(MIXED) * (STEP + 2e-9)).all()


@pytest.mark.parametrize("n_units", [2**20, 2**25, 2**30])
def test_sensitivities_hold_on_the_lattices_of_many_units(n_units):
    """Fine lattices make large integers: none wraps, whatever the lengths."""
    random = np.random.default_rng(0)
    public = PublicInputs(
        N_WORDS, np.arange(4), random.normal(size=(4, 2)), random.dirichlet(np.ones(N_WORDS), 2),
        second_bin=32, frame_second_bin=36, frame_third_bin=36,
    )  # fmt: skip
    base = [({0: 3, 1: 2},), ({2: 10**7, 3: 5},), ({4: 2},)]
    family = [
        entering_releases(corpus_of_units([*base, (document,)], N_WORDS, n_units=n_units), public)
        for document in [{}, *MIXED]
    ]
    for name in family[0]:
        assert check_sensitivity(family, name) > 0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    ("length", "most"), [(100, 0.016), (1_000, 0.012), (10**4, 0.012), (10**5, 0.012), (10**6, 0.012)]
)
def test_a_fit_finds_the_topics_at_any_length(length, most):
    """Measured when this was written: 0.0150, 0.0106 and 0.0103 from 10,000 words on."""
    random = np.random.default_rng(0)
    topics = random.dirichlet(np.full(300, 0.1), 5)
    mixtures = random.dirichlet(np.full(5, 0.02), 20_000) @ topics
    counts = random.multinomial(length, mixtures / mixtures.sum(axis=1, keepdims=True))
    model = PrivateSpectralLDA(5, epsilon=3.0, delta=1e-6, alpha0=0.1, noise_seed=1).fit(sp.csr_array(counts))
    assert len(model.components_) == 5
    assert topic_error_l2(model.components_, topics) <= most

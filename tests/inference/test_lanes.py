"""A document's contribution to the last bit, by operations that IEEE 754 rounds in one way only.

The references repeat each operation in plain Python, whose floats are IEEE doubles, with a fused multiply-add in
rational arithmetic. A compiler that reordered a sum or fused where the code does not say so would change some bit.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numba import njit

from private_topics.corpus.counts.layout import times_matrix
from private_topics.inference.fold_in import TINY, fold_in
from private_topics.inference.lanes import LANES, fused, lane_sums
from private_topics.sums.norms import cube_roots, frame_norms, statistic_norms


def fma(x: float, y: float, z: float) -> float:
    return float(Fraction(x) * Fraction(y) + Fraction(z))


def lanes_of(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    sums, squares = [0.0] * LANES, [0.0] * LANES
    for a, (one, other) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        product = one * other
        sums[a % LANES] = fma(one, other, sums[a % LANES])
        squares[a % LANES] = fma(product, product, squares[a % LANES])
    return (sums[0] + sums[1]) + (sums[2] + sums[3]), (squares[0] + squares[1]) + (squares[2] + squares[3])


@njit
def call_lane_sums(x, y):
    return lane_sums(x, y)


@njit
def call_fused(x, y, z):
    return fused(x, y, z)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 8, 20, 33, 100])
def test_lane_sums_to_the_last_bit(length):
    generator = np.random.default_rng(length)
    for _ in range(20):
        x, y = generator.standard_normal((2, length)) * 10.0 ** generator.integers(-9, 9, (2, length))
        assert call_lane_sums(x, y) == lanes_of(x, y)


def test_a_plain_sum_differs_somewhere():
    """The comparison is not blind: numpy's order gives other bits."""
    x, y = np.random.default_rng(0).standard_normal((2, 100))
    assert float(x @ y) != lanes_of(x, y)[0] or float(np.sum(x * y)) != lanes_of(x, y)[0]


def test_fused_rounds_once():
    x = 1.0 + 2.0**-30
    assert call_fused(x, x, -1.0) == fma(x, x, -1.0) != x * x - 1.0


def exp_digamma(x: float) -> float:
    x1, x2, x3, x4 = x + 1.0, x + 2.0, x + 3.0, x + 4.0
    x01, x23, x34 = x * x1, x2 * x3, x3 * x4
    product = x01 * x23 * x4
    reciprocals = (x1 * x2 * x34 + x * x2 * x34 + x01 * x34 + x01 * x2 * x4 + x01 * x23) / product
    z = 1.0 / (x + 5.0)
    series = x + 4.5 + z * (1.0 / 24.0 + z * (1.0 / 48.0 + z * (23.0 / 5760.0)))
    t = -min(reciprocals, 100.0) * (1.0 / 128.0)
    high = 1.0 / 24.0 + t * (1.0 / 120.0 + t * (1.0 / 720.0 + t * (1.0 / 5040.0 + t * (1.0 / 40320.0))))
    p = 1.0 + t * (1.0 + t * (0.5 + t * (1.0 / 6.0 + t * high)))
    for _ in range(6):
        p *= p
    return series * (p * p)


def folded_in(
    counts: list[int], rows: np.ndarray, prior: list[float], rounds: int
) -> tuple[list[float], list[float]]:
    k, length = len(prior), float(sum(counts))
    gamma = [value + length / k for value in prior]
    pull = [exp_digamma(g) for g in gamma]
    for number in range(rounds):
        gamma = [0.0] * k
        for count, topic in zip(counts, rows, strict=True):
            scaled = count / (lanes_of(np.array(pull), topic)[0] + TINY)
            gamma = [fma(scaled, float(weight), g) for weight, g in zip(topic, gamma, strict=True)]
        gamma = [fma(e, g, value) for e, g, value in zip(pull, gamma, prior, strict=True)]
        further = number % 2 == 0 and number + 1 < rounds
        ratio = [exp_digamma(g) / e if further else 1.0 for g, e in zip(gamma, pull, strict=True)]
        pull = [exp_digamma(g) * r * (r if number else 1.0) for g, r in zip(gamma, ratio, strict=True)]
    return gamma, pull


@pytest.fixture(scope="module")
def document():
    generator = np.random.default_rng(5)
    words = np.sort(generator.choice(40, 12, replace=False)).astype(np.int32)
    return np.array([0, 12]), words, generator.integers(1, 9, 12).astype(np.int32)


@pytest.mark.parametrize("n_topics", [2, 4, 7, 13])
def test_fold_in_and_its_norm_to_the_last_bit(document, n_topics):
    indptr, words, counts = document
    topics = np.random.default_rng(n_topics).dirichlet(np.full(40, 0.1), n_topics)
    word_topics, prior = np.ascontiguousarray(topics.T), np.full(n_topics, 0.7 / n_topics)
    gamma, pull = fold_in(indptr, words, counts, word_topics, prior, 6)
    expected = folded_in(counts.tolist(), word_topics[words], prior.tolist(), 6)
    assert (gamma[0].tolist(), pull[0].tolist()) == expected
    weights = np.geomspace(1.0, 70.0, 40)
    norms, totals = statistic_norms(indptr, words, counts, word_topics, weights, pull)
    norm = 0.0
    weighted = (weights[words] * counts).tolist()
    for count, topic, total in zip(weighted, word_topics[words], totals.tolist(), strict=True):
        expected_total, squares = lanes_of(pull[0], topic)
        assert total == expected_total
        ratio = count / total
        norm += ratio * ratio * squares
    assert norms[0] == math.sqrt(norm)


def test_projection_and_its_norms_to_the_last_bit(document):
    indptr, words, counts = document
    frame = np.random.default_rng(8).standard_normal((40, 7))
    projected = times_matrix(indptr, words, counts, frame)
    row = [0.0] * 7
    for word, count in zip(words, counts.tolist(), strict=True):
        row = [value + count * float(weight) for value, weight in zip(row, frame[word], strict=True)]
    assert projected[0].tolist() == row
    length = math.sqrt(sum_in_order(value * value for value in row))
    squares = [sum_in_order(float(w) * float(w) for w in frame[word]) for word in words]
    second = sum_in_order(c * square for c, square in zip(counts.tolist(), squares, strict=True))
    third = sum_in_order(c * (square * math.sqrt(square)) for c, square in zip(counts.tolist(), squares, strict=True))
    found = frame_norms(indptr, words, counts, np.array([int(counts.sum())]), frame, projected)
    assert found[0].tolist() == [length, second, third]


def sum_in_order(values) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


def test_cube_roots_to_the_last_bit_and_nearly_right():
    values = np.exp(np.random.default_rng(2).uniform(-600.0, 600.0, 20_000))
    values[:4] = 0.0, 1.0, 1e-300, 5e-324
    found = cube_roots(values)
    np.testing.assert_allclose(found, np.cbrt(values), rtol=4e-16)
    for value, root in zip(values[1:50].tolist(), found[1:50].tolist(), strict=True):
        fraction, exponent = math.frexp(value)
        third = (exponent + 3072) // 3 - 1024
        x = math.ldexp(fraction, exponent - 3 * third)
        y = 0.65 + 0.25 * x
        for _ in range(6):
            y = (2.0 * y + x / (y * y)) / 3.0
        assert root == math.ldexp(y, third)

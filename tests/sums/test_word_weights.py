"""The statistic of the refinement with weights of words: against plain arithmetic, and what they leave alone."""

from __future__ import annotations

import numpy as np
import pytest

from private_support import numba_threads, uneven_counts
from private_topics.corpus.counts.matrix import document_lengths, validate_counts
from private_topics.inference.fold_in import fold_in
from private_topics.releases.statistic import SMALLEST_FREQUENCY, even_weights
from private_topics.sums.parts import Part
from private_topics.sums.unit_sums import TopicStatistic

N_DOCUMENTS, N_WORDS, N_TOPICS, STEP = 200, 40, 5, 2.0**-40
PRIOR = np.full(N_TOPICS, 0.2)
WEIGHTS = np.geomspace(1.0, 300.0, N_WORDS)[::-1].copy()
SOME = np.arange(1, N_WORDS, 3)


def topics() -> np.ndarray:
    return np.ascontiguousarray(np.random.default_rng(1).dirichlet(np.full(N_WORDS, 0.2), N_TOPICS).T + 1e-9)


def part_of(rows: slice = slice(None)) -> Part:
    counts = validate_counts(uneven_counts(N_DOCUMENTS, N_WORDS, 3)[rows])
    return Part(counts, document_lengths(counts), np.ones(counts.shape[0]))


def total(weights: np.ndarray, part: Part, words: np.ndarray | None = None) -> np.ndarray:
    word_topics = topics() if words is None else np.ascontiguousarray(topics()[words])
    statistic = TopicStatistic(words, word_topics, weights, PRIOR, STEP)
    totals = statistic.zeros()
    statistic.add(part, totals)
    return totals[0]


@pytest.mark.parametrize("words", [None, SOME], ids=["all words", "some words"])
def test_as_plain_arithmetic_has_it(words):
    part = part_of()
    word_topics, weights = (topics(), WEIGHTS) if words is None else (topics()[words], WEIGHTS[words])
    dense = part.block.toarray().astype(float)
    dense = dense if words is None else dense[:, words]
    block = part.on_all_words() if words is None else part.on(words)
    _, pull = fold_in(block.indptr, block.words, block.counts, np.ascontiguousarray(word_topics), PRIOR)
    expected = np.zeros((len(weights), N_TOPICS))
    for counts, e, length in zip(dense, pull, part.lengths, strict=True):
        shares = e * word_topics / (word_topics @ e)[:, None]
        contribution = (weights * counts)[:, None] * shares
        if length >= 3 and contribution.any():
            expected += contribution / np.linalg.norm(contribution)
    np.testing.assert_allclose(total(weights, part, words) * STEP, expected, rtol=1e-7, atol=1e-6)


def test_weights_that_are_all_alike_change_no_integer():
    np.testing.assert_array_equal(total(np.full(N_WORDS, 8.0), part_of()), total(np.ones(N_WORDS), part_of()))


def test_divided_out_they_leave_the_statistic_of_a_document():
    """Without noise the weights of words are inverted: of one document they change the length alone."""
    for row in range(20):
        part = part_of(slice(row, row + 1))
        plain, weighted = total(np.ones(N_WORDS), part) * STEP, total(WEIGHTS, part) * STEP / WEIGHTS[:, None]
        if plain.any():
            np.testing.assert_allclose(weighted / weighted.sum(), plain / plain.sum(), atol=1e-8)
            assert np.linalg.norm(weighted) < np.linalg.norm(plain)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows", [1, 7, 200])
def test_parts_and_threads_do_not_matter(rows, threads):
    with numba_threads(threads):
        added = sum(total(WEIGHTS, part_of(slice(start, start + rows))) for start in range(0, N_DOCUMENTS, rows))
    np.testing.assert_array_equal(added, total(WEIGHTS, part_of()))


def test_even_weights_fall_with_frequency_down_to_one():
    unigram = np.sort(np.random.default_rng(0).dirichlet(np.full(500, 0.3)))
    weights = even_weights(unigram)
    assert weights.min() == weights[-1] == 1.0
    assert (np.diff(weights) <= 0).all()
    rare = unigram <= SMALLEST_FREQUENCY / 500
    assert rare.any()
    assert len(set(weights[rare])) == 1
    np.testing.assert_array_equal(even_weights(np.full(7, 1 / 7)), 1.0)


@pytest.mark.parametrize("n_words", [1, 7, 500])
def test_even_weights_are_those_of_the_page(n_words):
    """docs/proofs/refinement.md, which bounds them too."""
    unigram = np.random.default_rng(n_words).dirichlet(np.full(n_words, 0.3)).tolist()
    lifted = [max(p, 1 / (5 * n_words)) for p in unigram]
    weights = even_weights(np.array(unigram))
    assert weights.tolist() == pytest.approx([(max(lifted) / f) ** (3 / 8) for f in lifted])
    largest = (5 * n_words) ** (3 / 8) if n_words > 1 else 1.0
    assert even_weights(np.eye(1, n_words)[0]).max() == pytest.approx(largest)

"""Vectors from public counts: the matrix by hand, blocks, determinism, and words that go together."""

import numpy as np
import pytest
import scipy.sparse as sp

from private_topics import make_lda_corpus
from private_topics.corpus.counts.matrix import validate_counts
from private_topics.knowledge import cooccurrence
from private_topics.knowledge.cooccurrence import document_vectors, information, log_frequencies
from private_topics.knowledge.table import unit_rows

CORPUS = make_lda_corpus(1_500, 450, 5, alpha0=0.1, mean_length=40, random_state=0)


def by_hand(counts):
    present = (counts.toarray() > 0).astype(float)
    together, holding = present.T @ present, present.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log(len(present) * together / np.outer(holding, holding))
    values[(together < 2) | np.eye(len(values), dtype=bool) | ~(values > 0)] = 0
    return np.sqrt(values)


@pytest.mark.parametrize("entries", [10, 2_000, 2**24])
def test_the_matrix_is_the_formula(monkeypatch, entries):
    monkeypatch.setattr(cooccurrence, "BLOCK_ENTRIES", entries)
    counts = np.random.default_rng(1).poisson(0.2, size=(200, 30))
    counts[:, 7] = counts[5] = 0
    counts = validate_counts(counts)
    np.testing.assert_allclose(information(counts).toarray(), by_hand(counts), atol=1e-12)


def test_vectors_give_the_leading_part_of_the_matrix():
    counts = validate_counts(CORPUS[0])
    values, directions = np.linalg.eigh(by_hand(counts))
    leading = directions[:, -20:] * values[-20:] @ directions[:, -20:].T
    vectors = document_vectors(counts, 20)
    np.testing.assert_allclose(vectors @ vectors.T, leading, atol=1e-8)


def test_both_ways_to_the_eigenvectors_agree(monkeypatch):
    counts = validate_counts(CORPUS[0])
    by_iteration = document_vectors(counts, 5)
    monkeypatch.setattr(cooccurrence, "DENSE_WORDS", 10_000)
    np.testing.assert_allclose(document_vectors(counts, 5), by_iteration, atol=1e-7)


def test_the_same_counts_give_the_same_vectors():
    counts = validate_counts(CORPUS[0])
    np.testing.assert_array_equal(document_vectors(counts), document_vectors(counts))
    vectors = document_vectors(counts)
    assert vectors.shape == (450, 60)
    assert (vectors[np.abs(vectors).argmax(axis=0), np.arange(60)] > 0).all()


def test_words_of_one_topic_are_alike():
    counts, topics, _ = CORPUS
    vectors = unit_rows(document_vectors(validate_counts(counts)))
    best = topics.argmax(axis=0)
    clear = topics.max(axis=0) > 0.9 * topics.sum(axis=0)
    likeness = (vectors @ vectors.T)[np.ix_(clear, clear)]
    same = best[clear][:, None] == best[clear]
    np.fill_diagonal(same, False)
    other = best[clear][:, None] != best[clear]
    assert likeness[same].mean() > likeness[other].mean() + 0.4


def test_words_without_a_pair_have_no_vector():
    counts = np.zeros((6, 5), int)
    counts[:3, :2] = 1
    counts[3:, 2:4] = 1
    counts[0, 4] = 1
    vectors = document_vectors(validate_counts(counts))
    assert vectors.any(axis=1).tolist() == [True] * 4 + [False]
    assert document_vectors(validate_counts(np.eye(4, dtype=int))).shape == (4, 0)
    assert document_vectors(validate_counts(sp.eye_array(900, dtype=int))).shape == (900, 0)


def test_memory_is_bounded_by_asking_for_more_documents(monkeypatch):
    counts = validate_counts(CORPUS[0])
    every = information(counts)
    monkeypatch.setattr(cooccurrence, "MOST_PAIRS", every.nnz // 2)
    fewer = information(counts)
    assert 0 < fewer.nnz <= every.nnz // 2
    assert set(fewer.data) <= set(every.data)
    assert (fewer != fewer.T).nnz == 0


def test_frequencies():
    found = log_frequencies(validate_counts(np.array([[1, 0, 2], [3, 0, 2]])))
    np.testing.assert_allclose(found, [np.log(0.5), np.nan, np.log(0.5)])

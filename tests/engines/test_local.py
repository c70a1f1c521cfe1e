"""The corpus on this machine: its units, its frequent words, and the refinement of a fit without privacy."""

from __future__ import annotations

import numpy as np
import pytest

from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.corpus.counts.matrix import validate_counts
from private_topics.engines.local import LocalCorpus, _update
from private_topics.engines.protocol import CorpusSize
from private_topics.errors import InputError
from private_topics.progress import Progress

COUNTS = np.random.default_rng(0).poisson(1.0, (90, 6))


@pytest.mark.parametrize("groups", [list("abca"), [7, 8, 9, 7], np.array(["a", "b", 3, "a"], object)])
def test_a_unit_is_a_user_where_users_are_given(groups):
    blocks = MatrixBlocks(np.ones((4, 2), dtype=int))
    corpus = LocalCorpus.of(blocks, groups)
    assert corpus.n_units == 3
    np.testing.assert_array_equal(corpus.share, [0.5, 1.0, 1.0, 0.5])
    assert LocalCorpus.of(blocks).n_units == 4


@pytest.mark.parametrize("missing", [None, np.nan, 1.5, ("a",)])
def test_one_missing_label_among_others_is_refused(missing):
    labels = np.empty(4, object)
    labels[:] = ["a", "b", missing, "a"]
    with pytest.raises(InputError, match="none missing or masked"):
        LocalCorpus.of(MatrixBlocks(np.ones((4, 2), dtype=int)), labels)


@pytest.mark.parametrize("labels", [np.array([1.0, np.nan, 2.0, 1.0]), np.array(["2020-01-01", "NaT"] * 2, "M8[D]")])
def test_one_missing_number_or_day_among_others_is_refused(labels):
    with pytest.raises(InputError, match="none missing or masked"):
        LocalCorpus.of(MatrixBlocks(np.ones((4, 2), dtype=int)), labels)


def test_frequent_words_are_those_of_most_tokens():
    corpus = LocalCorpus.of(MatrixBlocks(np.array([[1, 9, 0, 5], [1, 0, 1, 0], [1, 0, 1, 0]])))
    np.testing.assert_array_equal(corpus.frequent_words(2), [1, 3])


def test_a_refined_statistic_counts_the_tokens_of_the_corpus():
    """It begins with as many expected tokens as there are, and every update keeps their number."""
    size = CorpusSize(len(COUNTS), len(COUNTS), int(COUNTS.sum()))
    start = np.random.default_rng(1).random((6, 2))
    start *= size.tokens / start.sum()
    found = LocalCorpus.of(MatrixBlocks(COUNTS)).refined(start, size, 0.5, 2, 0, Progress())
    assert found.sum() == pytest.approx(size.tokens, rel=1e-5)
    assert (found >= 0).all()


@pytest.mark.parametrize(
    ("size", "expected"), [(500, [90]), (90, [90]), (45, [45, 45]), (40, [45, 45]), (30, [30] * 3)]
)
def test_batches_are_of_equal_size_and_stride_over_the_corpus(size, expected):
    batches = list(LocalCorpus.of(MatrixBlocks(COUNTS))._batches(size))
    assert [batch.shape[0] for batch in batches] == expected
    for start, batch in enumerate(batches):
        np.testing.assert_array_equal(batch.toarray(), COUNTS[start :: len(batches)])


@pytest.mark.parametrize("tokens", [0, 1])
def test_a_batch_without_tokens_is_passed_over_and_one_of_a_single_token_is_not(tokens):
    batch = validate_counts(np.array([[tokens, 0], [0, 0]]))
    expected = np.array([[1.0, 2.0], [3.0, 4.0]])
    before = expected.copy()
    _update(expected, batch, 0.5, 10, 0.25, 0, (1, 1))
    assert expected[:, 0].sum() + expected[:, 1].sum() == pytest.approx(10.0, rel=1e-6)
    assert np.array_equal(expected, before) == (tokens == 0)

"""Some words of a part, and one more that stands for all the others."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sum_support import LARGEST_COUNT, part_of

from private_topics.corpus.counts.layout import LARGEST_REST

N_WORDS = 6
documents = st.dictionaries(st.integers(0, N_WORDS - 1), st.sampled_from([1, 2, 30, LARGEST_COUNT]), max_size=N_WORDS)
chosen = st.sets(st.integers(0, N_WORDS - 1)).map(sorted)


def dense(block) -> np.ndarray:
    found = np.zeros((block.n_documents, block.n_words), np.int64)
    for document in range(block.n_documents):
        entries = slice(block.indptr[document], block.indptr[document + 1])
        assert (np.diff(block.words[entries]) > 0).all()
        found[document, block.words[entries]] = block.counts[entries]
    return found


@example([{0: 1, 5: 2}, {}], [])
@given(st.lists(documents, min_size=1, max_size=4), chosen)
def test_the_rest_is_what_the_other_words_have_together(texts, words):
    words = np.array(words, np.int64)
    part = part_of([(text,) for text in texts], N_WORDS)
    counts = part.block.toarray().astype(np.int64)
    others = np.delete(counts, words, axis=1).sum(axis=1)
    block = part.on(words, rest=True)
    assert block.n_words == len(words) + 1
    assert (block.counts > 0).all()
    expected = np.column_stack([counts[:, words], np.minimum(others, LARGEST_REST)])
    np.testing.assert_array_equal(dense(block), expected)
    np.testing.assert_array_equal(dense(part.on(words)), counts[:, words])


@pytest.mark.parametrize(
    ("counts", "expected"),
    [((LARGEST_COUNT - 1, 1), LARGEST_REST), ((LARGEST_COUNT, 1), LARGEST_REST), ((5, LARGEST_COUNT - 6), 2**31 - 2)],
)
def test_the_rest_is_counted_at_most_as_often_as_a_word_can_be(counts, expected):
    """The counts of a block have 32 bits: beyond, the rest would come out negative."""
    part = part_of([({0: 3, 1: counts[0], 2: counts[1]},)], 3)
    np.testing.assert_array_equal(dense(part.on(np.array([0]), rest=True)), [[3, expected]])
    assert part.lengths[0] == 3 + sum(counts)

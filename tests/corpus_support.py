"""What the tests of corpora share: a small corpus, files of it, and checks of what is read and of what is said."""

import gzip
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from private_topics.corpus.counts.block_source import CountBlocks
from private_topics.corpus.counts.matrix import stack_rows
from private_topics.errors import InputError

DENSE = np.array([[0, 2, 0, 1], [0, 0, 0, 0], [5, 0, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]])
SECRET = "Zzyzx"  # in every bad file, in no message

corpora = st.tuples(st.integers(1, 12), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.sampled_from([0, 0, 0, 1, 2, 30, 2**31 - 1]))
)


def write_bytes(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def write_uci(path: Path, dense: np.ndarray, newline: str = "\n") -> Path:
    documents, words = np.nonzero(dense)
    lines = [str(dense.shape[0]), str(dense.shape[1]), str(len(words))]
    lines += [f"{d + 1} {w + 1} {dense[d, w]}" for d, w in zip(documents, words, strict=True)]
    return write_bytes(path, (newline.join(lines) + newline).encode())


def assert_same(corpus: CountBlocks, dense: np.ndarray) -> None:
    """Two passes, both equal to `dense`, in canonical blocks."""
    for _ in range(2):
        blocks = list(corpus)
        for block in blocks:
            assert block.shape[1] == corpus.n_words == dense.shape[1]
            assert (block.indices.dtype, block.indptr.dtype, block.data.dtype) == (np.int32, np.int64, np.int32)
            assert block.shape[0] > 0
        np.testing.assert_array_equal(stack_rows(blocks).toarray(), dense)
        assert corpus.n_documents == len(dense)


def assert_quiet(call: Callable[[], object], message: str) -> None:
    """`call` raises an InputError of one line whose report, locals aside, holds nothing of the file."""
    with pytest.raises(InputError) as caught:
        call()
    shown = "".join(traceback.format_exception(caught.value))
    error = caught.value
    while error is not None:
        shown += repr(error) + repr(vars(error))
        error = error.__cause__ or error.__context__
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert SECRET not in shown

"""`validate_counts`: what is accepted comes out canonical and equal; the rest is a clear error."""

import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from private_topics.corpus.counts.matrix import (
    LONGEST_BUCKETED,
    document_lengths,
    stack_rows,
    take_listed,
    take_rows,
    validate_counts,
)
from private_topics.errors import InputError

DENSE = np.array([[0, 2, 0, 1], [0, 0, 0, 0], [5, 0, 1, 0]])

dense_counts = st.tuples(st.integers(1, 9), st.integers(1, 7)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.sampled_from([0, 0, 0, 1, 2, 3, 2**31 - 1]))
)


def assert_canonical(counts: sp.csr_array) -> None:
    assert isinstance(counts, sp.csr_array)
    assert (counts.data.dtype, counts.indices.dtype, counts.indptr.dtype) == (np.int32, np.int32, np.int64)
    assert all(a.flags.c_contiguous for a in (counts.data, counts.indices, counts.indptr))
    assert (counts.data > 0).all()
    for start, stop in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        assert (np.diff(counts.indices[start:stop]) > 0).all()
    assert counts.indptr[0] == 0
    assert counts.indptr[-1] == len(counts.data) == len(counts.indices)


ACCEPTED = {
    "list of rows": DENSE.tolist(),
    "int64": DENSE,
    "fortran order": np.asfortranarray(DENSE),
    "uint8": DENSE.astype(np.uint8),
    "float64": DENSE.astype(float),
    "float32": DENSE.astype(np.float32),
    "float16": DENSE.astype(np.float16),
    "big endian": DENSE.astype(">i4"),
    "object": DENSE.astype(object),
    "matrix": np.matrix(DENSE),
    "csr": sp.csr_matrix(DENSE),
    "csr float": sp.csr_array(DENSE.astype(float)),
    "csc": sp.csc_array(DENSE),
    "coo": sp.coo_array(DENSE),
    "lil": sp.lil_array(DENSE),
    "dok": sp.dok_array(DENSE),
    "dia": sp.dia_array(DENSE),
    "bsr": sp.bsr_array(DENSE),
    "data frame": pd.DataFrame(DENSE, columns=["sparse", "shape", "data", "d"]),
    "sparse data frame": pd.DataFrame.sparse.from_spmatrix(sp.csr_array(DENSE)),
    "nullable data frame": pd.DataFrame(DENSE).astype("Int64"),
}


@pytest.mark.parametrize("X", ACCEPTED.values(), ids=ACCEPTED)
def test_accepted_inputs_give_the_same_canonical_counts(X):
    counts = validate_counts(X)
    assert_canonical(counts)
    np.testing.assert_array_equal(counts.toarray(), DENSE)


def test_booleans_count_as_one():
    np.testing.assert_array_equal(validate_counts(DENSE > 0).toarray(), (DENSE > 0).astype(int))
    assert validate_counts(sp.csr_array(DENSE > 0)).data.dtype == np.int32


@settings(deadline=None)
@given(dense_counts, st.sampled_from(["csr", "csc", "coo"]))
def test_any_counts_survive(dense, layout):
    counts = validate_counts(sp.coo_array(dense).asformat(layout))
    assert_canonical(counts)
    np.testing.assert_array_equal(counts.toarray(), dense)


def untidy() -> sp.csr_array:
    """Unsorted, with a duplicate (3 + 4 in word 1), a stored zero, and slack behind the last entry."""
    matrix = sp.csr_array((2, 4), dtype=np.int64)
    matrix.data = np.array([2, 3, 4, 0, 9, 9])
    matrix.indices = np.array([3, 1, 1, 0, 0, 0])
    matrix.indptr = np.array([0, 3, 4])
    return matrix


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_duplicates_zeros_and_slack_are_tidied_without_touching_the_input(dtype):
    matrix = untidy()
    matrix.data = matrix.data.astype(dtype)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    before = [a.copy() for a in (matrix.data, matrix.indices, matrix.indptr)]
    counts = validate_counts(matrix)
    assert_canonical(counts)
    np.testing.assert_array_equal(counts.toarray(), [[0, 7, 0, 2], [0, 0, 0, 0]])
    for old, new in zip(before, (matrix.data, matrix.indices, matrix.indptr), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("n_words", [1, 64, 65, 3000, 2**31 - 1])
def test_rows_of_any_length_are_sorted_and_merged(n_words):
    """Short rows are sorted in another way than long ones; words may come more than once, in any order."""
    generator = np.random.default_rng(n_words)
    sizes = np.array([0, 1, 2, 63, LONGEST_BUCKETED, 0, LONGEST_BUCKETED + 1, 1000])
    words, values = generator.integers(0, n_words, sizes.sum()), generator.integers(0, 4, sizes.sum())
    words[-1], values[0] = n_words - 1, 2**31 - 4001  # the last word, and a count that needs all bits
    indptr = np.concatenate(([0], np.cumsum(sizes)))
    counts = validate_counts(sp.csr_array((values, words, indptr), shape=(len(sizes), n_words)))
    assert_canonical(counts)
    for row in range(len(sizes)):
        mine = slice(indptr[row], indptr[row + 1])
        expected = Counter[int]()
        for word, value in zip(words[mine], values[mine], strict=True):
            expected[int(word)] += int(value)
        found = slice(counts.indptr[row], counts.indptr[row + 1])
        assert dict(zip(counts.indices[found], counts.data[found], strict=True)) == dict(+expected)


def test_canonical_int32_input_is_shared_not_copied():
    matrix = sp.csr_array(DENSE.astype(np.int32))
    counts = validate_counts(matrix)
    assert np.shares_memory(counts.data, matrix.data)
    assert np.shares_memory(counts.indices, matrix.indices)


def test_read_only_input_is_accepted():
    matrix = sp.csr_array(DENSE.astype(np.int32))
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    np.testing.assert_array_equal(validate_counts(matrix).toarray(), DENSE)


@pytest.mark.parametrize("dtype", [np.int8, np.bool_, np.int32, np.int64])
def test_duplicates_of_a_narrow_coo_do_not_overflow(dtype):
    value = 1 if dtype == np.bool_ else 100
    matrix = sp.coo_array((np.full(3, value, dtype), ([0, 0, 0], [1, 1, 1])), shape=(1, 2))
    assert validate_counts(matrix).toarray().tolist() == [[0, 3 * value]]


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_duplicates_adding_up_past_int32_are_refused(layout):
    matrix = sp.coo_array((np.full(2, 2**30, np.int32), ([0, 0], [1, 1])), shape=(1, 2))
    if layout == "csr":
        matrix = sp.csr_array((matrix.data, np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
    with pytest.raises(InputError, match=re.escape("2**31 - 1")):
        validate_counts(matrix)


REFUSED = {
    "negative": ([[1, -1]], "Negative values in data"),
    "negative and fractional": ([[0.5, -1.0]], "Negative values in data"),
    "fractional": ([[1.5, 0]], "integer counts; fractional"),
    "nan": ([[np.nan, 0.5]], "NaN or inf"),
    "inf": ([[np.inf, 0.5]], "NaN or inf"),
    "sparse nan": (sp.csr_array([[np.nan, 1.0]]), "NaN or inf"),
    "sparse negative": (sp.csr_array([[-1, 1]]), "Negative values in data"),
    "sparse negative coo": (sp.coo_array([[-1, 1]]), "Negative values in data"),
    "too large": ([[2**31, 0]], r"2\*\*31 - 1"),
    "too large beside a small one": ([[1, 2**31]], r"2\*\*31 - 1"),
    "too large unsigned": (np.array([[2**64 - 1]], dtype=np.uint64), r"2\*\*31 - 1"),
    "too large float": ([[1e300]], r"2\*\*31 - 1"),
    "complex": (np.array([[1 + 1j]]), "Complex data not supported"),
    "sparse complex": (sp.csr_array([[1 + 1j]]), "Complex data not supported"),
    "text": ([["secret", "b"]], "another kind of value"),
    "object text": (np.array([["secret", 1]], dtype=object), "could not be read as a number"),
    "dates": (np.array([["2020-01-01"]], dtype="datetime64[D]"), "another kind of value"),
    "1-D": ([1, 2, 3], "Expected 2D array, got 1D array instead.*Reshape your data"),
    "3-D": (np.zeros((1, 1, 1)), "Expected 2D array, got 3D array"),
    "scalar": (None, "Expected 2D array, got scalar array"),
    "1-D sparse": (sp.coo_array([1, 2]), "Expected 2D array, got 1D array"),
    "series": (pd.Series([1, 2]), "Expected 2D array, got 1D array"),
    "ragged": ([[1, 2], [3]], "could not read its input"),
    "no documents": (
        np.zeros((0, 3)),
        r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1",
    ),
    "no words": (np.zeros((12, 0)), r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1 is required\."),
    "sparse, no words": (sp.csr_array((12, 0)), r"0 feature\(s\) \(shape=\(12, 0\)\) while a minimum of 1"),
    "missing": (pd.DataFrame({"a": [1, None]}), "NaN or inf"),
}


@pytest.mark.parametrize(("X", "message"), REFUSED.values(), ids=REFUSED)
def test_refused_inputs(X, message):
    with pytest.raises(InputError, match=message) as caught:
        validate_counts(X)
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_thing_that_is_no_number_is_a_type_error_too():
    with pytest.raises(TypeError, match=r"argument must be .* string.* number"):
        validate_counts(np.array([[{"foo": "bar"}, 1]], dtype=object))
    with pytest.raises(InputError, match="argument must be"):
        validate_counts(pd.DataFrame({"a": [1, None]}).astype("Int64").astype(object))


def test_the_caller_is_named():
    with pytest.raises(InputError, match="transform needs integer counts"):
        validate_counts([[0.5]], caller="transform")


def test_no_documents_only_on_request():
    counts = validate_counts(np.zeros((0, 3)), allow_empty=True)
    assert_canonical(counts)
    assert counts.shape == (0, 3)
    with pytest.raises(InputError, match="0 feature"):
        validate_counts(np.zeros((0, 0)), allow_empty=True)


BROKEN = {
    "index too large": ("indices", [3, 9, 1, 0, 0, 0]),
    "index negative": ("indices", [3, -1, 1, 0, 0, 0]),
    "pointers fall": ("indptr", [0, 5, 4]),
    "pointers do not start at 0": ("indptr", [1, 3, 4]),
    "pointers past the end": ("indptr", [0, 3, 40]),
    "too few pointers": ("indptr", [0, 3]),
    "too few values": ("data", [1]),
}


@pytest.mark.parametrize("layout", ["csr", "csc"])
@pytest.mark.parametrize(("attribute", "value"), BROKEN.values(), ids=BROKEN)
def test_malformed_compressed_matrices_are_refused(layout, attribute, value):
    matrix = untidy() if layout == "csr" else sp.csc_array((4, 2), dtype=np.int64)
    matrix.data, matrix.indices, matrix.indptr = untidy().data, untidy().indices, untidy().indptr
    setattr(matrix, attribute, np.array(value))
    with pytest.raises(InputError, match="malformed"):
        validate_counts(matrix)


@pytest.mark.parametrize("bad", [-1, 10**6])
def test_malformed_coo_is_refused(bad):
    matrix = sp.coo_array(DENSE)
    matrix.row[0] = bad
    with pytest.raises(InputError, match="malformed"):
        validate_counts(matrix)


BROKEN_OTHERWISE = {
    "lists, a word too large": ("lil", "rows", [[1, 3], [], [0, 9]]),
    "lists, too few counts": ("lil", "data", [[2], [], [5, 1]]),
    "lists, too many counts": ("lil", "data", [[2, 1], [7] * 9, [5, 1]]),
    "lists, too few rows": ("lil", "rows", [[1, 3], []]),
    "diagonals, one without place": ("dia", "offsets", [-2]),
    "diagonals, one without values": ("dia", "data", [[5, 0, 0, 0]]),
    "diagonals, no table": ("dia", "data", [5, 0, 0, 0]),
    "blocks, too few pointers": ("bsr", "indptr", [0, 2]),
    "blocks, too few columns": ("bsr", "indices", [1]),
    "blocks, too few values": ("bsr", "data", [[[2]]]),
    "blocks, no blocks": ("bsr", "data", [2, 1, 5, 1]),
    "a word too large": ("dok", "_dict", {(0, 9): 1}),
}


@pytest.mark.parametrize(("layout", "attribute", "value"), BROKEN_OTHERWISE.values(), ids=BROKEN_OTHERWISE)
def test_malformed_matrices_of_other_formats_are_refused(layout, attribute, value):
    """scipy converts some of them without a look, and reads or writes outside their arrays."""
    made = sp.bsr_array(DENSE[[0, 2]], blocksize=(1, 1))
    matrix = made if layout == "bsr" else sp.csr_array(DENSE).asformat(layout)
    if layout != "dok":
        value = np.array(value, dtype=object if layout == "lil" else None)
    setattr(matrix, attribute, value)
    with pytest.raises(InputError, match="malformed"):
        validate_counts(matrix)


@settings(deadline=None)
@given(dense_counts, st.data())
def test_rows_taken_and_stacked_are_the_rows(dense, data):
    counts = validate_counts(dense)
    cut = data.draw(st.integers(0, len(dense)))
    head, tail = take_rows(counts, 0, cut), take_rows(counts, cut, len(dense) + 5)
    assert_canonical(head)
    np.testing.assert_array_equal(tail.toarray(), dense[cut:])
    assert tail.nnz == 0 or np.shares_memory(tail.data, counts.data)
    both = stack_rows([head, tail])
    assert_canonical(both)
    np.testing.assert_array_equal(both.toarray(), dense)


def test_document_lengths_do_not_overflow():
    dense = np.array([[2**31 - 1, 2**31 - 1], [0, 0], [1, 2]])
    lengths = document_lengths(validate_counts(dense))
    assert lengths.dtype == np.int64
    assert lengths.tolist() == [2**32 - 2, 0, 3]


def test_listed_rows():
    counts = validate_counts(np.random.RandomState(0).poisson(0.4, (30, 9)))
    for rows in ([], [4], [0, 7, 8, 29], list(range(30))):
        taken = take_listed(counts, np.array(rows, np.int64))
        np.testing.assert_array_equal(taken.toarray(), counts.toarray()[rows])
        assert_canonical(taken)


@pytest.mark.parametrize("stride", [1, 2, 3, 29, 30])
def test_strided_rows_cover_the_block_once(stride):
    counts = validate_counts(np.random.RandomState(0).poisson(0.4, (30, 9)))
    taken = [take_listed(counts, np.arange(start, 30, stride)).toarray() for start in range(stride)]
    dense = counts.toarray()
    for start, rows in enumerate(taken):
        np.testing.assert_array_equal(rows, dense[start::stride])
    assert sum(len(rows) for rows in taken) == len(dense)

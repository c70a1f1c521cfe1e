"""Counts in: any array of document-word counts becomes one validated CSR matrix.

After `validate_counts` the rest of the library may rely on: CSR, sorted indices, no duplicates, no stored
zeros, `int32` indices, `int64` row pointers, `int32` counts >= 1, all three C-contiguous. Documents may be
empty. The arrays may share memory with the caller's (and be read-only): never write to them. scipy's own
constructors, slicing and copying widen the indices to `int64`; `counts_of`, `take_rows`, `take_listed` and
`stack_rows` keep the types. Error messages never quote a value of the corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit

from private_topics.errors import InputError

LARGEST_COUNT = 2**31 - 1
BUCKET_BITS, LONGEST_BUCKETED = 6, 256


class InputTypeError(InputError, TypeError):
    """An object in the input is not a number at all (scikit-learn expects a `TypeError` there)."""


def validate_counts(X: Any, *, caller: str = "fit", allow_empty: bool = False) -> sp.csr_array:
    """Return `X` (documents × words) as validated CSR counts; raise `InputError` where that is impossible.

    Empty documents are fine; no documents at all only with `allow_empty`. The input is never modified.
    """
    matrix = _as_sparse(X, caller)
    _check_shape(matrix.shape, caller, allow_empty)
    matrix = _as_csr(matrix, caller)
    n_entries = int(matrix.indptr[-1])
    data = _checked_values(matrix.data[:n_entries], caller)
    indices = np.ascontiguousarray(matrix.indices[:n_entries], dtype=np.int32)
    indptr = np.ascontiguousarray(matrix.indptr, dtype=np.int64)
    if _needs_tidying(indptr, indices, data):
        data, indices, indptr = data.copy(), indices.copy(), indptr.copy()  # the input may share our arrays
        _sort_rows(indptr, indices, data, max(0, int(matrix.shape[1] - 1).bit_length() - BUCKET_BITS))
        n_entries = _merge_sorted(indptr, indices, data)
        if n_entries < 0:
            raise _too_large(caller)
        data, indices = data[:n_entries], indices[:n_entries]
    return counts_of(indptr, indices, data, matrix.shape[1])


def document_lengths(counts: sp.csr_array) -> np.ndarray:
    """Number of tokens of each document, as `int64`."""
    return row_sums(counts.indptr, counts.data)


def counts_of(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, n_words: int) -> sp.csr_array:
    """Join arrays that are canonical, or that `validate_counts` is to look at next, without copying them."""
    counts = sp.csr_array((len(indptr) - 1, int(n_words)), dtype=np.int32)
    counts.data, counts.indices, counts.indptr = data, indices, indptr
    counts.has_canonical_format = True
    return counts


def take_rows(counts: sp.csr_array, start: int, stop: int) -> sp.csr_array:
    """Rows `start:stop` of validated counts as views: no data is copied, only the row pointers."""
    n_rows = counts.shape[0]
    start, stop = min(start, n_rows), min(stop, n_rows)
    first, last = int(counts.indptr[start]), int(counts.indptr[stop])
    indptr = counts.indptr[start : stop + 1] - first
    return counts_of(indptr, counts.indices[first:last], counts.data[first:last], counts.shape[1])


def take_listed(counts: sp.csr_array, rows: np.ndarray) -> sp.csr_array:
    """The listed rows of validated counts, in ascending order and each once, copied unless that is all of them."""
    if len(rows) == counts.shape[0]:
        return counts
    indptr, indices, data = _take(counts.indptr, counts.indices, counts.data, rows)
    return counts_of(indptr, indices, data, counts.shape[1])


@njit(cache=True, nogil=True)
def _take(indptr, indices, data, rows):  # type: ignore[no-untyped-def]
    new_indptr = np.zeros(len(rows) + 1, np.int64)
    for i in range(len(rows)):
        new_indptr[i + 1] = new_indptr[i] + indptr[rows[i] + 1] - indptr[rows[i]]
    words, counts = np.empty(new_indptr[-1], indices.dtype), np.empty(new_indptr[-1], data.dtype)
    for i in range(len(rows)):
        shift = np.uint64(indptr[rows[i]] - new_indptr[i])  # unsigned: no test for negative indices
        for at in range(np.uint64(new_indptr[i]), np.uint64(new_indptr[i + 1])):
            words[at] = indices[at + shift]
            counts[at] = data[at + shift]
    return new_indptr, words, counts


def stack_rows(blocks: Sequence[sp.csr_array]) -> sp.csr_array:
    """Validated blocks of one width on top of each other, as validated counts."""
    if len(blocks) == 1:
        return blocks[0]
    row_sizes = np.concatenate([np.diff(block.indptr) for block in blocks])
    indptr = np.concatenate(([0], np.cumsum(row_sizes)))
    data = np.concatenate([block.data for block in blocks])
    indices = np.concatenate([block.indices for block in blocks])
    return counts_of(indptr, indices, data, blocks[0].shape[1])


def _as_sparse(X: Any, caller: str) -> Any:
    """A scipy sparse array of any format; dense input and data frames are converted."""
    if sp.issparse(X):
        return X
    if _is_sparse_frame(X):
        return X.sparse.to_coo()
    if hasattr(X, "to_numpy"):  # pandas, polars, pyarrow
        X = X.to_numpy()
    if np.ma.is_masked(X):
        raise InputError(f"{caller} needs counts: some are masked. Fill them, or leave out the documents.")
    try:
        dense = np.asarray(X)
    except (ValueError, TypeError):
        raise InputError(
            f"{caller} could not read its input as a 2D array of counts: rows must be equally long."
        ) from None
    if dense.ndim != 2:
        raise _not_two_dimensional(dense.ndim, caller)
    if dense.dtype == object:
        dense = _objects_as_numbers(dense, caller)
    _check_kind(dense.dtype, caller)
    native = np.dtype(np.float32) if dense.dtype.kind == "f" and dense.itemsize == 2 else dense.dtype
    return sp.csr_array(dense.astype(native.newbyteorder("="), copy=False))  # scipy knows native types only


def _is_sparse_frame(X: Any) -> bool:
    """A pandas frame with all columns sparse and fill value 0, told by its dtypes: pandas is not imported."""
    if getattr(X, "ndim", 0) != 2 or not hasattr(X, "dtypes"):
        return False
    dtypes = list(X.dtypes)
    return bool(dtypes) and all(
        hasattr(dtype, "subtype") and hasattr(dtype, "fill_value") and not dtype.fill_value for dtype in dtypes
    )


def _objects_as_numbers(values: np.ndarray, caller: str) -> np.ndarray:
    try:
        return values.astype(np.float64)
    except TypeError:
        raise InputTypeError(
            f"{caller} needs counts: each argument must be a string or a number that reads as an integer."
        ) from None
    except ValueError:
        raise InputError(f"{caller} needs counts: an object of the array could not be read as a number.") from None


def _not_two_dimensional(ndim: int, caller: str) -> InputError:
    got = "scalar" if ndim == 0 else f"{ndim}D"
    return InputError(
        f"Expected 2D array, got {got} array instead. Reshape your data: {caller} takes one row per document "
        "and one column per word."
    )


def _check_shape(shape: tuple[int, ...], caller: str, allow_empty: bool) -> None:
    if len(shape) != 2:
        raise _not_two_dimensional(len(shape), caller)
    if shape[0] == 0 and not allow_empty:
        raise InputError(
            f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required by {caller}."
        )
    if shape[1] == 0:
        raise InputError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    if shape[1] > LARGEST_COUNT:
        raise InputError(f"{caller} takes at most 2**31 - 1 words.")


def _as_csr(matrix: Any, caller: str) -> Any:
    """CSR of any sparse format, duplicates kept or summed without overflow; broken structures are refused."""
    if matrix.format in ("csr", "csc"):
        # scipy's conversion trusts the pointers: a malformed matrix would make it read outside its arrays.
        n_major, n_minor = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
        _check_structure(matrix, n_major, n_minor, caller)
        return matrix.tocsr()
    try:
        if not _is_consistent(matrix):
            raise _malformed(caller)
        triplets = matrix.tocoo(copy=False)
        rows, columns = triplets.coords
    except (ValueError, IndexError):
        raise _malformed(caller) from None
    if not (len(rows) == len(columns) == len(triplets.data)):
        raise _malformed(caller)
    if not (_within(rows, matrix.shape[0]) and _within(columns, matrix.shape[1])):
        raise _malformed(caller)
    data = _checked_values(triplets.data, caller).astype(np.int64)  # tocsr sums duplicates
    return sp.coo_array((data, (rows, columns)), shape=matrix.shape).tocsr()


def _check_structure(matrix: Any, n_major: int, n_minor: int, caller: str) -> None:
    indptr = matrix.indptr
    if len(indptr) != n_major + 1 or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise _malformed(caller)
    n_entries = indptr[-1]
    if n_entries > len(matrix.indices) or n_entries > len(matrix.data):
        raise _malformed(caller)
    if not _within(matrix.indices[:n_entries], n_minor):
        raise _malformed(caller)


def _is_consistent(matrix: Any) -> bool:
    """Whether the parts of a matrix of another format fit together: scipy's conversions of these three trust them."""
    if matrix.format == "lil":
        words, counts = ([len(row) for row in rows] for rows in (matrix.rows, matrix.data))
        return len(words) == matrix.shape[0] and words == counts
    if matrix.format == "dia":
        return bool(matrix.data.ndim == 2 and matrix.offsets.shape == matrix.data.shape[:1])
    return matrix.format != "bsr" or len(matrix.indptr) == matrix.shape[0] // matrix.data.shape[1] + 1


def _within(indices: np.ndarray, size: int) -> bool:
    return indices.size == 0 or (indices.min() >= 0 and indices.max() < size)


def _malformed(caller: str) -> InputError:
    return InputError(
        f"The sparse matrix passed to {caller} is malformed: its index arrays are inconsistent or "
        "point outside its shape."
    )


def _check_kind(dtype: np.dtype, caller: str) -> None:
    if dtype.kind == "c":
        raise InputError(f"Complex data not supported: {caller} needs non-negative integer counts.")
    if dtype.kind not in "biuf":
        raise InputError(f"{caller} needs non-negative integer counts; the array holds another kind of value.")


def _checked_values(data: np.ndarray, caller: str) -> np.ndarray:
    """`data` as `int32` counts, shared with the input where it already is that."""
    if data.dtype == object:
        data = _objects_as_numbers(data, caller)
    _check_kind(data.dtype, caller)
    if data.dtype.kind == "f" and not np.isfinite(data).all():
        raise InputError(f"Input X passed to {caller} contains NaN or inf: counts must be finite integers.")
    if data.size and data.dtype.kind in "if" and data.min() < 0:
        raise InputError(f"Negative values in data passed to {caller}: counts must be non-negative integers.")
    if data.dtype.kind == "f" and not np.array_equal(data, np.floor(data)):
        raise InputError(
            f"{caller} needs integer counts; fractional values were given. "
            "Pass word counts (not tf-idf weights or frequencies)."
        )
    if data.size and data.dtype != np.int32 and data.max() > LARGEST_COUNT:
        raise _too_large(caller)
    return np.ascontiguousarray(data, dtype=np.int32)


def _too_large(caller: str) -> InputError:
    return InputError(f"{caller} takes counts up to 2**31 - 1 only; a larger one was given, or duplicates add to it.")


@njit(cache=True)
def row_sums(indptr, data):  # type: ignore[no-untyped-def]
    """Sum of each row's entries, in 64 bits."""
    sums = np.zeros(len(indptr) - 1, np.int64)
    for row in range(len(sums)):
        for entry in range(indptr[row], indptr[row + 1]):
            sums[row] += data[entry]
    return sums


@njit(cache=True)
def _needs_tidying(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray) -> bool:
    """Whether a row is unsorted or holds a duplicate or a stored zero."""
    for row in range(len(indptr) - 1):
        previous = -1
        for entry in range(indptr[row], indptr[row + 1]):
            if indices[entry] <= previous or data[entry] == 0:
                return True
            previous = indices[entry]
    return False


@njit(cache=True)
def _sort_rows(indptr, indices, data, shift):  # type: ignore[no-untyped-def]
    """Sort each row by word, in place. A short one goes through buckets of words, which leaves little to move."""
    keys = np.empty(LONGEST_BUCKETED, np.int64)
    for row in range(len(indptr) - 1):
        first, last = indptr[row], indptr[row + 1]
        if last - first > LONGEST_BUCKETED:
            order = np.argsort(indices[first:last], kind="mergesort")
            indices[first:last] = indices[first:last][order]
            data[first:last] = data[first:last][order]
        else:
            _into_buckets(indices[first:last], data[first:last], shift, keys)
            for p in range(first, last):
                indices[p], data[p] = keys[p - first] >> 32, keys[p - first] & LARGEST_COUNT


@njit(cache=True)
def _into_buckets(words, counts, shift, keys):  # type: ignore[no-untyped-def]
    """Words and their counts as sorted numbers: a counting sort by the highest bits, then an insertion sort."""
    start = np.zeros((1 << BUCKET_BITS) + 1, np.int64)
    for word in words:
        start[(word >> shift) + 1] += 1
    for bucket in range(1 << BUCKET_BITS):
        start[bucket + 1] += start[bucket]
    for p in range(len(words)):
        bucket = words[p] >> shift
        keys[start[bucket]] = (np.int64(words[p]) << 32) | counts[p]
        start[bucket] += 1
    for p in range(1, len(words)):
        key, at = keys[p], p
        while at > 0 and keys[at - 1] > key:
            keys[at] = keys[at - 1]
            at -= 1
        keys[at] = key


@njit(cache=True)
def _merge_sorted(indptr, indices, data):  # type: ignore[no-untyped-def]
    """Add duplicates and drop zeros, in place; the entries left, or -1 where duplicates exceed `int32`."""
    filled = 0
    first = indptr[0]
    for row in range(len(indptr) - 1):
        last = indptr[row + 1]
        p = first
        while p < last:
            word = indices[p]
            total = np.int64(0)
            while p < last and indices[p] == word:
                total += data[p]
                p += 1
            if total > LARGEST_COUNT:
                return -1
            if total > 0:
                indices[filled], data[filled] = word, total
                filled += 1
        first = last
        indptr[row + 1] = filled
    return filled

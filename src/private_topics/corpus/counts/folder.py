"""A folder of block files, `.npz` or `.parquet`, read one at a time in the order of their names.

An `.npz` block is what `scipy.sparse.save_npz` writes. A Parquet block has one row per document and two list
columns, `indices` and `counts` (`int32`); the number of words is the key `n_words` of the schema's metadata.
Nothing is unpickled.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from private_topics.corpus.counts.block_source import (
    LARGEST_BLOCK_DOCUMENTS,
    CountBlocks,
    first_documents,
    sample_of_parts,
)
from private_topics.corpus.counts.matrix import LARGEST_COUNT, counts_of, validate_counts
from private_topics.corpus.texts.parquet import arrow
from private_topics.errors import InputError

BLOCK_SUFFIXES = (".npz", ".parquet")
N_WORDS_KEY = b"n_words"
LARGEST_NPZ_DOCUMENTS = 2**26
"""Documents of one `.npz`: some layouts store no pointers, and in memory (here, 512 MB) each document has one."""
LARGEST_NPZ_GROWTH = 1_032
"""Deflate packs no further, so of files written by numpy this refuses none, whatever their documents say."""


class FolderBlocks(CountBlocks):
    """The blocks in the `*.npz` or `*.parquet` files of a folder (or in one such file)."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.files = _block_files(self.path)
        self.is_parquet = self.files[0].suffix == ".parquet"
        self.n_words = _parquet_width(self.files[0]) if self.is_parquet else _npz_width(self.files[0])

    def _blocks(self) -> Iterator[sp.csr_array]:
        for file in self.files:
            yield from self._read(file)

    def _read(self, file: Path) -> Iterator[sp.csr_array]:
        for block in _read_parquet(file) if self.is_parquet else _read_npz(file):
            if block.shape[1] != self.n_words:
                raise InputError(
                    f"The block {str(file)!r} has a different number of words than {str(self.files[0])!r}."
                )
            yield block

    def sample(self, n_documents: int) -> sp.csr_array:
        if len(self.files) == 1 and self.is_parquet:
            return super().sample(n_documents)

        def read_part(part: int) -> sp.csr_array:
            return first_documents(self._read(self.files[part]), LARGEST_BLOCK_DOCUMENTS)

        spread = sample_of_parts(len(self.files), read_part, n_documents)
        return super().sample(n_documents) if spread is None else spread


def write_npz_block(path: str | os.PathLike[str], counts: Any) -> None:
    """Write one block of counts as `.npz`, uncompressed (reading is then as fast as the disk)."""
    block = validate_counts(counts, caller="write_npz_block", allow_empty=True)
    if block.shape[0] > LARGEST_NPZ_DOCUMENTS:
        raise InputError(f"write_npz_block takes at most {LARGEST_NPZ_DOCUMENTS} documents; write several blocks.")
    if block.nnz <= LARGEST_COUNT:  # both index arrays of one type: scipy then reads them back unconverted
        block.indptr = block.indptr.astype(np.int32)
    sp.save_npz(_with_suffix(path, ".npz"), block, compressed=False)


def write_parquet_block(path: str | os.PathLike[str], counts: Any) -> None:
    """Write one block of counts as Parquet, in the layout of this module."""
    pyarrow = arrow()
    block = validate_counts(counts, caller="write_parquet_block", allow_empty=True)
    if block.nnz > LARGEST_COUNT:
        raise InputError("write_parquet_block takes at most 2**31 - 1 entries; write several smaller blocks.")
    offsets = pyarrow.array(block.indptr.astype(np.int32))
    columns = [pyarrow.ListArray.from_arrays(offsets, pyarrow.array(a)) for a in (block.indices, block.data)]
    table = pyarrow.table(columns, names=["indices", "counts"])
    table = table.replace_schema_metadata({N_WORDS_KEY: str(block.shape[1]).encode()})
    pyarrow.parquet.write_table(table, _with_suffix(path, ".parquet"), row_group_size=LARGEST_BLOCK_DOCUMENTS)


def _with_suffix(path: str | os.PathLike[str], suffix: str) -> Path:
    path = Path(path)
    if path.suffix != suffix:
        raise InputError(f"A block file of this kind must be named *{suffix}. Got {str(path)!r} instead.")
    return path


def _block_files(path: Path) -> list[Path]:
    if path.is_file():
        files = [path] if path.suffix in BLOCK_SUFFIXES else []
    elif path.is_dir():
        visible = (file for file in path.iterdir() if not file.name.startswith((".", "_")))
        files = sorted(file for file in visible if file.suffix in BLOCK_SUFFIXES and file.is_file())
    else:
        raise InputError(f"There is no file or folder {str(path)!r}.")
    if not files:
        raise InputError(f"No *.npz or *.parquet blocks in {str(path)!r}.")
    if len({file.suffix for file in files}) > 1:
        raise InputError(f"Both *.npz and *.parquet blocks in {str(path)!r}: keep one kind in a folder.")
    return files


def _unreadable(file: Path, kind: str) -> InputError:
    return InputError(f"The block {str(file)!r} cannot be read: it is damaged, or not {kind}.")


NPZ_KIND = "a sparse matrix written by scipy.sparse.save_npz"


def _npz_width(file: Path) -> int:
    try:
        with np.load(file, allow_pickle=False) as arrays:
            _, n_words = arrays["shape"].tolist()
            return int(n_words)
    except Exception:  # here and below: zip, decompressors, numpy, Python's tokeniser, pyarrow raise a dozen types
        raise _unreadable(file, NPZ_KIND) from None


def _read_npz(file: Path) -> Iterator[sp.csr_array]:
    try:
        problem = _npz_problem(file)
        matrix = None if problem else sp.load_npz(file)  # scipy loads with allow_pickle=False
    except Exception:
        raise _unreadable(file, NPZ_KIND) from None
    if problem:
        raise InputError(f"The block {str(file)!r} cannot be used: {problem}.")
    yield validate_counts(matrix, caller=str(file), allow_empty=True)


def _npz_problem(file: Path) -> str:
    """Return what is wrong with the sizes that a file announces, before anything of such a size is made."""
    with np.load(file, allow_pickle=False) as arrays:
        n_documents, _ = arrays["shape"].tolist()
        unpacked = sum(part.file_size for part in arrays.zip.infolist())
    if n_documents > LARGEST_NPZ_DOCUMENTS:
        return f"it has more than {LARGEST_NPZ_DOCUMENTS} documents; write several smaller blocks"
    if unpacked > LARGEST_NPZ_GROWTH * file.stat().st_size:
        return f"it unpacks to more than {LARGEST_NPZ_GROWTH} times its size"
    return ""


PARQUET_KIND = "a Parquet file with list columns 'indices' and 'counts' and the metadata key 'n_words'"


def _parquet_width(file: Path) -> int:
    parquet = arrow().parquet
    try:
        return int(parquet.read_schema(file).metadata[N_WORDS_KEY])
    except Exception:
        raise _unreadable(file, PARQUET_KIND) from None


def _read_parquet(file: Path) -> Iterator[sp.csr_array]:
    parquet = arrow().parquet
    shown = False
    n_words = _parquet_width(file)
    try:
        with parquet.ParquetFile(file) as opened:
            batches = opened.iter_batches(LARGEST_BLOCK_DOCUMENTS, columns=["indices", "counts"])
            while (batch := next(batches, None)) is not None:
                indptr, indices = list_column(batch.column("indices"))
                other_indptr, counts = list_column(batch.column("counts"))
                if not np.array_equal(indptr, other_indptr) or indices.dtype.kind not in "iu":
                    raise ValueError
                shown = True
                yield validate_counts(counts_of(indptr, indices, counts, n_words), caller=str(file))
    except InputError:
        raise
    except Exception:
        raise _unreadable(file, PARQUET_KIND) from None
    if not shown:
        yield validate_counts(sp.csr_array((0, n_words), dtype=np.int32), caller=str(file), allow_empty=True)


def list_column(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """Row pointers and values of an Arrow list array; a missing list or value is an error."""
    lengths, values = column.value_lengths(), column.flatten()
    if column.null_count or values.null_count:
        raise ValueError
    indptr = np.concatenate(([0], np.cumsum(lengths.to_numpy(), dtype=np.int64)))
    return indptr, values.to_numpy(zero_copy_only=False).copy()

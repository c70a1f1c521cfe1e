"""Whatever a user calls a corpus becomes `CountBlocks`: a matrix, a list of blocks, a folder, a UCI file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from private_topics.corpus.counts.block_source import (
    LARGEST_BLOCK_DOCUMENTS,
    CountBlocks,
    checked_height,
    evenly_spaced_rows,
    sample_of_parts,
)
from private_topics.corpus.counts.entry_files import MatrixMarketBlocks, UCIBlocks
from private_topics.corpus.counts.folder import BLOCK_SUFFIXES, FolderBlocks, write_npz_block, write_parquet_block
from private_topics.corpus.counts.matrix import take_rows, validate_counts
from private_topics.errors import InputError

__all__ = [
    "LARGEST_BLOCK_DOCUMENTS",
    "CountBlocks",
    "FolderBlocks",
    "IterableBlocks",
    "MatrixBlocks",
    "UCIBlocks",
    "as_blocks",
    "write_npz_block",
    "write_parquet_block",
]


class MatrixBlocks(CountBlocks):
    """A matrix in memory, cut into blocks of rows that are views of it."""

    in_memory = True

    def __init__(self, counts: Any, block_documents: int = 16_384, *, caller: str = "fit") -> None:
        self.block_documents = checked_height(block_documents, "MatrixBlocks")
        self.counts = validate_counts(counts, caller=caller)
        self.n_documents, self.n_words = self.counts.shape

    def _blocks(self) -> Iterator[sp.csr_array]:
        for start in range(0, self.counts.shape[0], self.block_documents):
            yield take_rows(self.counts, start, start + self.block_documents)

    def sample(self, n_documents: int) -> sp.csr_array:
        return evenly_spaced_rows(self.counts, n_documents)


class IterableBlocks(CountBlocks):
    """Any iterable of matrices that can be iterated more than once: a list, or an object with `__iter__`."""

    def __init__(self, iterable: Iterable[Any], *, caller: str = "fit") -> None:
        try:
            iterator = iter(iterable)
        except TypeError:
            raise InputError(f"{caller} takes a matrix of counts or an iterable of such matrices.") from None
        if iterator is iterable:
            raise InputError(
                f"{caller} passes over the corpus more than once; a generator or iterator works only once. "
                "Pass a list of blocks, or an object of a class whose __iter__ starts over each time."
            )
        self.iterable = iterable
        self.caller = caller
        first = next(iterator, None)
        if first is None:
            raise InputError(f"Found a corpus with 0 sample(s): the iterable passed to {caller} gave no block.")
        self.n_words = validate_counts(first, caller=caller, allow_empty=True).shape[1]

    def _validated(self, block: Any) -> sp.csr_array:
        counts = validate_counts(block, caller=self.caller, allow_empty=True)
        self._check_width(counts)
        return counts

    def _blocks(self) -> Iterator[sp.csr_array]:
        for block in self.iterable:
            yield self._validated(block)

    def sample(self, n_documents: int) -> sp.csr_array:
        if isinstance(self.iterable, list | tuple):
            blocks = self.iterable
            spread = sample_of_parts(len(blocks), lambda part: self._validated(blocks[part]), n_documents)
            if spread is not None:
                return spread
        return super().sample(n_documents)


def as_blocks(X: Any, *, caller: str = "fit") -> CountBlocks:
    """`X` as a corpus of blocks.

    A sparse matrix, an array, a data frame or a list of rows is one matrix; a list or tuple of matrices, or
    any other object that can be iterated more than once, is a sequence of blocks; a path is a folder of
    `.npz` or `.parquet` blocks (or one such file), a UCI bag-of-words file (`docword.*.txt`,
    `docword.*.txt.gz`) or a MatrixMarket file (`.mtx`, `.mtx.gz`).
    """
    if isinstance(X, CountBlocks):
        return X
    if isinstance(X, str | os.PathLike):
        return _path_blocks(Path(X), caller)
    if _is_one_matrix(X):
        return MatrixBlocks(X, caller=caller)
    return IterableBlocks(X, caller=caller)


def _is_one_matrix(X: Any) -> bool:
    if sp.issparse(X) or isinstance(X, np.ndarray) or hasattr(X, "to_numpy") or hasattr(X, "__array__"):
        return True
    if isinstance(X, list | tuple):  # rows of numbers are an array-like; matrices are blocks
        return not any(len(getattr(element, "shape", ())) == 2 for element in X)
    return isinstance(X, bytes | dict | set) or not hasattr(X, "__iter__")


def _path_blocks(path: Path, caller: str) -> CountBlocks:
    if path.is_dir() or path.suffix in BLOCK_SUFFIXES:
        return FolderBlocks(path)
    if path.name.endswith((".txt", ".txt.gz")):
        return UCIBlocks(path)
    if path.name.endswith((".mtx", ".mtx.gz")):
        return MatrixMarketBlocks(path)
    if not path.exists():
        raise InputError(f"{caller}: there is no file or folder {str(path)!r}.")
    raise InputError(
        f"{caller} cannot read {str(path)!r}: give a folder of .npz or .parquet blocks, one such file, "
        "a UCI bag-of-words file named *.txt or *.txt.gz, or a MatrixMarket file named *.mtx or *.mtx.gz."
    )

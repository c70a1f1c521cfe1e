"""Counted texts as a corpus: blocks kept in memory while they fit, otherwise in a temporary folder.

A private fit passes over its corpus many times; the text is read and cut into words once. Only its owner can read the
folder, which is removed with the object or at `close`.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import scipy.sparse as sp

from private_topics.corpus.counts.block_source import CountBlocks, sample_of_parts
from private_topics.corpus.counts.folder import FolderBlocks, write_npz_block
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.errors import InputError


class CountedTexts(CountBlocks):
    """Counts over a vocabulary, with what they were made by.

    Attributes
    ----------
    columns : the vocabulary, in the order of the columns (an estimator takes its feature names from here).
    groups : the number of each document's unit, or None where units are documents. A private fit takes its
        units from here, unless it is given others.
    tokeniser : the settings the words were made with.
    in_memory : False once blocks have been written to the temporary folder.
    """

    def __init__(self, vocabulary: Sequence[str], tokeniser: Tokeniser) -> None:
        self.columns = list(vocabulary)
        self.n_words = len(self.columns)
        self.tokeniser = tokeniser
        self.groups: np.ndarray | None = None
        self.in_memory = True
        self._kept: list[sp.csr_array] = []
        self._folder: str | None = None
        self._stored: FolderBlocks | None = None

    def keep(self, blocks: Iterable[sp.csr_array], memory_bytes: int, folder: str | None) -> Self:
        """Take the blocks in; more than `memory_bytes` of them go to a temporary folder below `folder`."""
        held, n_written, n_documents = 0, 0, 0
        for block in blocks:
            n_documents += block.shape[0]
            held += block.data.nbytes + block.indices.nbytes + block.indptr.nbytes
            self._kept.append(block)
            if held > memory_bytes:
                n_written = self._write_out(n_written, folder)
        if self._folder is not None:
            self._write_out(n_written, folder)
            self._stored = FolderBlocks(self._folder)
        self.n_documents = n_documents
        return self

    def close(self) -> None:
        """Forget the counts and remove the temporary folder."""
        self._kept, self._stored = [], None
        if self._folder is not None:
            self._remove_folder()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write_out(self, n_written: int, folder: str | None) -> int:
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="private-topics-", dir=folder)
            self._remove_folder = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            self.in_memory = False
        while self._kept:
            write_npz_block(Path(self._folder, f"{n_written:08}.npz"), self._kept.pop(0))
            n_written += 1
        return n_written

    def _blocks(self) -> Iterator[sp.csr_array]:
        if self._stored is None and not self._kept:
            raise InputError("These counts were closed: count the texts again.")
        yield from self._kept if self._stored is None else self._stored

    def sample(self, n_documents: int) -> sp.csr_array:
        if self._stored is not None:
            return self._stored.sample(n_documents)
        kept = self._kept
        spread = sample_of_parts(len(kept), kept.__getitem__, n_documents) if kept else None
        return super().sample(n_documents) if spread is None else spread

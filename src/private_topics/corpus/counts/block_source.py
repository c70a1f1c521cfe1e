"""A corpus is an iterable of blocks of documents that can be iterated more than once.

`CountBlocks` is what every learner takes. A subclass says where the blocks come from; the checks that hold
for all of them (one width, the same documents at every pass, blocks of bounded height) are here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import scipy.sparse as sp

from private_topics.corpus.counts.matrix import stack_rows, take_rows
from private_topics.errors import InputError

LARGEST_BLOCK_DOCUMENTS = 65_536
"""Blocks with more documents are cut; the learners' scratch memory grows with the height of a block."""
LARGEST_BLOCK_ENTRIES = 2**30
"""Blocks with more entries are cut too, so that 32 bits number them; one document has at most 2**31 - 1 of them."""

SAMPLED_PARTS = 16
"""A sample is taken from at most this many places in a corpus."""


class CountBlocks(ABC):
    """A corpus as validated CSR blocks (see `validate_counts`), all `n_words` wide, to iterate as often as needed."""

    n_words: int
    n_documents: int | None = None
    """Number of documents; `None` where it is not known before the first complete pass."""
    in_memory: bool = False
    """Whether a pass costs neither reading nor checking."""

    @abstractmethod
    def _blocks(self) -> Iterator[sp.csr_array]:
        """One pass over the corpus: validated blocks of any height, zero included."""

    def __iter__(self) -> Iterator[sp.csr_array]:
        seen = 0
        for block in self._blocks():
            self._check_width(block)
            seen += block.shape[0]
            if self.n_documents is not None and seen > self.n_documents:
                raise self._changed()
            yield from _cut(block)
        if seen == 0:
            raise InputError("Found a corpus with 0 sample(s): its blocks hold no documents at all.")
        if self.n_documents is not None and seen != self.n_documents:
            raise self._changed()
        self.n_documents = seen

    def sample(self, n_documents: int) -> sp.csr_array:
        """Roughly `n_documents` documents (fewer in a small corpus), at least one; here, the first ones."""
        return first_documents(iter(self), n_documents)

    def _check_width(self, block: sp.csr_array) -> None:
        if block.shape[1] != self.n_words:
            raise InputError(
                "A block of the corpus has a different number of words (columns) than the first one; "
                "all blocks must count the same vocabulary."
            )

    @staticmethod
    def _changed() -> InputError:
        return InputError(
            "The corpus changed between two passes: a pass gave a different number of documents than before "
            "(or than announced). An iterable of blocks must give the same blocks each time."
        )


def _cut(block: sp.csr_array) -> Iterator[sp.csr_array]:
    """The documents of a block in blocks that are not too large; the block itself where it is not."""
    height = block.shape[0]
    if 0 < height <= LARGEST_BLOCK_DOCUMENTS and block.indptr[-1] <= LARGEST_BLOCK_ENTRIES:
        yield block
        return
    start = 0
    while start < height:
        fits = int(np.searchsorted(block.indptr, block.indptr[start] + LARGEST_BLOCK_ENTRIES, side="right")) - 1
        stop = min(max(fits, start + 1), start + LARGEST_BLOCK_DOCUMENTS, height)
        yield take_rows(block, start, stop)
        start = stop


def checked_height(block_documents: int, owner: str) -> int:
    """The number of documents per block, if the class `owner` can use it."""
    if block_documents < 1:
        raise InputError(
            f"The 'block_documents' parameter of {owner} must be an int in the range [1, inf). "
            f"Got {block_documents!r} instead."
        )
    return int(block_documents)


def first_documents(blocks: Iterator[sp.csr_array], n_documents: int) -> sp.csr_array:
    """The first `n_documents` documents of a stream of blocks."""
    taken: list[sp.csr_array] = []
    missing = max(1, n_documents)
    for block in blocks:
        taken.append(take_rows(block, 0, missing))
        missing -= taken[-1].shape[0]
        if missing <= 0:
            break
    return stack_rows(taken)


def evenly_spaced_rows(counts: sp.csr_array, n_documents: int) -> sp.csr_array:
    """About `n_documents` rows of validated counts, in a few runs spread from the first to the last."""
    n_rows = counts.shape[0]
    if n_rows <= n_documents:
        return counts
    n_runs = max(1, min(SAMPLED_PARTS, n_documents))
    run = max(1, n_documents // n_runs)
    starts = np.linspace(0, n_rows - run, n_runs).astype(np.int64)
    return stack_rows([take_rows(counts, int(start), int(start) + run) for start in starts])


def sample_of_parts(n_parts: int, read_part: Callable[[int], sp.csr_array], n_documents: int) -> sp.csr_array | None:
    """Rows of up to `SAMPLED_PARTS` evenly spaced parts, one at a time; `None` if all are empty."""
    n_read = max(1, min(SAMPLED_PARTS, n_parts, n_documents))
    per_part = max(1, -(-n_documents // n_read))
    parts: Sequence[int] = np.unique(np.linspace(0, n_parts - 1, n_read).round().astype(np.int64)).tolist()
    taken = [evenly_spaced_rows(read_part(part), per_part) for part in parts]
    stacked = stack_rows(taken)
    return stacked if stacked.shape[0] else None

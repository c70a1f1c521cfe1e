"""The corpus on a GPU. The sums are the integers that `local` computes; noise is drawn on the host, as always.

Counts stay on the device where they fit; otherwise every pass streams them from the host, slab by slab, and the next
slab is read while the device works. `GpuCounts` keeps a corpus on the device between fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from private_topics.corpus.counts.block_source import CountBlocks
from private_topics.corpus.counts.blocks import as_blocks
from private_topics.engines.gpu.device import Slab, cupy, device_ranks, resident, stream
from private_topics.engines.gpu.plain import PlainPasses
from private_topics.engines.gpu.sums import ON_HOST, adder_of
from private_topics.engines.local import LocalCorpus
from private_topics.errors import InputError
from private_topics.sums.evidence import Learnt, LearntBlocks
from private_topics.sums.unit_sums import Totals, UnitSum


class GpuCounts(CountBlocks):
    """A corpus kept on the device, for several fits. Shares are one: with groups, pass the corpus itself to `fit`."""

    def __init__(self, X: Any) -> None:
        blocks = as_blocks(X, caller="GpuCounts")
        corpus = LocalCorpus.of(blocks)
        if corpus.grouped:
            raise InputError("GpuCounts holds documents that are units. With groups, pass the corpus to fit.")
        kept = resident(corpus)
        if kept is None:
            raise InputError("The corpus does not fit on the GPU. Pass it to fit itself, which streams it.")
        self.slabs: list[Slab] = kept
        self.n_words, self.n_documents = blocks.n_words, corpus.n_units
        if hasattr(blocks, "columns"):
            self.columns = blocks.columns

    def _blocks(self) -> Iterator[sp.csr_array]:
        for slab in self.slabs:
            arrays = slab.counts.get(), slab.words.get(), slab.start.get()
            yield sp.csr_array(arrays, shape=(slab.n, self.n_words))


class GpuCorpus(PlainPasses):
    """Documents on the device, or streamed to it."""

    def __init__(self, corpus: LocalCorpus, kept: list[Slab] | None) -> None:
        self.corpus = corpus
        self.n_units, self.n_words, self.grouped = corpus.n_units, corpus.n_words, corpus.grouped
        self.kept = kept
        self._restricted: tuple[bytes, list[Slab]] | None = None
        self._learnt: GpuCorpus | None = None

    @classmethod
    def of(cls, blocks: CountBlocks, groups: Any = None) -> Self:
        cupy()
        corpus = LocalCorpus.of(blocks, groups)
        if isinstance(blocks, GpuCounts):
            if corpus.grouped:
                raise InputError("GpuCounts holds documents that are units. With groups, pass the corpus to fit.")
            return cls(corpus, blocks.slabs)
        return cls(corpus, resident(corpus))

    def total(self, unit_sum: UnitSum) -> Totals:
        if isinstance(unit_sum, Learnt):
            return self._of_learnt_words().total(unit_sum.of)
        if isinstance(unit_sum, ON_HOST):
            return self.corpus.total(unit_sum)
        xp, add = cupy(), adder_of(unit_sum)
        totals = tuple(xp.asarray(array) for array in unit_sum.zeros())
        words, frame = getattr(unit_sum, "words", None), getattr(unit_sum, "frame", ())
        for slab in self.slabs(words, rest=words is not None and len(frame) > len(words)):
            add(unit_sum, slab, totals)
        return tuple(array.get() for array in totals)

    def _of_learnt_words(self) -> GpuCorpus:
        """The same documents without the words that are held out, dealt on the host once a fit."""
        if self._learnt is None:
            left = LocalCorpus(LearntBlocks(self.corpus.blocks), self.corpus.share, self.corpus.unit)
            self._learnt = GpuCorpus(left, resident(left))
        return self._learnt

    def close(self) -> None:
        """Free the memory, except that of a `GpuCounts`, which keeps its slabs."""
        self.kept = self._restricted = self._learnt = None
        cupy().get_default_memory_pool().free_all_blocks()

    def slabs(self, words: np.ndarray | None = None, *, rest: bool = False) -> Iterable[Slab]:
        """All documents, on some words only where they are given; the last such restriction is kept.

        With `rest`, one more word stands for all the others.
        """
        if words is None:
            return stream(self.corpus) if self.kept is None else self.kept
        restriction = device_ranks(words, self.n_words), len(words) if rest else -1
        if self.kept is None:
            return (slab.on(*restriction) for slab in stream(self.corpus))
        key = words.tobytes() + bytes([rest])
        if self._restricted is None or self._restricted[0] != key:
            self._restricted = key, [slab.on(*restriction) for slab in self.kept]
        return self._restricted[1]

"""Documents in the memory of a GPU: slabs of rows, streamed where they do not all fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import import_module, resources
from typing import Any

import numpy as np

from private_topics.corpus.counts.layout import ranks_of
from private_topics.errors import InputError
from private_topics.sums.parts import Part

SLAB_DOCUMENTS, SLAB_ENTRIES = 1 << 20, 1 << 27
RESIDENT_SHARE = 0.4  # of the free memory for counts that stay; sums and scratch take the rest
THREADS = 256
COMPILER = ("--std=c++17", "--fmad=false")  # no fused multiply-add except where the source says so


@cache
def cupy() -> Any:
    """CuPy with a GPU that works, or an error that says what is missing."""
    try:
        module = import_module("cupy")
    except ImportError:
        raise InputError(
            "engine='gpu' needs CuPy, which is not installed: install private-topics with the extra 'gpu'."
        ) from None
    try:
        capability = int(module.cuda.Device().compute_capability)
    except Exception:  # CuPy's own error classes exist only where CuPy does
        raise InputError("engine='gpu' found no GPU that works. Use engine='local'.") from None
    if capability < 80:
        raise InputError("engine='gpu' needs a GPU of compute capability 8.0 or more. Use engine='local'.")
    return module


@cache
def module_of(source: str, **constants: int) -> Any:
    """The compiled kernels of a source file in this folder."""
    text = resources.files("private_topics.engines.gpu").joinpath(source).read_text(encoding="utf-8")
    defined = tuple(f"-D{name}={value}" for name, value in constants.items())
    return cupy().RawModule(code=text, options=(*COMPILER, *defined))


def launch(kernel: Any, threads: int, *arguments: Any) -> None:
    """Run one kernel on at least this many threads, in whole blocks."""
    if threads:
        kernel(((threads + THREADS - 1) // THREADS,), (THREADS,), arguments)


@dataclass(frozen=True)
class Slab:
    """A part of the corpus on the device; `order` lists the documents by their number of different words."""

    n: int
    start: Any
    words: Any
    counts: Any
    lengths: Any
    share: Any
    order: Any

    @classmethod
    def of(cls, parts: list[Part]) -> Slab:
        xp = cupy()
        sizes = np.concatenate([np.diff(part.block.indptr) for part in parts])
        start = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        words, counts = (
            xp.asarray(np.concatenate([getattr(part.block, name) for part in parts]).astype(np.int32, copy=False))
            for name in ("indices", "data")
        )
        lengths = xp.asarray(np.concatenate([part.lengths for part in parts]))
        share = xp.asarray(np.concatenate([part.share for part in parts]))
        return cls.on_device(xp.asarray(start), words, counts, lengths, share)

    @classmethod
    def on_device(cls, start: Any, words: Any, counts: Any, lengths: Any, share: Any) -> Slab:
        order = cupy().argsort(start[1:] - start[:-1]).astype(np.int32)
        return cls(len(start) - 1, start, words, counts, lengths, share, order)

    @property
    def nbytes(self) -> int:
        arrays = self.start, self.words, self.counts, self.lengths, self.share, self.order
        return sum(int(array.nbytes) for array in arrays)

    @property
    def rows(self) -> tuple[Any, ...]:
        """What a kernel takes first."""
        return np.int32(self.n), self.order, self.start, self.words, self.counts

    def on(self, rank: Any, rest_word: int = -1) -> Slab:
        """The counts of the words with a rank only (`ranks_of`); the lengths stay those of whole documents.

        A `rest_word` that is not negative stands for all the others.
        """
        if rank is None:
            return self
        xp, kernels = cupy(), module_of("unit_sums.cu")
        sizes = xp.empty(self.n, np.int64)
        rows = np.int32(self.n), self.start, self.words
        launch(kernels.get_function("kept_sizes"), self.n, *rows, rank, np.int32(rest_word), sizes)
        start = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(sizes)])
        words, counts = (xp.empty(int(start[-1]), np.int32) for _ in range(2))
        keep = kernels.get_function("keep")
        launch(keep, self.n, *rows, self.counts, rank, np.int32(rest_word), start, words, counts)
        return self.on_device(start, words, counts, self.lengths, self.share)


def device_ranks(words: np.ndarray, n_words: int) -> Any:
    rank = ranks_of(words, n_words)
    return None if rank is None else cupy().asarray(rank)


def stream(parts: Iterable[Part]) -> Iterator[Slab]:
    """The parts, a few at a time, on the device; the next ones are read while the caller works."""
    with ThreadPoolExecutor(1) as reader:
        groups = _groups(parts)
        ahead = reader.submit(next, groups, None)
        while (group := ahead.result()) is not None:
            ahead = reader.submit(next, groups, None)
            yield Slab.of(group)


def _groups(parts: Iterable[Part]) -> Iterator[list[Part]]:
    group: list[Part] = []
    documents = entries = 0
    for part in parts:
        if group and (documents + len(part.lengths) > SLAB_DOCUMENTS or entries + part.block.nnz > SLAB_ENTRIES):
            yield group
            group, documents, entries = [], 0, 0
        group.append(part)
        documents += len(part.lengths)
        entries += part.block.nnz
    if group:
        yield group


def resident(parts: Iterable[Part], room: int | None = None) -> list[Slab] | None:
    """All parts on the device; None where they take more than `room` bytes."""
    xp = cupy()
    if room is None:
        room = int(RESIDENT_SHARE * xp.cuda.Device().mem_info[0])
    kept: list[Slab] = []
    for slab in stream(parts):
        kept.append(slab)
        room -= slab.nbytes
        if room < 0:
            return None
    return kept

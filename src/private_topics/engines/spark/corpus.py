"""The corpus on a Spark cluster: executors hold its parts and add them up; the driver sees sums, and draws the noise.

A sum is the value of a job, never an accumulator: a task that runs twice (lost, repeated, speculative) counts once.
Partial sums travel in tiles: the arrays of a sum are laid end to end and cut into numbered pieces of at most
`TILE_ENTRIES` integers. A tile of zeros is not sent. Tiles of the same number add up, in any order, so a tree of
machines adds them, at most `FAN_IN` at a time, without any one of them holding a whole sum; the driver fetches one
tile after another. Every sum also counts the documents and units it is over, and is refused if they changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from operator import add
from typing import Any

import numpy as np

from private_topics._version import __version__
from private_topics.corpus.counts.block_source import CountBlocks
from private_topics.engines.local import LocalCorpus
from private_topics.engines.protocol import Corpus
from private_topics.engines.spark import tasks
from private_topics.engines.spark.counts import ClusterCounts, SparkCounts
from private_topics.engines.spark.session import Broadcasts, session, translated
from private_topics.engines.spark.tasks import Documents, Held, task
from private_topics.errors import InputError
from private_topics.sums.unit_sums import Totals, UnitSum

__all__ = ["SparkCorpus", "SparkCounts"]

TASKS_PER_CORE = 2
FAN_IN = 16
PIECE_ENTRIES = 2**18
"""Blocks of the driver go out in pieces of about this many entries; each is a partition."""
TILE_ENTRIES = 2**19
TILE_BYTES = 8 * TILE_ENTRIES
"""No message that carries sums is longer, apart from its envelope of less than a kilobyte."""
OTHER_VERSION = "The executors have a different version of private-topics than the driver: install the same on all."

Tile = tuple[int, np.ndarray]


@dataclass(frozen=True)
class Found:
    """What a corpus holds, or why it cannot be used."""

    documents: int = 0
    units: int = 0
    problem: str | None = None

    def __add__(self, other: Found) -> Found:
        problems = [found.problem for found in (self, other) if found.problem is not None]
        return Found(self.documents + other.documents, self.units + other.units, min(problems, default=None))


@dataclass(frozen=True)
class SparkCorpus(Corpus):
    """Parts kept on the executors, in memory or on their disks, until `close`."""

    parts: Any  # RDD of Held
    found: Found
    n_units: int
    n_words: int
    grouped: bool
    sent: Broadcasts | None = None  # what the driver sent; the parts are made from it

    @classmethod
    def of(cls, blocks: CountBlocks, groups: Any = None) -> SparkCorpus:
        if isinstance(blocks, ClusterCounts):
            if groups is not None and groups is not blocks.groups:
                raise InputError("The rows of a DataFrame have no order: name the column of the units, unit=….")
            parts = translated("given the documents", blocks.parts)
            return cls._opened(parts, blocks.n_words, blocks.groups is not None)
        local = LocalCorpus.of(blocks, groups)
        sent = Broadcasts(session().sparkContext)
        with sent.destroyed_on_error():
            parts = shipped(sent, local)
            return cls._opened(parts, local.n_words, local.grouped, local.n_units, sent)

    @classmethod
    def _opened(
        cls, parts: Any, n_words: int, grouped: bool, n_units: int | None = None, sent: Broadcasts | None = None
    ) -> SparkCorpus:
        from pyspark import StorageLevel

        kept = translated("given the documents", lambda: parts.persist(StorageLevel.MEMORY_AND_DISK))
        corpus = cls(kept, Found(), 0, n_words, grouped, sent)
        try:
            found = corpus._found()
        except BaseException:
            corpus.close()
            raise
        return replace(corpus, found=found, n_units=n_units or found.units)

    def _found(self) -> Found:
        """One pass: the parts are made, kept and counted."""
        counted = self.parts.mapPartitions(partial(_found_in, version=__version__))
        found: Found = translated("given the documents", lambda: counted.treeAggregate(Found(), add, add))
        if found.problem is not None:
            raise InputError(found.problem)
        if found.documents == 0:
            raise InputError("The corpus is empty: fit needs at least one document.")
        return found

    def total(self, unit_sum: UnitSum) -> Totals:
        """One job: partial sums on the executors, their tiles added in a tree, the result fetched tile by tile."""
        totals, seen = unit_sum.zeros(), np.zeros(2, np.int64)
        translated("asked for a sum", lambda: self._add_up(unit_sum, (*totals, seen)))
        if tuple(seen) != (self.found.documents, self.found.units):
            raise InputError(
                "The corpus changed between two passes: the DataFrame must give the same rows whenever it is read."
            )
        return totals

    def _add_up(self, unit_sum: UnitSum, totals: Totals) -> None:
        context = self.parts.context
        sent = context.broadcast(unit_sum)
        try:
            added = self._added(sent, n_tiles(totals), context.defaultParallelism)
            put_together(added.toLocalIterator(), totals)
        finally:
            sent.destroy()

    def _added(self, sent: Any, tiles: int, cores: int) -> Any:
        """The tiles of the total, each alone in its partition."""
        sources = min(self.parts.getNumPartitions(), TASKS_PER_CORE * cores)
        partial_sums = self.parts.coalesce(sources).mapPartitionsWithIndex(partial(_partial_sum, sent=sent))
        while sources > FAN_IN:
            sources = -(-sources // FAN_IN)
            regrouped = partial_sums.map(partial(_regrouped, sources=sources))
            partial_sums = regrouped.reduceByKey(add, min(tiles * sources, cores))
        return partial_sums.map(_without_source).reduceByKey(add, tiles, int)

    def close(self) -> None:
        """Make the executors forget the documents."""
        translated("told to forget the documents", self._forget)

    def _forget(self) -> None:
        try:
            self.parts.unpersist()
        finally:
            if self.sent is not None:
                self.sent.destroy()


# -- what the executors do with their parts --------------------------------------------------------------------------


@task
def _found_in(held: Iterable[Held], version: str) -> Iterator[Found]:
    """What the parts of a partition hold; of several problems the alphabetically first, however parts are cut."""
    found = Found(problem=None if version == __version__ else OTHER_VERSION)
    for one in held:
        found += Found(problem=one) if isinstance(one, str) else Found(one.part.block.shape[0], one.units)
    yield found


@task
def _partial_sum(number: int, held: Iterable[Held], sent: Any) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
    """The partial sum of partition `number`: keys are (tile, partition). Documents and units are counted last."""
    unit_sum: UnitSum = sent.value
    totals, seen = unit_sum.zeros(), np.zeros(2, np.int64)
    for one in held:
        if isinstance(one, Documents):
            unit_sum.add(one.part, totals)
            seen += (one.part.block.shape[0], one.units)
    for tile, values in cut_tiles((*totals, seen)):
        yield (tile, number), values


def _regrouped(tile: Any, sources: int) -> Any:
    (number, source), values = tile
    return (number, source % sources), values


def _without_source(tile: Any) -> Any:
    (number, _), values = tile
    return number, values


# -- tiles -----------------------------------------------------------------------------------------------------------


def cut_tiles(totals: Totals, tile_entries: int = TILE_ENTRIES) -> Iterator[Tile]:
    """The tiles of `totals` that are not all zero, in order."""
    for number in range(n_tiles(totals, tile_entries)):
        start = number * tile_entries
        pieces = [flat[first:last] for flat, first, last in _spans(totals, start, start + tile_entries)]
        if any(piece.any() for piece in pieces):
            yield number, np.concatenate(pieces)


def put_together(tiles: Iterable[Tile], totals: Totals, tile_entries: int = TILE_ENTRIES) -> None:
    """Write the tiles into `totals`, which were zero."""
    for number, values in tiles:
        at = 0
        for flat, first, last in _spans(totals, number * tile_entries, number * tile_entries + len(values)):
            flat[first:last] = values[at : at + last - first]
            at += last - first


def n_tiles(totals: Totals, tile_entries: int = TILE_ENTRIES) -> int:
    """How many tiles there are, those of zeros included."""
    return -(-sum(array.size for array in totals) // tile_entries)


def _spans(totals: Totals, start: int, stop: int) -> Iterator[tuple[np.ndarray, int, int]]:
    """The arrays that entries `start:stop` of the totals, laid end to end, fall into, with the entries of each."""
    before = 0
    for array in totals:
        first, last = max(start - before, 0), min(stop - before, array.size)
        if first < last:
            yield array.reshape(-1), first, last
        before += array.size


# -- blocks that the driver has -------------------------------------------------------------------------------------


def shipped(sent: Broadcasts, local: LocalCorpus) -> Any:
    """The parts of a corpus on this machine as an RDD."""
    shipments = list(sent.ship(_sized_pieces(local)))
    return translated("given the documents", lambda: sent.unpacked(shipments, tasks.shipped_counts))


def _sized_pieces(local: LocalCorpus) -> Iterator[tuple[Documents, int]]:
    for part in local:
        uncounted = np.zeros(len(part.share), np.int64)  # `local` has counted the units
        for piece in tasks.pieces(part.block, part.share, uncounted, PIECE_ENTRIES):
            yield piece, _bytes(piece)


def _bytes(piece: Documents) -> int:
    block = piece.part.block
    return int(block.data.nbytes + block.indices.nbytes + block.indptr.nbytes + 2 * piece.part.share.nbytes)

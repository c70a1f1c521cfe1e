"""The corpus on a Spark cluster: executors hold its parts and add them up; the driver sees sums, and draws the noise.

A sum is the value of a job, never an accumulator: a task that runs twice (lost, repeated, speculative) counts once.
Partial sums travel in tiles (`tiles.py`) and are added in a tree, at most `FAN_IN` at a time; the driver fetches one
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
from private_topics.engines.spark import tasks, tiles
from private_topics.engines.spark.counts import ClusterCounts, SparkCounts
from private_topics.engines.spark.session import session, translated
from private_topics.engines.spark.shipments import Broadcasts
from private_topics.errors import InputError
from private_topics.sums.unit_sums import Totals, UnitSum

__all__ = ["SparkCorpus", "SparkCounts"]

TASKS_PER_CORE = 2
FAN_IN = 16
PIECE_ENTRIES = 2**18
"""Blocks of the driver go out in pieces of about so many entries; each is a partition."""


@dataclass(frozen=True)
class SparkCorpus(Corpus):
    """Parts kept on the executors, in memory or on their disks, until `close`."""

    parts: Any  # RDD of Held
    found: tasks.Found
    n_units: int
    n_words: int
    grouped: bool
    sent: Broadcasts | None = None  # by the driver, of which the parts are made

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
        corpus = cls(kept, tasks.Found(), 0, n_words, grouped, sent)
        try:
            found = corpus._found()
        except BaseException:
            corpus.close()
            raise
        return replace(corpus, found=found, n_units=n_units or found.units)

    def _found(self) -> tasks.Found:
        """One pass: the parts are made, kept and counted."""
        counted = self.parts.mapPartitions(partial(tasks.found_in, version=__version__))
        found: tasks.Found = translated("given the documents", lambda: counted.treeAggregate(tasks.Found(), add, add))
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
            added = self._added(sent, tiles.count(totals), context.defaultParallelism)
            tiles.put_together(added.toLocalIterator(), totals)
        finally:
            sent.destroy()

    def _added(self, sent: Any, n_tiles: int, cores: int) -> Any:
        """The tiles of the total, each alone in its partition."""
        sources = min(self.parts.getNumPartitions(), TASKS_PER_CORE * cores)
        partial_sums = self.parts.coalesce(sources).mapPartitionsWithIndex(partial(_partial_sum, sent=sent))
        while sources > FAN_IN:
            sources = -(-sources // FAN_IN)
            regrouped = partial_sums.map(partial(_regrouped, sources=sources))
            partial_sums = regrouped.reduceByKey(add, min(n_tiles * sources, cores))
        return partial_sums.map(_without_source).reduceByKey(add, n_tiles, int)

    def close(self) -> None:
        """Let the executors forget the documents."""
        translated("told to forget the documents", self._forget)

    def _forget(self) -> None:
        try:
            self.parts.unpersist()
        finally:
            if self.sent is not None:
                self.sent.destroy()


def _partial_sum(number: int, held: Iterable[tasks.Held], sent: Any) -> Any:
    return tasks.summed_tiles(number, held, sent.value)


def _regrouped(tile: Any, sources: int) -> Any:
    (number, source), values = tile
    return (number, source % sources), values


def _without_source(tile: Any) -> Any:
    (number, _), values = tile
    return number, values


# -- blocks that the driver has -------------------------------------------------------------------------------------


def shipped(sent: Broadcasts, local: LocalCorpus) -> Any:
    """The parts of a corpus on this machine as an RDD."""
    shipments = list(sent.ship(_sized_pieces(local)))
    return translated("given the documents", lambda: sent.unpacked(shipments, tasks.shipped_counts))


def _sized_pieces(local: LocalCorpus) -> Iterator[tuple[tasks.Documents, int]]:
    for part in local:
        uncounted = np.zeros(len(part.share), np.int64)  # `local` has counted the units
        for piece in tasks.pieces(part.block, part.share, uncounted, PIECE_ENTRIES):
            yield piece, _bytes(piece)


def _bytes(piece: tasks.Documents) -> int:
    block = piece.part.block
    return int(block.data.nbytes + block.indices.nbytes + block.indptr.nbytes + 2 * piece.part.share.nbytes)

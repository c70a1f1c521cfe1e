"""What runs on the executors: rows become parts, parts become tiles of a sum.

Input that cannot be used is a `Problem` among the parts, not a failed task: Spark would run the task again, and write
about it in its logs. A task that fails all the same says of what kind the error is and nothing else, since messages
of libraries may quote a document.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial, wraps
from hashlib import blake2b
from typing import Any, ParamSpec, TypeVar

import numpy as np
import scipy.sparse as sp

from private_topics._version import __version__
from private_topics.corpus.counts.counting import count_texts
from private_topics.corpus.counts.matrix import document_lengths, take_rows, validate_counts
from private_topics.corpus.texts.source import unit_label
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.engines.spark import tiles
from private_topics.engines.spark.shipments import Shipment
from private_topics.errors import InputError
from private_topics.sums.parts import Part
from private_topics.sums.unit_sums import UnitSum
from private_topics.threads import limited_threads

PART_ENTRIES, PART_DOCUMENTS = 2**20, 2**14
TEXT_MEMORY_BYTES = 2**27
NO_UNIT = b""
OTHER_VERSION = "The executors have another version of private-topics than the driver: install the same on all."
Arguments = ParamSpec("Arguments")
Item = TypeVar("Item")
LOST = "It is no fault of the documents alone: the same corpus on engine='local' shows the reason."


class TaskError(RuntimeError):
    """A task failed; the message names the kind of the error."""


@dataclass(frozen=True)
class Documents:
    """A part of the corpus, and how many privacy units are counted in it: each in one of its documents' parts."""

    part: Part
    units: int


@dataclass(frozen=True)
class Problem:
    """Why the input cannot be used, in words that hold no value of it."""

    message: str


Held = Documents | Problem


def task(work: Callable[Arguments, Iterator[Item]]) -> Callable[Arguments, Iterator[Item]]:
    """A generator that is a task's code: on the cores the task was given, and silent about what it worked on."""

    @wraps(work)
    def guarded(*positional: Arguments.args, **named: Arguments.kwargs) -> Iterator[Item]:
        failure = None
        try:
            with limited_threads(_task_cores()):
                yield from work(*positional, **named)
        except Exception as error:
            failure = type(error).__name__
        if failure is not None:  # raised out here it is chained to nothing
            raise TaskError(f"{failure} in a task of private-topics. {LOST}")

    return guarded


def _task_cores() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 1 if context is None else max(1, context.cpus())


# -- rows to parts --------------------------------------------------------------------------------------------------


def held_batches(held: Callable[[Iterator[Any]], Iterator[Held]]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """`held` for `DataFrame.mapInArrow`: each part a row with one binary column."""

    @task
    def batches(incoming: Iterator[Any]) -> Iterator[Any]:
        import pyarrow

        for one in _or_problem(held, incoming):
            packed = pickle.dumps(one, protocol=pickle.HIGHEST_PROTOCOL)
            yield pyarrow.record_batch([pyarrow.array([packed], pyarrow.binary())], names=["part"])

    return batches


def _or_problem(held: Callable[[Iterator[Any]], Iterator[Held]], incoming: Iterator[Any]) -> Iterator[Held]:
    try:
        yield from held(incoming)
    except InputError as error:
        yield Problem(str(error))


def counted_rows(batches: Iterable[Any], n_words: int, grouped: bool) -> Iterator[Held]:
    """Rows (indices, counts[, key, size, first]) to parts."""
    for batch in batches:
        block = _block(batch.column("indices"), batch.column("counts"), n_words)
        share, units = _shares([batch], grouped, block.shape[0])
        yield from pieces(block, share, units)


def text_rows(batches: Iterable[Any], vocabulary: list[str], tokeniser: Tokeniser, grouped: bool) -> Iterator[Held]:
    """Rows (text[, key, size, first]) to parts. A missing text is an empty document: their number is public."""
    without_text: list[Any] = []

    def texts() -> Iterator[str]:
        for batch in batches:
            without_text.append(batch.drop_columns(["text"]))
            for text in batch.column("text").to_pylist():
                yield "" if text is None else text

    stream = texts()
    first = next(stream, None)
    if first is not None:
        shares = partial(_shares, without_text, grouped)
        yield from counted_texts(_after(first, stream), vocabulary, tokeniser, shares)


def _after(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


@task
def shipped_texts(numbers: Iterable[int], sent: Shipment, recipe: Any) -> Iterator[Held]:
    """Pieces of a shipment of texts (`spark_texts.py`) to parts; `recipe` is a broadcast (vocabulary, tokeniser)."""
    vocabulary, tokeniser = recipe.value
    for number in numbers:
        encoded: list[bytes] = pickle.loads(sent.pieces.value[number])
        texts = (text.decode("utf-8", "surrogatepass") for text in encoded)
        shares = partial(_sent_shares, sent, number)
        held = partial(counted_texts, vocabulary=vocabulary, tokeniser=tokeniser, shares=shares)
        yield from _or_problem(held, texts)


def _sent_shares(sent: Shipment, number: int, documents: int) -> tuple[np.ndarray, np.ndarray]:
    shares: tuple[np.ndarray, np.ndarray]
    shares = _shares([], False, documents) if sent.beside is None else sent.beside.value[number]
    return shares


def counted_texts(
    texts: Iterator[str],
    vocabulary: list[str],
    tokeniser: Tokeniser,
    shares: Callable[[int], tuple[np.ndarray, np.ndarray]],
) -> Iterator[Held]:
    """Texts to parts. `shares` is asked once all texts are read: for each document's share, and how many units."""
    with count_texts(texts, vocabulary, tokeniser, n_jobs=1, memory_bytes=TEXT_MEMORY_BYTES) as counts:
        share, units = shares(counts.n_documents or 0)
        at = 0
        for block in counts:
            height = block.shape[0]
            yield from pieces(block, share[at : at + height], units[at : at + height])
            at += height


@task
def shipped_counts(numbers: Iterable[int], sent: Shipment) -> Iterator[Held]:
    """Pieces of a shipment of parts that the driver has made."""
    for number in numbers:
        yield sent.pieces.value[number]


def pieces(
    block: sp.csr_array, share: np.ndarray, units: np.ndarray, most_entries: int = PART_ENTRIES
) -> Iterator[Documents]:
    """A block as parts of a bounded number of documents and, but for one long document, of entries.

    `units` is one for the document that a unit is counted with, zero for the unit's others.
    """
    start = 0
    while start < block.shape[0]:
        fits = np.searchsorted(block.indptr, block.indptr[start] + most_entries, side="right") - 1
        stop = int(np.clip(fits, start + 1, min(start + PART_DOCUMENTS, block.shape[0])))
        piece = _own(take_rows(block, start, stop))
        part = Part(piece, document_lengths(piece), np.ascontiguousarray(share[start:stop]))
        yield Documents(part, int(units[start:stop].sum()))
        start = stop


def _own(piece: sp.csr_array) -> sp.csr_array:
    """A piece with arrays of its own, so that pickling it does not carry the block."""
    piece.data, piece.indices = piece.data.copy(), piece.indices.copy()
    return piece


def _block(words: Any, counts: Any, n_words: int) -> sp.csr_array:
    """Two Arrow columns of lists as counts."""
    if words.null_count or counts.null_count:
        raise InputError("A document has no words or no counts: both columns must hold an array, if an empty one.")
    indptr, indices = _lists(words)
    other, data = _lists(counts)
    if not np.array_equal(indptr, other):
        raise InputError("The arrays of words and of counts of a document must be equally long.")
    block = sp.csr_array((len(indptr) - 1, n_words), dtype=np.int32)
    block.data, block.indices, block.indptr = data, indices, indptr
    return validate_counts(block, caller="SparkCounts", allow_empty=True)


def _lists(column: Any) -> tuple[np.ndarray, np.ndarray]:
    values = column.flatten()
    if values.null_count:
        raise InputError("The arrays of words and of counts must not hold missing values.")
    lengths = column.value_lengths().to_numpy(zero_copy_only=False)
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))), values.to_numpy(zero_copy_only=False).copy()


def _shares(batches: list[Any], grouped: bool, documents: int) -> tuple[np.ndarray, np.ndarray]:
    """Each document's share of its unit, and one for the document that the unit is counted with."""
    if not grouped:
        return np.ones(documents), np.ones(documents, np.int64)
    if any(key == NO_UNIT for batch in batches for key in batch.column("key").to_pylist()):
        raise InputError("A document has no unit: the column must hold a string or an integer, none missing.")
    sizes, first = (
        np.concatenate([batch.column(name).to_numpy(zero_copy_only=False) for batch in batches])
        for name in ("size", "first")
    )
    return 1.0 / sizes, first.astype(np.int64)


def unit_key(label: Any) -> bytes:
    """What the documents of a unit share: a digest of the label, as texts read with a unit have it."""
    known = unit_label(label)
    return NO_UNIT if known is None else blake2b(known.encode("utf-8", "surrogatepass"), digest_size=16).digest()


# -- parts to sums --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """What a corpus holds, or why it cannot be used."""

    documents: int = 0
    units: int = 0
    problem: str | None = None

    def __add__(self, other: Found) -> Found:
        problems = [found.problem for found in (self, other) if found.problem is not None]
        return Found(self.documents + other.documents, self.units + other.units, min(problems, default=None))


@task
def found_in(held: Iterable[Held], version: str) -> Iterator[Found]:
    """One line on all parts of a partition; the first problem in the order of the alphabet, whatever the cut."""
    found = Found(problem=None if version == __version__ else OTHER_VERSION)
    for one in held:
        if isinstance(one, Problem):
            found += Found(problem=one.message)
        else:
            found += Found(one.part.block.shape[0], one.units)
    yield found


@task
def summed_tiles(
    number: int, held: Iterable[Held], unit_sum: UnitSum
) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
    """The partial sum of partition `number`: keys are (tile, partition). Documents and units are counted last."""
    totals = unit_sum.zeros()
    seen = np.zeros(2, np.int64)
    for one in held:
        if isinstance(one, Documents):
            unit_sum.add(one.part, totals)
            seen += (one.part.block.shape[0], one.units)
    for tile, values in tiles.cut((*totals, seen)):
        yield (tile, number), values

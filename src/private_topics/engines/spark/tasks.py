"""How the executors make parts: from rows of a DataFrame, from texts, from pieces that the driver sent.

Input that cannot be used is a message among the parts, not a failed task: Spark would run the task again, and write
about it in its logs. A task that fails nevertheless states the kind of error and nothing else, since messages of
libraries may quote a document.
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

from private_topics.corpus.counts.counting import count_texts
from private_topics.corpus.counts.folder import list_column
from private_topics.corpus.counts.matrix import counts_of, document_lengths, take_rows, validate_counts
from private_topics.corpus.texts.source import unit_label
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.engines.spark.session import Shipment
from private_topics.errors import InputError
from private_topics.sums.parts import Part
from private_topics.threads import limited_threads

PART_ENTRIES, PART_DOCUMENTS = 2**20, 2**14
TEXT_MEMORY_BYTES = 2**27
NO_UNIT = b""
Arguments = ParamSpec("Arguments")
Item = TypeVar("Item")


class TaskError(RuntimeError):
    """A task failed; the message names the kind of the error."""


@dataclass(frozen=True)
class Documents:
    """A part of the corpus, and how many privacy units are counted in it: each in one of its documents' parts."""

    part: Part
    units: int


Held = Documents | str
"""A part, or why the input cannot be used, in words that quote no value from it."""


def task(work: Callable[Arguments, Iterator[Item]]) -> Callable[Arguments, Iterator[Item]]:
    """The code of a task, a generator: run on the cores the task was given, and silent about what it worked on."""

    @wraps(work)
    def guarded(*positional: Arguments.args, **named: Arguments.kwargs) -> Iterator[Item]:
        failure = None
        try:
            with limited_threads(_task_cores()):
                yield from work(*positional, **named)
        except Exception as error:
            failure = type(error).__name__
        if failure is not None:  # raised here, the error is chained to nothing
            raise TaskError(
                f"{failure} in a task of private-topics. It is not caused by the documents alone: the same corpus "
                "with engine='local' shows the reason."
            )

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
        yield str(error)


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
    """Pieces of a shipment of texts (`texts.py`) to parts; `recipe` is a broadcast (vocabulary, tokeniser)."""
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
    """A block as parts of a bounded number of documents and, except for one long document, of entries.

    `units` is one for the document that a unit is counted with, zero for the unit's other documents.
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
        raise InputError("A document has no words or no counts: both columns must hold an array, even an empty one.")
    if words.flatten().null_count or counts.flatten().null_count:
        raise InputError("The arrays of words and of counts must not hold missing values.")
    (indptr, indices), (other, data) = list_column(words), list_column(counts)
    if not np.array_equal(indptr, other):
        raise InputError("The arrays of words and of counts of a document must be equally long.")
    return validate_counts(counts_of(indptr, indices, data, n_words), caller="SparkCounts", allow_empty=True)


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

"""From texts to counts over a vocabulary, and to the distinct words of each document, to select a vocabulary from.

Threads share the work: the compiled loops of `scanning.py` run without the interpreter's lock, so neither other
processes nor copies of the text are needed. Which documents share a block depends on their position alone, and the
result does not depend on the number of threads.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from typing import Self, TypeVar

import numpy as np
import scipy.sparse as sp

from private_topics.corpus.counts.block_source import CountBlocks, sample_of_parts
from private_topics.corpus.counts.folder import FolderBlocks, write_npz_block
from private_topics.corpus.counts.matrix import counts_of, stack_rows, validate_counts
from private_topics.corpus.texts.source import Document, unit_label
from private_topics.corpus.words.scanning import number_words
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.errors import InputError
from private_topics.threads import in_order, resolve_threads


class CountedTexts(CountBlocks):
    """Counts over a vocabulary, with the settings that made them.

    Attributes
    ----------
    columns : the vocabulary, in the order of the columns (an estimator takes its feature names from here).
    groups : the number of each document's unit, or None where units are documents. A private fit takes its
        units from here, unless it is given others.
    unit_labels : the labels of the units, in the order of their numbers; None where units are documents.
    tokeniser : the settings the words were made with.
    in_memory : False once blocks have been written to the temporary folder.
    """

    def __init__(self, vocabulary: Sequence[str], tokeniser: Tokeniser) -> None:
        self.columns = list(vocabulary)
        self.n_words = len(self.columns)
        self.tokeniser = tokeniser
        self.groups: np.ndarray | None = None
        self.unit_labels: list[str | None] | None = None
        self.in_memory = True
        self._kept: list[sp.csr_array] = []
        self._folder: str | None = None
        self._stored: FolderBlocks | None = None

    def keep(self, blocks: Iterable[sp.csr_array], memory_bytes: int, folder: str | None) -> None:
        """Take in the blocks; beyond `memory_bytes` they go to a temporary folder below `folder`."""
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


BLOCK_DOCUMENTS = 16_384
CHUNK_DOCUMENTS, CHUNK_CHARACTERS = 4_096, 2**21
MEMORY_BYTES = 2**30
MOST_REMEMBERED_STEMS = 2**20

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Chunk:
    """Documents that are counted together."""

    texts: list[str] = field(default_factory=list)
    units: list[str | None] = field(default_factory=list)


class Groups:
    """Units as numbers, in the order in which they appear."""

    def __init__(self) -> None:
        self.numbers: dict[str | None, int] = {}
        self.parts: list[np.ndarray] = []

    def add(self, units: list[str | None]) -> None:
        numbers = self.numbers
        self.parts.append(np.array([numbers.setdefault(unit, len(numbers)) for unit in units], dtype=np.int64))
        if None in numbers and len(numbers) > 1:
            raise InputError("Either all documents have a unit or none has.")

    def of_documents(self) -> np.ndarray | None:
        """The number of each document's unit, or `None` where units are documents."""
        return None if None in self.numbers else np.concatenate(self.parts)

    @property
    def labels(self) -> list[str | None] | None:
        """The label of each unit, or `None` where units are documents."""
        return None if None in self.numbers else list(self.numbers)


def count_texts(
    texts: Iterable[str | Document],
    vocabulary: Sequence[str],
    tokeniser: Tokeniser | None = None,
    *,
    n_jobs: int | None = None,
    memory_bytes: int = MEMORY_BYTES,
    folder: str | os.PathLike[str] | None = None,
) -> CountedTexts:
    """Count the words of a vocabulary in texts: a corpus to `fit`.

    Parameters
    ----------
    texts : what `open_texts` gives, or any iterable of strings or of (text, unit) pairs. It is read once.
    vocabulary : the words, in the order of the columns; `Tokeniser.usable` makes them from a public list.
    tokeniser : how text becomes words; None for the default.
    n_jobs : threads; None means all cores. The result does not depend on it.
    memory_bytes : counts larger than this go to a temporary folder.
    folder : where to put that folder; None for the system's folder for temporary files.
    """
    tokeniser = Tokeniser() if tokeniser is None else tokeniser
    counted = _counter(vocabulary, tokeniser)
    groups, counts = Groups(), CountedTexts(vocabulary, tokeniser)
    chunks = in_order(
        lambda chunk: (counted(chunk), chunk.units),
        in_chunks(texts, CHUNK_DOCUMENTS, CHUNK_CHARACTERS),
        _threads(n_jobs),
    )
    try:
        counts.keep(_whole_blocks(chunks, groups), memory_bytes, None if folder is None else os.fspath(folder))
    except BaseException:
        counts.close()
        raise
    if not counts.n_documents:
        raise InputError("count_texts found no documents.")
    counts.groups, counts.unit_labels = groups.of_documents(), groups.labels
    return counts


def counted_chunks(
    texts: Iterable[str | Document],
    vocabulary: Sequence[str],
    tokeniser: Tokeniser,
    then: Callable[[sp.csr_array], Result],
    *,
    n_jobs: int | None = None,
) -> Iterator[Result]:
    """What `then` makes of the counts of some documents after others, in order; it runs in the threads that count."""
    counted = _counter(vocabulary, tokeniser)
    return in_order(
        lambda chunk: then(counted(chunk)), in_chunks(texts, CHUNK_DOCUMENTS, CHUNK_CHARACTERS), _threads(n_jobs)
    )


def _counter(vocabulary: Sequence[str], tokeniser: Tokeniser) -> Callable[[Chunk], sp.csr_array]:
    column_of = _column_lookup(_checked(vocabulary, tokeniser), tokeniser)
    n_words = len(vocabulary)

    def counted(chunk: Chunk) -> sp.csr_array:
        words = number_words(chunk.texts, tokeniser)
        columns = [column_of(word) for word in words.different]
        counts = counts_of(*words.counts(columns, n_words), n_words)
        return validate_counts(counts, caller="count_texts")

    return counted


def distinct_words(
    texts: Iterable[str | Document], tokeniser: Tokeniser | None = None, *, n_jobs: int | None = None
) -> Iterator[tuple[list[str], str | None]]:
    """The distinct words of each document, with its unit: what a private selection of a vocabulary starts from.

    They are private like the texts. `corpus/words/vocabulary.py` joins the documents of a unit and limits its words.
    """
    made = Tokeniser() if tokeniser is None else tokeniser

    def found(chunk: Chunk) -> list[tuple[list[str], str | None]]:
        words = number_words(chunk.texts, made)
        kept: dict[str, int] = {}
        stems = (made.kept(word.decode()) for word in words.different)
        columns = [-1 if stem is None else kept.setdefault(stem, len(kept)) for stem in stems]
        indptr, indices, _ = words.counts(columns, len(kept))
        names = np.array([*kept, None], dtype=object)[indices].tolist()
        spans = pairwise(indptr.tolist())
        return [(names[start:stop], unit) for (start, stop), unit in zip(spans, chunk.units, strict=True)]

    return chain.from_iterable(in_order(found, in_chunks(texts, CHUNK_DOCUMENTS, CHUNK_CHARACTERS), _threads(n_jobs)))


def _threads(n_jobs: int | None) -> int:
    if n_jobs is not None and (not isinstance(n_jobs, int) or n_jobs == 0):
        raise InputError(f"The 'n_jobs' parameter must be None or a non-zero int. Got {n_jobs!r} instead.")
    return resolve_threads(n_jobs)


def _checked(vocabulary: Sequence[str], tokeniser: Tokeniser) -> Sequence[str]:
    """The vocabulary, if each of its words is one that the tokeniser makes, and no two are the same."""
    if isinstance(vocabulary, str) or not all(isinstance(word, str) for word in vocabulary):
        raise InputError("The 'vocabulary' parameter of count_texts must be a list of strings.")
    if not len(vocabulary):
        raise InputError("The 'vocabulary' parameter of count_texts is empty: give at least one word.")
    if len(set(vocabulary)) != len(vocabulary):
        raise InputError("The 'vocabulary' parameter of count_texts holds a word twice.")
    if any(tokeniser.words(word) != [word] for word in vocabulary):
        raise InputError(
            "The 'vocabulary' parameter of count_texts holds words that the tokeniser never makes (of another case, "
            "of several parts, too short, stop words); Tokeniser.usable(words) brings a list into its form."
        )
    return vocabulary


def _column_lookup(vocabulary: Sequence[str], tokeniser: Tokeniser) -> Callable[[bytes], int]:
    """The column that a word is counted in, or -1. Without a stemmer that is a single lookup."""
    columns = {word.encode(): column for column, word in enumerate(vocabulary)}
    if tokeniser.stemmer is None:
        return lambda word: columns.get(word, -1)
    remembered: dict[bytes, int] = {}

    def column_of(word: bytes) -> int:
        column = remembered.get(word)
        if column is None:
            stem = tokeniser.kept(word.decode())
            column = -1 if stem is None else columns.get(stem.encode(), -1)
            if len(remembered) < MOST_REMEMBERED_STEMS:
                remembered[word] = column
        return column

    return column_of


def in_chunks(texts: Iterable[str | Document], most_documents: int, most_characters: int) -> Iterator[Chunk]:
    """Documents in chunks, none of which crosses the border of a block."""
    chunk, characters = Chunk(), 0
    for number, item in enumerate(texts, start=1):
        text, unit = item if isinstance(item, tuple) and len(item) == 2 else (item, None)
        label = unit_label(unit)
        if not isinstance(text, str) or (label is None and unit is not None):
            raise InputError(
                "Texts must be strings, or pairs of a string and the label of its unit: text that is not blank, a "
                "whole number, or None."
            )
        chunk.texts.append(text)
        chunk.units.append(label)
        characters += len(text)
        full = len(chunk.texts) == most_documents or characters >= most_characters
        if full or number % BLOCK_DOCUMENTS == 0:
            yield chunk
            chunk, characters = Chunk(), 0
    if chunk.texts:
        yield chunk


def _whole_blocks(chunks: Iterable[tuple[sp.csr_array, list[str | None]]], groups: Groups) -> Iterator[sp.csr_array]:
    """Blocks of `BLOCK_DOCUMENTS` documents, the last one smaller; the documents' units are noted on the way."""
    waiting: list[sp.csr_array] = []
    for counts, units in chunks:
        groups.add(units)
        waiting.append(counts)
        if sum(part.shape[0] for part in waiting) == BLOCK_DOCUMENTS:
            yield stack_rows(waiting)
            waiting = []
    if waiting:
        yield stack_rows(waiting)

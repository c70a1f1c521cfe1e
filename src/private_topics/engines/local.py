"""The corpus on this machine: blocks, lengths, and each document's share of its privacy unit.

Without groups a document is a unit and its share is one. With groups a unit is a user; the user's feature is the mean
of the features of the user's documents, so each of `m` documents has share 1/m.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from private_topics.corpus.counts.blocks import CountBlocks, MatrixBlocks
from private_topics.corpus.counts.layout import ranks_of, select_words
from private_topics.corpus.counts.matrix import document_lengths, take_listed, take_rows
from private_topics.corpus.texts.source import unit_label
from private_topics.engines.protocol import Corpus, CorpusSize
from private_topics.errors import InputError
from private_topics.inference.token_sampling import (
    FEWEST_BATCHES,
    SMALLEST_BATCH,
    document_statistic,
    step_size,
    sweeps,
    topics_of_counts,
)
from private_topics.progress import Progress
from private_topics.sums.moments import FrameSums, add_first_moment, add_second_moment, mirror_upper
from private_topics.sums.parts import SHORTEST, DocumentWeights, Part
from private_topics.sums.unit_sums import Totals, UnitSum

SAMPLE_DOCUMENTS, FREQUENCY_DOCUMENTS = 50_000, 4096
USUAL_BATCH, LARGEST_BATCH = 512, 16_384
MISSING_LABEL = "The 'groups' parameter of fit must hold strings or numbers, none missing or masked."
TILE_DOCUMENTS = 4096
"""Documents whose counts the kernels of the moments visit at a time: about what a core's own cache holds."""


class LocalCorpus(Corpus):
    """Blocks of counts that the caller owns."""

    def __init__(self, blocks: CountBlocks, share: np.ndarray | None = None, unit: np.ndarray | None = None) -> None:
        self.blocks, self.n_words = blocks, blocks.n_words
        self.share = share  # None: one for every document
        self.unit = unit  # of each document, 0 … n_units - 1; None: a document is a unit
        self.grouped = unit is not None

    @classmethod
    def of(cls, blocks: CountBlocks, groups: Any = None) -> Self:
        groups = getattr(blocks, "groups", None) if groups is None else groups  # texts read with a unit
        if groups is None:
            return cls(blocks)
        labels = _labels(groups)
        if labels.shape != (_documents(blocks),):
            raise InputError("The 'groups' parameter of fit must have one label for each document.")
        _, unit, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        return cls(blocks, 1.0 / sizes[unit], unit)

    @cached_property
    def n_units(self) -> int:  # type: ignore[override]
        """Counted when first asked for, which a fit without privacy on this machine never does."""
        return _documents(self.blocks) if self.unit is None else int(self.unit.max()) + 1

    def total(self, unit_sum: UnitSum) -> Totals:
        """One pass over the corpus, block by block."""
        totals = unit_sum.zeros()
        for part in self:
            unit_sum.add(part, totals)
        return totals

    def __iter__(self) -> Iterator[Part]:
        start = 0
        for block in self.blocks:
            stop = start + block.shape[0]
            share = np.ones(block.shape[0]) if self.share is None else self.share[start:stop]
            yield Part(block, document_lengths(block), share)
            start = stop

    # -- fits without privacy ------------------------------------------------------------------------------------

    def frequent_words(self, limit: int) -> np.ndarray:
        """Judged on a sample spread over the corpus."""
        if self.n_words <= limit:
            return np.arange(self.n_words)
        sample = self.blocks.sample(SAMPLE_DOCUMENTS)
        frequency = np.zeros(self.n_words)
        for start in range(0, sample.shape[0], FREQUENCY_DOCUMENTS):  # bincount widens what it is given
            part = take_rows(sample, start, start + FREQUENCY_DOCUMENTS)
            frequency += np.bincount(part.indices, weights=part.data, minlength=self.n_words)
        return np.sort(np.argsort(-frequency, kind="stable")[:limit])

    def first_and_second(self, words: np.ndarray) -> tuple[CorpusSize, np.ndarray, np.ndarray]:
        rank = ranks_of(words, self.n_words)
        first = np.zeros(self.n_words)
        second = np.zeros((len(words), len(words)))
        documents = usable = tokens = 0
        for block in self._tiles():
            lengths = document_lengths(block)
            weights = DocumentWeights.of_lengths(lengths)
            add_first_moment(block, weights.first, first)
            add_second_moment(select_words(block, rank, len(words)), weights.second, second)
            documents += block.shape[0]
            usable += int((lengths >= SHORTEST).sum())
            tokens += int(lengths.sum())
        mirror_upper(second)
        scale = max(usable, 1)
        return CorpusSize(documents, usable, tokens), first / scale, second / scale

    def inside(self, words: np.ndarray, frame: np.ndarray) -> FrameSums:  # noqa: ARG002 (see Corpus)
        sums = FrameSums(self.n_words, frame.shape[1])
        for block in self._tiles():
            weights = DocumentWeights.of_lengths(document_lengths(block))
            sums.add(select_words(block, None, self.n_words), frame, weights)
        return sums

    def refined(
        self, expected: np.ndarray, size: CorpusSize, prior: float, steps: int, seed: int, progress: Progress
    ) -> np.ndarray:
        """Each step ends with the average of the running statistic, its first quarter left out."""
        batch_documents = batch_size(size.documents, self.n_words)
        done = 0.0
        for step in range(steps):
            progress.stage(f"refinement {step + 1} of {steps}")
            begin = done + 0.25 * size.documents / batch_documents
            average, averaged = np.zeros_like(expected), 0.0
            swept = sweeps(step, last=step == steps - 1)
            for batch in self._batches(batch_documents):
                part = batch.shape[0] / batch_documents
                weight = 1.0 - (1.0 - step_size(int(done))) ** part
                done += part
                _update(expected, batch, prior, size.tokens, weight, seed + int(done * 1024), swept)
                if done > begin:
                    average += part * expected
                    averaged += part
            expected = average / averaged
        return expected

    def _tiles(self) -> Iterator[sp.csr_array]:
        """Runs of documents, as views of the blocks."""
        for block in self.blocks:
            for start in range(0, block.shape[0], TILE_DOCUMENTS):
                yield take_rows(block, start, start + TILE_DOCUMENTS)

    def _batches(self, batch_documents: int) -> Iterator[sp.csr_array]:
        """Batches of equal size that stride over each block, so that a sorted corpus does not come in sorted."""
        whole = [self.blocks.counts] if isinstance(self.blocks, MatrixBlocks) else self.blocks
        for block in whole:
            parts = max(1, round(block.shape[0] / batch_documents))
            for part in range(parts):
                yield take_listed(block, np.arange(part, block.shape[0], parts))


def _documents(blocks: CountBlocks) -> int:
    """At least one: a pass over none is an error."""
    return sum(block.shape[0] for block in blocks) if blocks.n_documents is None else blocks.n_documents


def batch_size(n_documents: int, n_words: int) -> int:
    """Documents per online update: more for a large vocabulary, where an update costs words × topics."""
    wanted = 2 ** int(np.ceil(np.log2(max(n_words, 2) / 6.0)))
    largest = max(SMALLEST_BATCH, n_documents // FEWEST_BATCHES)
    return int(min(np.clip(wanted, USUAL_BATCH, LARGEST_BATCH), largest))


def _update(
    expected: np.ndarray,
    batch: sp.csr_array,
    prior: float,
    n_tokens: int,
    weight: float,
    seed: int,
    swept: tuple[int, int],
) -> None:
    """Move the running statistic towards that of one batch, scaled to the corpus."""
    tokens = float(batch.data.sum(dtype=np.int64))
    if tokens == 0.0:
        return
    word_topics = topics_of_counts(expected)
    block = select_words(batch, None, batch.shape[1])
    fresh = document_statistic(block, word_topics, prior, seed, *swept)
    expected *= 1.0 - weight
    fresh *= weight * n_tokens / tokens
    expected += fresh


def _labels(groups: Any) -> np.ndarray:
    """Labels whose order is total, so that `np.unique` cannot mistake one user for two.

    Labels with text among them are compared as `unit_label` writes them, numbers and times as they are.
    """
    labels = np.asarray(groups)
    if np.ma.is_masked(groups):  # what is behind the mask is no label, and `labels` has lost the mask
        raise InputError(MISSING_LABEL)
    if labels.dtype.kind in "OUS":
        codes: dict[str | None, int] = {}
        if labels.dtype.kind == "S":
            labels = np.char.decode(labels, "utf-8", "surrogateescape")
        elif not isinstance(groups, np.ndarray):
            labels = np.asarray(groups, object)  # a missing one beside text is no text "nan"
        found = [codes.setdefault(unit_label(label), len(codes)) for label in labels.flat]
        if None in codes:
            raise InputError(MISSING_LABEL)
        return np.array(found, np.int64).reshape(labels.shape)
    if labels.dtype.kind not in "biufM" or (labels.dtype.kind in "fM" and np.isnan(labels).any()):
        raise InputError(MISSING_LABEL)
    return labels

"""The corpus on this machine: blocks, lengths, and each document's share of its privacy unit.

Without groups a document is a unit and its share is one. With groups a unit is a user; the user's feature is the mean
of the features of the user's documents, so each of `m` documents has share 1/m.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from private_topics.corpus.counts.blocks import CountBlocks
from private_topics.corpus.counts.matrix import document_lengths
from private_topics.errors import InputError
from private_topics.sums.parts import Part
from private_topics.sums.unit_sums import Totals, UnitSum


@dataclass(frozen=True)
class PrivateCorpus:
    blocks: CountBlocks
    n_units: int
    share: np.ndarray | None  # None: one for every document
    unit: np.ndarray | None = None  # of each document, 0 … n_units - 1; None: a document is a unit

    @classmethod
    def of(cls, blocks: CountBlocks, groups: Any = None) -> PrivateCorpus:
        documents = blocks.n_documents
        if documents is None:
            documents = sum(block.shape[0] for block in blocks)
        if documents == 0:
            raise InputError("The corpus is empty: fit needs at least one document.")
        groups = getattr(blocks, "groups", None) if groups is None else groups  # texts read with a unit
        if groups is None:
            return cls(blocks, documents, None)
        labels = _labels(groups)
        if labels.shape != (documents,):
            raise InputError("The 'groups' parameter of fit must have one label for each document.")
        _, unit, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        return cls(blocks, len(sizes), 1.0 / sizes[unit], unit)

    @property
    def n_words(self) -> int:
        return self.blocks.n_words

    @property
    def grouped(self) -> bool:
        return self.unit is not None

    def total(self, unit_sum: UnitSum) -> Totals:
        """One pass over the corpus, block by block."""
        totals = unit_sum.zeros()
        for part in self:
            unit_sum.add(part, totals)
        return totals

    def close(self) -> None:
        """Nothing to let go of: the blocks are the caller's."""

    def __iter__(self) -> Iterator[Part]:
        start = 0
        for block in self.blocks:
            stop = start + block.shape[0]
            share = np.ones(block.shape[0]) if self.share is None else self.share[start:stop]
            yield Part(block, document_lengths(block), share)
            start = stop


def _labels(groups: Any) -> np.ndarray:
    """Labels whose order is total, so that `np.unique` cannot take one user for two."""
    labels = np.asarray(groups)
    if labels.dtype.kind == "O":
        if not all(isinstance(label, str | int) for label in labels.flat):
            raise InputError("The 'groups' parameter of fit must hold strings or numbers, none missing.")
        codes: dict[str | int, int] = {}
        return np.array([codes.setdefault(label, len(codes)) for label in labels.flat]).reshape(labels.shape)
    if labels.dtype.kind not in "biufUSM" or (labels.dtype.kind in "fM" and np.isnan(labels).any()):
        raise InputError("The 'groups' parameter of fit must hold strings or numbers, none missing.")
    return labels

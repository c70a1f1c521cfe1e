"""Topic proportions of the documents of each class: classes × topics, of sum at most one for a unit.

The class of a document is part of its counts: behind the columns of the words comes one for each class, and the
first of them that is not zero is the document's. So a class travels with its document, however a corpus is cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import get_num_threads, njit, prange

from private_topics.inference.fold_in import fold_in
from private_topics.sums.parts import Part
from private_topics.sums.quantised import SAFETY
from private_topics.sums.unit_sums import AddedUp, Totals


@dataclass(frozen=True)
class ClassProportions(AddedUp):
    """`Σ gamma/|gamma|` under public topics, added to the row of a document's class."""

    word_topics: np.ndarray
    prior: np.ndarray
    n_classes: int
    rounds: int
    step: float

    def zeros(self) -> Totals:
        return (np.zeros((self.n_classes, len(self.prior)), np.int64),)

    def add(self, part: Part, totals: Totals) -> None:
        n_words = len(self.word_topics)
        block = part.on(np.arange(n_words))
        gamma, _ = fold_in(block.indptr, block.words, block.counts, self.word_topics, self.prior, self.rounds)
        classes = class_of_rows(part.block.indptr, part.block.indices, n_words)
        parts = np.zeros((4 * get_num_threads(), *totals[0].shape), np.int64)
        _add_proportions(block.indptr, classes, gamma, part.share * SAFETY / self.step, parts)
        totals[0][:] += parts.sum(axis=0)


@njit(cache=True, nogil=True)
def class_of_rows(indptr, indices, n_words):  # type: ignore[no-untyped-def]
    """The class of each document, the first where there are several; -1 where there is none."""
    found = np.full(len(indptr) - 1, -1, np.int64)
    for n in range(len(indptr) - 1):
        for p in range(indptr[n], indptr[n + 1]):
            column = indices[p] - n_words
            if column >= 0 and (found[n] < 0 or column < found[n]):
                found[n] = column
    return found


@njit(cache=True, parallel=True, nogil=True)
def _add_proportions(indptr, classes, gamma, weights, parts):  # type: ignore[no-untyped-def]
    """Add `trunc(weight · gamma/|gamma|)` of every document with a class and a word, to one of several totals."""
    n_documents, n_parts, k = len(classes), len(parts), gamma.shape[1]
    for part in prange(n_parts):
        for n in range(part * n_documents // n_parts, (part + 1) * n_documents // n_parts):
            if classes[n] < 0 or indptr[n] == indptr[n + 1]:
                continue
            mass = 0.0
            for a in range(k):
                mass += gamma[n, a]
            if mass > 0.0 and mass < np.inf:
                row = parts[part, classes[n]]
                for a in range(k):
                    row[a] += np.int64(weights[n] * (gamma[n, a] / mass))

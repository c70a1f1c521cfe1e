"""Expected features of topics: `Σ_w c_w r_wi z_w` for each topic i, of norm one for a document.

`z_w` is a public row for each word, `r_wi` the probability that topic i wrote it, under public topics. A document's
array (topics × columns of z) is formed whole, normed, truncated entry by entry and added to the total.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import get_num_threads, njit, prange

from private_topics.inference.fold_in import fold_in
from private_topics.inference.lanes import lane_sums
from private_topics.sums.parts import SHORTEST, Part
from private_topics.sums.quantised import SAFETY
from private_topics.sums.unit_sums import AddedUp, Totals

SMALLEST_NORM = 2.0**-400  # below, squares underflow


@dataclass(frozen=True)
class FeatureStatistic(AddedUp):
    """`Σ c_w r_wi z_w / norm` under public topics: topics × columns of `rows`."""

    word_topics: np.ndarray
    prior: np.ndarray
    rows: np.ndarray
    step: float

    def zeros(self) -> Totals:
        return (np.zeros((len(self.prior), self.rows.shape[1]), np.int64),)

    def add(self, part: Part, totals: Totals) -> None:
        block = part.on_all_words()
        _, pull = fold_in(block.indptr, block.words, block.counts, self.word_topics, self.prior)
        parts = np.zeros((4 * get_num_threads(), *totals[0].shape), np.int64)
        _add_features(
            block.indptr, block.words, block.counts, part.lengths, self.word_topics, pull, self.rows,
            part.share * SAFETY / self.step, parts,
        )  # fmt: skip
        totals[0][:] += parts.sum(axis=0)


@njit(cache=True, parallel=True, nogil=True)
def _add_features(indptr, words, counts, lengths, word_topics, pull, rows, weights, parts):  # type: ignore[no-untyped-def]
    """Add `trunc(weight/norm · Σ_w c_w r_wi z_w)` of every document, to one of several totals."""
    n_documents, n_parts = len(indptr) - 1, len(parts)
    k, width = word_topics.shape[1], rows.shape[1]
    for part in prange(n_parts):
        one = np.empty((k, width))
        total = parts[part]
        for n in range(part * n_documents // n_parts, (part + 1) * n_documents // n_parts):
            if lengths[n] < SHORTEST:
                continue
            one[:] = 0.0
            e = pull[n]
            for p in range(indptr[n], indptr[n + 1]):
                topic, row = word_topics[words[p]], rows[words[p]]
                mass = lane_sums(e, topic)[0]
                if mass > 0.0:
                    scaled = counts[p] / mass
                    for a in range(k):
                        expected = scaled * e[a] * topic[a]
                        for b in range(width):
                            one[a, b] += expected * row[b]
            squares = 0.0
            for a in range(k):
                for b in range(width):
                    squares += one[a, b] * one[a, b]
            norm = np.sqrt(squares)
            if norm >= SMALLEST_NORM and norm < np.inf:
                weight = weights[n] / norm
                for a in range(k):
                    for b in range(width):
                        total[a, b] += np.int64(weight * one[a, b])

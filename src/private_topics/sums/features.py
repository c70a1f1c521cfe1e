"""Expected features of topics: `Σ_w c_w r_wi z_w` for each topic i, of norm one for a document.

`z_w` is a public row for each word, `r_wi` the probability that topic i wrote it, under public topics. A document's
array (topics × columns of z) is formed whole, normed, truncated entry by entry and added to the total.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import get_num_threads, njit, prange

from private_topics.inference.fold_in import fold_in
from private_topics.inference.lanes import LANES, fused, lane_sums
from private_topics.sums.parts import SHORTEST, Part
from private_topics.sums.quantised import SAFETY
from private_topics.sums.unit_sums import AddedUp, Totals

SMALLEST_NORM = 2.0**-400  # below, squares underflow
TOGETHER = 4  # words, whose rows are added in one go


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
        rows = np.pad(self.rows, ((0, 0), (0, -self.rows.shape[1] % LANES)))
        parts = np.zeros((4 * get_num_threads(), len(self.prior), rows.shape[1]), np.int64)
        _add_features(
            block.indptr, block.words, block.counts, part.lengths, self.word_topics, pull, rows,
            part.share * SAFETY / self.step, parts,
        )  # fmt: skip
        totals[0][:] += parts.sum(axis=0)[:, : self.rows.shape[1]]


@njit(cache=True, parallel=True, nogil=True)
def _add_features(indptr, words, counts, lengths, word_topics, pull, rows, weights, parts):  # type: ignore[no-untyped-def]
    """Add `trunc(weight/norm · Σ_w c_w r_wi z_w)` of every document, to one of several totals."""
    n_documents, n_parts = len(indptr) - 1, len(parts)
    k, width = word_topics.shape[1], rows.shape[1]
    for part in prange(n_parts):
        one, scaled, near = np.empty((k, width)), np.empty((TOGETHER, k)), np.empty((TOGETHER, width))
        total = parts[part]
        for n in range(part * n_documents // n_parts, (part + 1) * n_documents // n_parts):
            if lengths[n] < SHORTEST:
                continue
            one[:] = 0.0
            for start in range(indptr[n], indptr[n + 1], TOGETHER):
                _gather(words, counts, start, indptr[n + 1], word_topics, pull[n], rows, scaled, near)
                for a in range(k):
                    x0, x1, x2, x3 = scaled[0, a], scaled[1, a], scaled[2, a], scaled[3, a]
                    for b in range(width):
                        first = fused(x1, near[1, b], fused(x0, near[0, b], one[a, b]))
                        one[a, b] = fused(x3, near[3, b], fused(x2, near[2, b], first))
            squares = 0.0
            for a in range(k):
                squares += lane_sums(one[a], one[a])[0]
            norm = np.sqrt(squares)
            if norm >= SMALLEST_NORM and norm < np.inf:
                weight = weights[n] / norm
                for a in range(k):
                    for b in range(width):
                        total[a, b] += np.int64(weight * one[a, b])


@njit(cache=True, nogil=True)
def _gather(words, counts, start, end, word_topics, e, rows, scaled, near):  # type: ignore[no-untyped-def]
    """`c_w r_wi` and `z_w` of the next few words of a document; zeros beyond its last."""
    for j in range(TOGETHER):
        if start + j >= end:
            scaled[j] = 0.0
            near[j] = 0.0
            continue
        topic, row = word_topics[words[start + j]], rows[words[start + j]]
        mass = lane_sums(e, topic)[0]
        factor = counts[start + j] / mass if mass > 0.0 else 0.0
        for a in range(len(e)):
            scaled[j, a] = factor * e[a] * topic[a]
        for b in range(len(row)):
            near[j, b] = row[b]

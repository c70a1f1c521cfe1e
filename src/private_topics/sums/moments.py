"""Counts → sums of `phi1` and `phi2` over words, and sums inside a frame `W` (words × r), never a d³ array.

Over words `phi2` is never formed per document: the thread that owns word `i` adds, for each document holding it, the
rest of that document's row to row `i` of the upper triangle. Inside the frame, with `y = W'c` and rows `w_i` of `W`,

    phi3(W,W,W) · l(l-1)(l-2) = y⊗y⊗y - 3·sym( (Σ_i c_i w_i⊗w_i) ⊗ y ) + 2 Σ_i c_i w_i⊗w_i⊗w_i

Summed over documents, the first term is a sum of cubes of `y`; the others need only `Z = C'(weights·Y)` (words × r)
and `C'weights` (words). Both are added in place, each cell by one thread and in the order of the documents.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numba import get_num_threads, njit, prange

from private_topics.corpus.counts.layout import WordBlock, add_weighted_counts, times_matrix
from private_topics.spectral.symmetric import symmetric_part, three_placements
from private_topics.sums.parts import DocumentWeights


def add_first_moment(block: sp.csr_array, weights: np.ndarray, out: np.ndarray) -> None:
    """`out += Σ_n weights[n] · c_n`."""
    add_weighted_counts(block.indptr, block.indices, block.data, weights, out)


def add_second_moment(block: WordBlock, weights: np.ndarray, out: np.ndarray) -> None:
    """Add the upper triangle of `Σ_n weights[n] · (c_n c_n' - diag c_n)` to `out` (words × words)."""
    _add_pairs(*block.by_words, block.indptr, block.words, block.counts, weights, out)


def mirror_upper(matrix: np.ndarray) -> None:
    """Copy the upper triangle onto the lower one, in place."""
    for start in range(0, len(matrix), 512):
        stop = start + 512
        matrix[stop:, start:stop] = matrix[start:stop, stop:].T
        square = matrix[start:stop, start:stop]
        square[...] = np.triu(square) + np.triu(square, 1).T


@njit(cache=True, parallel=True, nogil=True)
def _add_pairs(order, word_start, by_word, document_of, indptr, words, counts, weights, out):  # type: ignore[no-untyped-def]
    for o in prange(len(order)):
        i = order[o]
        row = out[i]
        for q in range(word_start[i], word_start[i + 1]):
            p = by_word[q]
            n = document_of[p]
            scaled = weights[n] * counts[p]
            row[i] += scaled * (counts[p] - 1)
            for r in range(np.uint64(p + 1), np.uint64(indptr[n + 1])):  # unsigned: no test for negative indices
                row[np.uint64(words[r])] += scaled * counts[r]


def add_whole_pairs(block: WordBlock, weights: np.ndarray, out: np.ndarray) -> None:
    """As `add_second_moment`, every entry of a document truncated towards zero before it is added to integers."""
    _add_whole_pairs(*block.by_words, block.indptr, block.words, block.counts, weights, out)


@njit(cache=True, parallel=True, nogil=True)
def _add_whole_pairs(order, word_start, by_word, document_of, indptr, words, counts, weights, out):  # type: ignore[no-untyped-def]
    for o in prange(len(order)):
        i = order[o]
        row = out[i]
        for q in range(word_start[i], word_start[i + 1]):
            p = by_word[q]
            n = document_of[p]
            if weights[n] > 0.0:
                scaled = weights[n] * counts[p]
                row[i] += np.int64(scaled * (counts[p] - 1))
                for r in range(p + 1, indptr[n + 1]):
                    row[words[r]] += np.int64(scaled * counts[r])


CUBE_DOCUMENTS = 4  # documents added at once: fewer loads and stores of the cube


@dataclass
class FrameSums:
    """Running sums of one pass; `cross` and `mass` cover all words, so topics can be read off on all of them."""

    n_words: int
    rank: int
    cube: np.ndarray = field(init=False)
    cross_second: np.ndarray = field(init=False)
    cross_third: np.ndarray = field(init=False)
    mass_second: np.ndarray = field(init=False)
    mass_third: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        pairs = self.rank * (self.rank + 1) // 2
        self.cube = np.zeros((self.rank, pairs))
        self.cross_second = np.zeros((self.n_words, self.rank))
        self.cross_third = np.zeros((self.n_words, self.rank))
        self.mass_second = np.zeros(self.n_words)
        self.mass_third = np.zeros(self.n_words)

    def add(self, block: WordBlock, frame: np.ndarray, weights: DocumentWeights) -> None:
        """Add a block; `frame` has a row for each word of the block (zero for words outside the frame)."""
        projected = times_matrix(block.indptr, block.words, block.counts, frame)
        add_cube(projected, weights.third, self.cube)
        crosses = self.cross_second, self.cross_third, self.mass_second, self.mass_third
        _add_cross(*block.by_words, block.counts, projected, weights.second, weights.third, *crosses)

    def second(self, frame: np.ndarray) -> np.ndarray:
        """`Σ W'phi2 W`."""
        product = frame.T @ self.cross_second - (frame.T * self.mass_second) @ frame
        result: np.ndarray = (product + product.T) / 2.0
        return result

    def second_all_words(self, frame: np.ndarray) -> np.ndarray:
        """`Σ phi2 W` with a row for every word, those outside the frame included."""
        result: np.ndarray = self.cross_second - self.mass_second[:, None] * frame
        return result

    def third(self, frame: np.ndarray) -> np.ndarray:
        """`Σ phi3(W,W,W)`, symmetric."""
        rank = self.rank
        rows = np.flatnonzero(frame.any(axis=1))  # the others add nothing, and all words × rank² would not fit
        inside = frame[rows]
        flat = (inside[:, :, None] * inside[:, None, :]).reshape(len(rows), rank * rank)
        mixed = (flat.T @ self.cross_third[rows]).reshape(rank, rank, rank)
        triple = (flat.T @ (inside * self.mass_third[rows, None])).reshape(rank, rank, rank)
        return unpack_sorted(self.cube) - three_placements(mixed) + 2.0 * triple


def add_cube(projected: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
    """`out[a, (b<=c)] += Σ_n weights[n] y_a y_b y_c` where `a <= b`: every product once."""
    _add_cube(projected, weights, rows_of_equal_work(projected.shape[1], get_num_threads()), out)


def rows_of_equal_work(rank: int, parts: int) -> np.ndarray:
    """Where to cut the rows of a cube of which only `a <= b <= c` is filled: bounds of `parts` runs of rows."""
    left = np.arange(rank, 0, -1)
    done = np.cumsum(left * (left + 1) // 2)
    inner = np.searchsorted(done, done[-1] * np.arange(1, parts) / parts) + 1
    return np.concatenate(([0], inner, [rank]))


def unpack_sorted(packed: np.ndarray) -> np.ndarray:
    """As `unpack_cube`, where only the entries with `a <= b <= c` are read."""
    rank = len(packed)
    first, second = np.triu_indices(rank)
    cube = np.zeros((rank, rank, rank))
    cube[:, first, second] = packed
    a, b, c = np.nonzero(np.tri(rank, dtype=bool).T[:, :, None] & np.tri(rank, dtype=bool).T[None, :, :])
    values = cube[a, b, c]
    for places in ((a, c, b), (b, a, c), (b, c, a), (c, a, b), (c, b, a)):
        cube[places] = values
    return cube


def unpack_cube(packed: np.ndarray) -> np.ndarray:
    """Rank × pairs back to a rank³ array, symmetrised."""
    rank = len(packed)
    first, second = np.triu_indices(rank)
    cube = np.empty((rank, rank, rank))
    cube[:, first, second] = packed
    cube[:, second, first] = packed
    return symmetric_part(cube)


@njit(cache=True, parallel=True, nogil=True)
def _add_cross(  # type: ignore[no-untyped-def]
    order, word_start, by_word, document_of, counts, rows, second, third, cross_second, cross_third, mass_second,
    mass_third,
):  # fmt: skip
    """Both `C'(weights·rows)` and both `C'weights` in one walk over each word's documents."""
    r = rows.shape[1]
    for o in prange(len(order)):
        word = order[o]
        into_second, into_third = cross_second[word], cross_third[word]
        for q in range(word_start[word], word_start[word + 1]):
            p = by_word[q]
            n = document_of[p]
            by_second, by_third = counts[p] * second[n], counts[p] * third[n]
            mass_second[word] += by_second
            mass_third[word] += by_third
            y = rows[n]
            for a in range(r):
                into_second[a] += by_second * y[a]
                into_third[a] += by_third * y[a]


@njit(cache=True, parallel=True, nogil=True)
def _add_cube(projected, weights, bounds, out):  # type: ignore[no-untyped-def]
    """The thread that owns rows `bounds[t]` and on forms the products of pairs that those rows need."""
    n_documents, rank = projected.shape
    n_pairs = out.shape[1]
    for part in prange(len(bounds) - 1):
        low, high = bounds[part], bounds[part + 1]
        pairs = np.zeros((CUBE_DOCUMENTS, n_pairs))
        four = np.zeros((CUBE_DOCUMENTS, rank))  # the documents, and zeros where the last are fewer
        weight = np.zeros(CUBE_DOCUMENTS)
        for start in range(0, n_documents if low < high else 0, CUBE_DOCUMENTS):
            weight[:] = 0.0
            for m in range(min(CUBE_DOCUMENTS, n_documents - start)):
                four[m] = projected[start + m]
                weight[m] = weights[start + m]
                _pair_products(four[m], low, pairs[m])
            for a in range(low, high):
                row = out[a]
                f0, f1, f2, f3 = (
                    weight[0] * four[0, a], weight[1] * four[1, a], weight[2] * four[2, a], weight[3] * four[3, a]
                )  # fmt: skip
                for j in range(a * rank - a * (a - 1) // 2, n_pairs):
                    row[j] += (f0 * pairs[0, j] + f1 * pairs[1, j]) + (f2 * pairs[2, j] + f3 * pairs[3, j])


@njit(cache=True, nogil=True, inline="always")
def _pair_products(y, low, out):  # type: ignore[no-untyped-def]
    """`y_b y_c` for `low <= b <= c`, each in the place that a row of the cube has for it."""
    rank = len(y)
    at = low * rank - low * (low - 1) // 2
    for b in range(low, rank):
        for c in range(rank - b):
            out[at + c] = y[b] * y[b + c]
        at += rank - b

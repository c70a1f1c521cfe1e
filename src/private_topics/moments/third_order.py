"""Counts → sums inside a frame `W` (words × r): `P = Σ W'phi2 W` and `T = Σ phi3(W,W,W)`, never a d³ array.

With `y = W'c` and rows `w_i` of `W`:

    phi3(W,W,W) · l(l-1)(l-2) = y⊗y⊗y - 3·sym( (Σ_i c_i w_i⊗w_i) ⊗ y ) + 2 Σ_i c_i w_i⊗w_i⊗w_i

Summed over documents, the first term is a matrix product over blocks of documents; the others need only
`Z = C'(weights·Y)` (words × r) and `C'weights` (words).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from private_topics.moments.features import DocumentWeights
from private_topics.moments.layout import (
    WordBlock,
    add_transposed_times,
    add_weighted_counts,
    interleaved,
    times_matrix,
)

CUBE_ROWS = 1024


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
        order = interleaved(block.n_words)
        both = np.hstack((projected * weights.second[:, None], projected * weights.third[:, None]))
        joint = np.zeros((block.n_words, both.shape[1]))
        add_transposed_times(order, block.word_start, block.by_word, block.document_of, block.counts, both, joint)
        self.cross_second += joint[:, : self.rank]
        self.cross_third += joint[:, self.rank :]
        add_weighted_counts(block.indptr, block.words, block.counts, weights.second, self.mass_second)
        add_weighted_counts(block.indptr, block.words, block.counts, weights.third, self.mass_third)

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
        pairs = frame[:, :, None] * frame[:, None, :]
        flat = pairs.reshape(len(frame), rank * rank)
        mixed = (flat.T @ self.cross_third).reshape(rank, rank, rank)
        triple = (flat.T @ (frame * self.mass_third[:, None])).reshape(rank, rank, rank)
        return unpack_cube(self.cube) - three_placements(mixed) + 2.0 * triple


def add_cube(projected: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
    """`out[a, (b<=c)] += Σ_n weights[n] y_a y_b y_c`, as matrix products over runs of documents."""
    rank = projected.shape[1]
    first, second = np.triu_indices(rank)
    for start in range(0, len(projected), CUBE_ROWS):
        rows = projected[start : start + CUBE_ROWS]
        pairs = rows[:, first] * rows[:, second]
        out += (rows * weights[start : start + CUBE_ROWS, None]).T @ pairs


def unpack_cube(packed: np.ndarray) -> np.ndarray:
    """Rank × pairs back to a rank³ array, symmetrised."""
    rank = len(packed)
    first, second = np.triu_indices(rank)
    cube = np.empty((rank, rank, rank))
    cube[:, first, second] = packed
    cube[:, second, first] = packed
    return symmetric_part(cube)


def three_placements(mixed: np.ndarray) -> np.ndarray:
    """`mixed[a,b,c]` is symmetric in (a, b); the sum over the three places of the odd index c."""
    result: np.ndarray = mixed + mixed.transpose(0, 2, 1) + mixed.transpose(2, 1, 0)
    return result


def symmetric_part(tensor: np.ndarray) -> np.ndarray:
    """Average of a 3-tensor over the six orders of its indices."""
    half = tensor + tensor.transpose(0, 2, 1)
    result: np.ndarray = (half + half.transpose(1, 0, 2) + half.transpose(2, 1, 0)) / 6.0
    return result

"""A part of the corpus as every sum over it sees it: documents, their lengths, their shares of a privacy unit.

With counts `c` and length `l` a document contributes (Paper, Lemma on unbiased moments; normalised so that each is a
probability array)

    phi1 = c / l
    phi2 = (c c' - diag c) / (l (l-1))
    phi3 = [c⊗c⊗c - (three placements of Σ_ij c_i c_j e_i⊗e_i⊗e_j) + 2 Σ_i c_i e_i⊗e_i⊗e_i] / (l (l-1) (l-2))

and nothing if it has fewer than three words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from private_topics.corpus.counts.layout import WordBlock, ranks_of, select_words

SHORTEST = 3


@dataclass(frozen=True)
class DocumentWeights:
    """The denominators 1/l, 1/(l(l-1)), 1/(l(l-1)(l-2)) of a block of documents; zero where `l < 3`."""

    first: np.ndarray
    second: np.ndarray
    third: np.ndarray

    @classmethod
    def of_lengths(cls, lengths: np.ndarray) -> DocumentWeights:
        length = lengths.astype(np.float64)
        usable = lengths >= SHORTEST
        safe = np.where(usable, length, float(SHORTEST))
        first = np.where(usable, 1.0 / safe, 0.0)
        second = np.where(usable, 1.0 / (safe * (safe - 1.0)), 0.0)
        third = np.where(usable, 1.0 / (safe * (safe - 1.0) * (safe - 2.0)), 0.0)
        return cls(first, second, third)


@dataclass(frozen=True)
class Part:
    """One block of counts with what every pass needs of it."""

    block: sp.csr_array
    lengths: np.ndarray
    share: np.ndarray

    def on(self, words: np.ndarray, *, rest: bool = False) -> WordBlock:
        """The counts of some words only, given in ascending order; the lengths stay those of whole documents.

        With `rest`, a last word stands for all the others.
        """
        return select_words(self.block, ranks_of(words, self.block.shape[1]), len(words), rest=rest)

    def on_all_words(self) -> WordBlock:
        return select_words(self.block, None, self.block.shape[1])

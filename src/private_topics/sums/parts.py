"""A part of the corpus as every sum over it sees it: documents, their lengths, their shares of a privacy unit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from private_topics.corpus.counts.layout import WordBlock, ranks_of, select_words


@dataclass(frozen=True)
class Part:
    """One block of counts with what every pass needs of it."""

    block: sp.csr_array
    lengths: np.ndarray
    share: np.ndarray

    def on(self, words: np.ndarray) -> WordBlock:
        """The counts of some words only, given in ascending order; the lengths stay those of whole documents."""
        return select_words(self.block, ranks_of(words, self.block.shape[1]), len(words))

    def on_all_words(self) -> WordBlock:
        return select_words(self.block, None, self.block.shape[1])

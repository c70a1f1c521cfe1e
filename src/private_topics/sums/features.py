"""What a single document contributes: weights, norms. A document with fewer than three words contributes nothing.

With counts `c` and length `l` (Paper, Lemma on unbiased moments; normalised so that each is a probability array):

    phi1 = c / l
    phi2 = (c c' - diag c) / (l (l-1))
    phi3 = [c⊗c⊗c - (three placements of Σ_ij c_i c_j e_i⊗e_i⊗e_j) + 2 Σ_i c_i e_i⊗e_i⊗e_i] / (l (l-1) (l-2))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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

"""The size of a document's `phi3` and its sum inside an orthonormal basis, for clipping by the exact Frobenius norm.

With counts `c` on the words present and full length `l`,

    ||phi3||² (l(l-1)(l-2))² = Σ_{i,j,k distinct} (c_i c_j c_k)² + 3 Σ_{i≠j} (c_i(c_i-1)c_j)²
                             + Σ_i (c_i(c_i-1)(c_i-2))²

The sums over different words are built up word by word from non-negative terms, so nothing cancels.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from private_topics.corpus.counts.layout import WordBlock
from private_topics.errors import InputError
from private_topics.sums.features import SHORTEST, DocumentWeights
from private_topics.sums.third_order import FrameSums

# The norm is at least this times ||c||³/(l(l-1)(l-2)), and is raised to it: docs/proofs/configuration_1.md.
SMALLEST_SHARE = 0.2
MOST_DOCUMENTS = 1024
MOST_WORDS = 1000
PROJECTION_ERROR = 2.0**-36  # of rank^1.5 × units × clip, within the two limits above: docs/proofs/configuration_1.md


@njit(cache=True, parallel=True, nogil=True)
def triple_norms(indptr, counts, lengths):  # type: ignore[no-untyped-def]
    """`||phi3||_F` of each document on the words present; zero where it has no three tokens among them."""
    out = np.zeros(len(indptr) - 1)
    for n in prange(len(indptr) - 1):
        if lengths[n] < SHORTEST:
            continue
        squares, pairs, triples = 0.0, 0.0, 0.0  # elementary symmetric polynomials of c²
        doubled, mixed, tripled = 0.0, 0.0, 0.0
        for p in range(indptr[n], indptr[n + 1]):
            c = np.float64(counts[p])
            square, twice = c * c, (c * (c - 1.0)) * (c * (c - 1.0))
            triples += pairs * square
            pairs += squares * square
            mixed += twice * squares + square * doubled
            squares += square
            doubled += twice
            tripled += twice * (c - 2.0) * (c - 2.0)
        norm = np.sqrt(6.0 * triples + 3.0 * mixed + tripled)
        if norm > 0.0:
            length = np.float64(lengths[n])
            norm = max(norm, SMALLEST_SHARE * squares * np.sqrt(squares))
            out[n] = norm / (length * (length - 1.0) * (length - 2.0))
    return out


def triple_weights(lengths: np.ndarray) -> np.ndarray:
    """`1/(l(l-1)(l-2))`, zero where `l < 3`."""
    return DocumentWeights.of_lengths(lengths).third


def projected_third(block: WordBlock, weights: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """`Σ_n weights[n] l(l-1)(l-2) phi3_n(U, U, U)` in float64, symmetric to the last bit."""
    if block.n_documents > MOST_DOCUMENTS or block.n_words > MOST_WORDS:
        raise InputError(f"projected_third takes at most {MOST_DOCUMENTS} documents and {MOST_WORDS} words at once.")
    sums = FrameSums(block.n_words, basis.shape[1])
    sums.add(block, basis, DocumentWeights(weights, np.zeros_like(weights), weights))
    total = sums.third(basis)
    result: np.ndarray = total[tuple(np.sort(np.indices(total.shape), axis=0))]
    return result

"""Word vectors from a public corpus: which words stand in the same documents more often than chance has it.

Of every pair of words the positive pointwise mutual information `max(0, log(N n_ij / (n_i n_j)))`, where `n` counts
the documents (not the tokens) that hold a word, or both; its square root, which keeps rare pairs from ruling; and
of that matrix the leading eigenvectors, each times the square root of its eigenvalue. A pair that one document alone
holds may be chance and is left out, and so is a word's pair with itself.

The same counts give the same vectors: the iteration starts from a fixed vector, and the largest entry of every
eigenvector is positive.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from private_topics.corpus.counts.matrix import counts_of

RANK = 60
FEWEST_DOCUMENTS = 2
MOST_PAIRS = 2**25
"""Beyond this many entries (400 MB) a pair must be seen in twice as many documents, and so on."""
BLOCK_ENTRIES = 2**24
DENSE_WORDS = 400
SMALLEST_EIGENVALUE = 1e-8  # relative to the largest
TOLERANCE = 1e-10


def document_vectors(counts: sp.csr_array, rank: int = RANK) -> np.ndarray:
    """Vectors of the words of validated counts, words × at most `rank`; zero rows for words without a pair."""
    pairs = information(counts)
    values, directions = _leading(pairs, min(rank, pairs.shape[0]))
    kept = values > SMALLEST_EIGENVALUE * max(values.max(initial=0.0), 1e-300)
    vectors = directions[:, kept] * np.sqrt(values[kept])
    vectors[np.diff(pairs.indptr) == 0] = 0.0
    return vectors


def log_frequencies(counts: sp.csr_array) -> np.ndarray:
    """Logarithm of each word's share of the tokens; NaN where a word does not occur."""
    totals = np.bincount(counts.indices, weights=counts.data, minlength=counts.shape[1])
    shares = totals / max(totals.sum(), 1.0)
    return np.log(shares, out=np.full(len(shares), np.nan), where=shares > 0)


def information(counts: sp.csr_array) -> sp.csr_array:
    """The square root of positive pointwise mutual information within documents: symmetric, no diagonal."""
    present = counts_of(counts.indptr, counts.indices, np.ones_like(counts.data), counts.shape[1])
    of_words = sp.csr_array(present.T.tocsr())
    fewest = FEWEST_DOCUMENTS
    while (pairs := _pairs(of_words, present, fewest)) is None:
        fewest *= 2
    return pairs


def _pairs(of_words: sp.csr_array, present: sp.csr_array, fewest: int) -> sp.csr_array | None:
    """The matrix made of pairs that `fewest` documents hold, or None if there are more than `MOST_PAIRS`."""
    n_words = of_words.shape[0]
    holding = np.diff(of_words.indptr).astype(np.float64)
    n_documents = float(present.shape[0])
    height = max(1, BLOCK_ENTRIES // n_words)
    blocks, n_pairs = [], 0
    for start in range(0, n_words, height):
        both = (of_words[start : start + height] @ present).tocoo()
        rows, columns = both.coords
        kept = (both.data >= fewest) & (rows + start != columns)
        rows, columns, together = rows[kept], columns[kept], both.data[kept]
        values = np.log(n_documents * together / (holding[rows + start] * holding[columns]))
        kept = values > 0
        n_pairs += int(kept.sum())
        if n_pairs > MOST_PAIRS:
            return None
        entries = np.sqrt(values[kept]), (rows[kept].astype(np.int32), columns[kept].astype(np.int32))
        blocks.append(sp.coo_array(entries, shape=both.shape).tocsr())
    return sp.csr_array(sp.vstack(blocks, format="csr"))


def _leading(matrix: sp.csr_array, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest eigenvalues of a symmetric matrix, in falling order, and their eigenvectors."""
    size = matrix.shape[0]
    if size <= max(DENSE_WORDS, 2 * rank + 1):
        values, vectors = np.linalg.eigh(matrix.toarray())
    elif matrix.nnz == 0:
        return np.zeros(0), np.zeros((size, 0))
    else:
        values, vectors = eigsh(matrix, k=rank, which="LA", v0=np.ones(size), tol=TOLERANCE)
    order = np.argsort(-values, kind="stable")[:rank]
    values, vectors = values[order], vectors[:, order]
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    return values, vectors * np.where(largest < 0, -1.0, 1.0)

"""Counts and a fixed topic model → the mean log-likelihood of each document's words, given its topic weights."""

from __future__ import annotations

import numpy as np
from numba import njit

from private_topics.corpus.counts.layout import WordBlock
from private_topics.inference.fold_in import TINY, fold_in


def mean_log_likelihoods(block: WordBlock, word_topics: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """`Σ_w c_w ln(Σ_i θ_i topics[w, i]) / l` per document, `θ` by `fold_in`; zero for a document without words.

    A function of the document's own counts and the model: one order of adding, whatever else is in the block.
    """
    gamma, _ = fold_in(block.indptr, block.words, block.counts, word_topics, prior)
    found = np.zeros(len(gamma))
    _add_logarithms(block.indptr, block.words, block.counts, word_topics, gamma, found)
    return found


@njit(cache=True, nogil=True)
def _add_logarithms(indptr, words, counts, word_topics, gamma, out):  # type: ignore[no-untyped-def]
    for document in range(len(out)):
        total, length = 0.0, 0.0
        for topic in range(gamma.shape[1]):
            total += gamma[document, topic]
        for entry in range(indptr[document], indptr[document + 1]):
            probability = 0.0
            for topic in range(gamma.shape[1]):
                probability += gamma[document, topic] * word_topics[words[entry], topic]
            out[document] += counts[entry] * np.log(max(probability / total, TINY))
            length += counts[entry]
        if length > 0.0:
            out[document] /= length

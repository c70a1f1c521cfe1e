"""A synthetic corpus drawn from the LDA model itself, together with the truth.

`theta ~ Dirichlet(alpha)`, length ~ Poisson, the tokens of each topic a multinomial of `theta`, their words
drawn from the topic with an alias table (constant time for each token) and counted per document, a few
documents at a time.
"""

from __future__ import annotations

import math
import sys
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit
from sklearn.utils import check_random_state

from private_topics.corpus.counts.matrix import counts_of, stack_rows
from private_topics.corpus.words.scanning import count_columns
from private_topics.errors import InputError

TOPIC_CONCENTRATION = 0.1
"""Topics are draws of the symmetric Dirichlet with this parameter for every word: few words carry a topic."""

CHUNK_TOKENS = 1 << 21
SMALLEST_SHAPE = 1e-200
LONGEST = 1e9  # tokens of a document: a count has 32 bits


def make_lda_corpus(
    n_documents: int,
    n_words: int,
    n_topics: int,
    *,
    alpha0: float = 1.0,
    mean_length: float = 100,
    random_state: Any = None,
) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """Draw a corpus from LDA; returns counts (CSR, n_documents × n_words), topics (k × d), alpha (k).

    `alpha` is `alpha0 / n_topics` for every topic; lengths are Poisson with mean `mean_length` (short and
    empty documents happen); topics are Dirichlet draws, see `TOPIC_CONCENTRATION`. `random_state` is an int,
    a `numpy.random.Generator`, a `RandomState` or `None`; the same int gives the same corpus.
    """
    for name, count in (("n_documents", n_documents), ("n_words", n_words), ("n_topics", n_topics)):
        _check_parameter(name, count, Integral, count_like=True)
    _check_parameter("alpha0", alpha0, Real, largest=sys.float_info.max)
    _check_parameter("mean_length", mean_length, Real, largest=LONGEST)
    rng = _generator(random_state)
    alpha = np.full(n_topics, alpha0 / n_topics)
    topics = _dirichlet(rng, TOPIC_CONCENTRATION, n_topics, n_words)
    threshold, alias = _alias_tables(topics)

    chunk = max(1, min(n_documents, int(CHUNK_TOKENS / max(1.0, mean_length, n_topics))))
    every_word = np.arange(n_words, dtype=np.int32)
    blocks = []
    for start in range(0, n_documents, chunk):
        height = min(chunk, n_documents - start)
        lengths = rng.poisson(mean_length, size=height)
        weights = _dirichlet(rng, alpha[0], height, n_topics)
        topic_counts = rng.multinomial(lengths, weights)
        words = _draw_words(topic_counts, rng.random(int(lengths.sum())), threshold, alias)
        pointers = np.concatenate(([0], np.cumsum(lengths)))
        blocks.append(counts_of(*count_columns(words, pointers, every_word, n_words), n_words))
    matrix = stack_rows(blocks)
    if matrix.nnz <= np.iinfo(np.int32).max:  # one type for both index arrays: scipy's slicing and tocoo want that
        matrix.indptr = matrix.indptr.astype(np.int32)
    return matrix, topics, alpha


def _check_parameter(
    name: str, value: Any, kind: type, *, count_like: bool = False, largest: float = math.inf
) -> None:
    valid = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    if valid and (value >= 1 if count_like else 0 < value <= largest):
        return
    wanted = "an int in the range [1, inf)" if count_like else f"a float in the range (0, {largest:g}]"
    raise InputError(f"The {name!r} parameter of make_lda_corpus must be {wanted}. Got {value!r} instead.")


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state
    seed = check_random_state(random_state).randint(0, 2**32, size=4, dtype=np.uint32)
    return np.random.default_rng(seed)


def _dirichlet(rng: np.random.Generator, parameter: float, n_rows: int, size: int) -> np.ndarray:
    """Rows of a symmetric Dirichlet, drawn in logarithms: at a tiny parameter gamma draws underflow.

    If G ~ Gamma(a + 1) and U is uniform, then G · U^(1/a) ~ Gamma(a).
    """
    parameter = max(float(parameter), SMALLEST_SHAPE)
    logs = np.log(rng.standard_gamma(parameter + 1.0, size=(n_rows, size)))
    logs -= rng.standard_exponential(size=(n_rows, size)) / parameter
    logs -= logs.max(axis=1, keepdims=True)
    rows: np.ndarray = np.exp(logs, out=logs)
    rows /= rows.sum(axis=1, keepdims=True)
    return rows


@njit(cache=True)
def _alias_tables(topics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Alias tables (Walker, Vose): in cell w keep w below its threshold, else take the alias."""
    n_topics, n_words = topics.shape
    threshold = np.ones((n_topics, n_words))
    alias = np.empty((n_topics, n_words), dtype=np.int32)
    small, large = np.empty(n_words, dtype=np.int32), np.empty(n_words, dtype=np.int32)
    for topic in range(n_topics):
        scaled = topics[topic] * n_words
        n_small, n_large = 0, 0
        for word in range(n_words):
            alias[topic, word] = word
            if scaled[word] < 1.0:
                small[n_small] = word
                n_small += 1
            else:
                large[n_large] = word
                n_large += 1
        while n_small > 0 and n_large > 0:
            n_small -= 1
            poor, rich = small[n_small], large[n_large - 1]
            threshold[topic, poor] = scaled[poor]
            alias[topic, poor] = rich
            scaled[rich] -= 1.0 - scaled[poor]
            if scaled[rich] < 1.0:
                n_large -= 1
                small[n_small] = rich
                n_small += 1
    return threshold, alias


@njit(cache=True)
def _draw_words(
    topic_counts: np.ndarray, uniforms: np.ndarray, threshold: np.ndarray, alias: np.ndarray
) -> np.ndarray:
    """The words of documents, one after another, each drawn by one uniform from its topic."""
    n_documents, n_topics = topic_counts.shape
    n_words = threshold.shape[1]
    words = np.empty(len(uniforms), dtype=np.int32)
    token = 0
    for document in range(n_documents):
        for topic in range(n_topics):
            for _ in range(topic_counts[document, topic]):
                position = uniforms[token] * n_words
                word = min(int(position), n_words - 1)
                if position - word >= threshold[topic, word]:
                    word = alias[topic, word]
                words[token] = word
                token += 1
    return words

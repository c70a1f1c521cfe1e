"""Document completion: infer a document's topics from half of its tokens, score the other half.

Every document is split in two random halves with a fixed seed (`split_document`). The observed half gives the
document's topic weights theta by a fixed number of fold-in steps with fixed topics; the held-out half is
scored by

    perplexity = exp(- sum over held-out tokens of log p(w | theta) / number of held-out tokens),
    p(w | theta) = sum_i theta_i components_iw.

No token is used for both, so this is a prediction and not a bound (Wallach, Murray, Salakhutdinov and Mimno,
"Evaluation methods for topic models", ICML 2009). The value does not depend on the number of
threads.

Conventions. Topics are mixed with the uniform distribution, (1 - 1e-12) components + 1e-12 / d, so that a
word to which no topic gives probability costs log(1e12 d) instead of turning the whole perplexity infinite. A
document of fewer than two tokens has no held-out half and does not count.
"""

from __future__ import annotations

import itertools
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp

from private_topics.corpus.counts.matrix import validate_counts
from private_topics.errors import InputError
from private_topics.evaluation._checks import check_counts, check_integer, check_topics

PROBABILITY_FLOOR = 1e-12  # weight of the uniform distribution in every topic
WRITTEN_OUT = 100_000  # longer documents are split by count, without a list of their tokens
MOST_TOKENS = 10**9  # of a document: what numpy's hypergeometric draw takes


def split_document(counts: Any, *, seed: int = 0) -> tuple[sp.csr_array, sp.csr_array]:
    """Split the tokens of every document (row) at random into an observed and a held-out half.

    Every subset of ceil(n / 2) of a document's n tokens is equally likely to be the observed half (a multivariate
    hypergeometric draw over its words); `seed` fixes the draw. A rule that alternates over the sorted tokens
    would put nearly every repeated word in both halves and flatter all models alike.
    """
    counts = validate_counts(counts, caller="split_document")
    generator = np.random.default_rng(seed)
    held_out = np.empty_like(counts.data)
    for start, stop in itertools.pairwise(counts.indptr):
        document = counts.data[start:stop].astype(np.int64)
        held_out[start:stop] = _random_half(document, generator)
    return _with_data(counts, counts.data - held_out), _with_data(counts, held_out)


def _random_half(document: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    total = int(document.sum())
    if total <= WRITTEN_OUT:
        tokens = np.repeat(np.arange(len(document)), document)
        return np.bincount(generator.permutation(tokens)[: total // 2], minlength=len(document))
    if total >= MOST_TOKENS:
        raise InputError(f"Perplexity takes documents of fewer than {MOST_TOKENS} tokens; a longer one was given.")
    half: np.ndarray = generator.multivariate_hypergeometric(document, total // 2, method="marginals")
    return half


def document_completion_perplexity(
    components: Any, X: Any, *, doc_topic_prior: Any = None, iterations: int = 50
) -> float:
    """Perplexity of the held-out half of every document, its topics inferred from the other half.

    Parameters
    ----------
    components : array (k, d)
        Topics; rows are probabilities.
    X : counts (n, d)
        Documents the topics were not fitted on.
    doc_topic_prior : float or array (k,), default 1/k
        Pseudo-counts of the topics in each document. Use the same for all models that are compared.
    iterations : int
        Fold-in steps, from uniform theta: theta_i is proportional to prior_i + sum_w c_w r_wi with
        r_wi = theta_i components_iw / p(w | theta). That is EM for the mode of theta under Dirichlet(prior +
        1).
    """
    caller = "document_completion_perplexity"
    topics = check_topics(components, caller=caller, probabilities=True)
    n_topics, n_words = topics.shape
    counts = check_counts(X, n_words, caller=caller)
    prior = _check_prior(doc_topic_prior, n_topics, caller)
    steps = check_integer(iterations, caller=caller, name="iterations", low=0)
    observed, held_out = split_document(counts)
    _check_tokens(held_out, caller)

    log_likelihoods = np.zeros(counts.shape[0])
    _completion_kernel(
        _floored(topics.T),
        prior,
        steps,
        observed.indptr,
        observed.indices,
        observed.data,
        held_out.indptr,
        held_out.indices,
        held_out.data,
        log_likelihoods,
    )
    return _perplexity(log_likelihoods.sum(), held_out)


def unigram_perplexity(unigram: Any, X: Any) -> float:
    """Perplexity of the same held-out tokens when every document has the same word distribution.

    `unigram` is either a vector of d non-negative weights (normalised here) or training counts (n, d), whose
    word totals are then the weights. What a topic model must beat. Same floor as for topics.
    """
    caller = "unigram_perplexity"
    if not sp.issparse(unigram) and np.ndim(unigram) == 1:
        weights = check_topics(np.reshape(unigram, (1, -1)), caller=caller, name="unigram")[0]
    else:
        weights = np.asarray(validate_counts(unigram, caller=caller).sum(axis=0, dtype=np.float64)).ravel()
    if weights.min() < 0 or weights.sum() <= 0:
        raise InputError(f"The 'unigram' parameter of {caller} must be non-negative with a positive sum.")
    counts = check_counts(X, len(weights), caller=caller)
    _, held_out = split_document(counts)
    _check_tokens(held_out, caller)
    log_probability = np.log(_floored((weights / weights.sum())[:, None])[:, 0])
    return _perplexity(held_out.data @ log_probability[held_out.indices], held_out)


def _with_data(counts: sp.csr_array, data: np.ndarray) -> sp.csr_array:
    part = sp.csr_array((data, counts.indices.copy(), counts.indptr.copy()), shape=counts.shape)
    part.has_canonical_format = True
    part.eliminate_zeros()
    return part


def _floored(word_major: np.ndarray) -> np.ndarray:
    """Word-major probabilities (d, k), contiguous, mixed with the uniform distribution over the d words."""
    mixed = (1.0 - PROBABILITY_FLOOR) * word_major + PROBABILITY_FLOOR / word_major.shape[0]
    return np.ascontiguousarray(mixed)


def _check_prior(doc_topic_prior: Any, n_topics: int, caller: str) -> np.ndarray:
    if doc_topic_prior is None:
        doc_topic_prior = 1.0 / n_topics
    try:
        prior = np.asarray(doc_topic_prior, dtype=np.float64)
    except (ValueError, TypeError) as error:
        raise InputError(f"The 'doc_topic_prior' parameter of {caller} must be numeric.") from error
    if prior.shape not in ((), (n_topics,)):
        raise InputError(
            f"The 'doc_topic_prior' parameter of {caller} must be one number or one per topic ({n_topics}). "
            f"Got shape {prior.shape!r} instead."
        )
    if not np.isfinite(prior).all() or prior.min() < 0 or prior.max() <= 0:
        raise InputError(
            f"The 'doc_topic_prior' parameter of {caller} must be finite and non-negative, and not all zero."
        )
    return np.ascontiguousarray(np.broadcast_to(prior, (n_topics,)))


def _check_tokens(held_out: sp.csr_array, caller: str) -> None:
    if held_out.nnz == 0:
        raise InputError(f"{caller} needs at least one document of two or more tokens; there is none to score.")


def _perplexity(log_likelihood: float, held_out: sp.csr_array) -> float:
    return float(np.exp(-log_likelihood / held_out.data.sum(dtype=np.int64)))


@numba.njit(cache=True)
def _fold_in_kernel(
    word_major: np.ndarray,
    prior: np.ndarray,
    steps: int,
    words: np.ndarray,
    counts: np.ndarray,
) -> np.ndarray:
    """Topic weights (k,) of one document, after `steps` fold-in steps from uniform weights."""
    n_topics = word_major.shape[1]
    theta = np.full(n_topics, 1.0 / n_topics)
    total = prior.sum() + counts.sum()
    responsibility = np.empty(n_topics)
    for _ in range(steps):
        expected = prior.copy()
        for position in range(len(words)):
            topic_probabilities = word_major[words[position]]
            probability = 0.0
            for topic in range(n_topics):
                responsibility[topic] = theta[topic] * topic_probabilities[topic]
                probability += responsibility[topic]
            scale = counts[position] / probability
            for topic in range(n_topics):
                expected[topic] += scale * responsibility[topic]
        for topic in range(n_topics):
            theta[topic] = expected[topic] / total
    return theta


@numba.njit(parallel=True, cache=True)
def _completion_kernel(
    word_major: np.ndarray,
    prior: np.ndarray,
    steps: int,
    observed_indptr: np.ndarray,
    observed_indices: np.ndarray,
    observed_counts: np.ndarray,
    held_out_indptr: np.ndarray,
    held_out_indices: np.ndarray,
    held_out_counts: np.ndarray,
    log_likelihoods: np.ndarray,
) -> None:
    """Write each document's held-out log-likelihood; no document sees another, so threads do not matter."""
    for document in numba.prange(len(log_likelihoods)):
        low, high = held_out_indptr[document], held_out_indptr[document + 1]
        if low == high:
            continue
        seen = slice(observed_indptr[document], observed_indptr[document + 1])
        theta = _fold_in_kernel(word_major, prior, steps, observed_indices[seen], observed_counts[seen])
        log_likelihood = 0.0
        for entry in range(low, high):
            probability = 0.0
            for topic in range(word_major.shape[1]):
                probability += theta[topic] * word_major[held_out_indices[entry], topic]
            log_likelihood += held_out_counts[entry] * np.log(probability)
        log_likelihoods[document] = log_likelihood

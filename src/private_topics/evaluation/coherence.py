"""Do a topic's top words belong together? Document co-occurrence in a reference corpus; and do topics differ?

With D documents, D(v) of them containing word v and D(v, w) containing both (presence, not counts), over all
pairs of the top words of a topic:

* NPMI: log(p(v, w) / (p(v) p(w))) / -log p(v, w), with p = D(.) / D, between -1 and 1. Bouma, "Normalized
  (pointwise) mutual information in collocation extraction", GSCL 2009; for topics Lau, Newman and Baldwin,
  "Machine reading tea leaves", EACL 2014. Here documents take the place of their sliding windows.
* UMass: log((D(v, w) + 1) / D(w)), w the word ranked higher in the topic. Mimno, Wallach, Talley, Leenders
  and McCallum, "Optimizing semantic coherence in topic models", EMNLP 2011.

Both are averaged over the pairs. (Differs from Mimno et al., who sum: multiply by top_n (top_n - 1) / 2 for
theirs.) Empty documents count in D. Equal weights are ranked by word id.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from private_topics.errors import InputError
from private_topics.evaluation._checks import check_counts, check_integer, check_topics


def npmi_coherence(components: Any, reference_counts: Any, *, top_n: int = 10) -> np.ndarray:
    """Mean NPMI of the pairs of top words of each topic, shape (k,).

    No smoothing: a pair that never co-occurs, or a word that never occurs, scores -1 (the limit); a pair that
    is in every document scores 1 (the value of complete co-occurrence at any smaller frequency).
    """
    together, n_documents = _co_occurrence(components, reference_counts, top_n, "npmi_coherence")
    first, second = np.triu_indices(top_n, 1)
    both = together[:, first, second] / n_documents
    alone = np.diagonal(together, axis1=1, axis2=2) / n_documents
    scores = np.full(both.shape, -1.0)
    scores[both == 1.0] = 1.0
    regular = (both > 0.0) & (both < 1.0)
    independent = (alone[:, first] * alone[:, second])[regular]
    scores[regular] = np.log(both[regular] / independent) / -np.log(both[regular])
    coherence: np.ndarray = scores.mean(axis=1)
    return coherence


def umass_coherence(components: Any, reference_counts: Any, *, top_n: int = 10) -> np.ndarray:
    """Mean UMass score of the pairs of top words of each topic, shape (k,); larger (nearer 0) is better.

    Smoothed by one co-occurrence, as published. A pair whose higher-ranked word never occurs, which the
    formula leaves undefined, scores -log D: the lowest value the formula can take, so that unseen words never
    help.
    """
    together, n_documents = _co_occurrence(components, reference_counts, top_n, "umass_coherence")
    higher, lower = np.triu_indices(top_n, 1)
    both = together[:, higher, lower]
    condition = np.diagonal(together, axis1=1, axis2=2)[:, higher]
    scores = np.where(condition > 0, np.log((both + 1.0) / np.maximum(condition, 1)), -np.log(n_documents))
    coherence: np.ndarray = scores.mean(axis=1)
    return coherence


def topic_diversity(components: Any, *, top_n: int = 25) -> float:
    """Share of different words among all topics' top words: 1 if no two topics share one, 1/k if all do.

    Dieng, Ruiz and Blei, "Topic modeling in embedding spaces", TACL 2020.
    """
    topics = check_topics(components, caller="topic_diversity")
    top = _top_words(topics, top_n, "topic_diversity", fewest=1)
    return len(np.unique(top)) / top.size


def _top_words(topics: np.ndarray, top_n: int, caller: str, *, fewest: int) -> np.ndarray:
    """Word ids (k, top_n) by falling weight; equal weights by rising id."""
    top_n = check_integer(top_n, caller=caller, name="top_n", low=fewest, high=topics.shape[1])
    return np.argsort(-topics, axis=1, kind="stable")[:, :top_n]


def _co_occurrence(components: Any, reference_counts: Any, top_n: int, caller: str) -> tuple[np.ndarray, int]:
    """Documents that contain both of two top words, (k, top_n, top_n), and the number of documents."""
    topics = check_topics(components, caller=caller)
    counts = check_counts(reference_counts, topics.shape[1], caller=caller, name="reference_counts")
    top = _top_words(topics, top_n, caller, fewest=2)
    if counts.nnz == 0:
        raise InputError(f"The 'reference_counts' parameter of {caller} must hold at least one token.")
    words, position = np.unique(top, return_inverse=True)
    position = position.reshape(top.shape)
    present = counts[:, words]
    present.data = np.ones(len(present.data), dtype=np.int64)
    together = (present.T @ present).toarray()
    return together[position[:, :, None], position[:, None, :]], counts.shape[0]

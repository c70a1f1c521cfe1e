"""The fit without privacy: two passes for the spectral start, one for each refinement step.

Pass 1: unigram and second moment on the most frequent words. Pass 2: both moments inside the frame of pass 1, with a
cross moment that extends the topics to every word. Each refinement step: online learning with sampled topic
assignments, from that start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from private_topics.engines.protocol import Corpus, CorpusSize
from private_topics.errors import InputError
from private_topics.inference.token_sampling import LAST_SMOOTHING, start_counts, topics_of_counts
from private_topics.progress import Progress
from private_topics.spectral.power_method import decompose
from private_topics.spectral.topics import floored, lda_second_moment, lda_third_moment, simplex_rows, topic_weights
from private_topics.spectral.whitening import whitening_of
from private_topics.sums.moments import FrameSums
from private_topics.threads import one_order

PLAIN_SPECTRAL_WORDS = 1000


@dataclass(frozen=True)
class TopicModel:
    """The result of a fit: `topics` (k × d, rows on the simplex) and the Dirichlet prior `alpha` (k,)."""

    topics: np.ndarray
    alpha: np.ndarray
    unigram: np.ndarray


def fit_unnoised(
    corpus: Corpus,
    n_topics: int,
    alpha0: float,
    refine_steps: int,
    random_state: np.random.RandomState,
    progress: Progress,
) -> TopicModel:
    words = corpus.frequent_words(PLAIN_SPECTRAL_WORDS)
    progress.stage("first and second moments")
    size, first, second = corpus.first_and_second(words)
    _check_size(size, first, n_topics)
    progress.stage("third moment")
    frame = np.zeros((corpus.n_words, n_topics))
    with one_order():  # and on a busy machine threads would wait for each other
        frame[words] = whitening_of(lda_second_moment(second, first[words], alpha0), n_topics).frame
    sums = corpus.inside(words, frame)
    with one_order():
        model = _spectral_start(sums, frame, size, first, alpha0, random_state)
    if refine_steps == 0:
        return model
    seed = int(random_state.randint(2**31))
    expected = start_counts(model.topics, model.unigram, float(size.tokens))
    expected = corpus.refined(expected, size, alpha0 / n_topics, refine_steps, seed, progress)
    topics = np.ascontiguousarray(topics_of_counts(expected, LAST_SMOOTHING).T)
    shares = expected.sum(axis=0) + 1.0
    return TopicModel(topics, alpha0 * shares / shares.sum(), model.unigram)


def _check_size(size: CorpusSize, first: np.ndarray, n_topics: int) -> None:
    if size.documents == 0:
        raise InputError("The corpus is empty: fit needs at least one document.")
    if size.usable < n_topics:
        raise InputError(
            f"fit needs at least n_components={n_topics} documents of three or more words; the corpus has fewer."
        )
    if np.count_nonzero(first) < n_topics:
        raise InputError(f"fit needs at least n_components={n_topics} words that occur in the corpus; it has fewer.")


def _spectral_start(
    sums: FrameSums,
    frame: np.ndarray,
    size: CorpusSize,
    first: np.ndarray,
    alpha0: float,
    random_state: np.random.RandomState,
) -> TopicModel:
    inside = frame.T @ first
    tensor = lda_third_moment(sums.third(frame) / size.usable, sums.second(frame) / size.usable, inside, alpha0)
    pairs = decompose(tensor, random_state=random_state)
    # Columns M2 W v_i are proportional to the topics on all words, those outside the frame included.
    cross = sums.second_all_words(frame) / size.usable - alpha0 / (alpha0 + 1.0) * np.outer(first, inside)
    topics = simplex_rows((cross @ pairs.vectors).T)
    return TopicModel(floored(topics, first), topic_weights(pairs.values, alpha0), first)

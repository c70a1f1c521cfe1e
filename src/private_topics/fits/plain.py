"""The fit without privacy: two passes for the spectral start, one for each refinement step.

Pass 1: unigram and second moment on the most frequent words. Pass 2: both moments inside the frame of pass 1, with a
cross moment that extends the topics to every word. Each refinement step: online learning with sampled topic
assignments, from that start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from private_topics.corpus.counts.blocks import CountBlocks, MatrixBlocks
from private_topics.corpus.counts.layout import ranks_of, select_words
from private_topics.corpus.counts.matrix import document_lengths, take_listed, take_rows
from private_topics.errors import InputError
from private_topics.inference.refinement import start_counts, step_size, topics_of_counts
from private_topics.inference.token_sampling import document_statistic
from private_topics.spectral.power_method import decompose
from private_topics.spectral.topics import lda_second_moment, lda_third_moment, simplex_rows, topic_weights
from private_topics.spectral.whitening import whitening_of
from private_topics.sums.features import SHORTEST, DocumentWeights
from private_topics.sums.second_order import add_first_moment, add_second_moment, mirror_upper
from private_topics.sums.third_order import FrameSums

SPECTRAL_WORDS = 1000
SAMPLE_DOCUMENTS, FREQUENCY_DOCUMENTS = 50_000, 4096
FLOOR_OF_UNIGRAM = 0.001
SMALLEST_BATCH, USUAL_BATCH, LARGEST_BATCH = 32, 512, 16_384
FEWEST_BATCHES = 40
TILE_DOCUMENTS = 16_384
"""Documents whose counts the kernels of the moments visit at a time: about what the processor's cache holds."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class TopicModel:
    """What a fit ends with: `topics` (k × d, rows on the simplex) and the Dirichlet prior `alpha` (k,)."""

    topics: np.ndarray
    alpha: np.ndarray
    unigram: np.ndarray


@dataclass(frozen=True)
class CorpusSize:
    documents: int
    usable: int
    tokens: int


class Passes(Protocol):
    """What a fit asks of the machine that holds the corpus."""

    @property
    def n_words(self) -> int: ...

    def spectral_words(self, limit: int) -> np.ndarray: ...

    def first_and_second(self, words: np.ndarray) -> tuple[CorpusSize, np.ndarray, np.ndarray]:
        """The size of the corpus; mean `phi1` on all words and mean `phi2` on some, over the usable documents."""
        ...

    def inside(self, words: np.ndarray, frame: np.ndarray) -> FrameSums:
        """Sums inside a frame, which is zero outside `words`."""
        ...

    def refined(
        self, expected: np.ndarray, size: CorpusSize, prior: float, steps: int, seed: int, progress: Progress
    ) -> np.ndarray:
        """Online refinement of expected counts (words × topics)."""
        ...

    def close(self) -> None: ...


def fit_unnoised(
    passes: Passes,
    n_topics: int,
    alpha0: float,
    refine_steps: int,
    random_state: np.random.RandomState,
    progress: Progress,
) -> TopicModel:
    words = passes.spectral_words(SPECTRAL_WORDS)
    progress("first and second moments")
    size, first, second = passes.first_and_second(words)
    _check_size(size, first, n_topics)
    progress("third moment")
    frame = np.zeros((passes.n_words, n_topics))
    frame[words] = whitening_of(lda_second_moment(second, first[words], alpha0), n_topics).frame
    sums = passes.inside(words, frame)
    model = _spectral_start(sums, frame, size, first, alpha0, random_state)
    if refine_steps == 0:
        return model
    seed = int(random_state.randint(2**31))
    expected = start_counts(model.topics, model.unigram, float(size.tokens))
    expected = passes.refined(expected, size, alpha0 / n_topics, refine_steps, seed, progress)
    topics = np.ascontiguousarray(topics_of_counts(expected).T)
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
    topics = np.maximum(topics, FLOOR_OF_UNIGRAM * first)
    topics /= topics.sum(axis=1, keepdims=True)
    return TopicModel(topics, topic_weights(pairs.values, alpha0), first)


@dataclass(frozen=True)
class LocalPasses:
    """The corpus on this machine, block by block."""

    blocks: CountBlocks

    @property
    def n_words(self) -> int:
        return self.blocks.n_words

    def spectral_words(self, limit: int) -> np.ndarray:
        """The most frequent words (ascending index), judged on a sample spread over the corpus."""
        if self.n_words <= limit:
            return np.arange(self.n_words)
        sample = self.blocks.sample(SAMPLE_DOCUMENTS)
        frequency = np.zeros(self.n_words)
        for start in range(0, sample.shape[0], FREQUENCY_DOCUMENTS):  # bincount widens what it is given
            part = take_rows(sample, start, start + FREQUENCY_DOCUMENTS)
            frequency += np.bincount(part.indices, weights=part.data, minlength=self.n_words)
        return np.sort(np.argsort(-frequency, kind="stable")[:limit])

    def first_and_second(self, words: np.ndarray) -> tuple[CorpusSize, np.ndarray, np.ndarray]:
        rank = ranks_of(words, self.n_words)
        first = np.zeros(self.n_words)
        second = np.zeros((len(words), len(words)))
        documents = usable = tokens = 0
        for block in _tiles(self.blocks):
            lengths = document_lengths(block)
            weights = DocumentWeights.of_lengths(lengths)
            add_first_moment(block, weights.first, first)
            add_second_moment(select_words(block, rank, len(words)), weights.second, second)
            documents += block.shape[0]
            usable += int((lengths >= SHORTEST).sum())
            tokens += int(lengths.sum())
        mirror_upper(second)
        scale = max(usable, 1)
        return CorpusSize(documents, usable, tokens), first / scale, second / scale

    def inside(self, words: np.ndarray, frame: np.ndarray) -> FrameSums:
        sums = FrameSums(self.n_words, frame.shape[1])
        for block in _tiles(self.blocks):
            weights = DocumentWeights.of_lengths(document_lengths(block))
            sums.add(select_words(block, None, self.n_words), frame, weights)
        return sums

    def refined(
        self, expected: np.ndarray, size: CorpusSize, prior: float, steps: int, seed: int, progress: Progress
    ) -> np.ndarray:
        """Online refinement; each step ends with the average of the running statistic over its second half."""
        batch_documents = batch_size(size.documents, self.n_words)
        done = 0.0
        for step in range(steps):
            progress(f"refinement {step + 1} of {steps}")
            half_way = done + 0.5 * size.documents / batch_documents
            average, averaged = np.zeros_like(expected), 0.0
            for batch in _batches(self.blocks, batch_documents):
                part = batch.shape[0] / batch_documents
                weight = 1.0 - (1.0 - step_size(int(done))) ** part
                done += part
                _update(expected, batch, prior, size.tokens, weight, seed + int(done * 1024))
                if done > half_way:
                    average += part * expected
                    averaged += part
            expected = average / averaged
        return expected

    def close(self) -> None:
        """Nothing to let go of: the blocks are the caller's."""


def _update(expected: np.ndarray, batch: sp.csr_array, prior: float, n_tokens: int, weight: float, seed: int) -> None:
    """Move the running statistic towards that of one batch, scaled to the corpus."""
    tokens = float(batch.data.sum(dtype=np.int64))
    if tokens == 0.0:
        return
    word_topics = topics_of_counts(expected)
    fresh = document_statistic(select_words(batch, None, batch.shape[1]), word_topics, prior, seed)
    expected *= 1.0 - weight
    fresh *= weight * n_tokens / tokens
    expected += fresh


def batch_size(n_documents: int, n_words: int) -> int:
    """Documents per online update: more for a large vocabulary, where an update costs words × topics."""
    wanted = 2 ** int(np.ceil(np.log2(max(n_words, 2) / 6.0)))
    largest = max(SMALLEST_BATCH, n_documents // FEWEST_BATCHES)
    return int(min(np.clip(wanted, USUAL_BATCH, LARGEST_BATCH), largest))


def _batches(blocks: CountBlocks, batch_documents: int) -> Iterator[sp.csr_array]:
    """Batches of equal size that stride over each block, so that a sorted corpus does not come in sorted."""
    whole = [blocks.counts] if isinstance(blocks, MatrixBlocks) else blocks
    for block in whole:
        parts = max(1, round(block.shape[0] / batch_documents))
        for part in range(parts):
            yield take_listed(block, np.arange(part, block.shape[0], parts))


def _tiles(blocks: CountBlocks) -> Iterator[sp.csr_array]:
    """Runs of documents, as views of the blocks."""
    for block in blocks:
        for start in range(0, block.shape[0], TILE_DOCUMENTS):
            yield take_rows(block, start, start + TILE_DOCUMENTS)

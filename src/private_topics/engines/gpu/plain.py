"""The passes of a fit without privacy on a GPU. Sums are exact integers on a fine grid, so a fit can be repeated."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np

from private_topics.engines.gpu.device import Slab, cupy, launch, module_of
from private_topics.engines.gpu.sums import kernel, products_of_pairs, project
from private_topics.engines.protocol import Corpus, CorpusSize
from private_topics.inference.token_sampling import (
    FEWEST_BATCHES,
    SMALLEST_BATCH,
    SMOOTHING,
    WARMTH,
    step_size,
)
from private_topics.progress import Progress
from private_topics.sums.moments import FrameSums, mirror_upper
from private_topics.sums.parts import SHORTEST
from private_topics.sums.quantised import finest_step

GPU_BATCH = 131_072
BURN_IN, SAMPLES = 5, 8  # here topics drawn are counted, in integers, not their probabilities: more sweeps
PRODUCTS_AT_ONCE = 1 << 18  # documents whose products of pairs are held at a time


class PlainPasses(Corpus):
    """What a corpus on a GPU does for a fit without privacy; `slabs` is where its documents are."""

    @abstractmethod
    def slabs(self, words: np.ndarray | None = None) -> Iterable[Slab]:
        """All documents, on some words only where they are given."""

    def frequent_words(self, limit: int) -> np.ndarray:
        if self.n_words <= limit:
            return np.arange(self.n_words)
        xp = cupy()
        frequency = xp.zeros(self.n_words, np.int64)
        for slab in self.slabs():
            _add_counts(slab, xp.ones(slab.n), frequency)
        return np.sort(np.argsort(-frequency.get(), kind="stable")[:limit])

    def first_and_second(self, words: np.ndarray) -> tuple[CorpusSize, np.ndarray, np.ndarray]:
        xp = cupy()
        step = finest_step(float(self.n_units))  # a document adds at most one to a sum
        first = xp.zeros(self.n_words, np.int64)
        second = xp.zeros((len(words), len(words)), np.int64)
        documents = usable = tokens = 0
        for slab in self.slabs():
            _add_counts(slab, _weights(slab, 1) / step, first)
            documents += slab.n
            usable += int((slab.lengths >= SHORTEST).sum())
            tokens += int(slab.lengths.sum())
        for slab in self.slabs(words):
            weights = _weights(slab, 2) / step
            launch(kernel("add_pairs"), 32 * slab.n, *slab.rows, weights, np.int64(len(words)), second)
        upper = second.get() * step
        mirror_upper(upper)
        scale = max(usable, 1)
        return CorpusSize(documents, usable, tokens), first.get() * (step / scale), upper / scale

    def inside(self, words: np.ndarray, frame: np.ndarray) -> FrameSums:
        xp, rank = cupy(), frame.shape[1]
        sums = FrameSums(self.n_words, rank)
        widest = float(np.sqrt((frame**2).sum(axis=1)).max())  # ||y|| is at most l times this
        row_step, mass_step = finest_step(1.5 * self.n_units * widest), finest_step(0.5 * self.n_units)
        cross_second = xp.zeros((self.n_words, rank), np.int64)
        cross_third, mass = xp.zeros((len(words), rank), np.int64), xp.zeros((2, len(words)), np.int64)
        cube = xp.zeros(sums.cube.shape)
        for whole, slab in zip(self.slabs(), self.slabs(words), strict=True):
            projected = project(slab, frame[words])
            second, third = _weights(slab, 2), _weights(slab, 3)
            _add_rows(whole, projected * second[:, None] / row_step, cross_second)
            _add_rows(slab, projected * third[:, None] / row_step, cross_third)
            for row, weight in enumerate((second, third)):
                _add_counts(slab, weight / mass_step, mass[row])
            for start in range(0, slab.n, PRODUCTS_AT_ONCE):
                some = slice(start, start + PRODUCTS_AT_ONCE)
                pairs = products_of_pairs(projected[None, some])[0]
                cube += (projected[some] * third[some, None]).T @ pairs
        sums.cube[...] = cube.get()
        sums.cross_second[...] = cross_second.get() * row_step
        sums.cross_third[words] = cross_third.get() * row_step
        sums.mass_second[words], sums.mass_third[words] = mass.get() * mass_step
        return sums

    def refined(
        self, expected: np.ndarray, size: CorpusSize, prior: float, steps: int, seed: int, progress: Progress
    ) -> np.ndarray:
        """As `LocalCorpus.refined`, in larger batches."""
        xp = cupy()
        running = xp.asarray(expected)
        batch_documents = max(SMALLEST_BATCH, min(GPU_BATCH, size.documents // FEWEST_BATCHES))
        done = 0.0
        for step in range(steps):
            progress.stage(f"refinement {step + 1} of {steps}")
            begin = done + 0.25 * size.documents / batch_documents
            average, averaged = xp.zeros_like(running), 0.0
            for slab in self.slabs():
                parts = max(1, round(slab.n / batch_documents))
                by_length = xp.argsort(slab.lengths).astype(np.int32)  # threads of a warp have equal work
                for number in range(parts):
                    documents = xp.ascontiguousarray(by_length[number::parts])
                    part = len(documents) / batch_documents
                    weight = 1.0 - (1.0 - step_size(int(done))) ** part
                    done += part
                    fresh, tokens = _sampled(slab, documents, running, prior, seed + int(done * 1024))
                    running *= 1.0 - weight
                    running += fresh * (weight * size.tokens / tokens / SAMPLES)
                    if done > begin:
                        average += part * running
                        averaged += part
            running = average / averaged
        result: np.ndarray = running.get()
        return result


def _weights(slab: Slab, order: int) -> Any:
    """`1/l`, `1/(l(l-1))` or `1/(l(l-1)(l-2))`; zero for documents of fewer than three words."""
    length = cupy().maximum(slab.lengths, SHORTEST).astype(np.float64)
    denominator = length
    for back in range(1, order):
        denominator = denominator * (length - back)
    return cupy().where(slab.lengths >= SHORTEST, 1.0 / denominator, 0.0)


def _add_counts(slab: Slab, weights: Any, total: Any) -> None:
    launch(kernel("add_counts"), slab.n, *slab.rows, weights, total)


def _add_rows(slab: Slab, rows: Any, total: Any) -> None:
    launch(kernel("add_rows"), 32 * slab.n, *slab.rows, rows, np.int32(rows.shape[1]), total)


def _sampled(slab: Slab, documents: Any, expected: Any, prior: float, seed: int) -> tuple[Any, int]:
    """Assignments counted over the samples (words × topics) and the tokens of some documents of a slab."""
    xp, (n_words, n_topics) = cupy(), expected.shape
    smoothed = expected + SMOOTHING
    topics = xp.zeros((n_words, -(-n_topics // 4) * 4), np.float32)
    topics[:, :n_topics] = smoothed / smoothed.sum(axis=0)
    starts = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(slab.lengths[documents])])
    number = np.uint8 if n_topics <= 256 else np.uint16
    n_tokens = max(1, int(starts[-1]))
    topic_of, kept = xp.empty(n_tokens, number), xp.empty((n_tokens, SAMPLES), number)
    counted = xp.zeros((n_words, n_topics), np.uint32)
    module = module_of("token_sampling.cu", TOPICS=n_topics, BURN_IN=BURN_IN, SAMPLES=SAMPLES)
    launch(
        module.get_function("sample_documents"), len(documents), np.int32(len(documents)), documents, slab.start,
        slab.words, slab.counts, starts, topics, np.float32(prior), np.float32(WARMTH * prior),
        np.uint64(seed), topic_of, kept, counted,
    )  # fmt: skip
    return counted, n_tokens

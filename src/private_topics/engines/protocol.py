"""What a fit asks of the machine that holds the documents. One protocol: a private fit asks for exact sums only.

The engines are known by name; one that needs an extra is imported only where it is asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NoReturn

import numpy as np

from private_topics.corpus.counts.block_source import CountBlocks
from private_topics.errors import InputError
from private_topics.progress import Progress
from private_topics.sums.moments import FrameSums
from private_topics.sums.unit_sums import Totals, UnitSum


@dataclass(frozen=True)
class CorpusSize:
    documents: int
    usable: int
    tokens: int


class Corpus(ABC):
    """Documents somewhere. The number of units and of words are public; nothing else is, until noise is added.
    (Where the number of units is not, a fit is given an `OfReleasedSize`.)

    A private fit asks for `total` only. The methods below it serve fits without privacy, which an engine need not
    support.
    """

    n_units: int
    n_words: int
    grouped: bool
    """Whether a unit is a user with several documents."""

    @abstractmethod
    def total(self, unit_sum: UnitSum) -> Totals:
        """The exact sum over all documents, in arrays that the caller may overwrite."""

    def close(self) -> None:  # noqa: B027 (an engine may hold nothing)
        """Release what the engine holds of the documents."""

    # -- fits without privacy ------------------------------------------------------------------------------------

    def frequent_words(self, limit: int) -> np.ndarray:
        """The most frequent words, ascending; all where there are no more than `limit`."""
        self._refuse()

    def first_and_second(self, words: np.ndarray) -> tuple[CorpusSize, np.ndarray, np.ndarray]:
        """The size of the corpus; mean `phi1` on all words and mean `phi2` on some, over the usable documents."""
        self._refuse()

    def inside(self, words: np.ndarray, frame: np.ndarray) -> FrameSums:
        """Sums inside a frame, which is zero outside `words`."""
        self._refuse()

    def refined(
        self, expected: np.ndarray, size: CorpusSize, prior: float, steps: int, seed: int, progress: Progress
    ) -> np.ndarray:
        """Online refinement of expected counts (words × topics)."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InputError(
            f"{type(self).__name__} computes the sums of private fits only. Use engine='local' or 'gpu'."
        )


class OfReleasedSize(Corpus):
    """A corpus whose number of units is not public: who is given it sees the released number and sums."""

    def __init__(self, corpus: Corpus, n_units: int) -> None:
        self._corpus, self.n_units = corpus, n_units
        self.n_words, self.grouped = corpus.n_words, corpus.grouped

    def total(self, unit_sum: UnitSum) -> Totals:
        return self._corpus.total(unit_sum)


ENGINES = {
    "local": ("private_topics.engines.local", "LocalCorpus"),
    "spark": ("private_topics.engines.spark.corpus", "SparkCorpus"),
    "gpu": ("private_topics.engines.gpu.corpus", "GpuCorpus"),
}


def open_corpus(engine: Any, blocks: CountBlocks, groups: Any = None) -> Corpus:
    """The corpus where `engine`, by name or a `Site`, can add over it; the caller closes it."""
    if not isinstance(engine, str):
        found: Corpus = engine.open(blocks, groups)
        return found
    module, name = ENGINES[engine]
    corpus: Corpus = getattr(import_module(module), name).of(blocks, groups)
    return corpus

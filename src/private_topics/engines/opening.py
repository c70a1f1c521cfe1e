"""The engines by name. One that needs an extra is imported only where it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from private_topics.corpus.counts.block_source import CountBlocks
from private_topics.engines.protocol import Corpus

ENGINES = {
    "local": ("private_topics.engines.local", "LocalCorpus"),
    "spark": ("private_topics.engines.spark.corpus", "SparkCorpus"),
    "gpu": ("private_topics.engines.gpu.corpus", "GpuCorpus"),
}


def open_corpus(engine: str, blocks: CountBlocks, groups: Any = None) -> Corpus:
    """The corpus where `engine` can add over it; the caller closes it."""
    module, name = ENGINES[engine]
    corpus: Corpus = getattr(import_module(module), name).of(blocks, groups)
    return corpus

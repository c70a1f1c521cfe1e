"""The word vectors that come with the package; `research/build_english.py` made them, and they say of what."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from private_topics.knowledge.npz_vectors import read_npz_vectors
from private_topics.knowledge.table import VectorTable

if TYPE_CHECKING:
    from private_topics.knowledge.public import PublicKnowledge

SHIPPED = {"english": "english.npz", "english-documents": "english_documents.npz"}
"""By name: windows of ten words (GloVe), which tell what is alike; whole documents, which tell what goes together."""


@cache
def shipped(name: str) -> VectorTable:
    """The table behind a name; read once."""
    content = files("private_topics.knowledge").joinpath(SHIPPED[name]).read_bytes()
    return read_npz_vectors(content, SHIPPED[name], hashlib.sha256(content).hexdigest())


def comes_with_the_package(knowledge: PublicKnowledge | None) -> bool:
    """Whether vectors of the package are a part of it. They tell English words apart: only clear signs say otherwise.

    Where a corpus is so small that noise hides whether vectors tell its documents apart, those of a file that nobody
    knows are left alone, and these are used.
    """
    origins = () if knowledge is None else knowledge.origins
    return any(origin.name in SHIPPED and origin.digest == shipped(origin.name).digest for origin in origins)

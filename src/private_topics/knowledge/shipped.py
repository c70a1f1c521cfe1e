"""The word vectors that come with the package; `research/build_english.py` made them, and they say of what."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

from private_topics.knowledge.npz_vectors import read_npz_vectors
from private_topics.knowledge.table import VectorTable

SHIPPED = {"english": "english.npz", "english-documents": "english_documents.npz"}
"""By name: windows of ten words (GloVe), which tell what is alike; whole documents, which tell what goes together."""


@cache
def shipped(name: str) -> VectorTable:
    """The table behind a name; read once."""
    content = files("private_topics.knowledge").joinpath(SHIPPED[name]).read_bytes()
    return read_npz_vectors(content, SHIPPED[name], hashlib.sha256(content).hexdigest())

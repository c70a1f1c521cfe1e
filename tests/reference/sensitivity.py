"""How far one unit moves a sum: what the proofs state (docs/proofs/index.md), and what a search over units finds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from reference.interval import Interval
from reference.lattice import assembly_error, widened
from reference.moments import Document, Unit


def declared(name: str, n_units: int, clip: float, step: float, shape: Sequence[int], rows: int) -> float:
    """Of the release of this name; `clip` bounds a contribution, `rows` are those of the frame."""
    name = name.rstrip("0123456789").rstrip()
    if name in ("unigram", "unigram again", "refinement", "candidate words", "vocabulary") or name.endswith("norms"):
        return math.sqrt(2.0)
    if name == "second moment":
        return math.sqrt(2.0) * clip
    if name.endswith("clip factors"):
        return 1.0
    if name == "features":
        return 2.0
    if name == "cross moment":
        return 2.0 * clip
    assert name in ("centred second moment", "public second moment", "frame second moment", "frame third moment")
    return widened(2.0 * clip, assembly_error(rows) * n_units * clip, step, math.prod(shape))


def every_document(n_words: int, longest: int) -> Iterator[Document]:
    """All documents of at most so many tokens, the empty one among them."""
    for counts in itertools.product(range(longest + 1), repeat=n_words):
        if sum(counts) <= longest:
            yield {word: count for word, count in enumerate(counts) if count}


def farthest(units: Sequence[Unit], contribution: Callable[[list[Unit]], Any]) -> tuple[float, Unit, Unit]:
    """The two units whose contributions to a sum are farthest apart in L2, in whole steps, and how far."""
    arrays = [[float(entry.low) for entry in _flat(contribution([unit]))] for unit in units]
    best = (-1.0, units[0], units[0])
    for (one, first), (other, second) in itertools.combinations(zip(units, arrays, strict=True), 2):
        distance = math.dist(first, second)
        if distance > best[0]:
            best = distance, one, other
    return best


def _flat(array: Any) -> list[Interval]:
    if isinstance(array, dict):
        return list(array.values())
    return [entry for part in array for entry in _flat(part)] if isinstance(array, list) else [array]

"""Runs on neighbouring corpora whose noise, and all that enters their releases, is held fixed.

What a user is shown may then not differ at all: values, files, messages, warnings, errors, exit status.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from private_topics.audit.recording import Entering, EnteringWords
from private_topics.privacy import mechanisms
from private_topics.privacy.mechanisms import PrivateRun, Query, Released
from private_topics.privacy.randomness import NoiseStream


@dataclass
class Replay:
    """What entered the releases of a run, and everything that it showed."""

    entering: list[Entering]
    released: list[Released]
    shown: Any = None
    said: tuple[str, ...] = ()


@contextmanager
def watched(reference: Replay | None) -> Iterator[Replay]:
    """Note what enters each release of the runs inside; answer as `reference` was answered, where there is one."""
    found = Replay([], [])
    release, release_words = PrivateRun.release, PrivateRun.release_words

    def one(self: PrivateRun, query: Query, aggregate: Any, share: float, *, consume: bool = False) -> Released:
        found.entering.append(Entering(query, np.array(aggregate), share))
        if reference is None:
            found.released.append(release(self, query, aggregate, share, consume=consume))
        else:
            found.released.append(release(self, query, reference_of(found, reference).aggregate.copy(), share))
        return found.released[-1]

    def words(self: PrivateRun, query: Query, weights: Mapping[str, int], share: float, **limits: Any) -> Any:
        found.entering.append(EnteringWords.of(query, weights, share, limits))
        used = weights if reference is None else reference_of(found, reference).weights
        found.released.append(release_words(self, query, used, share, **limits))
        return found.released[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanisms, "NoiseStream", SameStream)
        patch.setattr(PrivateRun, "release", one)
        patch.setattr(PrivateRun, "release_words", words)
        yield found


def reference_of(found: Replay, reference: Replay) -> Any:
    """What entered the same release of the first run; its query must be the same."""
    place = len(found.entering) - 1
    before = reference.entering[place]
    assert found.entering[place].like(before), f"the query of {before.query.name} depends on the corpus"
    return before


class SameStream(NoiseStream):
    """In place of `NoiseStream`: every stream that is made draws the same noise."""

    def __init__(self) -> None:
        self._secure = True
        self._set_keys(7, 11)

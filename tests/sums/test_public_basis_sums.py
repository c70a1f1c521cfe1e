"""Moments in a public basis, attacked with vectors and documents chosen to move them far.

Public vectors are whatever a user gives: any vectors and any word frequencies must leave the sensitivity as declared.
The steps from vectors to the sums are those of the fit; only the noise is left out.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from sum_support import farther, length_of, part_of, total_of

from private_topics.corpus.counts.blocks import as_blocks
from private_topics.engines.local import LocalCorpus
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.releases.inside_frame import FRAME_SECOND, FRAME_THIRD, ask_moment
from private_topics.releases.public_basis import PUBLIC_SECOND, _frame, with_constant
from private_topics.releases.release import FitContext
from private_topics.spectral.public_basis import public_basis
from private_topics.sums.frame_second import ClippedFrameSecond
from private_topics.sums.unit_sums import ClippedFrameMoments

N_WORDS, N_UNITS = 12, 3
LARGEST_COUNT = 2**31 - 1
SHARP = 0.9


def vectors() -> dict[str, np.ndarray]:
    """A line with words at both ends, random ones, one word far from all others, words without a vector."""
    random = np.random.default_rng(0)
    line = np.where(np.arange(N_WORDS) % 2, 1.0, -1.0)[:, None]
    normal = random.normal(size=(N_WORDS, 5))
    far = normal.copy()
    far[3] *= 1e6
    unknown = normal * (np.arange(N_WORDS) % 3 > 0)[:, None]
    return {"a line": line, "random": normal, "one far away": far, "some unknown": unknown}


FREQUENCIES = {
    "even": np.full(N_WORDS, 1.0 / N_WORDS),
    "two rare words": np.array([0.001, 0.001, *np.full(N_WORDS - 2, 0.998 / (N_WORDS - 2))]),
}
CLIPS = (1e-3, 1.0, 1e3)


def documents() -> list[dict[int, int]]:
    everything = range(N_WORDS)
    return [
        {}, {0: 3}, {0: 2, 1: 2}, {0: 1, 1: 1, 2: 1}, {2: 1, 3: 2}, dict.fromkeys(everything, 1),
        *({word: 1000} for word in everything), *({word: 2, word + 1: 2} for word in range(N_WORDS - 1)),
        {0: LARGEST_COUNT}, {0: LARGEST_COUNT, 1: 1}, dict.fromkeys(everything, LARGEST_COUNT),
    ]  # fmt: skip


def context() -> FitContext:
    corpus = LocalCorpus.of(as_blocks(np.ones((N_UNITS, N_WORDS), dtype=int)), None)
    releases = (PUBLIC_SECOND, FRAME_SECOND, FRAME_THIRD)
    split = {"second": 0.3, "frame": 0.3, "tensor": 0.4}
    return FitContext(PrivateRun(PrivacyBudget(1.0, 1e-6)), corpus, releases, split, n_topics=3)


def attained(asked: Any, sums: list[np.ndarray]) -> float:
    """The farthest of all pairs, over the declared sensitivity; none may be beyond it, exactly."""
    for one, other in itertools.combinations(sums, 2):
        assert not farther(one, other, asked.step, asked.query.sensitivity)
    far = max(length_of(one - other, asked.step) for one, other in itertools.combinations(sums, 2))
    return far / asked.query.sensitivity


def of_public_second(kind: str, frequencies: str, clip: float) -> float:
    basis = public_basis(vectors()[kind], FREQUENCIES[frequencies], 20)
    frame = _frame(basis)
    asked = ask_moment(context(), PUBLIC_SECOND.numbered(1), clip, frame, 0.3)
    clipped = ClippedFrameSecond(np.arange(N_WORDS), frame, N_UNITS, clip, asked.step, 1.0)
    parts = [total_of(clipped, part_of([(document,)], N_WORDS)) for document in documents()]
    return attained(asked, [clipped.second_alone(part)[0] for part in parts])


def inside_public_frame(kind: str, frequencies: str, clip: float) -> tuple[float, float]:
    basis = public_basis(vectors()[kind], FREQUENCIES[frequencies], 20)
    rank = min(2, basis.rank)
    rows = with_constant(basis.rows[:, :rank] * 10.0)  # whitened, where documents deviate by a tenth
    second, third = (ask_moment(context(), release, clip, rows) for release in (FRAME_SECOND, FRAME_THIRD))
    clipped = ClippedFrameMoments(np.arange(N_WORDS), rows, N_UNITS, clip, clip, second.step, third.step)
    parts = [clipped.moments(total_of(clipped, part_of([(document,)], N_WORDS))) for document in documents()]
    return attained(second, [part[0] for part in parts]), attained(third, [part[1] for part in parts])


@pytest.mark.parametrize("clip", CLIPS)
@pytest.mark.parametrize("frequencies", FREQUENCIES)
@pytest.mark.parametrize("kind", vectors())
def test_no_neighbours_exceed_the_sensitivity(kind, frequencies, clip):
    assert 0.0 < of_public_second(kind, frequencies, clip) <= 1.0
    assert all(0.0 < part <= 1.0 for part in inside_public_frame(kind, frequencies, clip))


def test_nine_tenths_of_the_sensitivity_are_attained():
    """Two words at the ends of a line: documents of one are all deviation, documents of both all spread."""
    assert of_public_second("a line", "even", CLIPS[0]) > SHARP
    second, third = inside_public_frame("a line", "even", CLIPS[0])
    assert min(second, third) > SHARP

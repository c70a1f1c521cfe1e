"""What a release declares: where its numbers are put together in floating point, the sensitivity says by how much."""

from __future__ import annotations

import math

import numpy as np
import pytest

from private_support import context_of, corpus_of_units
from private_topics.fits.sequential import SEQUENTIAL
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.mechanisms import Asked, PrivateRun
from private_topics.releases.inside_frame import FRAME_SECOND, FRAME_THIRD, ask_moment
from private_topics.releases.release import FitContext
from private_topics.sums.quantised import assembly_error


@pytest.fixture
def context() -> FitContext:
    run = PrivateRun(PrivacyBudget(1.0, 1e-6), noise_seed=0)
    return context_of(SEQUENTIAL, run, corpus_of_units([[{0: 3}]] * 5, 4))


def assembled(context: FitContext, error: float, entries: int) -> Asked:
    return context.ask_assembled(FRAME_SECOND, clip=0.5, error=error, entries=entries)


def certified(context: FitContext, error: float, entries: int) -> Asked:
    return context.ask_certified(FRAME_SECOND, 1.0, margin=1.0, error=error, largest=5.0, entries=entries)


@pytest.mark.parametrize("ask", [assembled, certified], ids=["assembled", "certified"])
def test_the_sensitivity_carries_error_and_rounding(context: FitContext, ask) -> None:
    """Both neighbours are off by the error and by half a step in every entry. docs/proofs/lattice.md"""
    for error, entries in ((0.0, 9), (0.125, 1), (3.0, 10_000)):
        query = ask(context, error, entries).query
        needed = 1.0 + 2.0 * error + query.step * math.sqrt(entries)
        assert needed <= query.sensitivity <= needed * (1.0 + 1e-12)


def test_a_margin_widens_the_certified_sensitivity(context: FitContext) -> None:
    asked = context.ask_certified(FRAME_SECOND, 1.0, margin=1.5, error=0.0, largest=5.0, entries=1)
    assert 1.5 <= asked.query.sensitivity <= 1.5 + 2.0 * asked.query.step


@pytest.mark.parametrize("rows", [3, 5_000])
@pytest.mark.parametrize("release", [FRAME_SECOND, FRAME_THIRD], ids=["second", "third"])
def test_moments_inside_a_frame_declare_their_error(context: FitContext, release, rows: int) -> None:
    clip, rank = 0.01, 2
    asked = ask_moment(context, release, clip, np.ones((rows, rank)))
    entries = rank ** (2 if release is FRAME_SECOND else 3)
    error = assembly_error(rows) * context.n_units * clip
    needed = 2.0 * clip + 2.0 * error + asked.query.step * math.sqrt(entries)
    assert asked.query.sensitivity >= needed > 2.0 * clip + 1.5 * error
    assert asked.query.sensitivity <= needed * (1.0 + 2.0**-49)

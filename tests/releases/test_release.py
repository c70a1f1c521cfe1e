"""What a release declares: where its numbers are put together in floating point, the sensitivity says by how much."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from private_support import context_of, corpus_of_units
from private_topics.fits.choice import FITS
from private_topics.fits.sequential import SEQUENTIAL
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.mechanisms import Asked, PrivateRun
from private_topics.releases.inside_frame import FRAME_SECOND, FRAME_THIRD, ask_moment
from private_topics.releases.public_basis import COLUMN, PublicMoment
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


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 1e3])
@pytest.mark.parametrize("ask", [assembled, certified], ids=["assembled", "certified"])
def test_the_step_is_far_below_the_noise_whatever_the_budget(ask, epsilon: float) -> None:
    """For few units a millionth of the noise that the whole budget would leave. docs/proofs/lattice.md"""
    run = PrivateRun(PrivacyBudget(epsilon, 1e-6), noise_seed=0)
    context = context_of(SEQUENTIAL, run, corpus_of_units([[{0: 3}]] * 5, 4))
    assert 2.0**20 <= 1.0 / run.mu_total / ask(context, 0.0, 1).query.step < 2.0**21


def test_a_margin_widens_the_certified_sensitivity(context: FitContext) -> None:
    asked = context.ask_certified(FRAME_SECOND, 1.0, margin=1.5, error=0.0, largest=5.0, entries=1)
    assert 1.5 <= asked.query.sensitivity <= 1.5 + 2.0 * asked.query.step


@pytest.mark.parametrize("clip", [2.0**-20, 1.0, 2.0**20])
def test_64_bits_hold_an_assembled_sum_of_any_clip(clip: float) -> None:
    run = PrivateRun(PrivacyBudget(1e3, 1e-6), noise_seed=0)
    context = context_of(SEQUENTIAL, run, corpus_of_units([[{0: 3}]], 4, n_units=2**45))
    asked = context.ask_assembled(FRAME_SECOND, clip=clip, error=0.0, entries=1)
    assert 2.0**58 < context.n_units * clip / asked.query.step < 2.0**62


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


def test_every_release_is_on_an_edge_and_known_by_its_number() -> None:
    """What reads a list of releases goes by these names: what is left unspent, the graph, the report."""
    listed = {release.name: release for fit in FITS.values() for release in fit.releases}
    for name, release in listed.items():
        assert release.edge is None or re.fullmatch(r"[es]\d", release.edge), name
        assert not re.fullmatch(r"[es]\d", name)
        assert release.made(name)
        assert release.made(release.numbered(2).name) == release.repeated
    repeated = {name for name, release in listed.items() if release.repeated}
    assert repeated >= {"refinement", "features", "public second moment"}


def test_a_moment_in_a_public_basis_is_central() -> None:
    """Exact sums over documents with known mean and covariance, some of their weight lost to the clip."""
    random = np.random.default_rng(0)
    mean, root, weight = random.normal(size=4), random.normal(size=(4, 4)), 700.0
    second = root @ root.T
    rows = np.vstack([[1.0, *mean], np.column_stack([mean, second + np.outer(mean, mean)])])
    scale = np.array([COLUMN, 1.0, 1.0, 1.0, 1.0])
    moment = PublicMoment(None, 1.0, weight * rows * np.outer(scale, scale), 1e-9)  # type: ignore[arg-type]
    assert moment.weight == pytest.approx(weight)
    np.testing.assert_allclose(moment.all_directions, second, atol=1e-9)

"""Two releases of which released values choose one have one part of the budget between them."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from private_topics import PrivacyWarning, PrivateSpectralLDA, make_lda_corpus
from private_topics.audit.recording import Audited, RecordingRun, record, replay
from private_topics.estimators.private import settings_of
from private_topics.fits.private import FitSettings
from private_topics.fits.sequential import SEQUENTIAL
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.mechanisms import PrivateRun, Query
from private_topics.releases.cross_moment import CROSS_MOMENT
from private_topics.releases.moments import CENTRED_SECOND, SECOND_MOMENT, UNIGRAM, UNIGRAM_AGAIN
from private_topics.releases.norms import CENTRED_NORMS, SECOND_FACTORS, SECOND_NORMS
from private_topics.releases.release import FitContext, Release
from private_topics.releases.statistic import REFINEMENT
from private_topics.spectral.frame import Frame

EITHER = pytest.mark.parametrize("second", [SECOND_MOMENT, CENTRED_SECOND], ids=lambda release: release.name)


def context_after(*made: Release) -> FitContext:
    """A fit that has made these releases, each for its own part of the budget, of one number."""
    run = PrivateRun(PrivacyBudget(1.0, 1e-6), noise_seed=0)
    context = FitContext(run, None, SEQUENTIAL.releases, SEQUENTIAL.split(2), 3, refine_steps=2)  # type: ignore[arg-type]
    for release in made:
        run.release(
            Query(release.name, "vector", 1.0, 2.0**-10, release.proof), np.zeros(1, np.int64), context.share(release)
        )
    return context


@EITHER
def test_an_early_stop_leaves_what_has_not_been_spent(second):
    made = UNIGRAM, SECOND_NORMS, CENTRED_NORMS, second, SECOND_FACTORS
    context = context_after(*made)
    spent = math.fsum(context.share(release) for release in made)
    assert context.unspent() == pytest.approx(1.0 - spent, abs=1e-12)
    context.run.release(
        Query("unigram again", "vector", 1.0, 2.0**-10, "unigram"), np.zeros(1, np.int64), context.unspent()
    )
    assert _spent(context.run) == pytest.approx(1.0, abs=1e-6)


@EITHER
def test_both_have_the_same_part_of_the_budget(second):
    context = context_after()
    assert context.share(second) == SEQUENTIAL.fractions["second"]
    assert context.unspent() == pytest.approx(1.0, abs=1e-12)
    refined = context_after(REFINEMENT.numbered(1))
    assert refined.unspent() == pytest.approx(1.0 - SEQUENTIAL.split(2)["refine"], abs=1e-12)


def _spent(run: PrivateRun) -> float:
    """Of the squared mu of a run."""
    return math.fsum((event.sensitivity / event.sigma) ** 2 for event in run.released_events) / run.mu_total**2


def settings_for(alpha0: float, epsilon: float) -> FitSettings:
    model = PrivateSpectralLDA(
        3, epsilon=epsilon, delta=1e-5, alpha0=alpha0, refine_steps=2, noise_seed=1, keep="untested"
    )
    return replace(settings_of(model), fit=SEQUENTIAL)


@cache
def counts_for(alpha0: float) -> sp.csr_array:
    """Documents that are nearly alike where alpha0 is large."""
    return make_lda_corpus(900, 30, 3, alpha0=alpha0, mean_length=100, random_state=0)[0]


def releases_of(alpha0: float, epsilon: float) -> tuple[list[str], RecordingRun]:
    """The names of what a fit releases, in order, and its run."""
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        _, run = record(Audited(settings_for(alpha0, epsilon)), counts_for(alpha0), None)
    return [entering.query.name for entering, _ in run.seen], run


@pytest.mark.parametrize(("alpha0", "second"), [(0.1, SECOND_MOMENT), (30.0, CENTRED_SECOND)])
def test_a_fit_that_stops_early_spends_its_budget_and_no_more(alpha0, second, monkeypatch):
    monkeypatch.setattr(Frame, "supported", 0)
    names, run = releases_of(alpha0, 3.0)
    assert set(names) & {SECOND_MOMENT.name, CENTRED_SECOND.name} == {second.name}
    assert names[-1] == UNIGRAM_AGAIN.name
    assert _spent(run) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("alpha0", "epsilon", "last"), [(30.0, 3.0, "refinement 2"), (0.1, 3000.0, CROSS_MOMENT.name)]
)
def test_a_whole_fit_spends_its_budget_and_no_more(alpha0, epsilon, last):
    names, run = releases_of(alpha0, epsilon)
    assert names[-1] == last
    assert _spent(run) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(("alpha0", "epsilon"), [(30.0, 3.0), (0.1, 3000.0)])
def test_released_values_alone_choose(alpha0, epsilon):
    """With all released values as they were, quite other documents have the same releases and the same model."""
    audited = Audited(settings_for(alpha0, epsilon))
    first, run = record(audited, counts_for(alpha0), None)
    for other in (counts_for(0.1), counts_for(30.0), sp.csr_array(np.tile([50] + 29 * [0], (900, 1)))):
        found, entering = replay(audited, run.seen, other, None)
        assert [one.query for one in entering] == [one.query for one, _ in run.seen]
        assert found.like(first)

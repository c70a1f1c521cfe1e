"""Sensitivities for units that are emptied, added or removed, attacked as those for replaced units are.

A unit and nothing in its place are the only pairs that count here, so every check compares with the corpus without
the unit. With zero-out neighbours that corpus holds an empty document instead, which must add nothing to any sum.
Every declared sensitivity is reached to one part in a hundred.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from release_suite import corpus, recorded, settings_for
from test_sensitivity import (
    BASE,
    N_WORDS,
    extreme_documents,
    extreme_users,
    frames,
    public_inputs,
)

from private_support import (
    ALL_RELEASES,
    Entering,
    RecordingRun,
    Unit,
    check_sensitivity,
    context_of,
    corpus_of_units,
    entering_releases,
    exceeds,
    ratio,
)
from private_topics import PrivateSpectralLDA, audit_privacy, make_lda_corpus
from private_topics.audit.neighbours import absent
from private_topics.audit.recording import Audited, CorpusDependenceError, record, replay
from private_topics.audit.result import AuditResult, coverage
from private_topics.engines.protocol import OfReleasedSize
from private_topics.errors import PrivacyError
from private_topics.fits.choice import FITS, OF_WORDS, SHARES_OF_CLASSES
from private_topics.fits.informed import INFORMED
from private_topics.fits.private import PrivateFit
from private_topics.fits.sequential import SEQUENTIAL
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.neighbours import ADD_REMOVE, NEIGHBOURS, REPLACE, ZERO_OUT, Neighbours, gain
from private_topics.privacy.randomness import LARGEST_RATIO
from private_topics.releases.inside_frame import FRAME_SECOND
from private_topics.releases.release import NON_NEGATIVE, Release
from private_topics.releases.units import UNITS, release_units

MOST_UNITS, RELEASED_UNITS = 4_000, 11
SHARP, WRONG = 0.99, 0.7
USERS_BASE: list[Unit] = [*BASE[:-1], ({10: 6}, {2: 2})]
BEFORE: dict[Neighbours, list[Unit]] = {ZERO_OUT: [({},)], ADD_REMOVE: []}


def entering(units: list[Unit], neighbours: Neighbours, *, frame: str, clips: str) -> dict[str, Entering]:
    """What enters each release; where the number of units is not public, a fit knows a released one."""
    public = replace(public_inputs(frame, clips), neighbours=neighbours)
    corpus: Any = corpus_of_units(units, N_WORDS)
    if neighbours == ADD_REMOVE:
        corpus, public = OfReleasedSize(corpus, RELEASED_UNITS), replace(public, most_units=MOST_UNITS)
    return entering_releases(corpus, public)


@cache
def pairs(neighbours: Neighbours, grouped: bool, clips: str, frame: str = "parallel") -> list[tuple[dict, dict]]:
    """The corpus without a unit, and with each of many."""
    public = public_inputs(frame, clips)
    units = extreme_users(public) if grouped else [(document,) for document in extreme_documents(public)]
    base = USERS_BASE if grouped else BASE
    without = entering([*base, *BEFORE[neighbours]], neighbours, frame=frame, clips=clips)
    return [(without, entering([*base, unit], neighbours, frame=frame, clips=clips)) for unit in units]


def largest(found: list[tuple[dict, dict]], name: str, declared: float = 1.0) -> float:
    for without, within in found:
        assert not exceeds(without[name], within[name], declared), f"{name}: neighbours beyond the sensitivity"
    return max(ratio(without[name], within[name]) for without, within in found)


@pytest.mark.parametrize("grouped", [False, True], ids=["documents", "users"])
@pytest.mark.parametrize("neighbours", [ZERO_OUT, ADD_REMOVE])
def test_the_radius_holds_and_is_needed(neighbours, grouped):
    for name in ALL_RELEASES:
        found = pairs(neighbours, grouped, "loosest clips" if name.endswith("clip factors") else "tight clips")
        assert largest(found, name) > SHARP, name
        with pytest.raises(AssertionError, match="beyond the sensitivity"):
            largest(found, name, WRONG)


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", [ZERO_OUT, ADD_REMOVE])
@pytest.mark.parametrize("frame", frames())
def test_no_frame_makes_units_exceed_the_radius(frame, neighbours):
    for name in ALL_RELEASES:
        largest(pairs(neighbours, False, "loose clips", frame), name)


def test_replaced_units_exceed_the_radius():
    """Which is why it is not declared for them: the guarantee of one relation is not that of another."""
    found = [within for _, within in pairs(ZERO_OUT, False, "tight clips")]
    for name in ALL_RELEASES:
        if not name.endswith("clip factors"):
            with pytest.raises(AssertionError, match="beyond the sensitivity"):
                check_sensitivity(found, name)


@pytest.mark.parametrize("unit", [{}, {1: 1}, {1: 2}, {0: 1, 11: 1}])
def test_an_empty_unit_adds_nothing(unit):
    """Nor does one that is too short: to any sum, whether its norm is counted, clipped or divided by."""
    without = entering(BASE, ADD_REMOVE, frame="orthogonal", clips="loose clips")
    within = entering([*BASE, (unit,)], ADD_REMOVE, frame="orthogonal", clips="loose clips")
    for name in ALL_RELEASES:
        assert without[name].query == within[name].query
        assert np.array_equal(without[name].aggregate, within[name].aggregate), name


def test_lattices_follow_the_public_bound_and_not_the_corpus():
    """Ten times the documents, the same steps and sensitivities; another bound, another sensitivity."""
    some = entering(BASE, ADD_REMOVE, frame="orthogonal", clips="loose clips")
    more = entering(10 * BASE, ADD_REMOVE, frame="orthogonal", clips="loose clips")
    assert all(some[name].query == more[name].query for name in ALL_RELEASES)
    public = replace(public_inputs("orthogonal", "loose clips"), neighbours=ADD_REMOVE, most_units=2**34)
    wide = entering_releases(OfReleasedSize(corpus_of_units(BASE, N_WORDS), RELEASED_UNITS), public)
    assert wide["frame second moment"].query.sensitivity > some["frame second moment"].query.sensitivity


def test_a_small_share_of_a_large_corpus_has_noise_that_can_be_drawn():
    """A thousandth of the budget: the noise is 2^28 steps of the sensitivity times 30, more than is drawn."""
    run = RecordingRun(PrivacyBudget(1.0, 1e-6), neighbours=ADD_REMOVE)
    corpus = OfReleasedSize(corpus_of_units(BASE, N_WORDS), 2**20)
    context = context_of(SEQUENTIAL, run, corpus, most_units=2**22)
    asked = context.ask_assembled(FRAME_SECOND, 1e-3, clip=1.0, error=1e-6, entries=9)
    assert run.sigma(asked.query, asked.share) / asked.step < LARGEST_RATIO / 2


# -- what is declared ------------------------------------------------------------------------------------------------


def proved_for_all() -> list[Release]:
    listed = [release for fit in (SEQUENTIAL, INFORMED) for release in fit.releases]
    return list(dict.fromkeys([*listed, *OF_WORDS, *SHARES_OF_CLASSES.releases]))


@pytest.mark.parametrize("release", proved_for_all(), ids=lambda release: release.name)
def test_a_release_declares_a_sensitivity_for_each_relation(release):
    by_relation = {neighbours: release.sensitivity_to(neighbours) for neighbours in NEIGHBOURS}
    assert by_relation[ZERO_OUT] == by_relation[ADD_REMOVE] == 1.0
    assert by_relation[REPLACE] in (1.0, NON_NEGATIVE, 2.0)
    assert (by_relation[REPLACE] == 1.0) == release.name.endswith("clip factors")


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_the_noise_of_non_negative_sums_shrinks_with_their_sensitivity(neighbours):
    """Choices and plans reckon with that many times less noise than for replaced units."""
    sums = [release for release in proved_for_all() if release.sensitivity_to(REPLACE) == NON_NEGATIVE]
    assert sums
    for release in sums:
        smaller = release.sensitivity_to(REPLACE) / release.sensitivity_to(neighbours)
        assert gain(neighbours) == pytest.approx(smaller, rel=1e-9)


def test_the_number_of_units_is_no_release_where_it_is_public():
    assert UNITS.sensitivity_to(ADD_REMOVE) == 1.0
    with pytest.raises(PrivacyError, match="no proved sensitivity for neighbours='replace'"):
        UNITS.sensitivity_to(REPLACE)


def test_other_fits_are_for_replaced_units_alone():
    assert {fit.name for fit in FITS.values() if fit.any_neighbours} == {"sequential", "informed"}


# -- whole fits ------------------------------------------------------------------------------------------------------

MADE = {"sequential": 30.0, "informed": 3.0}
"""Budgets at which a fit makes most of its releases: pairs as deviations; moments in a public basis, and features."""


@pytest.mark.slow
@pytest.mark.parametrize("grouped", [False, True], ids=["documents", "users"])
@pytest.mark.parametrize("neighbours", [ZERO_OUT, ADD_REMOVE])
@pytest.mark.parametrize("fit", MADE)
def test_neighbours_of_a_fit_stay_within_and_leave_nothing_else_behind(fit, neighbours, grouped):
    """Every released value held fixed: a unit moves aggregates by at most their sensitivity, and nothing else."""
    found = recorded(FITS[fit], MADE[fit], grouped, neighbours)
    names = [event.name for event in found.family.events]
    assert (names[0] == UNITS.name) == (neighbours == ADD_REMOVE)
    farthest = [found.family.farthest(place) for place in range(len(names))]
    assert all(one.within for one in farthest)
    assert min(one.ratio for one in farthest) > 0.3
    assert all(found.fitted[0].like(other) for other in found.fitted[1:])


@pytest.mark.slow
def test_a_number_of_units_that_is_not_released_is_noticed(monkeypatch):
    """The fit is given the corpus itself: what it says or asks then depends on how many units there are."""
    monkeypatch.setattr(PrivateFit, "_counted", lambda fit, opened: opened)
    audited = Audited(settings_for(SEQUENTIAL, 3.0, ADD_REMOVE))
    base = corpus(3.0)
    first, run = record(audited, *base.replaced([base.first_unit()]))
    try:
        other, _ = replay(audited, run.seen, *base.replaced([absent(ADD_REMOVE, base.n_words)]))
    except CorpusDependenceError:
        return
    assert not first.like(other)


# -- games -----------------------------------------------------------------------------------------------------------


def audited(neighbours: Neighbours, *, trials: int = 200) -> AuditResult:
    counts = make_lda_corpus(300, 20, 2, alpha0=0.1, mean_length=40, random_state=0)[0]
    settings: dict[str, Any] = {"epsilon": 100.0, "delta": 1e-4, "alpha0": 0.1, "refine_steps": 1, "noise_seed": 3}
    model = PrivateSpectralLDA(2, neighbours=neighbours, **settings)
    return audit_privacy(model, counts, trials=trials, fits=10, confidence=0.999)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_the_game_is_not_won(neighbours):
    """Every release attacked for the relation's own neighbours; the noise has a seed. False alarms: 0.001."""
    result = audited(neighbours)
    assert result.passed
    attained = {release.name: release.attained for release in result.releases}
    # All of it in tests/releases/test_evidence_release.py, by documents whose parts tell of different topics.
    assert attained.pop("evidence") > (0.45 if neighbours == REPLACE else 0.95)
    assert min(attained.values()) > (0.6 if neighbours == REPLACE else 0.99)
    assert coverage(result, result.statement)["complete"]
    other = dict(result.statement) | {"relation": ZERO_OUT if neighbours == REPLACE else REPLACE}
    assert coverage(result, other)["other_settings"] == ["neighbours"]


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_the_game_is_won_with_the_noise_of_a_smaller_sensitivity(neighbours, monkeypatch):
    """That of emptied units for replaced ones, half of it for the others: distances tell, and so does the game."""
    declared = Release.sensitivity_to

    def smaller(release: Release, asked: Neighbours) -> float:
        return declared(release, ZERO_OUT) / (1.0 if neighbours == REPLACE else 4.0)

    monkeypatch.setattr(Release, "sensitivity_to", smaller)
    result = audited(neighbours, trials=1_000)
    assert not result.passed
    assert not all(release.within for release in result.releases)
    if neighbours != REPLACE:
        assert any(release.mu_bound > release.mu for release in result.releases)


@pytest.mark.parametrize(("noisy", "units"), [(-3.0, 1), (0.0, 1), (1.0, 1), (2.0, 2), (7.0, 7)])
def test_the_released_number_of_units_is_at_least_one(noisy: float, units: int) -> None:
    run = RecordingRun(PrivacyBudget(1.0, 1e-6), {UNITS.name: np.array([noisy])}, ADD_REMOVE)
    assert release_units(run, 5, 0.5, 7) == units

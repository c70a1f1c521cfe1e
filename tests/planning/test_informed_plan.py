"""The forecast of fits with public knowledge: against fits, against what was measured, by hand, in its words."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

import knowledge_cells as script
import private_topics
from private_topics import InputError, Plan, PrivacyWarning, PrivateSpectralLDA, split_for
from private_topics.fits.choice import release_behind
from private_topics.fits.informed import FEW, MANY
from private_topics.inference.carried import Averaged
from private_topics.planning import informed
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.statement import PrivacyStatement
from private_topics.releases.candidates import chosen, usual_units_to_stand_out
from private_topics.releases.evidence import EVIDENCE_SHARE

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "choosing.md"
plan = partial(private_topics.plan, knowledge="english")
DOCUMENTS, WORDS, TOPICS = 2_000, 1_000, 10
FEATURES_ALONE, BOTH, COUNTS_MOSTLY = 1.0, 3.0, 10.0


@cache
def fitted(epsilon: float) -> PrivateSpectralLDA:
    counts, _, known = script.planted(DOCUMENTS, WORDS, TOPICS, 0.3, 50.0, 0)
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        return PrivateSpectralLDA(TOPICS, epsilon=epsilon, knowledge=known, noise_seed=0, keep="all").fit(counts)


def forecast(epsilon: float) -> Plan:
    return plan(DOCUMENTS, WORDS, TOPICS, epsilon=epsilon)


def differences(expected: Plan, statement: PrivacyStatement) -> list[str]:
    """Releases whose share, or noise where a unit contributes a norm of one, is not as forecast."""
    made: dict[str, list[tuple[float, float]]] = {}
    for line in statement.releases:
        release = release_behind(line.name, statement.configuration)
        name = release.name.removesuffix(" again")
        made.setdefault(name, []).append((line.share, line.sigma / line.sensitivity * release.sensitivity))
    wrong = sorted(set(made) ^ {release.name for release in expected.releases})
    for release in expected.releases:
        if release.name in made:
            share, sigma = sum(share for share, _ in made[release.name]), _averaged(release.name, made[release.name])
            wrong += [release.name] * (not np.allclose([share, sigma], [release.share, release.noise], rtol=1e-6))
    return wrong


def _averaged(name: str, made: list[tuple[float, float]]) -> float:
    """The noise of the average that a fit takes of a release that it makes several times."""
    sigmas = [sigma for _, sigma in made]
    if name not in ("features", "refinement"):
        return sum(sigma**-2 for sigma in sigmas) ** -0.5
    average = Averaged()
    for step, _ in enumerate(sigmas, 1):
        average.add(step, np.zeros(1))
    return sigmas[0] * average.noise


@pytest.mark.parametrize("epsilon", [FEATURES_ALONE, BOTH, COUNTS_MOSTLY])
def test_releases_topics_and_error_are_those_of_a_fit(epsilon):
    model, expected = fitted(epsilon), forecast(epsilon)
    assert differences(expected, model.privacy_) == []
    assert len(model.components_) == expected.expected_topics == expected.topic_range[1] == TOPICS
    assert ("refinement" in [release.name for release in expected.releases]) == (epsilon > FEATURES_ALONE)
    _, truth, _ = script.planted(DOCUMENTS, WORDS, TOPICS, 0.3, 50.0, 0)
    assert 0.5 < script.error_of(model.components_, truth) / expected.outcomes[0].error < 2.0


@pytest.mark.parametrize("of", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize(("one", "other"), [("features", "second"), ("unigram", "features"), ("second", "unigram")])
def test_a_planted_error_in_the_shares_is_seen(monkeypatch, of, one, other):
    epsilon = FEATURES_ALONE if of is FEW else COUNTS_MOSTLY
    monkeypatch.setattr(informed, "fractions_for", lambda *_: of | {one: of[one] + 0.01, other: of[other] - 0.01})
    assert differences(forecast(epsilon), fitted(epsilon).privacy_) != []


@pytest.mark.parametrize(("name", "number"), [("FEATURE_STEPS", 2), ("averaging", lambda steps: 1.0)])
def test_a_planted_error_in_the_averages_is_seen(monkeypatch, name, number):
    monkeypatch.setattr(informed, name, number)
    assert "features" in differences(forecast(BOTH), fitted(BOTH).privacy_)


def test_real_text_is_forecast_as_the_guide_says():
    page = " ".join(GUIDE.read_text(encoding="utf-8").split())
    cells, errors = script.compared(), script.compared_errors()
    for out in (True, False):
        of = [each for each in cells if each.out == out]
        kept = [f"{sum(getattr(each, what) for each in of)} of {len(of)}" for what in ("within", "kept_within")]
        assert all(f"in {said} " in page for said in kept), kept
        assert sum(each.within for each in of) > 0.9 * len(of)
        assert sum(each.kept_within for each in of) > 0.8 * len(of)
    planted = [one for one in errors if one.row["part"] == "held out"]
    assert f"in {sum(one.good for one in planted)} of {len(planted)} " in page


def test_by_hand():
    """10,000 documents, mu = 0.2367: a budget of 2,367, features alone."""
    expected = plan(10_000, 3_000, 25)
    budget = expected.mu * 10_000
    assert 2_366 < budget < 2_368
    assert informed.informed_split(expected).as_dict() == split_for(expected).as_dict()
    assert split_for(expected).features == FEW["features"] - EVIDENCE_SHARE
    assert (expected.topic_range, expected.expected_topics) == ((25, 25), 25)
    few = plan(10_000, 3_000, 5)
    assert few.outcomes[0].error == pytest.approx(0.15 * math.sqrt(5 * 3_000 / budget))
    lost = 0.73 * (3_000 / budget) ** 0.2
    assert (expected.kept.low, expected.kept.high) == pytest.approx((1.0 - 1.4 * lost, 1.0 - 0.35 * lost))
    assert f"at most {expected.kept.high:.0%} of what a fit without privacy gains" in str(expected)
    assert "may predict worse" in str(expected)
    rich = plan(50_000, 3_000, 25, mean_length=100)
    assert f"keep {rich.kept.low:.0%} to {rich.kept.high:.0%} of what" in str(rich)
    assert rich.kept.middle == pytest.approx(1.0 - 0.73 * 0.5**0.25 * (3_000 / (5 * budget)) ** 0.2)


def test_where_the_look_is_little_but_noise_it_is_all_or_what_the_sequential_fit_finds():
    """mu = 0.2367: budgets of 521, 639, 57 and 64."""
    assert [plan(n, 3_000, 25).topic_range for n in (2_200, 2_700)] == [(1, 25), (25, 25)]
    assert "(1 to 25; with so little, noise decides" in str(plan(2_200, 3_000, 25))
    assert "noise decides" not in str(plan(2_700, 3_000, 25))
    assert [plan(n, 3_000, 25).expected_topics for n in (240, 270)] == [1, 25]


def test_a_large_budget_is_that_of_the_sequential_fit():
    large = plan(300_000, 3_000, 25)
    without = replace(large, knowledge=None)
    assert informed.needs_no_knowledge(large)
    assert large.releases == ()
    assert large.expected_topics == without.expected_topics == large.topic_range[0] == large.topic_range[1]
    assert large.outcomes[0].error == without.outcomes[0].error
    assert "need no public knowledge" in str(large)
    assert not informed.needs_no_knowledge(plan(100_000, 3_000, 25))


def test_more_documents_and_epsilon_help_and_knowledge_does():
    def forecast(**change):
        return plan(**{"n_documents": 10_000, "n_words": 3_000, "n_components": 25, "epsilon": 1.0} | change)

    base = forecast()
    for worse, better in (({"n_documents": 2_000}, {"n_documents": 40_000}), ({"epsilon": 0.2}, {"epsilon": 5.0})):
        low, high = forecast(**worse), forecast(**better)
        assert low.topic_range[0] < base.expected_topics == high.expected_topics
        assert low.kept.middle < base.kept.middle < high.kept.middle
        assert high.outcomes[0].overall_error < base.outcomes[0].overall_error < low.outcomes[0].overall_error
    assert replace(base, knowledge=None).expected_topics == 1
    small = forecast(n_documents=100)
    assert small.documents_needed < 0.5 * replace(small, knowledge=None).documents_needed
    assert replace(small, n_documents=math.ceil(1.03 * small.documents_needed)).enough
    assert not replace(small, n_documents=int(0.95 * small.documents_needed)).enough


def test_with_knowledge_no_vocabulary_is_cut():
    large = plan(100_000, 24_000, 25)
    assert large.refined_words == 24_000
    assert not any("Zipf" in note for note in large.notes)
    without = replace(large, knowledge=None)
    assert without.refined_words < 24_000
    assert any("Zipf" in note for note in without.notes)


def test_the_best_is_the_fit_with_knowledge_where_it_finds_topics():
    expected = plan(10_000, 3_000, 25)
    assert [outcome.name for outcome in expected.outcomes][:2] == ["informed", "sequential"]
    assert expected.best == expected.outcomes[0]
    assert "informed, 25 topics" in expected.verdict
    assert expected.level == ()  # the others find less than half as many
    assert replace(expected, knowledge=None).outcomes == expected.outcomes[1:]


def test_where_knowledge_does_not_help_either():
    hopeless = plan(300, 3_000, 10, epsilon=0.1)
    assert (hopeless.expected_topics, hopeless.topic_range) == (1, (1, 10))
    assert hopeless.kept.high <= 0.0
    assert "worse than that of exact word frequencies" in str(hopeless)
    assert hopeless.best is None
    assert "For all 10: about 25,000 documents at this epsilon" in str(hopeless)
    assert "the model would be the word frequencies" in hopeless.verdict
    assert "no word stands out" in hopeless.notes[0]
    assert "as here" in hopeless.notes[0]
    assert "as here" not in plan(10_000, 3_000, 10).notes[0]


def test_the_words_that_stand_out_are_those_that_are_chosen():
    """Weights of a tenth for each of the units that share a word; no noise."""
    budget = PrivacyBudget(1.0, 1e-6)
    full, first = usual_units_to_stand_out(budget)
    assert (full, first) == (612, 958)
    sigma = math.sqrt(2.0 / 0.1) / plan(10, 10, 2).mu
    for sharing, words, kept in ((full, 3_000, 3_000), (full - 1, 3_000, 20), (first, 1, 20), (first - 1, 1, 20)):
        weights = np.zeros(50_000)
        weights[-words:] = sharing / 10.0
        found = chosen(weights, sigma, 3_000)
        assert len(found) == kept
        assert (49_999 in found) == (sharing in (full, first))


@pytest.mark.parametrize("knowledge", ["none", "dutch", True, 3])
def test_other_knowledge_is_refused(knowledge):
    with pytest.raises(InputError, match="'knowledge'"):
        plan(1_000, 100, 5, knowledge=knowledge)

"""The forecast of fits with public knowledge: against fits, against what was measured, by hand, in its words."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import knowledge_cells as script
from private_topics import InputError, Plan, PrivacyWarning, PrivateSpectralLDA, plan, split_for
from private_topics.fits.choice import release_behind
from private_topics.fits.informed import FEW, MANY, basis_rank
from private_topics.inference.carried import Averaged
from private_topics.planning import informed
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.statement import PrivacyStatement
from private_topics.releases.candidates import chosen, usual_units_to_stand_out

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "choosing.md"
DOCUMENTS, WORDS, TOPICS = 2_000, 1_000, 10
FEATURES_ALONE, BOTH, COUNTS_MOSTLY = 1.0, 3.0, 10.0


@cache
def fitted(epsilon: float) -> PrivateSpectralLDA:
    counts, _, known = script.planted(DOCUMENTS, WORDS, TOPICS, 0.3, 50.0, 0)
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        return PrivateSpectralLDA(TOPICS, epsilon=epsilon, knowledge=known, noise_seed=0, n_jobs=1).fit(counts)


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
    low, high = expected.topic_range
    assert 1 < low <= len(model.components_) <= high
    assert ("refinement" in [release.name for release in expected.releases]) == (epsilon > FEATURES_ALONE)
    if len(model.components_) == TOPICS:
        _, truth, _ = script.planted(DOCUMENTS, WORDS, TOPICS, 0.3, 50.0, 0)
        assert 0.5 < script.error_of(model.components_, truth) / expected.outcomes[0].error < 2.0


@pytest.mark.parametrize("of", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize(("one", "other"), [("features", "second"), ("unigram", "features"), ("frame", "tensor")])
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
        assert sum(each.easy for each in of) < 0.2 * len(of)
    planted = [one for one in errors if one.row["part"] == "held out" and one.all_found]
    assert f"in {sum(one.good for one in planted)} of {len(planted)} " in page


@pytest.mark.parametrize(
    ("documents", "words", "asked", "epsilon", "length", "found"),
    [
        (48_301, 3_000, 25, 1.0, 57, 25),
        (20_000, 3_000, 25, 1.0, 57, 25),
        (10_000, 3_000, 25, 1.0, 57, 16),
        (5_000, 3_000, 25, 1.0, 57, 11),
        (2_000, 3_000, 25, 3.0, 57, 12),
        (5_000, 3_000, 25, 3.0, 57, 19),
        (20_000, 3_000, 25, 1.0, 37, 20),
        (10_000, 3_000, 25, 1.0, 37, 12),
        (15_232, 3_000, 25, 1.0, 64, 16),
        (2_126, 2_000, 10, 1.0, 146, 4),
        (2_126, 2_000, 10, 3.0, 146, 9),
    ],
)
def test_the_benchmark_is_in_the_range(documents, words, asked, epsilon, length, found):
    """Medians of docs/utility/knowledge.md: Wikipedia, arXiv, mail, clinical notes."""
    expected = plan(documents, words, asked, epsilon=epsilon, mean_length=length)
    assert expected.topic_range[0] <= found <= expected.topic_range[1]
    assert expected.topic_range[0] <= expected.expected_topics <= expected.topic_range[1]


@pytest.mark.parametrize(
    ("documents", "epsilon", "length", "perplexity", "unigram", "plain"),
    [
        (48_301, 1.0, 57, 986, 1885, 817),
        (20_000, 1.0, 57, 1106, 1885, 817),
        (10_000, 1.0, 57, 1204, 1885, 817),
        (5_000, 1.0, 57, 1340, 1885, 817),
        (2_000, 3.0, 57, 1311, 1885, 817),
        (10_000, 1.0, 37, 1605, 1705, 901),
    ],
)
def test_the_perplexity_of_the_benchmark_is_in_the_range(documents, epsilon, length, perplexity, unigram, plain):
    kept = plan(documents, 3_000, 25, epsilon=epsilon, mean_length=length).kept
    best, worst = (unigram ** (1.0 - part) * plain**part for part in (kept.high, kept.low))
    assert best < perplexity < worst


def test_by_hand():
    """10,000 documents, mu = 0.2367: a budget of 2,367, a basis of 20 directions, features alone."""
    expected = plan(10_000, 3_000, 25)
    budget = expected.mu * 10_000
    assert 2_366 < budget < 2_368
    assert basis_rank(budget) == 20
    assert informed.informed_split(expected).as_dict() == split_for(expected).as_dict()
    assert split_for(expected).features == FEW["features"]
    edge = 2 * math.sqrt(40) / (budget * math.sqrt(0.2))
    assert informed.noise_edge(expected) == pytest.approx(edge)
    seen = 0.475 / edge**0.784
    assert (expected.topic_range, expected.expected_topics) == ((int(0.7 * seen), int(1.4 * seen)), int(seen))
    assert expected.outcomes[0].error == pytest.approx(0.12 * math.sqrt(int(seen) * 3_000 / budget))
    lost = 0.9 * math.sqrt(3_000 / budget)
    assert lost > 1.0
    assert expected.kept.middle == pytest.approx(1.0 - lost**0.27)
    assert f"at most {expected.kept.high:.0%} of what a fit without privacy gains" in str(expected)
    assert "may predict worse" in str(expected)
    rich = plan(50_000, 3_000, 25, mean_length=100)
    assert f"keep {rich.kept.low:.0%} to {rich.kept.high:.0%} of what" in str(rich)
    lost = 0.9 * 0.5**0.47 * math.sqrt(3_000 / (5 * budget))
    assert (rich.kept.low, rich.kept.high) == pytest.approx((1.0 - 1.25 * lost, 1.0 - 0.4 * lost))


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
        assert low.expected_topics < base.expected_topics < high.expected_topics
        assert low.kept.middle < base.kept.middle < high.kept.middle
        assert high.outcomes[0].overall_error < base.outcomes[0].overall_error < low.outcomes[0].overall_error
    assert replace(base, knowledge=None).expected_topics == 1
    assert base.documents_needed < 0.5 * replace(base, knowledge=None).documents_needed
    assert replace(base, n_documents=math.ceil(1.03 * base.documents_needed)).enough
    assert not replace(base, n_documents=int(0.95 * base.documents_needed)).enough
    assert forecast(alpha0=9.0).expected_topics < base.expected_topics


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
    assert "informed, 15 topics" in expected.verdict
    assert expected.level == ()  # the others find less than half as many
    assert replace(expected, knowledge=None).outcomes == expected.outcomes[1:]


def test_where_knowledge_does_not_help_either():
    hopeless = plan(300, 3_000, 10, epsilon=0.1)
    assert (hopeless.expected_topics, hopeless.topic_range) == (1, (1, 1))
    assert hopeless.kept.high <= 0.0
    assert "worse than that of exact word frequencies" in str(hopeless)
    assert hopeless.best is None
    few = plan(300, 3_000, 3, epsilon=0.1)
    assert 10_500 < few.documents_needed < 11_500
    assert "For 3 topics: about 11,000 documents at this epsilon" in hopeless.verdict
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

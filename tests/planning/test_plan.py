"""The forecast of every configuration: against what was measured, by hand, and in the right direction."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

import plan_cells as script
from private_topics import BudgetSplit, InputError, plan
from private_topics.fits.choice import proved_fit
from private_topics.inference.carried import TAIL_SHARE, averaged_noise
from private_topics.paper.experiments.synthetic_error import DELTA, SETTINGS
from private_topics.planning import expected_errors as errors
from private_topics.planning.expected_errors import PlannedFit
from private_topics.planning.forecast import PUBLISHED, Outcome, best, published_error
from private_topics.planning.plan import MOST, Plan
from stored import read_csv

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "configurations.md"
GUIDE = ROOT / "docs" / "guide" / "choosing.md"
FORECASTS = ROOT / "research" / "results" / "forecast.md"
LARGE = ROOT / "benchmarks" / "results" / "vocabulary_size" / "error.csv"
LEARNT = 0.98  # of the score of the word frequencies: what is not below has learnt nothing


def measured() -> list[dict[str, str]]:
    """The rows of the measured table, by its header."""
    text = PAGE.read_text(encoding="utf-8").split("<!-- measured: begin -->")[1].split("<!-- measured: end -->")[0]
    lines = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.strip().splitlines()]
    return [dict(zip(lines[0], line, strict=True)) for line in lines[2:]]


def forecast_of(row: dict[str, str]) -> Plan:
    epsilon = float(row["epsilon"])
    if row["setting"] == "figure-4":
        return plan(48_301, 3_000, 25, epsilon=epsilon, delta=1e-6)
    of = SETTINGS[row["setting"]]
    return plan(of.documents, of.words, of.topics, epsilon=epsilon, delta=DELTA, alpha0=of.alpha0, mean_length=100)


def disagreements(row: dict[str, str]) -> list[str]:
    """Where the forecast and a measured row differ in what they say of the winner, of refusals and of learning."""
    expected = forecast_of(row)
    scores = {name: float(cell.replace(",", "")) for name, cell in row.items() if name not in ("setting", "epsilon")
              and cell != "refused"}  # fmt: skip
    unigram = scores.pop("unigram")
    named = {outcome.name: outcome for outcome in expected.outcomes}
    predicted = {name: score for name, score in scores.items() if name in named and named[name].error is not None}
    winner = min(predicted, key=predicted.__getitem__)
    found = []
    if expected.best is None and scores[winner] < LEARNT * unigram:
        found.append(f"no topics expected, {winner} found some")
    if expected.best is not None and expected.best.name != winner:
        found.append(f"{expected.best.name} expected to win, {winner} did")
    if expected.best is not None and predicted[winner] >= LEARNT * unigram:
        found.append("topics expected, none found")
    wrong = [name for name in PUBLISHED if named[name].note == "refuses" and row[name] != "refused"]
    return found + [f"{name} did not refuse" for name in wrong]


@pytest.mark.parametrize("row", measured(), ids=lambda row: f"{row['setting']} at {row['epsilon']}")
def test_the_forecast_names_the_measured_winner(row):
    assert disagreements(row) == []


def test_the_page_on_the_forecast_is_of_this_code():
    """Its forecasts are those of the code, without a test of topics; `plan` names the winner in 14 of 18 settings."""
    cells = [line.strip("| ").split(" | ") for line in FORECASTS.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in cells if len(row) == 8 and "measured" in row[-1]]
    names, right = ("sequential", "1 proved", "2 proved"), 0
    for row in rows:
        *counts, alpha0, epsilon = (float(cell.replace(",", "")) for cell in row[:5])
        setting = PlannedFit(*map(int, counts), epsilon, DELTA, alpha0)
        numbers = [[float(number) for number in cell.split(", measured ")] for cell in row[5:]]
        found = [
            errors.expected_error(setting, fit, proved_fit(fit).split(setting.refine_steps, setting.eigenvalue))
            for fit in ("sequential", 1, 2)
        ]
        assert [forecast for forecast, _ in numbers] == pytest.approx(found, abs=6e-4)
        winner = names[min(range(3), key=lambda place: numbers[place][1])]
        named = plan(*map(int, counts), epsilon=epsilon, delta=DELTA, alpha0=alpha0, mean_length=100).best
        right += named is not None and named.name == winner
    assert (right, len(rows)) == (14, 18)


def test_promises_on_real_text_are_kept_as_the_guide_says():
    cells = script.compared()
    out, fitted = ([each for each in cells if each.out == held] for held in (True, False))
    kept = [f"{sum(each.good for each in of)} of {len(of)}" for of in (out, fitted)]
    assert kept == ["70 of 72", "44 of 48"]
    easy = [each for each in out if each.promised == each.found and each.found in (1, 25)]
    page = " ".join(GUIDE.read_text(encoding="utf-8").split())
    assert all(f"in {said} " in page for said in (*kept, f"{len(easy)} of the {len(out)}"))
    missed = [each for each in cells if not each.good]
    assert not any(each.promised > each.found for each in missed)


def test_the_table_has_all_settings():
    assert {row["setting"] for row in measured()} == {"figure-2a", "figure-2b", "figure-2c", "figure-4"}


@pytest.mark.parametrize(
    ("setting", "change", "said"),
    [
        ("figure-2a", {"1 proved": "0.001"}, "1 proved did"),
        ("figure-2a", {"sequential": "0.5"}, "2 proved did"),
        ("figure-2a", {"unigram": "0.001"}, "none found"),
        ("figure-2c", {"sequential": "0.1"}, "found some"),
        ("figure-4", {"2 published": "5000"}, "2 published did not refuse"),
    ],
)
def test_a_planted_disagreement_is_seen(setting, change, said):
    row = next(row for row in measured() if row["setting"] == setting)
    assert any(said in line for line in disagreements(row | change))


def test_errors_by_hand():
    """k = 4, alpha0 = 1, w = 60, L = 100: σ_k = 1/480, ||theta||² = 5/8, √(k(alpha0+1)) = √8, λ = 2√8/3."""
    setting = PlannedFit(1000, 3375, 4, 1.0, 1e-6)
    mu, share = setting.mu, 0.25
    assert setting.singular_value == pytest.approx(1 / 480)
    assert setting.norm_squared == pytest.approx(5 / 8 / 60 + 0.01)
    assert setting.sampling == pytest.approx(2 * math.sqrt(240 / 1e5))
    noise = math.sqrt(2) * setting.norm_squared / (mu * 0.5 * 1000)
    assert errors.second_moment_error(setting, share, 200) == pytest.approx(noise * 10 * 480)
    turned = math.sqrt(4 / 3) / (2 * math.sqrt(8) / 3)
    third = math.sqrt(2) * setting.norm_squared**1.5 / (mu * 0.5 * 1000) * 480**1.5
    assert errors.moment_tensor_error(setting, share) == pytest.approx(third * turned)
    spread = math.sqrt(5 / 8)
    bound = 8**1.5 * (spread**3 + 3 * spread / 100 + 2e-4)
    assert errors.whitened_tensor_error(setting, share) == pytest.approx(2 * bound / (mu * 500) * turned)
    framed = 8 * math.sqrt(25 / 64 + 1e-4)
    assert errors.frame_error(setting, share) == pytest.approx(2 * framed / (mu * 500) * math.sqrt(2))
    mass = 0.9 * 1000 / math.sqrt(setting.norm_squared)
    entry = math.sqrt(2 * 4 / share) / mu * math.sqrt(30) / 10
    assert errors.refinement_error(setting, share) == pytest.approx(entry * 450 * 4 / mass)
    harmonic = [sum(1 / rank for rank in range(1, count + 1)) for count in (500, 3375)]
    assert errors.outside_error(setting, 500) == pytest.approx(math.sqrt(1 - harmonic[0] / harmonic[1]), rel=1e-3)
    assert errors.outside_error(setting, 9000) == 0.0


def test_directions_by_hand():
    """400 words, a quarter of the budget, a million documents: the edge of the noise is 2 * 20 / (mu / 2 * 10^6)."""
    setting = PlannedFit(10**6, 3375, 4, 1.0, 1e-6)
    expected = 0.0255 * 100**0.407 / (8e-5 / setting.mu) ** 0.966
    assert 300 < expected < 400
    assert errors.seen_topics(setting, 0.25, 400) == int(expected)
    assert errors.seen_topics(replace(setting, mean_length=50.0), 0.25, 400) == int(expected / 2**0.407)
    assert errors.seen_topics(replace(setting, alpha0=3.0), 0.25, 400) == int(expected / 2)
    assert errors.seen_topics(replace(setting, n_words=100), 0.25, 400) == 100
    assert errors.seen_topics(replace(setting, n_documents=10), 0.25, 400) == 1


def test_what_documents_tell_apart_at_any_epsilon():
    """1,000 documents of 100 words: 2 √(60 k / 10^5) is below a half up to k = 104."""
    setting = PlannedFit(1000, 3375, 200, 1e6, 1e-6)
    assert errors.sampled_topics(setting) == errors.expected_topics(setting, "sequential") == 104
    assert replace(setting, found=104).sampling < 0.5 < replace(setting, found=105).sampling
    assert errors.sampled_topics(replace(setting, alpha0=1000.0)) == 1


@pytest.mark.parametrize("name", [outcome.name for outcome in plan(1000, 100, 2).outcomes if outcome.name != "vi"])
def test_more_documents_more_epsilon_and_fewer_topics_help(name):
    def error(**change):
        base = {"n_documents": 300_000, "n_words": 1_000, "n_components": 8, "epsilon": 1.0} | change
        return next(outcome for outcome in plan(**base).outcomes if outcome.name == name).error

    assert error(n_documents=3_000_000) <= error() <= error(n_documents=30_000)
    assert error(epsilon=3.0) <= error() <= error(epsilon=0.1)
    assert error(n_documents=10**12) < error(n_documents=10**9)
    assert error(n_components=4, n_documents=10**9) < error(n_documents=10**9)


@pytest.mark.parametrize("name", ["sequential", "1 proved", "2 proved", "1 published", "3 published"])
def test_documents_needed_are_enough_and_hardly_more(name):
    def outcome(documents: float) -> Outcome:
        return next(each for each in plan(int(documents), 400, 5).outcomes if each.name == name)

    needed = outcome(1000).documents_needed
    assert outcome(needed + 1).topics == 5
    assert outcome(needed + 1).error <= 0.25
    fewer = outcome(0.97 * needed)
    assert fewer.topics < 5 or fewer.error > 0.25


def test_words_outside_the_spectral_stage_set_a_limit_without_refinement():
    needed = {outcome.name: outcome.documents_needed for outcome in plan(1000, 3_000, 5).outcomes}
    assert needed["2 proved"] == math.inf
    assert needed["sequential"] < 1e6


def test_the_refinement_of_a_large_vocabulary_by_hand():
    """2,000,000 documents, 24,000 words: all of them carry 22 topics, the 12,000 most frequent all of 30."""
    setting = PlannedFit(2_000_000, 24_000, 30, 0.3, 1e-6)
    share = BudgetSplit().refine
    entry = averaged_noise(setting.mu, share, 4) / (0.9 * 2_000_000 / math.sqrt(setting.norm_squared))
    assert int(1 / (entry * 24_000)) == 22
    covered = sum(1 / rank for rank in range(1, 12_001)) / sum(1 / rank for rank in range(1, 24_001))
    noise = entry / math.sqrt(1 - TAIL_SHARE) * 12_000 / covered
    assert int(1 / noise) >= 30
    words, found = errors.refined(setting, share)
    assert words == 12_000
    assert found == pytest.approx(noise, rel=1e-4)
    assert errors.refinement_error(setting, share) == pytest.approx(noise * 30 * math.sqrt(60 / 12_000), rel=1e-4)
    assert errors.refined(replace(setting, found=5), share)[0] == words  # cut for the topics asked for
    assert errors.refined(replace(setting, n_components=5), share)[0] == 24_000


def test_the_forecast_knows_of_the_cut_of_a_large_vocabulary():
    """As many topics as were found on words as uneven as in text, but for two."""
    rows = [row for row in read_csv(LARGE) if row["kind"] == "Zipf"]
    assert {int(row["words"]) for row in rows} == {1_000, 10_000, 100_000}
    for row in rows:
        expected = plan(int(row["documents"]), int(row["words"]), 20, delta=1e-7, mean_length=89.5)
        assert abs(expected.expected_topics - int(row["topics"])) <= 2
        assert (expected.refined_words < expected.n_words) == (row["words"] == "100000")
        assert any("Zipf" in note for note in expected.notes) == (row["words"] == "100000")


def test_the_largest_vocabulary_is_no_crash():
    largest = plan(10**12, MOST, 20)
    assert 3_000 <= largest.refined_words < MOST
    assert largest.expected_topics >= 0
    assert Plan(1_000, 10**6, 5, 1.0, 1e-6, refine_steps=0).refined_words == 10**6


def test_the_best_is_a_proved_one_that_carries_topics():
    bound = Outcome("4 published", False, 5, 5, 0.001, 10.0)
    one = Outcome("1 proved", True, 5, 1, 0.01, 10.0)
    two = Outcome("2 proved", True, 5, 5, 0.3, 10.0)
    unknown = Outcome("vi", True, 5, None, None, None)
    assert best((bound, one, two, unknown)) == two
    ours = Outcome("sequential", True, 5, 5, 0.4, 10.0)
    assert best((ours, two)) == ours
    assert best((replace(ours, error=0.7), two)) == two
    assert best((bound, one, unknown)) is None


def test_a_topic_that_is_missing_counts_as_an_error_of_one():
    three = Outcome("2 proved", True, 5, 5, 0.3, 10.0)
    ours = Outcome("sequential", True, 5, 3, 0.01, 10.0)
    assert ours.overall_error == pytest.approx((3 * 0.01 + 2) / 5)
    assert best((ours, three)) == ours  # 0.406 against 0.3: level
    assert best((replace(ours, topics=2, error=0.1), three)) == three
    assert Outcome("1 published", False, 5, 0, math.inf, math.inf).overall_error == 1.0
    assert Outcome("vi", True, 5, None, None, None).overall_error is None


def test_fewer_topics_do_not_win_by_their_smaller_error():
    few = plan(1_500, 30, 3, mean_length=100)
    ours, two = (next(each for each in few.outcomes if each.name == name) for name in ("sequential", "2 proved"))
    assert (ours.topics, two.topics) == (2, 3)
    assert few.best == two
    assert "2 proved, 3 topics" in few.verdict
    assert ours not in few.level


def test_what_a_private_vocabulary_needs_is_said():
    usual = plan(5_000, 3_000, 5)
    assert usual.units_to_name_a_word == 1_140
    assert usual.notes == (
        "A private vocabulary names a word that about 1,140 units share, if each has 100 different words; with fewer "
        "than 114 units it is refused.",
    )
    assert "114 units, as here, it is refused" in plan(113, 3_000, 5).notes[0]
    hopeless = plan(5_000, 3_000, 5, epsilon=1e-9)
    assert hopeless.units_to_name_a_word == math.inf
    assert "no room" in hopeless.notes[0]


def test_the_verdict_names_those_that_cannot_be_told_apart():
    close = plan(20_000, 500, 5, delta=1e-7)
    assert close.best is not None
    assert all(each.overall_error < 2.0 * close.best.overall_error for each in close.level)
    assert {"sequential", "2 proved"} <= {close.best.name, *(each.name for each in close.level)}
    assert "Level" in close.verdict
    assert plan(100_000, 3_000, 25, mean_length=100).level == ()
    assert plan(1_000, 300, 3, alpha0=1000.0).level == ()


def test_published_bounds_refuse():
    setting = PlannedFit(10**7, 300, 3, 1.0, 1e-6, 0.1)
    assert published_error(setting, 2) < math.inf
    # The margin 2/(N ε) ln(1/(2δ)) for sigma_k grows as the documents get fewer.
    assert published_error(replace(setting, n_documents=1_000), 2) == math.inf
    assert published_error(replace(setting, n_documents=1_000), 1) < math.inf


def test_a_vanishing_share_is_an_infinite_error_not_a_crash():
    setting = PlannedFit(1000, 100, 2, 1.0, 1e-6)
    assert errors.second_moment_error(setting, 0.0, 100) > 1e100
    for split in (BudgetSplit(second=0.0, refine=0.855), BudgetSplit(second=0.855, refine=0.0)):
        assert errors.expected_topics(setting, "sequential", split) == 1  # the word frequencies
        assert errors.expected_error(setting, "sequential", split) == math.inf


def test_what_is_said():
    poor = plan(1_000, 300, 3, alpha0=1000.0)
    assert (poor.expected_topics, poor.outcomes[0].error) == (1, 1.0)
    assert poor.documents_needed > 10**7
    assert poor.best is None
    assert "word frequencies" in poor.verdict
    assert "no epsilon" in str(poor)
    rich = plan(100_000, 300, 3, alpha0=0.1)
    assert "sequential" in rich.verdict
    assert len(rich.remarks) == 3
    assert "N > √d" in rich.remarks[2]
    assert "N <= √d" in plan(10, 10_000, 3).remarks[2]


def test_other_neighbours_need_less_noise_and_have_one_configuration():
    """Fewer documents for the same topics; configurations that would refuse are left out."""
    usual, emptied, added = (plan(20_000, 2_000, 20, neighbours=one) for one in ("replace", "zero-out", "add-remove"))
    assert added.documents_needed == emptied.documents_needed < usual.documents_needed
    assert emptied.expected_topics >= usual.expected_topics
    assert [outcome.name for outcome in emptied.outcomes] == ["sequential"]
    assert emptied.outcomes[0].error < usual.outcomes[0].error
    with pytest.raises(InputError, match="'neighbours'"):
        plan(20_000, 2_000, 20, neighbours="sometimes")


# -- what the documents would show -----------------------------------------------------------------------------------


def test_more_documents_and_budget_show_more_topics():
    shown = [plan(n, 3_000, 20, knowledge="english").shown_topics for n in (300, 3_000, 10_000, 50_000)]
    assert shown == sorted(shown)
    assert (shown[0], shown[1], shown[-1]) == (0, 3, 18)
    assert plan(3_000, 3_000, 20, epsilon=3.0, knowledge="english").shown_topics > shown[1]
    assert plan(50_000, 3_000, 1).shown_topics == 0
    assert "The documents would show about 3 beyond doubt." in str(plan(3_000, 3_000, 50, knowledge="english"))


def test_asking_for_more_topics_shows_no_fewer():
    shown = [plan(5_000, 3_000, topics, knowledge="english").shown_topics for topics in (2, 5, 10, 25, 50)]
    assert shown == sorted(shown)
    assert shown[-1] < 10

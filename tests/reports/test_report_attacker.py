"""Plain words and the table of what an attacker can do follow the guarantee, and never flatter it."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest
from report_support import assert_sound, report
from scipy.special import ndtr, ndtri

from private_topics.privacy.curves import mu_of_budget
from private_topics.reports.attacker import FALSE_ALARMS, attacker_of, is_gaussian, odds_text, plain_words


def with_statement(model, **changes):
    other = copy.copy(model)
    other.privacy_ = replace(model.privacy_, **changes)
    return other


def test_the_rows_are_bounds_of_the_guarantee(model):
    statement = replace(model.privacy_, epsilon=2.0, delta=1e-4)
    table = attacker_of(statement)
    assert [row.name for row in table.rows] == [
        "0.1", "1", "2, this model", "this model, by its Gaussian noise", "3", "10",
    ]  # fmt: skip
    for row in table.rows:
        assert row.current == ("this model" in row.name)
        assert all(rate <= caught <= 1.0 for rate, caught in zip(FALSE_ALARMS, row.alarms, strict=True))
    assert table.rows[2].alarms == pytest.approx([math.exp(2) * rate + 1e-4 for rate in FALSE_ALARMS])
    mu = mu_of_budget(2.0, 1e-4)
    assert table.rows[3].alarms == pytest.approx([float(ndtr(ndtri(rate) + mu)) for rate in FALSE_ALARMS])


def test_the_tighter_row_needs_noise_that_is_gaussian_throughout(model):
    statement = model.privacy_
    assert is_gaussian(statement)
    for kind in ("ThresholdEvent", "DiscreteGaussianEvent", "SubsampledGaussianEvent", "LaplaceEvent"):
        other = replace(statement, releases=(*statement.releases, replace(statement.releases[0], kind=kind)))
        assert not is_gaussian(other)
        assert len(attacker_of(other).rows) == 5
    assert not is_gaussian(replace(statement, accounting="zero-concentrated differential privacy"))
    assert not is_gaussian(replace(statement, delta=0.0))


@pytest.mark.parametrize(
    ("relation", "said"),
    [
        ("replace", "not a certain other one"),
        ("zero-out", "an empty one in its place"),
        ("add-remove", "was in the corpus"),
    ],
)
def test_an_alarm_says_what_the_relation_is_about(model, relation, said):
    assert said in attacker_of(replace(model.privacy_, relation=relation)).alarm


def test_odds_are_not_rounded_down_to_comfort():
    assert odds_text(1.0) == "2.72"
    assert odds_text(5.0) == "148"
    assert odds_text(10.0) == "22,026"
    assert odds_text(1e6) == "more than a million"


def test_plain_words_promise_little_where_the_guarantee_is_weak(model):
    strict, weak = (" ".join(plain_words(replace(model.privacy_, epsilon=epsilon))) for epsilon in (1.0, 8.0))
    assert "nearly the same probability, apart from a chance of 1 in 1,000,000" in strict
    assert "is limited by that" in strict
    assert "nearly the same" not in weak
    assert "at most 2,981 times as large or as small" in weak
    assert "is limited by that" not in weak
    assert "apart from" not in " ".join(plain_words(replace(model.privacy_, delta=0.0)))


def test_plain_words_come_before_the_statement(model, tmp_path):
    page = report(model, tmp_path)
    assert_sound(page)
    order = ["In plain words", "What an attacker can do", "The statement, word for word", "Every release"]
    assert sorted(order, key=page.text.index) == order
    assert page.source.count('<tr class="now">') == 2
    section = page.part('<section id="privacy"')
    assert "docs/proofs" in section
    assert "composition.md" in section


def test_a_model_without_a_guarantee_has_no_table(bad_models, tmp_path):
    for model in bad_models.values():
        text = report(model, tmp_path).text
        assert "What an attacker can do" not in text
        assert "In plain words" not in text

"""A report of a proved but weak guarantee does not look like one of a good one."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
from report_support import N_UNITS, assert_sound, comparison, report

TONES = {1.0: "", 6.0: "caution", 20.0: "alarm", 1e6: "alarm"}


@pytest.mark.parametrize("epsilon", TONES)
def test_no_green_shield_for_a_weak_guarantee(model, epsilon, tmp_path):
    """Colour, picture, headline, statement and the list before signing all say what epsilon is worth."""
    weak = copy.copy(model)
    weak.privacy_ = replace(model.privacy_, epsilon=epsilon, epsilon_spent=0.9 * epsilon)
    page = report(weak, tmp_path)
    assert_sound(page)
    tone = TONES[epsilon]
    role = "alert" if tone == "alarm" else "note"
    assert f'class="verdict{" " + tone if tone else ""}" role="{role}"' in page.source
    assert f'class="statement{" " + tone if tone else ""}"' in page.source
    assert ('<path d="m8.3 11.8 2.6 2.7 4.9-5.2"/>' in page.source) == (tone == "")
    assert ("hardly more" in page.text) == (epsilon <= 1.0)
    assert ("Fit again with an epsilon of 1 to 3" in page.text) == (tone != "")
    assert ("Do not publish the model" in page.text) == (tone == "alarm")
    assert "at most 100%" not in page.text


def test_a_large_delta_is_no_green_shield_either(model, tmp_path):
    weak = copy.copy(model)
    for delta, tone in ((1e-6, ""), (0.2 / N_UNITS, "caution"), (1.0 / N_UNITS, "alarm")):
        weak.privacy_ = replace(model.privacy_, epsilon=1.0, delta=delta, n_units=N_UNITS)
        page = report(weak, tmp_path)
        assert f'class="verdict{" " + tone if tone else ""}" role=' in page.source


def test_two_models_together_are_weaker(model, tmp_path):
    weak = copy.copy(model)
    weak.privacy_ = replace(model.privacy_, epsilon=4.0, epsilon_spent=4.0)
    page = comparison(weak, weak, tmp_path)
    assert "Together: weak." in page.text
    assert page.source.count('class="verdict" role="note"') == 2


def test_guarantees_of_other_neighbours_do_not_add_up(model, tmp_path):
    other = copy.copy(model)
    other.privacy_ = replace(model.privacy_, relation="zero-out")
    page = comparison(model, other, tmp_path)
    assert "No joint guarantee." in page.text
    assert "compare other neighbours (replace, zero-out)" in page.text

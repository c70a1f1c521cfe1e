"""`private-topics plan`: a table for people, JSON for machines, and nothing but public numbers in either."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from private_topics.cli import app
from private_topics.planning.plan import plan

NAMES = ("sequential", *(f"{n} {kind}" for kind in ("proved", "published") for n in (1, 2, 3, 4)), "vi")


def ran(*arguments: object):
    result = CliRunner().invoke(app, ["plan", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_table_has_every_configuration_and_the_remarks():
    text = ran("--documents", 100_000, "--words", 3_000, "-k", 25)
    lines = text.splitlines()
    assert all(any(line.strip().startswith(name) for line in lines) for name in NAMES)
    assert "Expected to win: sequential" in text
    assert "N > √d" in text
    assert "about 1,140 units share" in text
    assert max(len(line) for line in lines if "│" in line or "published" in line) <= 120


def test_no_topics_are_expected_where_documents_mix_everything():
    text = ran("--documents", 1_000, "--words", 300, "-k", 3, "--alpha0", 1000)
    assert "No configuration is expected to tell topics apart" in text
    assert "no epsilon" in text
    assert "refuses" in text


def test_what_no_method_can_do_is_said_apart():
    short = ("--words", 300, "-k", 3, "--alpha0", 1000, "--mean-length", 100)
    assert "Impossible for any method, private or not" in ran("--documents", 1_000, *short)
    assert "Impossible" not in ran("--documents", 100_000, *short)
    facts = json.loads(ran("--documents", 1_000, *short, "--json"))
    assert facts["impossible"].startswith("Impossible")
    assert 36_000 < facts["limits"]["directions"] < 37_000
    assert json.loads(ran("--documents", 100_000, *short, "--json"))["impossible"] is None


def test_json_is_the_plan():
    facts = json.loads(ran("--documents", 48_301, "--words", 3_000, "-k", 25, "--json"))
    expected = plan(48_301, 3_000, 25)
    assert facts["best"] == expected.best.name
    assert [each["name"] for each in facts["configurations"]] == list(NAMES)
    assert facts["configurations"][0]["documents_needed"] == expected.outcomes[0].documents_needed
    assert facts["configurations"][1]["documents_needed"] is None  # no number is enough
    assert facts["configurations"][-1]["error"] is None  # no forecast
    assert facts["configurations"][0]["overall_error"] == expected.outcomes[0].overall_error
    assert facts["units_to_name_a_word"] == 1_140
    assert facts["notes"] == list(expected.notes)
    assert facts["remarks"] == list(expected.remarks)
    assert facts["expected_topics"] == expected.expected_topics
    assert json.loads(ran("--documents", 10, "--words", 300, "--alpha0", 1000, "--json"))["best"] is None

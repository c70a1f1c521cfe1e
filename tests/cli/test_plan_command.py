"""`private-topics plan`: a table for people, JSON for machines, and nothing but public numbers in either."""

from __future__ import annotations

import json
import math
import re

from typer.testing import CliRunner

from private_topics.cli import app
from private_topics.planning.constants import LENGTH
from private_topics.planning.plan import plan

NAMES = ("informed", "sequential", *(f"{n} {kind}" for kind in ("proved", "published") for n in (1, 2, 3, 4)), "vi")


def ran(*arguments: object):
    result = CliRunner().invoke(app, ["plan", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_table_has_every_configuration_and_the_remarks():
    text = ran("--documents", 100_000, "--words", 3_000, "-k", 25)
    lines = text.splitlines()
    assert all(any(line.strip().startswith(name) for line in lines) for name in NAMES)
    assert "Expected to win: informed" in text
    assert "N > √d" in text
    assert "about 612 units share" in text
    assert max(len(line) for line in lines if "│" in line or "published" in line) <= 120


def test_without_knowledge_it_is_the_forecast_of_the_sequential_release():
    text = ran("--documents", 100_000, "--words", 3_000, "-k", 25, "--knowledge", "none")
    assert "informed" not in text
    assert "public knowledge" not in text
    assert "Expected to win: sequential" in text
    assert "about 1,140 units share" in text
    facts = json.loads(ran("--documents", 100_000, "--words", 3_000, "-k", 25, "--knowledge", "none", "--json"))
    assert (facts["knowledge"], facts["topic_range"], facts["kept"], facts["releases"]) == (None, None, None, [])
    refused = CliRunner().invoke(app, ["plan", "--documents", "10", "--words", "10", "--knowledge", "dutch"])
    assert refused.exit_code == 2


def test_a_small_corpus_is_told_what_knowledge_does_for_it_and_what_it_lacks():
    text = ran("--documents", 2_000, "--words", 3_000, "-k", 25)
    expected = plan(2_000, 3_000, 25, knowledge="english")
    assert str(expected) in text
    assert f"({expected.topic_range[0]} to {expected.topic_range[1]}; with so little, noise decides" in text
    assert "without it about 1" in text
    for release in expected.releases:
        assert re.search(rf"{release.name} +{release.share:.1%}", text)


def test_topics_that_would_be_uninformative_are_not_promised():
    """The model would have all of them, with an error of 1, which the page itself calls uninformative."""
    given = ("--documents", 3_000, "--words", 2_000, "-k", 50)
    text = ran(*given)
    assert re.search(r"informed +yes +50 +1 +150,000 +not its own", text)
    assert "50 topics can be written, but would not be the corpus's own" in text
    assert "50 of 50" not in text
    assert "Expected to win" not in text
    assert "No configuration is expected to find the corpus's own topics; informed would write 50" in text
    facts = json.loads(ran(*given, "--json"))
    assert (facts["expected_topics"], facts["informative"], facts["enough"]) == (50, False, False)
    more = int(re.search(r"For topics of its own: about ([\d,]+) documents", text)[1].replace(",", ""))
    more_text = ran("--documents", math.ceil(1.05 * more), *given[2:])
    assert "about 50 of 50 topics." in more_text
    assert "Expected to win: informed, 50 topics" in more_text
    assert json.loads(ran("--documents", 100_000, *given[2:], "--json"))["informative"]


def test_where_knowledge_does_not_help_either_that_is_said_with_what_would():
    text = ran("--documents", 300, "--words", 3_000, "-k", 10, "--epsilon", 0.1)
    assert "about 1 of 10 topics" in text
    assert "the model would be the word frequencies." in text
    assert re.search(r"For all 10: about [\d,]+ documents at this epsilon", text)
    assert "units, as here, no word stands out" in text


def test_the_default_length_is_that_of_plan():
    shown = CliRunner().invoke(app, ["plan", "--help"], env={"COLUMNS": "200"}).stdout
    assert f"[default: {LENGTH}]" in re.sub(r"\x1b\[[0-9;]*m", "", shown)
    numbers = ("--documents", 5_000, "--words", 300, "-k", 9, "--json")
    assert ran(*numbers) == ran(*numbers, "--mean-length", LENGTH)


def test_no_topics_are_expected_where_documents_mix_everything():
    text = ran("--documents", 1_000, "--words", 300, "-k", 3, "--alpha0", 1000, "--knowledge", "none")
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
    expected = plan(48_301, 3_000, 25, knowledge="english")
    assert facts["best"] == expected.best.name
    assert [each["name"] for each in facts["configurations"]] == list(NAMES)
    assert facts["configurations"][0]["documents_needed"] == expected.outcomes[0].documents_needed
    assert facts["configurations"][2]["documents_needed"] is None  # no number is enough
    assert facts["configurations"][-1]["error"] is None  # no forecast
    assert facts["configurations"][0]["overall_error"] == expected.outcomes[0].overall_error
    assert facts["units_to_name_a_word"] == 1_140
    assert facts["knowledge"] == "english"
    assert tuple(facts["topic_range"]) == expected.topic_range
    assert facts["kept"]["middle"] == expected.kept.middle
    assert [each["name"] for each in facts["releases"]] == [each.name for each in expected.releases]
    assert facts["notes"] == list(expected.notes)
    assert facts["remarks"] == list(expected.remarks)
    assert facts["expected_topics"] == expected.expected_topics
    assert json.loads(ran("--documents", 10, "--words", 300, "--alpha0", 1000, "--json"))["best"] is None

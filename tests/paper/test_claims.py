"""The page of claims: as the rows say, every erratum on it, commands that exist, sentences that the rows bear out."""

import re
from pathlib import Path

import pytest

from private_topics.paper.experiments.claims import NOT_RUN, claims_page
from private_topics.paper.experiments.methods import PRINTED, PUBLISHED
from private_topics.paper.experiments.registry import EXPERIMENTS, POINTS
from private_topics.paper.experiments.rows import best, median, read_rows, status
from private_topics.paper.experiments.statements import STATEMENTS
from private_topics.paper.experiments.synthetic_error import error_key

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "reproduction"
STORED = [name for name in EXPERIMENTS if (RESULTS / name / POINTS).exists()]


def test_the_committed_page_of_claims_says_what_the_rows_say():
    rows_of = {name: read_rows(RESULTS / name / POINTS) for name in STORED}
    assert (RESULTS / "claims.md").read_text(encoding="utf-8") == claims_page(rows_of)


def test_every_erratum_belongs_to_a_claim():
    page = (RESULTS.parent / "errata.md").read_text(encoding="utf-8")
    names = re.findall(r"^\| ([a-z0-9-]+) \| ", page.split("## 1.")[0], re.MULTILINE)
    cited = [name for statement in STATEMENTS for name in statement.errata]
    assert sorted(set(cited)) == sorted(set(names) - {"name"})


def test_every_command_of_a_claim_exists():
    for statement in STATEMENTS:
        program, *arguments = statement.command.split()
        if program == "private-topics":
            assert arguments[1] in EXPERIMENTS
        else:
            assert (RESULTS.parents[1] / arguments[0]).exists(), statement.command


def test_what_is_not_stored_is_said_to_be_not_run():
    commands = " ".join(command for _, command in NOT_RUN)
    assert all(name in commands for name in set(EXPERIMENTS) - set(STORED))


@pytest.mark.parametrize("name", ["figure-2a", "figure-2a-authors"])
@pytest.mark.parametrize("methods", [PRINTED, PUBLISHED])
def test_configuration_1_is_the_best_of_the_four_where_topics_are_polarised(name, methods):
    found = best(read_rows(RESULTS / name / POINTS), error_key(name), methods, epsilon=3.0)
    assert found is not None
    assert found[0] == methods[0]


def test_configuration_2_is_no_better_than_word_frequencies_with_few_documents():
    rows = read_rows(RESULTS / "figure-2b-authors" / POINTS)
    nothing = median(rows, "error_l1", method="unigram")
    for method in ("config 2 code", "config 2 unscaled"):
        assert median(rows, "error_l1", method=method, epsilon=3.0) > nothing
    assert {status(rows, method=methods[1], epsilon=3.0) for methods in (PRINTED, PUBLISHED)} == {"refused"}


def test_the_spectral_method_is_faster_than_variational_inference():
    rows = read_rows(RESULTS / "figure-2c-authors" / POINTS)
    fastest = {
        method: min(row["seconds"] for row in rows if row["method"] == method) for method in ("unnoised", "vi-u")
    }
    assert fastest["unnoised"] < fastest["vi-u"]

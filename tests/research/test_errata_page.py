"""The page of errata says what the command prints, explains every line of it, and names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import errata
from counterexamples.premises import PREMISES, premise
from stored import between

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def findings():
    return errata.all_findings()


@pytest.mark.slow
def test_the_table_is_what_the_command_prints(findings):
    """`python research/errata.py --write docs/errata.md` renews it. Numbers may differ in the third digit."""
    on_page = [line.split("|")[1:-1] for line in between(PAGE, "research/errata.py").splitlines()]
    printed = [line.split("|")[1:-1] for line in errata.table(findings).splitlines()]
    assert [row[:3] for row in on_page] == [row[:3] for row in printed]
    for was, now in zip(on_page[2:], printed[2:], strict=True):
        assert [float(cell) if cell.strip() else None for cell in was[3:]] == [
            pytest.approx(float(cell), rel=0.02, abs=0.0) if cell.strip() else None for cell in now[3:]
        ]


def test_every_finding_has_its_own_name_and_its_paragraph(findings):
    names = [finding.name for finding in findings]
    assert len(names) == len(set(names))
    headings = ", ".join(re.findall(r"^\*\*(.+?)\.\*\*", PAGE, re.MULTILINE))
    assert sorted(headings.split(", ")) == sorted(names)


def test_every_finding_states_what_the_paper_says(findings):
    """And no statement is left over from a finding that was withdrawn."""
    stated = {premise(finding.name) for finding in findings}
    assert stated == set(PREMISES.values())


def test_every_test_named_exists():
    named = set(re.findall(r"`(test_[a-z_0-9]+)`", PAGE))
    sources = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests" / "research").glob("test_*.py"))]
    existing = set(re.findall(r"^def (test_\w+)", "\n".join(sources), re.MULTILINE))
    assert named <= existing
    assert len(named) > 40


def test_every_paragraph_names_a_test():
    paragraphs = re.findall(r"^\*\*.+?\.\*\*.*?(?=\n\n)", PAGE, re.MULTILINE | re.DOTALL)
    assert len(paragraphs) > 30
    assert all(re.search(r"`test_[a-z_0-9]+`", paragraph) for paragraph in paragraphs)


def test_every_claim_is_contradicted(findings):
    for finding in findings:
        assert finding.attained != pytest.approx(finding.published, rel=1e-3, abs=0.0), finding.name

"""The page of an audit and its section in a report: sound, aligned, readable, no louder than what was attacked."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import browser_support
import pytest
from report_support import DATE, HOSTILE, Page, assert_sound, report

from private_topics.audit import AuditResult, ReleaseAudit, WholeAudit, sealed, verify
from private_topics.reports.audit import CLAIM_AT, audit_context, claim_bar, number_of, write_audit

PAIR = ("empty", "a rare word")
SETTINGS = {"epsilon": 5.0, "unit": "document", "n_units": 6_000, "n_documents": 6_000, "n_words": 60,
            "corpus": "made up", "budget_split": None}  # fmt: skip
WHOLE = (
    WholeAudit("all releases together", 1.1, 0.6, 5.0, 2.7, 2, 1_000, "empty / a rare word"),
    WholeAudit("final model", 1.1, 0.0, 5.0, 0.0, 2, 100, "empty / a rare word"),
)


def release_like(release: Any, part: float = 0.5) -> ReleaseAudit:
    mu = release.sensitivity / release.sigma
    game = (mu, part * mu, 3 * mu, 3 * part * mu)
    return ReleaseAudit(release.name, release.sensitivity, 1.0, PAIR, True, 2, *game, 1.0, 900, True)


def content_of(model: Any, unit: str = "document", **changes: Any) -> dict[str, Any]:
    """An audit that made the releases of the model."""
    statement = dataclasses.replace(model.privacy_, unit=unit).to_dict()
    releases = tuple(map(release_like, model.privacy_.releases))
    result = AuditResult(SETTINGS | {"unit": unit}, statement, 0.9999, PAIR, (), releases, WHOLE)
    return sealed(dataclasses.replace(result, **changes), model.privacy_.to_dict())


def failed(model: Any) -> dict[str, Any]:
    releases = tuple(release_like(release, 1.2) for release in model.privacy_.releases)
    return content_of(model, releases=releases, trouble=(HOSTILE[0],))


def page_of(content: dict[str, Any], folder: Path) -> Page:
    return Page(write_audit(content, folder / "audit.html", date=DATE).read_text(encoding="utf-8"))


@pytest.mark.parametrize("make", [content_of, failed, lambda model: content_of(model, "user")],
                         ids=["passed", "failed", "another unit"])  # fmt: skip
def test_pages_of_every_outcome_are_sound(make, model, tmp_path):
    content = make(model)
    for page in (page_of(content, tmp_path), report(model, tmp_path, audit=content)):
        assert_sound(page)
        assert page.text.count("Audit seal, SHA-256:") == 1
        assert "`" not in page.text, "commands are code, not backticks"
    assert verify(tmp_path / "audit.html")
    assert verify(tmp_path / "report.html")
    assert "<code>private-topics audit --check FILE</code>" in page.source


def test_a_page_claims_the_model_only_where_all_of_it_was_attacked(model, tmp_path):
    whole, other = page_of(content_of(model), tmp_path), page_of(content_of(model, "user"), tmp_path)
    assert "The claims of the model were attacked" in whole.text
    assert 'class="verdict"' in whole.source
    assert "What was not attacked." not in whole.text
    assert 'class="verdict caution"' in other.source
    assert "The claims of the model" not in other.text
    assert "What was not attacked. Not attacked: the model's unit. It protects one document" in other.text
    assert other.source.count("<title>NOT IN FULL – Privacy audit</title>") == 1
    assert "What was not attacked is accepted." in other.text


def test_a_failed_audit_leaves_nothing_to_sign(model, tmp_path):
    for page in (page_of(failed(model), tmp_path), report(model, tmp_path, audit=failed(model))):
        assert 'class="verdict alarm" role="alert"' in page.source
        assert "Nothing to sign. The audit FAILED" in page.text
        assert "Signature" not in page.text
    for page in (page_of(content_of(model), tmp_path), report(model, tmp_path, audit=content_of(model))):
        assert page.text.count("Signature") == 2
        assert "Nothing to sign" not in page.text


def test_the_facts_stand_in_plain_words(model, tmp_path):
    text = page_of(content_of(model), tmp_path).text
    for fact in ("Unit attacked document", "Documents 6,000", "Words 60", "Releases attacked"):
        assert fact.replace(" ", "") in text.replace(" ", "")
    assert "Attacked: one document, replaced by any other, among 6,000 documents over 60 words." in text
    assert "weak by nature" in text
    assert "budget_split default" in " ".join(
        re.sub("<[^>]*>", " ", page_of(content_of(model), tmp_path).source).split()
    )


# -- numbers and bars ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claims", "written"),
    [
        ((0.0445, 1.0), ["0.0445", "1.0000", "0.0000"]),
        ((1.4, 20.0), ["1.40", "20.00", "0.00"]),
        ((123.0, 4_567.0), ["123.00", "4,567.00", "0.00"]),
        ((2e-9, 1.0), ["2.00e-09", "1.00e+00", "0.00e+00"]),
        ((1.0, 1e12), ["1.00e+00", "1.00e+12", "0.00e+00"]),
        ((0.0, 0.0), ["0.00", "0.00", "0.00"]),
    ],
)
def test_one_number_of_decimals_for_all(claims, written):
    parts = [{"epsilon": claim, "mu": claim} for claim in claims]
    number = number_of({"releases": parts[:1], "whole": parts[1:]})
    assert [number(claims[0]), number(claims[1]), number(0.0)] == written


def test_the_columns_of_a_page_have_the_same_decimals(model):
    shown = audit_context(content_of(model))
    cells = [cell for row in shown["releases"] for cell in row[2:4]] + [c for row in shown["whole"] for c in row[1:5]]
    assert len({len(cell.split(".")[1]) for cell in cells}) == 1


@pytest.mark.parametrize(("part", "width"), [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0), (1.1, 1.1), (9.0, None)])
def test_a_bar_is_as_long_as_the_part_of_the_claim(part, width):
    bar = claim_bar({"name": "<b>", "epsilon": 2.0, "epsilon_bound": 2.0 * part, "mu": 1.0, "mu_bound": part}, str)
    lengths = [float(found) for found in re.findall(r'width="([\d.]+)" height="8"', bar.picture)]
    assert lengths == [CLAIM_AT, pytest.approx(100.0 if width is None else width * CLAIM_AT)]
    assert bar.exceeded == ("beyond" in bar.picture) == (part > 1)
    assert bar.text == f"{2.0 * part} of 2.0"
    assert "<b>" not in bar.picture


# -- in a browser ----------------------------------------------------------------------------------------------------

EDGES = """['.verdict', '.card'].map(kind => document.querySelector(kind).getBoundingClientRect())
    .map(box => [box.left, box.right])"""
BARS = "[...document.querySelectorAll('svg.claim .value')].map(bar => bar.getBoundingClientRect().width)"
VIEWS = ({}, {"width": 420}, {"width": 1900, "dark": True}, {"media": "print"})


@pytest.mark.browser
@pytest.mark.skipif(browser_support.program() is None, reason="needs Chromium or Chrome on the PATH")
def test_banner_and_bars_keep_their_places(model, tmp_path):
    """At every width, in the dark and on paper: banner and cards share their edges, bars are drawn to scale.

    A release shows half of its claim, or more than the bar holds; the whole fit 0.54 of it; the final model nothing.
    """
    passed = write_audit(content_of(model), tmp_path / "passed.html")
    refuted = write_audit(failed(model), tmp_path / "failed.html")
    report(model, tmp_path, audit=content_of(model))
    seen = [(passed, view) for view in VIEWS] + [(refuted, VIEWS[1]), (tmp_path / "report.html", VIEWS[0])]
    with browser_support.running(browser_support.program(), tmp_path / "profile") as browser:
        for page, view in seen:
            browser.open(page, **view)
            assert browser.complaints == []
            assert browser.evaluate("document.documentElement.scrollWidth") <= view.get("width", 1280)
            banner, card = browser.evaluate(EDGES)
            assert banner[0] == pytest.approx(card[0], abs=1)
            if page.name != "report.html":  # its first card is one of several columns
                assert banner[1] == pytest.approx(card[1], abs=1)
            widths = browser.evaluate(BARS)
            assert len(widths) == len(model.privacy_.releases) + 2
            longest = 100.0 / CLAIM_AT if page is refuted else 0.5
            assert widths[-2] / widths[0] == pytest.approx(0.54 / longest, rel=0.02)
            assert widths[-1] == 0
            assert min(widths[:-1]) > 20
        browser.open(refuted, dark=True)
        fill = "getComputedStyle(document.querySelector('svg.claim.beyond .value')).fill"
        assert browser.evaluate(fill) == "rgb(194, 47, 47)"

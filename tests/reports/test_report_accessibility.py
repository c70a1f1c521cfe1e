"""The pages can be used by everybody: what a checker of accessibility looks for, in a real browser.

`accessibility.js` is the check; here it sees all kinds of pages, wide and narrow, light and dark, and planted faults.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from browser_support import NEEDED
from report_support import NAMES, labelled, trust_in

from private_topics import write_comparison, write_model_card, write_report

pytestmark = [pytest.mark.browser, NEEDED]
CHECK = (Path(__file__).parent / "accessibility.js").read_text(encoding="utf-8")
ORDER = "document.activeElement && [...document.querySelectorAll('*')].indexOf(document.activeElement)"
RING = """(() => {
  const at = document.activeElement, circle = at.querySelector("circle");
  const style = getComputedStyle(at);
  if (at instanceof SVGElement) return parseFloat(getComputedStyle(circle).strokeWidth) >= 3;
  return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
})()"""
FAULTS = {
    "a field without a label": "document.querySelector('label[for=find]').remove()",
    "a contrast of": "document.querySelector('.lead').style.color = '#bbbbbb'",
    "a level of headings": "document.querySelector('h2').replaceWith(document.createElement('h4'))",
    "a control without a name": "document.querySelector('.near').textContent = ''",
    "a target of": "document.getElementById('theme').style.cssText = 'min-height: 0; height: 12px'",
    "two landmarks of one name": "document.querySelector('[role=region]').setAttribute('aria-label', 'Topics')",
    "a picture without a title": "document.querySelector('svg.map title').remove(), "
    "document.querySelectorAll('svg.map title').forEach(found => found.remove())",
    "an id twice": "document.querySelector('h3').id = 'content'",
    "a head of a table": "document.querySelector('tbody th').removeAttribute('scope')",
    "a tabindex": "document.querySelector('.picture').tabIndex = 3",
    "a keyboard cannot scroll it": "document.querySelector('.scroll').removeAttribute('tabindex'), "
    "document.querySelector('.scroll').style.width = '50px'",
    "no language": "document.documentElement.lang = ''",
}


@pytest.fixture(scope="module")
def pages(model, corpus, bad_models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("accessible")
    k = len(model.components_)
    named, trust = labelled(model, [f"label {i}" for i in range(k)]), trust_in(model, [0.3 * i for i in range(k)])
    options = {"feature_names": NAMES, "truth": corpus[1], "reliability": trust}
    return {
        "report": write_report(named, folder / "report.html", **options),
        "bad": write_report(next(iter(bad_models.values())), folder / "bad.html", feature_names=NAMES),
        "card": write_model_card(model, folder / "card.html", feature_names=NAMES),
        "comparison": write_comparison(model, model, folder / "comparison.html", feature_names=NAMES),
    }


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["report", "bad", "card", "comparison"])
def test_a_checker_finds_nothing(name, dark, browser, pages):
    for width in (1280, 390):
        browser.open(pages[name], width=width, dark=dark)
        assert browser.evaluate(CHECK) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_the_checker_is_not_blind(fault, browser, pages):
    browser.open(pages["report"])
    browser.evaluate(f"{FAULTS[fault]}, 0")
    assert any(found.startswith(fault) for found in browser.evaluate(CHECK))


def test_focus_goes_down_the_page_and_is_seen(browser, pages):
    browser.open(pages["report"])
    places, focusable = (
        [],
        browser.evaluate("document.querySelectorAll('a, button, input, select, [tabindex]').length"),
    )
    for _ in range(focusable):
        browser.press("Tab", 9)
        if browser.evaluate("document.activeElement === document.body"):
            break
        places.append(browser.evaluate(ORDER))
        assert browser.evaluate(RING), browser.evaluate("document.activeElement.outerHTML.slice(0, 80)")
    assert len(places) > 25
    assert places == sorted(places)

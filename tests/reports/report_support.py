"""A parsed page, and what every page has to be: self-contained, inert, accessible."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import re
import warnings
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from private_topics import PrivacyWarning, PrivateSpectralLDA, Reliability
from private_topics.reports import write_comparison, write_report

ROOT = Path(__file__).resolve().parents[2]
N_UNITS, N_WORDS, N_TOPICS = 6_000, 60, 4
NAMES = [f"name{j}" for j in range(N_WORDS)]
DATE = "1 March 2026"
HOSTILE = [
    "<script>alert(1)</script>",
    "</style><style>a{}</style>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "</title></head><body>",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt;&amp;",
    "<a href='javascript:alert(1)'>",
]
FORBIDDEN_TEXT = ("http:", "https:", "//", "url(", "@import", "javascript:", "src=")
FORBIDDEN_TAGS = {"iframe", "object", "embed", "img", "link", "form", "base"}
FORBIDDEN_ATTRIBUTES = {"style", "src", "srcset", "action", "formaction", "xlink:href"}
VOID = {"meta", "br", "input"}
SCRIPT = ROOT / "src/private_topics/reports/templates/report.js"


def fitted(X: Any, groups: Any = None, n_topics: int = N_TOPICS, **settings: Any) -> PrivateSpectralLDA:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return PrivateSpectralLDA(n_topics, **{"delta": 1e-6, "alpha0": 0.3, **settings}).fit(X, groups=groups)


class Page(HTMLParser):
    """The elements of a page with their attributes, its text, the contents of its style sheets and scripts."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.source = source
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.hiding: list[bool] = []
        self.hidden: list[str] = []
        self.styles: list[str] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == [], "elements are left open"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)
            self.hiding.append("hidden" in dict(attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"<{tag}> has an attribute twice"
        self.elements.append((tag, dict(attrs)))
        if "hidden" in dict(attrs) or any(self.hiding):
            self.hidden.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> does not match"
        self.hiding.pop()

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        {"style": self.styles, "script": self.scripts}.get(inside, self.words).append(data)

    @property
    def text(self) -> str:
        """All text, with one space for any white space."""
        return " ".join("".join(self.words).split())

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """Elements and the names of their attributes."""
        return [(tag, tuple(sorted(attributes))) for tag, attributes in self.elements]

    def all(self, tag: str, attribute: str | None = None, value: str | None = None) -> list[dict[str, str | None]]:
        return [
            found for name, found in self.elements if name == tag and (not attribute or found.get(attribute) == value)
        ]

    def part(self, pattern: str) -> str:
        """The source from the start of the first match of `pattern` to the end of that element's kind."""
        start = re.search(pattern, self.source)
        assert start is not None, pattern
        tag = re.match(r"<(\w+)", start[0])
        assert tag is not None
        return self.source[start.start() : self.source.index(f"</{tag[1]}>", start.start())]


def report(model: Any, folder: Path, **options: Any) -> Page:
    options = {"date": DATE, "feature_names": NAMES[: model.n_features_in_], **options}
    return Page(write_report(model, folder / "report.html", **options).read_text(encoding="utf-8"))


def comparison(first: Any, second: Any, folder: Path, **options: Any) -> Page:
    path = write_comparison(first, second, folder / "comparison.html", **{"date": DATE, **options})
    return Page(path.read_text(encoding="utf-8"))


def assert_sound(page: Page) -> None:
    assert page.source.startswith("<!DOCTYPE html>")
    assert [text for text in FORBIDDEN_TEXT if text in page.source] == []
    assert FORBIDDEN_TAGS & {tag for tag, _ in page.elements} == set()
    attributes = {name for _, found in page.elements for name in found}
    assert {name for name in attributes if name.startswith("on")} | (attributes & FORBIDDEN_ATTRIBUTES) == set()
    assert_policy(page)
    assert_references(page)
    assert len(page.all("h1")) == 1
    assert page.all("html", "lang", "en")
    for picture in page.all("svg"):
        described = picture.get("role") in ("img", "group") and len(str(picture["aria-labelledby"]).split()) == 2
        assert picture.get("aria-hidden") == "true" or described
    for _, found in page.elements:
        if found.get("role") == "region":
            assert found["tabindex"] == "0", "a keyboard cannot scroll it"
            assert found["aria-label"]


def assert_policy(page: Page) -> None:
    """Nothing may be loaded; of styles and scripts, those that are there are the only ones that may act.

    A report has one script, the file of the repository, and a block of data that is not run; other pages have none.
    """
    (policy,) = page.all("meta", "http-equiv", "Content-Security-Policy")
    directives = [directive.split() for directive in str(policy["content"]).split("; ")]
    allowed = {name: set(sources) for name, *sources in directives}
    wanted = {
        "default-src": {"'none'"},
        "style-src": {_source(style) for style in page.styles},
        "base-uri": {"'none'"},
        "form-action": {"'none'"},
    }
    if page.scripts:
        assert page.all("script") == [{"type": "application/json", "id": "data"}, {}]
        block, script = page.scripts
        json.loads(block)
        assert script == SCRIPT.read_text(encoding="utf-8")
        markup = {"require-trusted-types-for": {"'script'"}, "trusted-types": {"'none'"}}
        wanted |= {"script-src": {_source(script)}, **markup}
    assert wanted["style-src"] <= allowed["style-src"]  # a page without a graph still allows its sheet
    assert len(allowed["style-src"]) <= 2
    assert {**allowed, "style-src": wanted["style-src"]} == wanted


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def assert_references(page: Page) -> None:
    ids = [found["id"] for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))
    assert all(str(link["href"])[0] == "#" and str(link["href"])[1:] in ids for link in page.all("a"))
    for attribute in ("aria-labelledby", "aria-describedby"):
        named = [str(found[attribute]).split() for _, found in page.elements if attribute in found]
        assert {name for names in named for name in names} <= set(ids)


def labelled(model: Any, labels: list[str]) -> Any:
    """The model with labels as if people had given them, whatever they are."""
    other = copy.copy(model)
    other.topic_labels_ = labels
    return other


def trust_in(model: Any, topics: Any) -> Reliability:
    """Topics that come out again as often as that; every word may have half or twice its probability."""
    shape, words = model.components_.shape, model.components_
    return Reliability(np.asarray(topics), np.zeros(shape), words / 2, words * 2, 12, 10)

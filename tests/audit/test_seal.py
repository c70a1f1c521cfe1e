"""The seal covers every number of an audit, and the pages carry what it covers."""

from __future__ import annotations

import copy
import dataclasses
import json
from html.parser import HTMLParser
from typing import Any

import pytest

from hang_support import cpu_limit
from private_topics import InputError
from private_topics.audit import AuditResult, ReleaseAudit, WholeAudit, seal, sealed, verify
from private_topics.audit.seal import BEGIN, SEAL, canonical
from private_topics.reports.audit import markdown, write_audit

RELEASE = ReleaseAudit("unigram", 1.41, 0.99, ("empty", "a rare word"), True, 2, 0.7, 0.4, 2.8, 1.5, 1.001, 800, True)
WHOLE = WholeAudit("all releases together", 3.4, 1.7, 20.0, 8.4, 1, 400, "empty / a <rare> word")


def result(**changes: Any) -> AuditResult:
    whole = AuditResult({"epsilon": 20.0, "budget_split": None}, {"epsilon": 20.0, "text": 'a "<b>" | &'}, 0.9999,
                        ("empty", "a rare word"), (), (RELEASE,), (WHOLE,))  # fmt: skip
    return dataclasses.replace(whole, **changes)


@pytest.mark.parametrize("name", ["audit.html", "audit.md", "audit.json"])
def test_a_page_can_be_checked(tmp_path, name):
    content = sealed(result(), {"epsilon": 20.0})
    path, digest = tmp_path / name, seal(content)
    if name.endswith("json"):
        path.write_text(json.dumps({"sealed": content, "sha256": digest}, indent=2))
    else:
        write_audit(content, path, date="today")
    assert verify(path)
    assert verify(path, digest.upper())
    assert not verify(path, "0" * 64)
    text = path.read_text(encoding="utf-8")
    forged = text.replace("0.99,", "0.98,") if "0.99," in text else text.replace("0.9999", "0.9998")
    assert forged != text
    path.write_text(forged, encoding="utf-8")
    assert not verify(path)


def test_every_number_is_covered():
    content = sealed(result())
    for part, key in (("audit", "confidence"), ("versions", "numpy"), ("audit", "passed")):
        other = copy.deepcopy(content)
        other[part][key] = "another"
        assert seal(other) != seal(content)
    assert seal(sealed(result(releases=(dataclasses.replace(RELEASE, mu_bound=0.41),)))) != seal(content)
    assert seal(sealed(result(), {"epsilon": 1.0})) != seal(content)


def test_the_spelling_is_one():
    content = sealed(result())
    again = json.loads(json.dumps(content, indent=3))
    shuffled = dict(reversed(list(again.items())))
    assert canonical(shuffled) == canonical(content)
    assert canonical(content).isascii()


@pytest.mark.parametrize(
    "text",
    [
        *("", "no audit", '{"sealed": 1}', "----- begin sealed audit -----\n{\n"),
        *('{"sealed": NaN, "sha256": ""}', '{"sealed": [1e999], "sha256": ""}', '{"sealed": ' + "[" * 5000),
    ],
    ids=lambda text: text[:20],
)
def test_what_is_no_audit_is_refused(tmp_path, text):
    path = tmp_path / "page"
    path.write_text(text)
    with pytest.raises(InputError, match="holds no sealed audit"):
        verify(path)


def test_a_page_of_blanks_is_refused_at_once(tmp_path):
    """A million of them, where a search for a begin and an end could go back and forth."""
    path = tmp_path / "page"
    path.write_text(f"{SEAL} {'0' * 64} {BEGIN}" + " " * 10**6)
    with cpu_limit(60.0), pytest.raises(InputError, match="holds no sealed audit"):
        verify(path)


def test_bytes_are_refused(tmp_path):
    (tmp_path / "page").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not a page"):
        verify(tmp_path / "page")


def test_a_failed_audit_says_so_first(tmp_path):
    bad = dataclasses.replace(RELEASE, within=False, mu_bound=0.9, noise_as_recorded=False)
    failed = result(releases=(bad,), trouble=("The model depends on the corpus.",))
    assert not failed.passed
    assert failed.exceeded == ("unigram",)
    page = write_audit(sealed(failed), tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>FAILED – Privacy audit</title>" in page
    assert 'class="verdict alarm" role="alert"' in page
    for reason in ("beyond the sensitivity", "bound above the claim", "noise not as recorded", "The model depends"):
        assert reason in page
        assert reason in markdown(sealed(failed), "Audit", "today")
    assert "alarm" not in write_audit(sealed(result()), tmp_path / "b.html").read_text().split("</style>")[1]


def test_the_page_is_sound_html_and_runs_nothing(tmp_path):
    page = write_audit(sealed(result()), tmp_path / "page.html").read_text(encoding="utf-8")
    open_tags: list[str] = []

    class Checker(HTMLParser):
        def handle_starttag(self, tag: str, attributes: Any) -> None:
            assert tag not in ("script", "link", "img", "b")
            if tag not in ("meta", "br"):
                open_tags.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert open_tags.pop() == tag

    Checker().feed(page)
    assert open_tags == []
    with pytest.raises(InputError, match=r"\.html or \.md"):
        write_audit(sealed(result()), tmp_path / "page.txt")

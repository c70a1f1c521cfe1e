"""The page in a real browser, from disk: no complaint, no request, readable at any width, in the dark, on paper."""

from __future__ import annotations

import base64
import copy
import dataclasses
import http.server
import io
import threading

import numpy as np
import pytest
from browser_support import NEEDED
from PIL import Image
from report_support import HOSTILE, N_WORDS, NAMES

from private_topics.reports import write_comparison, write_report

pytestmark = [pytest.mark.browser, NEEDED]
NOWHERE = "http://127.0.0.1:9/"  # nobody listens; a request would be seen all the same
PAPER = "rgb(244, 246, 245)"
WIDTHS = (1280, 420)
LONG_NAMES = [f"{'interminable' * 3}{j}" for j in range(N_WORDS)]


@pytest.fixture(scope="module")
def pages(model, corpus, bad_models, tmp_path_factory):
    """Reports and comparisons of all kinds, written once."""
    folder = tmp_path_factory.mktemp("pages")
    hostile = [f"{HOSTILE[j % len(HOSTILE)]}{j}" for j in range(N_WORDS)]
    hostile[::9] = [f'<img src="{NOWHERE}{j}" onerror="document.title=1">' for j in range(len(hostile[::9]))]
    bad = list(bad_models.values())
    return {
        "report": write_report(model, folder / "report.html", feature_names=NAMES, truth=corpus[1]),
        "hostile": write_report(model, folder / "hostile.html", feature_names=hostile, title=HOSTILE[0]),
        "long": write_report(model, folder / "long.html", feature_names=LONG_NAMES, truth=corpus[1]),
        "bad": write_report(bad[2], folder / "bad.html", feature_names=NAMES),
        "comparison": write_comparison(model, bad[1], folder / "comparison.html", feature_names=NAMES),
        **word_list_pages(model, folder),
    }


def word_list_pages(model, folder):
    """A statement that names a digest of 64 letters, and two vocabularies that share half of their words."""
    listed, other = copy.copy(model), copy.copy(model)
    listed.feature_names_in_, other.feature_names_in_ = np.array(NAMES), np.array([*NAMES[30:], *LONG_NAMES[:30]])
    public = f"the public word list 'letters' (60 words, SHA-256 {'0123456789abcdef' * 4}), of which 60 are used"
    listed.privacy_ = dataclasses.replace(model.privacy_, public=(*model.privacy_.public, public))
    return {
        "list": write_report(listed, folder / "list.html"),
        "words": write_comparison(listed, other, folder / "words.html"),
    }


@pytest.mark.parametrize("name", ["report", "hostile", "long", "bad", "comparison", "list", "words"])
def test_pages_load_without_a_complaint_or_a_request(name, browser, pages):
    for width in WIDTHS:
        browser.open(pages[name], width=width)
        assert browser.complaints == []
        assert browser.requests == [pages[name].as_uri()]
        assert browser.evaluate("document.documentElement.scrollWidth") <= width, "the page scrolls sideways"
        assert browser.evaluate("document.scripts.length") == (0 if name in ("comparison", "words") else 2)
        assert browser.evaluate("document.images.length") == 0


def test_hostile_names_stay_text(browser, pages):
    browser.open(pages["hostile"])
    assert browser.evaluate("document.title") == HOSTILE[0]
    assert browser.evaluate("document.querySelector('h1').textContent") == HOSTILE[0]
    words = browser.evaluate("[...document.querySelectorAll('.words bdi')].map(found => found.textContent)")
    assert any(word.startswith("<script>") for word in words)


def test_both_style_sheets_are_allowed_to_act(browser, pages):
    browser.open(pages["report"])
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == PAPER
    assert (
        browser.evaluate("getComputedStyle(document.querySelector('.graph .noisy .arrow')).stroke")
        == "rgb(180, 83, 9)"
    )


@pytest.fixture(scope="module")
def listener():
    """A server on this machine, and the paths that anybody asked it for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/", asked
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("guarded", [True, False], ids=["with the policy", "without it"])
def test_the_policy_stops_what_might_get_in(guarded, browser, pages, listener, tmp_path):
    """A script, two styles, and a picture, a sheet and a frame from outside, planted into the page.

    Without the policy they all act, so the test is not blind.
    """
    address, asked = listener
    asked.clear()
    planted = (
        '<script>document.title = "owned"</script><style>body { background: red !important }</style>'
        f'<p id="red" style="color: red">x</p><img src="{address}a"><link rel="stylesheet" href="{address}b">'
        f'<iframe src="{address}c"></iframe>'
    )
    source = pages["report"].read_text(encoding="utf-8").replace("<main", f"{planted}<main", 1)
    if not guarded:
        source = source.replace("Content-Security-Policy", "Nothing", 1)
    path = tmp_path / "planted.html"
    path.write_text(source, encoding="utf-8")
    browser.open(path)
    assert (browser.evaluate("document.title") == "Topic model report") == guarded
    assert (browser.evaluate("getComputedStyle(document.body).backgroundColor") == PAPER) == guarded
    assert (browser.evaluate("getComputedStyle(document.querySelector('#red')).color") != "rgb(255, 0, 0)") == guarded
    assert sorted(asked) == ([] if guarded else ["/a", "/b", "/c"])
    stopped = [found["text"] for found in browser.complaints if "Content Security Policy" in found.get("text", "")]
    assert len(stopped) >= 6 if guarded else not stopped


def test_dark_and_paper(browser, pages):
    browser.open(pages["report"], dark=True)
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 20, 25)"
    assert browser.evaluate("getComputedStyle(document.querySelector('.graph .page')).fill") == "rgb(23, 32, 40)"
    browser.open(pages["report"], dark=True, media="print")
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert browser.evaluate("document.querySelector('.signatures').getBoundingClientRect().height") > 100
    pdf = base64.b64decode(browser.send("Page.printToPDF", preferCSSPageSize=True)["data"])
    assert pdf.startswith(b"%PDF")
    assert len(pdf) > 20_000


def test_the_keyboard_reaches_topics_and_sections(browser, pages):
    browser.open(pages["report"])
    reached = []
    for _ in range(40):
        browser.press("Tab", 9)
        reached.append(browser.evaluate("document.activeElement.getAttribute('href')"))
    assert {"#content", "#privacy", "#sign-off", "#topic-0"} <= set(reached)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_screenshot_shows_something(width, dark, browser, pages):
    browser.open(pages["report"], width=width, dark=dark)
    image = Image.open(io.BytesIO(base64.b64decode(browser.send("Page.captureScreenshot")["data"]))).convert("RGB")
    assert image.size == (width, 900)
    colours = image.getcolors(maxcolors=width * 900)
    assert len(colours) > 50
    assert max(count for count, _ in colours) < 0.95 * width * 900

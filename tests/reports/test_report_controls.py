"""The controls of a report in a real browser: they rank, find, sort, compare and darken, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from browser_support import NEEDED
from report_support import HOSTILE, N_WORDS, NAMES, labelled, trust_in

from private_topics.reports import write_report

pytestmark = [pytest.mark.browser, NEEDED]
PAPER, NIGHT = "rgb(244, 246, 245)", "rgb(14, 20, 25)"
GROUND = "getComputedStyle(document.body).backgroundColor"
CARDS = "[...document.querySelectorAll('#cards > .topic')]"
INDICES = f"{CARDS}.map(card => Number(card.dataset.topic))"


@pytest.fixture(scope="module")
def page(model, tmp_path_factory):
    return write_report(model, tmp_path_factory.mktemp("controls") / "report.html", feature_names=NAMES)


def words_of(browser, index):
    return browser.evaluate(
        f"[...document.querySelectorAll('#topic-{index} .words bdi')].map(word => word.textContent)"
    )


def usual_of(model):
    shares = model.doc_topic_prior_ / model.doc_topic_prior_.sum()
    return shares @ model.components_


def test_the_slider_ranks_by_relevance(browser, model, page):
    browser.open(page)
    for ranking in (1.0, 0.6, 0.0, 1.0):
        browser.set("rank", ranking)
        for index, row in enumerate(model.components_):
            relevance = ranking * np.log(row) + (1 - ranking) * np.log(row / usual_of(model))
            found = words_of(browser, index)
            chosen = [relevance[NAMES.index(word)] for word in found]
            np.testing.assert_allclose(chosen, np.sort(relevance)[::-1][:10], atol=1e-4)
        assert f"λ = {ranking:g}" in browser.evaluate("document.getElementById('lambda').textContent")
    assert browser.complaints == []
    assert browser.requests == [page.as_uri()]


def test_at_its_start_the_page_shows_what_it_was_written_with(browser, page):
    browser.open(page)
    text = "document.getElementById('cards').textContent"
    bars = "[...document.querySelectorAll('#cards rect')].map(found => found.width.baseVal.value)"
    shown, drawn = browser.evaluate(text), browser.evaluate(bars)
    browser.open(page, scripts=False)
    assert shown == browser.evaluate(text)
    np.testing.assert_allclose(drawn, browser.evaluate(bars), atol=0.011)


def test_without_a_script_everything_can_be_read_and_no_control_is_seen(browser, model, page):
    browser.open(page, scripts=False)
    seen = "[...document.querySelectorAll('button, input, select')].filter(found => found.offsetParent).length"
    assert browser.evaluate(seen) == 0
    assert words_of(browser, 0) == model.top_words(NAMES)[0]
    for part in ("map", "topics", "privacy", "sign-off"):
        assert browser.evaluate(f"document.getElementById('{part}').offsetHeight") > 100
    assert browser.complaints == []
    browser.open(page)
    assert browser.evaluate(seen) > 8


def test_search_marks_topics_and_words(browser, model, page):
    browser.open(page)
    rarest = NAMES[int(model.components_.max(axis=0).argmax())]
    browser.set("find", rarest.upper())
    assert browser.evaluate("document.querySelectorAll('.topic.hit').length") == len(model.components_)
    assert rarest in browser.evaluate("document.getElementById('found').textContent")
    marked = browser.evaluate("[...document.querySelectorAll('li.match bdi')].map(word => word.textContent)")
    assert marked
    assert all(rarest in word for word in marked)
    browser.set("find", "nothing like it")
    assert browser.evaluate("document.querySelectorAll('.topic.miss, svg.map a.miss').length") == 2 * len(
        model.components_
    )
    assert "No topic" in browser.evaluate("document.getElementById('found').textContent")
    browser.set("find", "")
    assert browser.evaluate("document.querySelectorAll('.miss, .hit, .match').length") == 0


def test_a_word_of_one_topic_is_found_in_that_topic(browser, tmp_path):
    """Topics over many words: each leads with its own."""
    from private_topics import SpectralLDA

    model = SpectralLDA(3)
    model.components_ = np.kron(np.eye(3), np.full(100, 0.0099)) + 0.01 / 300
    model.components_ /= model.components_.sum(axis=1, keepdims=True)
    model.doc_topic_prior_, model.n_features_in_ = np.ones(3), 300
    browser.open(
        write_report(model, tmp_path / "three.html", feature_names=[f"{'abc'[j // 100]}{j}" for j in range(300)])
    )
    browser.set("find", "b1")
    assert browser.evaluate(f"{CARDS}.filter(card => card.classList.contains('hit')).map(card => card.id)") == [
        "topic-1"
    ]
    assert browser.evaluate("document.querySelector('svg.map a.hit').dataset.topic") == "1"


def test_topics_are_sorted(browser, model, tmp_path):
    k = len(model.components_)
    named = labelled(model, [f"{chr(ord('z') - i)} label" for i in range(k)])
    trust = trust_in(model, [0.1 + 0.2 * i for i in range(k)])
    browser.open(write_report(named, tmp_path / "sorted.html", feature_names=NAMES, reliability=trust))
    shares = model.doc_topic_prior_
    expected = {
        "index": list(range(k)),
        "label": list(reversed(range(k))),
        "reliability": list(reversed(range(k))),
        "share": sorted(range(k), key=lambda i: -shares[i]),
        "first": sorted(range(k), key=lambda i: model.top_words(NAMES)[i][0]),
    }
    for key, order in expected.items():
        browser.set("sort", key)
        assert browser.evaluate(INDICES) == order


def test_two_topics_are_compared(browser, model, page):
    browser.open(page)
    browser.set("left", 2)
    browser.set("right", 0)
    rows = browser.evaluate(
        "[...document.querySelectorAll('#pair tbody tr')].map(row => [...row.children].map(cell => cell.textContent))"
    )
    first, second = model.components_[[2, 0]]
    wanted = {*model.top_words(NAMES)[2], *model.top_words(NAMES)[0]}
    assert {word for _, word, _ in rows} == wanted
    more = [first[NAMES.index(word)] - second[NAMES.index(word)] for _, word, _ in rows]
    np.testing.assert_allclose(more, sorted(more, reverse=True), atol=1e-6)
    for left, word, right in rows:
        for text, topic in ((left, first), (right, second)):
            percent = 100 * topic[NAMES.index(word)]
            assert percent < 0.1 if text[0] == "<" else float(text.strip("%")) == pytest.approx(percent, abs=0.0501)
    assert browser.evaluate("document.querySelector('#pair th').textContent") == "Topic 2"
    browser.evaluate("document.querySelector('#topic-1 .near').click()")
    assert browser.evaluate("document.getElementById('left').value") == "1"
    assert browser.evaluate("document.activeElement.id") == "left"


def test_a_disc_tells_and_leads(browser, model, page):
    browser.open(page)
    browser.evaluate("document.querySelector('svg.map a[data-topic=\"3\"]').focus()")
    detail = browser.evaluate("document.getElementById('detail').textContent")
    assert detail.startswith("Topic 3")
    assert all(word in detail for word in model.top_words(NAMES)[3][:5])
    browser.press("Enter", 13, text="\r")
    moved = "new Promise(done => setInterval(() => location.hash === '#topic-3' && done(1), 20))"
    assert browser.evaluate(moved) == 1


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_light_and_dark(dark, browser, page):
    browser.open(page, dark=dark)
    grounds = (NIGHT, PAPER) if dark else (PAPER, NIGHT)
    assert browser.evaluate(GROUND) == grounds[0]
    for ground in (grounds[1], grounds[0], grounds[1]):
        browser.evaluate("document.getElementById('theme').click()")
        assert browser.evaluate(GROUND) == ground
        pressed = browser.evaluate("document.getElementById('theme').getAttribute('aria-pressed')")
        assert pressed == str(ground == NIGHT).lower()
    browser.send("Emulation.setEmulatedMedia", media="print")
    assert browser.evaluate(GROUND) == "rgb(255, 255, 255)"
    assert browser.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"


def test_paper_says_how_words_are_ranked(browser, page):
    browser.open(page, media="print")
    for part in (".tools", "#compare", ".near", "#theme", "#ranked"):
        assert browser.evaluate(f"document.querySelector('{part}').offsetHeight") == 0
    browser.set("rank", 0.3)
    browser.set("find", "nothing like it")
    assert "λ = 0.3" in browser.evaluate("document.getElementById('ranked').innerText")
    assert browser.evaluate("document.getElementById('ranked').offsetHeight") > 0
    assert browser.evaluate("getComputedStyle(document.querySelector('.topic.miss > *')).opacity") == "1"


def test_the_keyboard_moves_the_slider(browser, page):
    browser.open(page)
    browser.evaluate("document.getElementById('rank').focus()")
    for _ in range(4):
        browser.press("ArrowLeft", 37)
    assert "λ = 0.8" in browser.evaluate("document.getElementById('lambda').textContent")
    assert browser.evaluate("document.getElementById('rank').getAttribute('aria-valuetext')").startswith("lambda 0.8")


def test_names_stay_text_whatever_is_done(browser, model, tmp_path):
    hostile = [f"{HOSTILE[j % len(HOSTILE)]}{j}" for j in range(N_WORDS)]
    named = labelled(model, [f"<img src=x onerror=alert(1)>{i}" for i in range(len(model.components_))])
    path = write_report(named, tmp_path / "hostile.html", feature_names=hostile)
    browser.open(path)
    count = "document.querySelectorAll('script, img, style, iframe, [onerror], [onload]').length"
    before = browser.evaluate(count)
    browser.set("rank", 0.2)
    browser.set("find", "<script>")
    browser.set("left", 1)
    browser.set("sort", "label")
    browser.evaluate("document.querySelector('svg.map a').focus()")
    assert browser.evaluate("document.querySelectorAll('.topic.hit').length") > 0
    assert browser.evaluate(count) == before
    assert browser.complaints == []
    assert browser.requests == [path.as_uri()]


def test_text_cannot_become_elements(browser, page):
    """Trusted types: a script that tried would be stopped by the browser."""
    browser.open(page)
    assign = "document.body.innerHTML = '<b>x</b>'; return 'done'"
    assert (
        browser.evaluate(f"(() => {{ try {{ {assign} }} catch (error) {{ return error.name }} }})()") == "TypeError"
    )

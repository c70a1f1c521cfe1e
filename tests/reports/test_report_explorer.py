"""What the controls of a report work with: data that are those of the model, escaped, small, and nothing to run."""

from __future__ import annotations

import copy
import json
import re

import numpy as np
import pytest
from report_support import (
    HOSTILE,
    N_WORDS,
    NAMES,
    SCRIPT,
    Page,
    assert_policy,
    assert_sound,
    labelled,
    report,
    trust_in,
)

from private_topics import InputError, SpectralLDA
from private_topics.reports import write_report
from private_topics.reports.explorer import LEADING

LARGEST_PAGE, LARGEST_SCRIPT = 1_000_000, 10_000


def data_of(page):
    return json.loads(page.scripts[0])


def test_the_data_are_those_of_the_model(model, tmp_path):
    data = data_of(report(model, tmp_path))
    shares = model.doc_topic_prior_ / model.doc_topic_prior_.sum()
    usual = shares @ model.components_
    assert data["words"] == NAMES
    np.testing.assert_allclose(data["usual"], usual, rtol=1e-5)
    assert [topic["index"] for topic in data["topics"]] == sorted(
        range(len(shares)), key=lambda i: -model.evidence_.deviations[i]
    )
    for topic in data["topics"]:
        row = model.components_[topic["index"]]
        assert [data["words"][word] for word, _ in topic["words"]] == [
            NAMES[j] for j in np.argsort(-row, kind="stable")
        ]
        np.testing.assert_allclose([weight for _, weight in topic["words"]], np.sort(row)[::-1], rtol=1e-5)
    between = np.array(data["distances"])
    overlap = np.sqrt(model.components_) @ np.sqrt(model.components_).T
    np.testing.assert_allclose(between, np.sqrt(np.clip(1 - overlap, 0, 1)), atol=0.0051)


def test_one_script_may_run_and_it_is_that_of_the_repository(model, tmp_path):
    page = report(model, tmp_path)
    assert_policy(page)
    assert len(page.scripts) == 2
    assert page.all("script")[0]["type"] == "application/json"


def test_no_name_or_label_leaves_the_block_of_data(model, tmp_path):
    """`</script>` in a word would end the block, and what follows would be part of the page."""
    hostile = [f"{j}{('</script><script>x', '<!--<script>', *HOSTILE)[j % 10]}" for j in range(N_WORDS)]
    labels = [f"</script>{text}" for text in HOSTILE[: len(model.components_)]]
    page = report(labelled(model, labels), tmp_path, feature_names=hostile)
    assert page.shape == report(labelled(model, ["a"] * len(labels)), tmp_path).shape
    assert len(page.scripts) == 2
    assert not set("<>&'") & set(page.scripts[0])
    assert data_of(page)["words"] == hostile
    assert {topic["label"] for topic in data_of(page)["topics"]} == set(labels)
    assert page.scripts[1] == SCRIPT.read_text(encoding="utf-8")


def test_a_large_model_makes_a_small_page(tmp_path):
    """50 topics over 10,000 words: the page holds leading words only."""
    many = SpectralLDA(50)
    many.components_ = np.random.default_rng(1).dirichlet(np.ones(10_000) / 5, size=50)
    many.doc_topic_prior_, many.n_features_in_ = np.linspace(1, 3, 50), 10_000
    names = [f"interminable{j}" for j in range(10_000)]
    path = write_report(many, tmp_path / "large.html", feature_names=names)
    assert path.stat().st_size < LARGEST_PAGE
    page = Page(path.read_text(encoding="utf-8"))
    assert_sound(page)
    assert {len(topic["words"]) for topic in data_of(page)["topics"]} == {LEADING}


def test_the_script_is_small_and_makes_no_markup():
    script = SCRIPT.read_text(encoding="utf-8")
    assert len(script.encode()) < LARGEST_SCRIPT
    for way in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "setTimeout("):
        assert way not in script
    for way in ("fetch(", "XMLHttp", "WebSocket", "sendBeacon", "import(", "Storage", "cookie", "location"):
        assert way not in script


def test_controls_are_hidden_until_the_script_runs(model, tmp_path):
    """Without it a reader sees no control that does nothing."""
    page = report(model, tmp_path)
    for tag in ("button", "input", "select", "label", "output"):
        assert page.hidden.count(tag) == len(page.all(tag)) > 0
    shown_by_script = [found for _, found in page.elements if "hidden" in found]
    assert all("data-control" in found for found in shown_by_script)
    fields = [*page.all("input"), *page.all("select")]
    assert sorted(str(label["for"]) for label in page.all("label")) == sorted(str(field["id"]) for field in fields)


def test_what_is_known_of_topics_is_shown(model, tmp_path):
    k = len(model.components_)
    trust = trust_in(model, [0.9 - 0.2 * i for i in range(k)])
    page = report(labelled(model, [f"label {i}" for i in range(k)]), tmp_path, reliability=trust)
    assert_sound(page)
    for i in range(k):
        card = page.part(f'<article class="card topic" id="topic-{i}"')
        assert f"<bdi>Topic {i}: label {i}</bdi>" in card
        assert f"Expected to come out again in {90 - 20 * i} % of fits" in card
        assert ('class="reliability low"' in card) == (0.9 - 0.2 * i < 0.5)
        assert card.count('class="span"') == card.count("<li>") == 10
    assert {option["value"] for option in page.all("option")} == {
        *("evidence", "share", "index", "first", "label", "reliability")
    }
    topics = {topic["index"]: topic for topic in data_of(page)["topics"]}
    top = model.components_[1].max()
    assert topics[1]["words"][0][2:] == pytest.approx([top / 2, top * 2], rel=1e-5)
    plain = report(model, tmp_path)
    assert "Reliability" not in plain.text
    assert {option["value"] for option in plain.all("option")} == {"evidence", "share", "index", "first"}
    other = copy.copy(model)
    other.components_ = model.components_[:-1]
    with pytest.raises(InputError, match="'reliability' parameter of write_report must be that of the same model"):
        report(other, tmp_path, reliability=trust)


def test_one_topic_has_no_slider_and_nothing_to_compare(model, tmp_path):
    single = copy.copy(model)
    single.components_, single.doc_topic_prior_ = model.components_[:1], model.doc_topic_prior_[:1]
    page = report(single, tmp_path)
    assert_sound(page)
    assert [found["id"] for found in page.all("input")] == ["find"]
    assert not page.all("section", "id", "compare")


def test_a_mark_says_how_common_a_word_is_in_the_text(model, tmp_path):
    page = report(model, tmp_path)
    shares = model.doc_topic_prior_ / model.doc_topic_prior_.sum()
    usual, longest = shares @ model.components_, model.components_.max()
    for i, row in enumerate(model.components_):
        card = page.part(f'<article class="card topic" id="topic-{i}"')
        marks = [float(x) for x in re.findall(r'class="usual" x="([\d.]+)"', card)]
        order = np.argsort(-row, kind="stable")[:10]
        np.testing.assert_allclose(marks, 100 * usual[order] / longest, atol=0.006)

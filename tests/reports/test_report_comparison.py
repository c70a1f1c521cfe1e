"""Two models on one page: equal topics are recognised, changes are found, budgets compose."""

from __future__ import annotations

import re

import numpy as np
import pytest
from report_support import NAMES, assert_sound, comparison, fitted

from private_topics import InputError, SpectralLDA


def with_topics(rows: np.ndarray, words: list[str] | None = None) -> SpectralLDA:
    model = SpectralLDA(len(rows))
    model.components_, model.n_features_in_ = rows, rows.shape[1]
    model.doc_topic_prior_ = np.ones(len(rows))
    if words is not None:
        model.feature_names_in_ = np.asarray(words, dtype=object)
    return model


def test_a_model_equals_itself_in_any_order(model, tmp_path):
    rows = model.components_[::-1]
    page = comparison(model, with_topics(rows), tmp_path, feature_names=NAMES)
    assert_sound(page)
    pairs = re.findall(r"Topic (\d+) ↔ topic (\d+)</h3>\n<span[^>]*>distance ([\d.]+)", page.source)
    assert sorted((int(i), int(j)) for i, j, _ in pairs) == [(i, len(rows) - 1 - i) for i in range(len(rows))]
    assert {distance for _, _, distance in pairs} == {"0.00"}
    assert 'class="other"' not in page.source
    assert "Left the first ten" not in page.text
    assert not page.all("section", "id", "unmatched")


def test_topics_that_vanished_and_appeared(tmp_path):
    """Four topics of five words each; the third gives way to the fourth, the first two change places."""
    rows = np.kron(np.eye(4), np.full((1, 5), 0.2))
    page = comparison(with_topics(rows[[0, 1, 2]]), with_topics(rows[[1, 0, 3]]), tmp_path, names=("before", "after"))
    assert_sound(page)
    vanished, appeared = page.part('<section id="unmatched"').split("Appeared: only in")
    assert re.findall(r'<bdi title="word(\d+)"', vanished)[:5] == ["10", "11", "12", "13", "14"]
    assert re.findall(r'<bdi title="word(\d+)"', appeared)[:5] == ["15", "16", "17", "18", "19"]
    assert sorted(re.findall(r"Topic (\d) ↔ topic (\d)", page.source)) == [("0", "1"), ("1", "0")]


def test_words_that_left_and_entered(tmp_path):
    first = np.linspace(2, 1, 12)
    second = first.copy()
    second[9], second[11] = first[11], first[9]
    page = comparison(with_topics((first / first.sum())[None]), with_topics((second / second.sum())[None]), tmp_path)
    assert "Left the first ten: word9. Entered: word11." in page.text
    assert re.findall(r'<li class="other"><bdi title="(\w+)"', page.source) == ["word9", "word11"]


def test_budgets_compose_and_a_bad_model_voids_the_pair(model, corpus, bad_models, tmp_path):
    other = fitted(corpus[0][:500], np.arange(500) // 2, epsilon=0.5, delta=2e-6)
    page = comparison(model, other, tmp_path, feature_names=NAMES)
    assert_sound(page)
    assert "at most (5.5, 3e-06)-differentially private" in page.text
    assert "protect one document only" in page.text
    assert model.privacy_.text in page.text
    assert other.privacy_.text in page.text
    for headline, bad in bad_models.items():
        page = comparison(model, bad, tmp_path, feature_names=NAMES)
        assert_sound(page)
        assert page.text.startswith("NO JOINT GUARANTEE")
        assert headline in page.text
        assert "at most (" not in page.text


def test_settings_that_differ_come_first(model, corpus, tmp_path):
    page = comparison(model, fitted(corpus[0][:500], epsilon=0.5), tmp_path, feature_names=NAMES)
    rows = re.findall(
        r"<tr( class=\"differs\")?><th scope=\"row\"><code>(\w+)</code>", page.part('<section id="settings"')
    )
    assert [name for differs, name in rows if differs] == ["epsilon"]
    assert rows[0][1] == "epsilon"


def test_columns_without_names_must_be_the_same(model, tmp_path):
    with pytest.raises(InputError, match="which words two models share"):
        comparison(model, with_topics(np.full((2, 5), 0.2)), tmp_path)


FIRST = ["apple", "pear", "plum", "bolt", "nut", "screw"]
SECOND = ["screw", "nut", "fig", "bolt", "plum", "kiwi", "pear"]
"""Four words are in both, in another order."""


def test_models_with_words_of_their_own_are_compared_on_the_shared_ones(tmp_path):
    """On the shared words the fruit topics are equal, the tools differ by a known amount; apple and kiwi stay out."""
    first = np.array([[0.4, 0.3, 0.3, 0, 0, 0], [0, 0, 0, 0.5, 0.25, 0.25]])
    second = np.array([[0.25, 0.25, 0, 0.5, 0, 0, 0], [0, 0, 0.1, 0, 0.2, 0.5, 0.2]])
    page = comparison(
        with_topics(first, FIRST), with_topics(second, SECOND), tmp_path, names=("last year", "this year")
    )
    assert_sound(page)
    pairs = re.findall(r"Topic (\d+) ↔ topic (\d+)</h3>\n<span[^>]*>distance ([\d.]+) · cosine ([\d.]+)", page.source)
    assert sorted(pairs) == [("0", "1", "0.00", "1.00"), ("1", "0", "0.00", "1.00")]
    assert "the models share 5 words" in page.text
    assert "Only in last year: 1 of 6 words The shared words make up 80.0% of its text." in page.text
    assert "Only in this year: 2 of 7 words The shared words make up 70.0% of its text." in page.text
    alone = re.findall(r'<p class="small own">(.*?)</p>', page.source)
    assert [re.findall(r"<bdi>(\w+)</bdi>", part) for part in alone] == [["apple"], ["kiwi", "fig"]]
    assert set(re.findall(r'<li class="other own"><bdi title="(\w+)"', page.source)) == {"apple", "kiwi", "fig"}


def test_the_distance_is_taken_on_shared_words_scaled_to_them(tmp_path):
    first = np.array([[0.5, 0.25, 0.25]])
    second = np.array([[0.125, 0.375, 0.5]])
    page = comparison(with_topics(first, ["own", "a", "b"]), with_topics(second, ["a", "b", "its"]), tmp_path)
    affinity = np.sqrt(0.5 * 0.25) + np.sqrt(0.5 * 0.75)
    cosine = (0.5 * 0.25 + 0.5 * 0.75) / np.sqrt(0.5 * (0.25**2 + 0.75**2))
    assert f"distance {np.sqrt(1 - affinity):.2f} · cosine {cosine:.2f}" in page.text


def test_a_topic_of_own_words_alone_has_no_partner(tmp_path):
    first = np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    page = comparison(
        with_topics(first, ["a", "b", "own"]), with_topics(np.array([[0.5, 0.5]]), ["b", "a"]), tmp_path
    )
    assert_sound(page)
    assert re.findall(r"Topic (\d) ↔ topic (\d)", page.source) == [("0", "0")]
    assert "Vanished: only in" in page.part('<section id="unmatched"')
    assert "The shared words make up 100% of its text." in page.text


def test_nothing_in_common_is_refused_and_equal_words_need_no_section(tmp_path):
    row = np.array([[0.5, 0.5]])
    with pytest.raises(InputError, match="no word in common"):
        comparison(with_topics(row, ["a", "b"]), with_topics(row, ["c", "d"]), tmp_path)
    page = comparison(with_topics(row, ["a", "b"]), with_topics(row, ["a", "b"]), tmp_path)
    assert not page.all("section", "id", "words")
    assert "Words in both 2all of them" in page.text.replace("both2", "both 2")


def test_a_private_word_shown_alone_is_escaped(tmp_path):
    row = np.array([[0.5, 0.5]])
    page = comparison(with_topics(row, ["a", "<b>x"]), with_topics(row, ["a", "c"]), tmp_path)
    assert_sound(page)
    assert "<b>x" not in page.source

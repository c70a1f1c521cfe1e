"""Nobody mistakes a bad model, no name acts on the page, and nothing but released values reaches it."""

from __future__ import annotations

import numpy as np
import pytest
from report_support import HOSTILE, N_WORDS, assert_sound, comparison, fitted, report
from scipy.special import ndtr

from private_support import captured_releases, replaced_aggregates
from private_topics import BudgetSplit, make_lda_corpus
from private_topics.privacy.curves import mu_of_budget
from private_topics.privacy.strength import best_guess
from private_topics.reports.topics import printable


def test_a_model_without_a_proved_guarantee_is_never_mistaken(bad_models, tmp_path):
    for headline, model in bad_models.items():
        page = report(model, tmp_path)
        assert_sound(page)
        stamp = headline.split(":")[0]
        assert page.text.startswith(stamp), "the tab says it first"
        assert 'class="verdict alarm" role="alert"' in page.source
        assert f"<strong>{headline}</strong>" in page.source
        assert f'<div class="stamp" aria-hidden="true"><span>{stamp}</span></div>' in page.source
        assert "Nothing to sign." in page.text
        for promise in ("Signature", "Before you sign", "· proved", "right at most"):
            assert promise not in page.text
        assert "987654321" not in page.source, "the noise seed"


def test_a_private_model_carries_no_alarm(model, tmp_path):
    page = report(model, tmp_path)
    for alarm in ("NOT PRIVATE", "NOT PROVED", 'role="alert"', 'class="stamp"', "Nothing to sign"):
        assert alarm not in page.source


def test_no_name_changes_the_structure_of_the_page(model, corpus, tmp_path):
    """Elements and attributes of a page with hostile names are those of a page with harmless ones."""
    hostile = [HOSTILE[j % len(HOSTILE)] + str(j) for j in range(N_WORDS)]
    harmless = [f"word{j}" for j in range(N_WORDS)]

    def written(names, title, settings):
        options = {"feature_names": names, "title": title, "date": title, "tokeniser": settings}
        return report(model, tmp_path, truth=corpus[1], **options)

    page = written(hostile, HOSTILE[4], {HOSTILE[0]: HOSTILE[2], "b": (HOSTILE[1],)})
    assert page.shape == written(harmless, "title", {"a": "b", "b": ("c",)}).shape
    for words in model.top_words(hostile):
        assert all(printable(word) in page.text for word in words)
    assert HOSTILE[4] in page.text
    pair = comparison(model, model, tmp_path, feature_names=hostile, names=(HOSTILE[2], HOSTILE[3]), title=HOSTILE[4])
    calm = comparison(model, model, tmp_path, feature_names=harmless, names=("a", "b"), title="title")
    assert pair.shape == calm.shape


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain", "plain"),
        ("left\u202eright", "left\ufffdright"),
        ("a\x00b\nc", "a\ufffdb\ufffdc"),
        ("\ud800", "\ufffd"),
        ("", "(blank)"),
        ("  ", "(blank)"),
        ("x" * 50, "x" * 39 + "…"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        (7, "7"),
    ],
)
def test_names_that_would_disturb_the_page(name, shown):
    assert printable(name) == shown


def test_the_report_depends_on_released_values_alone(corpus, tmp_path):
    """Two corpora, the same released values: the same page, to the last byte."""
    settings = {"epsilon": 20.0, "noise_seed": 5}
    with captured_releases() as seen:
        fitted(corpus[0][:1_000], **settings)
    reference = {entering.query.name: entering.aggregate for entering, _ in seen}
    other = make_lda_corpus(1_000, N_WORDS, 2, mean_length=10, random_state=9)[0]
    pages = []
    for X in (corpus[0][:1_000], other):
        with replaced_aggregates(lambda query, aggregate: reference[query.name]):
            pages.append(report(fitted(X, **settings), tmp_path).source)
    assert pages[0] == pages[1]
    assert pages[0] != report(fitted(other, **settings), tmp_path).source


def test_objects_among_the_settings_show_their_type_only(corpus, tmp_path):
    class Secretive:
        def reserve(self, budget, **kind):
            pass

        def __repr__(self):
            return "a path nobody should read"

    split = BudgetSplit(unigram=0.1, refine=0.595)
    page = report(fitted(corpus[0][:300], ledger=Secretive(), budget_split=split), tmp_path)
    assert "nobody should read" not in page.source
    assert "<td>Secretive</td>" in page.source
    assert "unigram 0.1, histograms 0.015" in page.text


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_best_guess_bounds_what_a_guesser_reaches(epsilon):
    """Randomised response attains it at delta 0; a Gaussian mechanism of the same guarantee stays below."""
    response = np.exp(epsilon) / (1 + np.exp(epsilon))
    assert best_guess(epsilon, 0.0) == pytest.approx(response, rel=1e-12)
    for delta in (1e-9, 1e-3, 0.1):
        assert response < best_guess(epsilon, delta) <= response + delta
        assert 0.5 < ndtr(mu_of_budget(epsilon, delta) / 2) < best_guess(epsilon, delta)
    assert best_guess(1000.0, 0.5) == 1.0

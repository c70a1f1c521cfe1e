"""What a report says is what the model holds.

No test depends on the noise drawn: pages are held against the very model they were written from.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime
import hashlib
import html
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from report_support import DATE, HOSTILE, N_TOPICS, N_UNITS, N_WORDS, NAMES, ROOT, Page, assert_sound, fitted, report
from sklearn.exceptions import NotFittedError

import private_topics
from private_topics import (
    BudgetSplit,
    DurableLedger,
    InputError,
    PrivacyWarning,
    PrivateSpectralLDA,
    PrivateVariationalLDA,
    PublicKnowledge,
    SpectralLDA,
)
from private_topics.corpus.made_up.letters import make_letters
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.estimators.texts import WITH_VOCABULARY, PrivateVocabulary, fit_texts
from private_topics.evaluation import match_topics, topic_error_l1
from private_topics.fits.fit import Spectrum
from private_topics.privacy.budget import PrivacyBudget
from private_topics.releases.evidence import EVIDENCE_SHARE
from private_topics.reports import write_report
from private_topics.reports.sections import budget_of, forecast_of, graph_of
from private_topics.reports.topics import topics_of

SECTIONS = ["map", "topics", "compare", "truth", "privacy", "graph", "diagnostics", "settings", "sign-off"]


def test_the_page_is_sound_and_complete(model, corpus, tmp_path):
    file = tmp_path / "topics.model"
    model.save(file)
    page = report(model, tmp_path, title="Letters", truth=corpus[1], tokeniser=Tokeniser(), model_file=file)
    assert_sound(page)
    assert [found["id"] for found in page.all("section")] == SECTIONS
    statement = model.privacy_
    assert statement.text in page.text
    assert "(5, 1e-06)-differentially private · unit: one document · proved" in page.text
    assert all(fact in page.text for fact in [*statement.public, *statement.not_covered])
    for release in statement.releases:
        cells = [f"{release.coordinates:,}", f"{release.sensitivity:.4g}", f"{release.sigma:.4g}"]
        row = "".join(f'<td class="num">{cell}</td>' for cell in cells)
        assert f'<th scope="row">{release.name}</th>{row}' in page.source
        assert f"<code>{release.proof}.md</code>" in page.source
        assert (ROOT / "docs" / "proofs" / f"{release.proof}.md").exists()
    assert all(f"<code>{name}</code>" in page.source for name in model.get_params(deep=False))
    assert hashlib.sha256(file.read_bytes()).hexdigest() in page.text
    assert f"private-topics {private_topics.__version__}" in page.text
    for word in ("Letters", DATE, "min_length", "Before you sign", "Approved by"):
        assert word in page.text
    assert [page.source.count(f'<div class="line">{line}</div>') for line in ("Name", "Role", "Date")] == [2, 2, 2]


def test_topics_are_those_of_the_model(model, tmp_path):
    page = report(model, tmp_path)
    shares = model.doc_topic_prior_ / model.doc_topic_prior_.sum()
    cards = re.findall(r'<article class="card topic".*?</article>', page.source, re.DOTALL)
    indices = [int(re.search(r'id="topic-(\d+)"', card)[1]) for card in cards]
    assert indices == sorted(range(len(shares)), key=lambda i: -model.evidence_.deviations[i])
    for index, card in zip(indices, cards, strict=True):
        assert re.findall(r'<li><bdi title="[^"]*">([^<]*)</bdi>', card) == model.top_words(NAMES)[index]
        assert f"{shares[index]:.1%} of the text" in card
        widths = [float(width) for width in re.findall(r'class="value" width="([\d.]+)"', card)]
        weights = np.sort(model.components_[index])[::-1][:10] / model.components_.max()
        np.testing.assert_allclose(widths, 100 * np.concatenate([[shares[index]], weights]), atol=0.006)
        assert f'<a href="#topic-{index}"' in page.part('<svg class="map')


def test_anchors_point_to_their_topic(model):
    shares = model.doc_topic_prior_ / model.doc_topic_prior_.sum()
    for topic in topics_of(model, NAMES):
        assert topic.distinctive
        for word in topic.distinctive:
            column = model.components_[:, NAMES.index(word.name)] * shares
            assert column.argmax() == topic.index
            assert word.weight == pytest.approx(column.max() / column.sum())
            assert word.weight > 0.5


def test_the_budget_adds_up(model, tmp_path):
    page = report(model, tmp_path)
    parts = dict(re.findall(r"<span>(.*?)</span><b>([\d.]+)%</b>", page.part('<ul class="plain legend"')))
    shares = {name: float(share) for name, share in parts.items()}
    assert sum(shares.values()) == pytest.approx(100.0, abs=0.3)
    refined = shares["refinement of the topics"] + shares.get("pairs, all words", 0.0)
    assert refined == pytest.approx(100 * (BudgetSplit().refine - EVIDENCE_SHARE), abs=0.11)
    assert shares["evidence"] == pytest.approx(100 * EVIDENCE_SHARE, abs=0.06)
    assert shares["sizes of contributions"] == pytest.approx(100 * BudgetSplit().histograms, abs=0.06)
    bars = page.part('<svg class="stack"')
    assert all(f"{name} {share}%" in bars for name, share in parts.items())


def test_a_budget_that_is_not_spent_is_shown(corpus, tmp_path):
    model = fitted(corpus[0], refine_steps=0, budget_split=BudgetSplit())  # which keeps a share for the refinement
    spent = sum(release.share for release in model.privacy_.releases)
    assert spent < 0.5
    assert f"<span>not spent</span><b>{1 - spent:.1%}</b>" in report(model, tmp_path).source


def test_every_release_is_on_a_noisy_edge(model, tmp_path):
    page = report(model, tmp_path)
    assert 'class="graph"' in page.source
    rows = dict(re.findall(r'<tr><th scope="row">(e0|e6|s1)</th><td>.*?</td><td>(.*?)</td>', page.source))
    listed = [name for names in rows.values() for name in names.split(", ")]
    assert sorted([*listed, "evidence"]) == sorted(release.name for release in model.privacy_.releases)
    assert "After it, with noise of its own: evidence (7.0%)." in page.text


def test_truth_beside_estimate(model, corpus, tmp_path):
    section = report(model, tmp_path, truth=corpus[1]).part('<section id="truth"')
    match = match_topics(model.components_, corpus[1])
    assert [int(found) for found in re.findall(r"<td>topic (\d+)</td>", section)] == [i for i in match if i >= 0]
    assert f"{topic_error_l1(model.components_, corpus[1]):.3f}" in section
    first = re.findall(r'<th scope="row"><bdi>(\d+)</bdi></th>\n<td><bdi[^>]*>(.*?)</bdi>', section)
    assert first == [(str(i), NAMES[int(row.argmax())]) for i, row in enumerate(corpus[1])]
    called = ["first <one>", "second", "third", "fourth"]
    section = report(model, tmp_path, truth=corpus[1], truth_names=called).part('<section id="truth"')
    assert re.findall(r'<th scope="row"><bdi>(.*?)</bdi></th>', section) == ["first &lt;one&gt;", *called[1:]]
    with pytest.raises(InputError, match="truth_names"):
        report(model, tmp_path, truth=corpus[1], truth_names=called[:2])
    more = np.vstack([corpus[1], np.full((1, N_WORDS), 1 / N_WORDS)])
    assert "not found" in report(model, tmp_path, truth=more).text


def test_the_spectrum_is_that_of_the_released_second_moment(model, tmp_path):
    spectrum = model.spectrum_
    assert len(spectrum.eigenvalues) == N_TOPICS + 10
    assert list(spectrum.eigenvalues) == sorted(spectrum.eigenvalues, reverse=True)
    picture = report(model, tmp_path).part('<svg class="spectrum"')
    assert counted_in(picture) == [model.supported_components_] * 3
    assert picture.count('class="above"') == model.supported_components_
    assert picture.count('class="below"') == len(spectrum.eigenvalues) - model.supported_components_
    heights = [float(y) for y in re.findall(r'<circle [^>]*cy="([\d.]+)"', picture)]
    assert heights == sorted(heights)


def counted_in(picture):
    """Directions above the noise: as stated, by the numbers that are written, by where the dots are drawn."""
    stated, level, values = re.search(
        r"(\d+) of \d+ directions stand above ([^,]+), .*: (.*)\.</desc>", picture
    ).groups()
    line = float(re.search(r'<line class="edge"[^>]* y1="([\d.]+)"', picture)[1])
    heights = [float(y) for y in re.findall(r'<circle [^>]*cy="([\d.]+)"', picture)]
    told = [float(value) for value in values.split(", ")]
    assert [float(value) for value in re.findall(r"Direction \d+: ([^<]+)<", picture)] == told
    return [int(stated), sum(value > float(level) for value in told), sum(y < line for y in heights)]


@pytest.mark.parametrize("margin", [1.02, 1.049, 1.0499, 1.0501, 1.06])
def test_the_directions_that_are_stated_can_be_counted_in_the_page(margin, model, tmp_path):
    """Also where an eigenvalue lies between the edge of the noise and the level from which directions count."""
    edge, changed = 0.00978, copy.copy(model)
    changed.spectrum_ = Spectrum((0.9, 0.02, margin * edge, 1.01 * edge, 0.5 * edge), edge)
    picture = report(changed, tmp_path).part('<svg class="spectrum"')
    assert counted_in(picture)[:2] == [changed.spectrum_.above] * 2 == [2 + (margin > 1.05)] * 2
    if abs(margin - 1.05) > 0.005:  # else a dot lies on the line
        assert counted_in(picture)[2] == changed.spectrum_.above


@pytest.mark.parametrize("configuration", [1, 2, 3, 4])
def test_a_configuration_without_a_spectrum_says_so(configuration, corpus, tmp_path):
    published = {} if configuration < 3 else {"calibration": "published", "allow_unproved": True}
    other = fitted(corpus[0], configuration=configuration, epsilon=1e4, **published)
    page = report(other, tmp_path)
    assert_sound(page)
    assert other.spectrum_ is None
    assert "There is no picture for this model. Only the sequential configuration" in page.text
    assert 'class="spectrum"' not in page.source


def test_the_variational_model_has_no_spectrum_either(corpus, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        other = PrivateVariationalLDA(2, epsilon=5.0, delta=1e-5, steps=2).fit(corpus[0][:500])
    page = report(other, tmp_path)
    assert_sound(page)
    assert "it fits the topics to minibatches" in page.text


def test_a_private_vocabulary_is_counted_in_words_of_a_unit_and_stands_before_the_graph(tmp_path):
    texts = [letter.text for letter in make_letters(1_500, seed=2)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        private = PrivateSpectralLDA(3, epsilon=40.0, delta=1e-5, refine_steps=1, budget_split=WITH_VOCABULARY)
        fit_texts(private, texts, PrivateVocabulary())
    page = Page(write_report(private, tmp_path / "report.html", date=DATE).read_text(encoding="utf-8"))
    assert_sound(page)
    releases = private.privacy_.releases
    table = page.part('<table aria-describedby="releases-p"')
    assert '<th scope="row">vocabulary</th><td class="num">≤ 100 per unit</td>' in table
    assert f'<td class="num">{sum(release.coordinates for release in releases[1:]):,}</td>' in table
    assert "at most 100 words per document are counted" in page.text
    assert "Before the graph begins, with noise of their own: vocabulary (10.0%)." in page.text
    assert "Of the vocabulary no number is published" in page.text


def test_the_spectrum_survives_a_file(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = private_topics.load(tmp_path / "model")
    assert loaded.spectrum_ == model.spectrum_
    assert report(loaded, tmp_path).source == report(model, tmp_path).source


def test_the_forecast_is_that_of_plan(model, tmp_path):
    page = report(model, tmp_path)
    table = page.part('<table class="forecast"')
    assert len(re.findall(r'<td class="shade-\d now">', table)) == 1
    rows = re.findall(r'<tr><th scope="row">([\d.]+)</th>(.*?)</tr>', table)
    assert [float(row[0]) for row in rows] == [0.5, 1.5, 5.0, 15.0]

    def forecast(n_documents, epsilon):
        return private_topics.plan(n_documents, N_WORDS, N_TOPICS, epsilon=epsilon, delta=1e-6, alpha0=0.3)

    for epsilon, cells in rows:
        found = [int(cell) for cell in re.findall(r">(\d+)</td>", cells)]
        documents = (600, 1_800, 6_000, 18_000, 60_000)
        assert found == [forecast(n, float(epsilon)).expected_topics for n in documents]
    assert str(forecast(N_UNITS, 5.0)) in page.text


@pytest.fixture(scope="module")
def informed(corpus, tmp_path_factory):
    """A model with public knowledge, from its file."""
    known = PublicKnowledge.from_counts(corpus[0][3_000:])  # other documents about the same topics
    models = (
        fitted(corpus[0][:400], knowledge=known, epsilon=2.0) for _ in range(30)
    )  # noise may hide what is known
    used = (model for model in models if any(line.name == "features 1" for line in model.privacy_.releases))
    path = tmp_path_factory.mktemp("informed") / "model"
    next(used).save(path)
    return private_topics.load(path)


def test_with_public_knowledge_the_directions_told_are_those_drawn(informed, tmp_path):
    """They are directions around the mean, which tell one topic more apart; the mean is not drawn."""
    spectrum = informed.spectrum_
    above = informed.supported_components_ - 1
    page = report(informed, tmp_path)
    picture = page.part('<svg class="spectrum"')
    assert counted_in(picture)[:2] == [above] * 2
    assert picture.count('class="above"') == above
    assert f"{above} of {len(spectrum.eigenvalues)} directions stand above" in picture
    assert f"<dt>Directions above the noise</dt><dd>{above}</dd>" in page.source
    assert f"Documents differ visibly in {above or 'no'} direction" in page.text
    assert f"directions above the noise: {above}." in informed.privacy_.text


def test_a_model_with_public_knowledge_has_its_forecast(informed, tmp_path):
    """In a file no vectors are left. Vectors that were looked at and left alone promise nothing."""
    page = report(informed, tmp_path)
    assert_sound(page)
    numbers = {"epsilon": 2.0, "alpha0": 0.3}
    expected, without = (
        private_topics.plan(400, N_WORDS, N_TOPICS, **numbers, knowledge=knowledge) for knowledge in ("english", None)
    )
    assert expected.expected_topics > without.expected_topics
    assert str(expected) in page.text
    assert "for a fit with public knowledge and documents of" in page.text
    shown = re.search(r'<td class="shade-\d now">(\d+)</td>', page.part('<table class="forecast"'))
    assert int(shown[1]) == expected.expected_topics

    statement = informed.privacy_
    assert forecast_of(informed, statement).plan.knowledge == "english"
    norms = next(line for line in statement.releases if line.name == "public second norms")
    left_alone = dataclasses.replace(statement, releases=(norms, dataclasses.replace(norms, name="second norms")))
    assert forecast_of(informed, left_alone).plan == without


def test_a_ledger_is_listed(model, tmp_path):
    DurableLedger.register(tmp_path / "ledger", "letters", 8.0, 1e-4)
    ledger = DurableLedger(tmp_path / "ledger", "letters", label=HOSTILE[0])
    for epsilon in (1.0, 2.0, 0.5):
        ledger.reserve(PrivacyBudget(epsilon, 1e-6))
    page = report(model, tmp_path, ledger_entries=ledger.entries())
    assert_sound(page)
    section = page.part('<section id="ledger"')
    assert re.findall(r'<td class="num">([\d.]+)</td><td class="num">1e-06', section) == ["1", "2", "0.5"]
    assert '<td class="num">3.5</td><td class="num">3e-06</td>' in section
    assert section.count(html.escape(HOSTILE[0])) == 3
    assert str(tmp_path) not in page.source
    assert "No entry." in report(model, tmp_path, ledger_entries=()).text


def test_users_are_named_as_the_unit(corpus, tmp_path):
    page = report(fitted(corpus[0][:2_000], np.arange(2_000) // 2, epsilon=5.0), tmp_path)
    assert "unit: one user · proved" in page.text
    assert "1,000 users, 60 words" in page.text
    assert "needs users as units" not in page.text


def test_one_topic_needs_no_map(corpus, tmp_path):
    model = fitted(corpus[0][:300], epsilon=0.01)
    assert len(model.components_) == 1
    page = report(model, tmp_path)
    assert_sound(page)
    assert "1 of 4 topics." in page.text
    assert not page.all("section", "id", "map")


@pytest.mark.parametrize("configuration", [1, 2])
def test_the_papers_configurations_have_their_graph(configuration, corpus, tmp_path):
    page = report(fitted(corpus[0][:2_000], epsilon=5.0, configuration=configuration), tmp_path)
    assert_sound(page)
    assert f"Where the noise goes: configuration {configuration}, e" in page.text
    assert "(5, 1e-06)-differentially private" in page.text


def test_pure_epsilon_and_variational_models(corpus, tmp_path):
    page = report(fitted(corpus[0][:2_000, :12], epsilon=5.0, delta=0, configuration=1), tmp_path)
    assert_sound(page)
    assert "without exception" in page.text
    assert "(L1 norm)" in page.text
    assert not page.all("table", "class", "forecast")
    variational = PrivateVariationalLDA(3, steps=3, random_state=0).fit(corpus[0][:2_000])
    page = report(variational, tmp_path)
    assert_sound(page)
    assert variational.privacy_.text in page.text
    assert [part.name for part in budget_of(variational.privacy_).parts] == ["minibatches"]
    assert not page.all("section", "id", "graph")


@pytest.mark.parametrize("configuration", [1, 2, 3, 4])
def test_a_graph_names_releases_only_where_it_shows_them_all(corpus, configuration):
    model = fitted(corpus[0][:2_000, :12], epsilon=60.0, configuration=configuration)
    assert not graph_of(model.privacy_).known


def test_names_of_the_fit_are_used(corpus, tmp_path):
    columns = [f"column{j}" for j in range(N_WORDS)]
    model = SpectralLDA(2).fit(pd.DataFrame(corpus[0][:300].toarray(), columns=columns))
    page = Page(write_report(model, tmp_path / "r.html").read_text(encoding="utf-8"))
    assert model.top_words()[0][0] in page.text
    assert model.top_words()[0][0].startswith("column")


def test_dates(model, tmp_path):
    assert "7 June 2031" in report(model, tmp_path, date=datetime.date(2031, 6, 7)).text
    before = datetime.date.today()
    shown = report(model, tmp_path, date=None).text
    assert any(f"{day.day} {day:%B %Y}" in shown for day in (before, datetime.date.today()))
    with pytest.raises(InputError, match="'date'"):
        report(model, tmp_path, date=5)


def test_refusals_leave_no_file(model, corpus, tmp_path):
    with pytest.raises(NotFittedError):
        write_report(PrivateSpectralLDA(), tmp_path / "report.html")
    with pytest.raises(InputError, match="'feature_names'"):
        report(model, tmp_path, feature_names=NAMES[:-1])
    with pytest.raises(InputError, match="'tokeniser'"):
        report(model, tmp_path, tokeniser="lower")
    with pytest.raises(InputError, match="same number of words"):
        report(model, tmp_path, truth=corpus[1][:, :-1])
    with pytest.raises(FileNotFoundError):
        report(model, tmp_path, model_file=tmp_path / "absent")
    assert list(tmp_path.iterdir()) == []

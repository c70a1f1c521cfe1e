"""How far to trust a topic: a function of released values alone, free of charge, right where the answer is known."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import private_topics.audit.reliability as module
from private_topics import (
    BudgetLedger,
    InputError,
    PrivacyWarning,
    PrivateSpectralLDA,
    Progress,
    PublicKnowledge,
    SpectralLDA,
    load,
    make_lda_corpus,
    reliability,
    write_report,
)
from private_topics.audit.made_up import MEAN_LENGTH, drawn
from private_topics.audit.reliability import Reliability, came_again, first_words, topic_features, word_features
from private_topics.cli import app
from private_topics.knowledge.sources import open_knowledge
from private_topics.reports.reliability import directions_explained

DOCUMENTS, WORDS, TOPICS = 4_000, 40, 3
REFITS = 12
SETTINGS: dict[str, Any] = {"alpha0": 0.3, "refine_steps": 1, "n_jobs": 1}
ARRAYS = ("topics", "top_share", "low", "high")


def corpus() -> Any:
    return make_lda_corpus(DOCUMENTS, WORDS, TOPICS, alpha0=0.3, mean_length=40, random_state=0)[0]


@pytest.fixture(scope="module")
def ledger() -> BudgetLedger:
    return BudgetLedger(100.0, 1e-4)


@pytest.fixture(scope="module")
def model(ledger) -> PrivateSpectralLDA:
    """A clear one, whose fit was charged."""
    return PrivateSpectralLDA(TOPICS, epsilon=20.0, ledger=ledger, noise_seed=1, **SETTINGS).fit(corpus())


@pytest.fixture(scope="module")
def found(model) -> Reliability:
    return reliability(model, refits=REFITS)


def same(one: Reliability, other: Reliability) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ARRAYS)


@pytest.fixture(scope="module")
def two(model) -> Reliability:
    return reliability(model, refits=2)


def test_the_same_seed_gives_the_same_result(model, two):
    assert same(two, reliability(model, refits=2))
    assert not same(two, reliability(model, refits=2, random_state=1))


def test_what_a_file_holds_is_all_that_it_needs(model, two, tmp_path):
    """A look at the corpus, or at anything else than released values and public settings, would change the result."""
    model.save(tmp_path / "model")
    assert same(two, reliability(load(tmp_path / "model"), refits=2))


def test_nothing_is_charged_and_the_model_stays_as_it_is(model, ledger):
    before = ledger.spent, model._file_digest()
    reliability(model, refits=2)
    after = ledger.spent, model._file_digest()
    assert before == after


def test_refits_have_no_ledger_and_say_that_they_are_not_private(monkeypatch):
    model = PrivateSpectralLDA(TOPICS, epsilon=20.0, **SETTINGS).fit(corpus())
    assert model.privacy_.private
    seen = []
    fit = PrivateSpectralLDA.fit

    def watched(self: Any, *given: Any, **more: Any) -> Any:
        fitted = fit(self, *given, **more)
        seen.append((fitted.privacy_.private, fitted.ledger, fitted.privacy_.epsilon, fitted.privacy_.n_units))
        return fitted

    monkeypatch.setattr(PrivateSpectralLDA, "fit", watched)
    reliability(model, refits=2)
    assert seen == [(False, None, 20.0 * module.PART_OF_EPSILON, DOCUMENTS)] * 2


def test_clear_topics_are_reliable_and_hidden_ones_are_not(model, found):
    assert (found.low <= model.components_).all()
    assert (model.components_ <= found.high).all()
    assert all(found.is_reliable(topic) for topic in range(TOPICS))
    hidden = PrivateSpectralLDA(TOPICS, epsilon=0.3, noise_seed=0, **SETTINGS)
    with pytest.warns(PrivacyWarning):
        hidden.fit(corpus()[:400])
    trust = reliability(hidden, refits=2)
    assert not any(trust.is_reliable(topic) for topic in range(len(hidden.components_)))
    assert (trust.top_share[first_words(hidden.components_, 10)] >= 0.9).mean() < 0.5


def stated_with(model: PrivateSpectralLDA, refits: list[np.ndarray], **changed: Any) -> Reliability:
    """What would be said of a model if these were its refits."""
    other = copy.copy(model)
    vars(other).update(changed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "refitted", lambda *given: iter(refits))
        return reliability(other)


def test_a_rare_topic_is_stated_less_surely(model):
    """Noise makes rare topics, and drawn documents have them as surely as the others."""
    even, rare = (
        stated_with(model, [model.components_] * 3, doc_topic_prior_=np.array(prior))
        for prior in ([0.1, 0.1, 0.1], [0.15, 0.149, 0.001])
    )
    assert all(even.is_reliable(topic) for topic in range(TOPICS))
    assert rare.topics[2] < 0.9
    assert rare.topics[2] < even.topics[2]
    np.testing.assert_array_equal(rare.topics[:2], even.topics[:2])  # frequent ones earn nothing
    np.testing.assert_array_equal(rare.top_share[:2], even.top_share[:2])
    assert (rare.top_share[2] <= even.top_share[2]).all()


def informed(mean_length: float, documents: int = 3_000) -> PrivateSpectralLDA:
    """A model whose topics public vectors find: words that are near to ten of them."""
    words = open_knowledge("english").word_list.words[200:1_200]
    known = PublicKnowledge.english(words)
    vectors = known.vectors / np.linalg.norm(known.vectors, axis=1, keepdims=True)
    topics = np.exp(9.0 * vectors @ vectors[np.random.default_rng(0).choice(len(words), 10, replace=False)].T).T
    counts = drawn(topics / topics.sum(axis=1, keepdims=True), np.full(10, 0.1), documents, 1, mean_length)
    return PrivateSpectralLDA(10, epsilon=1.0, knowledge=known, noise_seed=0, n_jobs=1).fit(counts)


@pytest.mark.parametrize("mean_length", [20, 120])
def test_documents_are_drawn_as_long_as_the_released_clip_threshold_says(mean_length, monkeypatch):
    model, lengths = informed(mean_length), []
    assert module.finds_topics(model)

    def watched(topics, prior, documents, seed, length):
        lengths.append(length)
        return drawn(topics, prior, documents, seed, length)

    monkeypatch.setattr(module, "drawn", watched)
    reliability(model, refits=2)
    assert lengths[0] == MEAN_LENGTH
    assert len(set(lengths[1:])) == 1
    assert lengths[1] < 40 if mean_length < MEAN_LENGTH else lengths[1] > 60
    assert module.SHORTEST <= lengths[1] <= module.LONGEST


def test_without_public_vectors_nothing_is_said_of_the_length(model, monkeypatch):
    lengths = []
    monkeypatch.setattr(module, "drawn", lambda *given: lengths.append(given[-1]) or drawn(*given))
    reliability(model, refits=2)
    assert lengths == [MEAN_LENGTH] * 2


def test_what_refits_shake_is_stated_less_surely(model):
    steady = stated_with(model, [model.components_] * 12)
    random = np.random.default_rng(0)
    shaken = []
    for _ in range(12):
        moved = model.components_ * np.exp(random.normal(scale=1.5, size=model.components_.shape))
        shaken.append(moved / moved.sum(axis=1, keepdims=True))
    loose = stated_with(model, shaken)
    first = first_words(model.components_, 10)
    assert (loose.topics < steady.topics).all()
    assert loose.top_share[first].mean() < steady.top_share[first].mean() - 0.1
    assert (loose.low < steady.low).all()
    assert (loose.high >= steady.high).all()


def test_a_topic_that_refits_do_not_have_is_not_called(model):
    fewer = stated_with(model, [model.components_[:2]] * 12)
    assert [fewer.is_reliable(topic) for topic in range(TOPICS)] == [True, True, False]
    assert not (fewer.top_share[2] >= 0.9).any()


def test_the_margin_of_words():
    """Two first words of four: the first two stand above the end, by as much in logarithms as the others below it."""
    topics = np.array([[0.4, 0.3, 0.2, 0.1]])
    over_spread, margin = np.moveaxis(word_features([topics, topics], 2)[0], 1, 0)
    end = np.log([0.3, 0.2]).mean()
    np.testing.assert_allclose(margin, np.log(topics[0]) - end, rtol=1e-5)
    np.testing.assert_allclose(over_spread, np.clip(margin / 0.05, -8.0, 8.0), rtol=1e-5)
    moved = word_features([topics, topics[:, ::-1]], 2)[0]
    np.testing.assert_allclose(moved[0, 1], np.log(0.4 * 0.1) / 2 - end, rtol=1e-5)
    assert 0 < moved[0, 0] < 1 or moved[0, 0] < 0
    assert word_features([topics], 4).shape == (1, 4, 2), "all words are first ones: nothing stands beyond the end"


def test_of_a_topic_the_word_in_the_middle_counts(model):
    features = np.zeros((TOPICS, WORDS, 2))
    order = np.argsort(-model.components_, axis=1, kind="stable")
    for topic in range(TOPICS):
        features[topic, order[topic, :10], 0] = np.arange(10)
        features[topic, order[topic, 10:], 0] = 50.0  # no first words
    assert topic_features(features, model, 10)[:, 0].tolist() == [5.0] * TOPICS, "five at least as large come again"
    assert topic_features(features, model, 3)[:, 0].tolist() == [1.0] * TOPICS, "two of three"


def test_shares_are_of_the_first_words(model, found):
    first = first_words(model.components_, 10)
    assert found.top_share[first].mean() > 0.8
    assert found.top_share[~first].mean() < 0.2
    word = int(np.argmax(model.components_[0]))
    assert found.is_sure(0, word)
    assert found.low[0, word] < model.components_[0, word] * 0.9
    assert found.high[0, word] > model.components_[0, word] * 1.1


def test_many_units_are_fitted_as_fewer_with_less_noise(model, monkeypatch):
    monkeypatch.setattr("private_topics.audit.reliability.MOST_DOCUMENTS", 250)
    seen = []
    fit = PrivateSpectralLDA.fit

    def watched(self: Any, counts: Any) -> Any:
        seen.append((counts.shape[0], self.epsilon))
        return fit(self, counts)

    monkeypatch.setattr(PrivateSpectralLDA, "fit", watched)
    reliability(model, refits=2)
    assert [documents for documents, _ in seen] == [250] * 2
    assert all(epsilon > 30.0 for _, epsilon in seen)


def test_first_words_and_what_comes_again():
    topics = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4], [0.0, 0.0, 0.0, 0.0]])
    first = first_words(topics, 2)
    assert first.tolist() == [[True, True, False, False], [False, False, True, True], [False] * 4]
    other = np.array([[True, False, True, False], [True, True, False, False], [True, True, False, False]])
    assert came_again(other, first)[:2].tolist() == [True, False]


def test_progress_is_notified_of_each_refit(model):
    stages: list[str] = []

    class Noted(Progress):
        def stage(self, name: str) -> None:
            stages.append(name)

    reliability(model, refits=2, progress=Noted())
    assert stages == [f"refit {number} of 2, {DOCUMENTS:,} documents" for number in (1, 2)]


@pytest.mark.parametrize("given", [{"refits": 1}, {"n_words": 0}, {"random_state": -1}, {"refits": 2.5}])
def test_parameters_are_checked(model, given):
    (name,) = given
    with pytest.raises(InputError, match=f"The '{name}' parameter of reliability"):
        reliability(model, **given)


def test_models_without_noise_are_refused():
    with pytest.raises(InputError, match="noise of a private fit"):
        reliability(SpectralLDA(2))


def test_public_knowledge_that_is_not_at_hand_is_asked_for(tmp_path):
    counts = corpus()
    known = PublicKnowledge.from_counts(counts[:500])
    model = PrivateSpectralLDA(TOPICS, epsilon=20.0, knowledge=known, noise_seed=0, **SETTINGS).fit(counts)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    with pytest.raises(InputError, match="public knowledge that is not at hand"):
        reliability(loaded)
    with pytest.raises(InputError, match="another digest"):
        reliability(loaded, knowledge=PublicKnowledge.from_counts(counts[:400]))
    assert same(reliability(model, refits=2), reliability(loaded, refits=2, knowledge=known))


# -- shown -----------------------------------------------------------------------------------------------------------


def test_topics_shows_it(model, found, tmp_path):
    model.save(tmp_path / "model")
    run = CliRunner()
    done = run.invoke(app, ["topics", str(tmp_path / "model"), "--reliability", "--json", "-n", "5"])
    assert done.exit_code == 0, done.output
    topics = json.loads(done.stdout)
    expected = reliability(model, n_words=5)
    assert [topic["reliability"] for topic in topics] == expected.topics.tolist()
    assert [word["name"] for word in topics[0]["intervals"]] == topics[0]["words"]
    assert all(word["low"] <= word["high"] for topic in topics for word in topic["intervals"])
    text = run.invoke(app, ["topics", str(tmp_path / "model"), "--reliability"])
    assert f"\t{found.topics[0]:.0%}\t" in text.stdout
    assert "*" in text.stdout
    assert "costs no budget" in text.stderr


def test_the_report_shows_it(model, found, tmp_path):
    page = write_report(model, tmp_path / "with.html", reliability=found).read_text(encoding="utf-8")
    without = write_report(model, tmp_path / "without.html").read_text(encoding="utf-8")
    assert 'id="reliability"' in page
    assert f"{100 * found.topics[0]:.0f} %<br>reliable" in page
    assert re.search(r"</strong> <span class=.small soft.>[\d.]+–[\d.]+ %", page), "a word apart from its interval"
    assert 'id="reliability"' not in without
    assert "Documents differ visibly in" in without
    other = PrivateSpectralLDA(2, epsilon=20.0, noise_seed=1, **SETTINGS).fit(corpus())
    with pytest.raises(InputError, match="same model"):
        write_report(other, tmp_path / "other.html", reliability=found)


@pytest.mark.parametrize(
    ("asked", "used", "supported", "above", "said"),
    [
        (10, 10, 12, 12, "12 directions: enough"),
        (10, 10, 10, 9, "9 directions around their mean: enough"),
        (10, 10, 4, 3, "3 directions around their mean, fewer than there are topics: the others are told apart by"),
        (10, 10, 1, 0, "no direction around their mean, fewer than there are topics"),
        (10, 1, 7, 7, "suffices for 1 topic."),
        (10, 3, 3, 3, "one each"),
        (10, 1, 1, 1, "1 direction: too few for topics, so there is one"),
        (10, 1, 0, 0, "no direction: too few for topics, so there is one"),
    ],
)
def test_the_number_of_directions_is_explained(asked, used, supported, above, said):
    assert said in directions_explained(asked, used, supported, above)

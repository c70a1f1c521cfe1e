"""How far to trust a topic: a function of released values alone, free of charge, right where the answer is known."""

from __future__ import annotations

import copy
import json
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
from private_topics.audit.reliability import Reliability, came_again, first_words
from private_topics.cli import app
from private_topics.reports.reliability import directions_explained

DOCUMENTS, WORDS, TOPICS = 4_000, 40, 3
REFITS = 20
SETTINGS: dict[str, Any] = {"alpha0": 0.3, "refine_steps": 1, "n_jobs": 1}
ARRAYS = ("topics", "at_best", "top_share", "low", "high")


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


def test_refits_have_no_ledger_and_say_that_they_are_not_private(monkeypatch, tmp_path):
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
    assert seen == [(False, None, 20.0, DOCUMENTS // 4)] * 2 + [(False, None, 20.0, DOCUMENTS)]


def test_clear_topics_are_reliable_and_hidden_ones_are_not(model, found):
    shares = model.doc_topic_prior_ / model.doc_topic_prior_.sum()
    times = np.maximum(1.0, 1.0 / (TOPICS * shares))
    assert times.min() == 1.0 < times.max()
    np.testing.assert_allclose(found.topics, (REFITS / (REFITS + 1)) ** times)
    assert found.at_best.tolist() == [1.0] * TOPICS
    assert (found.low <= found.high).all()
    assert all(found.is_reliable(topic) for topic in range(TOPICS))
    hidden = PrivateSpectralLDA(TOPICS, epsilon=0.3, noise_seed=0, **SETTINGS)
    with pytest.warns(PrivacyWarning):
        hidden.fit(corpus()[:400])
    clear = first_words(np.asarray(hidden.components_), 10)
    assert not (reliability(hidden, refits=3).top_share[clear] >= 0.9).all()


def test_a_rare_topic_has_to_come_again_more_often(model):
    """Noise makes rare topics, and drawn documents have them as surely as the others."""
    rare = copy.copy(model)
    rare.doc_topic_prior_ = np.array([0.15, 0.149999, 1e-6])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_refits", lambda *given: iter([model.components_] * given[3]))
        always = reliability(rare, refits=20)
        patch.setattr(module, "_refits", lambda *given: iter([model.components_] * (given[3] - 1)))
        once_not = reliability(rare, refits=20)
    assert always.topics[0] == 20 / 21
    assert once_not.topics[0] == 19 / 21
    assert [always.is_reliable(topic) for topic in range(TOPICS)] == [True, True, False]
    assert 0.0 <= always.topics[2] < 1e-6
    assert always.at_best.tolist() == [1.0] * TOPICS
    first = first_words(model.components_, 10)
    assert (always.top_share[first] == 20 / 22).all(), "called: in every refit"
    assert (once_not.top_share[first] == 19 / 22).all(), "not called"


def test_shares_are_of_the_first_words(model, found):
    first = first_words(model.components_, 10)
    assert found.top_share.sum(axis=1) == pytest.approx(np.full(TOPICS, 10.0 * REFITS / (REFITS + 2)))
    assert found.top_share[first].mean() > 0.8
    word = int(np.argmax(model.components_[0]))
    assert found.is_sure(0, word)
    assert found.low[0, word] < model.components_[0, word] * 1.2
    assert found.high[0, word] > model.components_[0, word] * 0.8


def test_many_units_are_fitted_as_fewer_with_less_noise(model, monkeypatch):
    monkeypatch.setattr("private_topics.audit.reliability.MOST_DOCUMENTS", 250)
    seen = []
    fit = PrivateSpectralLDA.fit

    def watched(self: Any, counts: Any) -> Any:
        seen.append((counts.shape[0], self.epsilon))
        return fit(self, counts)

    monkeypatch.setattr(PrivateSpectralLDA, "fit", watched)
    reliability(model, refits=2)
    assert [documents for documents, _ in seen] == [250, 250, 250]
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
    some, all_ = (f"{DOCUMENTS // part:,} documents" for part in (4, 1))
    assert stages == [f"refit 1 of 2, {some}", f"refit 2 of 2, {some}", f"refit 1 of 1, {all_}"]


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


def test_topics_shows_it(model, monkeypatch, tmp_path):
    monkeypatch.setattr("private_topics.cli.topics_command.REFITS", 2)
    model.save(tmp_path / "model")
    run = CliRunner()
    done = run.invoke(app, ["topics", str(tmp_path / "model"), "--reliability", "--json", "-n", "5"])
    assert done.exit_code == 0, done.output
    topics = json.loads(done.stdout)
    expected = reliability(model, refits=2, n_words=5)
    assert [topic["reliability"] for topic in topics] == expected.topics.tolist()
    assert [word["name"] for word in topics[0]["intervals"]] == topics[0]["words"]
    assert all(word["low"] <= word["high"] for topic in topics for word in topic["intervals"])
    monkeypatch.setattr("private_topics.cli.topics_command.REFITS", REFITS)
    text = run.invoke(app, ["topics", str(tmp_path / "model"), "--reliability"])
    assert "95–100%" in text.stdout
    assert "*" in text.stdout
    assert "costs no budget" in text.stderr


def test_the_report_shows_it(model, found, tmp_path):
    page = write_report(model, tmp_path / "with.html", reliability=found).read_text(encoding="utf-8")
    without = write_report(model, tmp_path / "without.html").read_text(encoding="utf-8")
    assert 'id="reliability"' in page
    assert "95–100 %<br>reliable" in page
    assert 'id="reliability"' not in without
    assert "Documents differ visibly in" in without
    other = PrivateSpectralLDA(2, epsilon=20.0, noise_seed=1, **SETTINGS).fit(corpus())
    with pytest.raises(InputError, match="same model"):
        write_report(other, tmp_path / "other.html", reliability=found)


@pytest.mark.parametrize(
    ("asked", "used", "supported", "said"),
    [
        (10, 10, 12, "enough"),
        (10, 10, 4, "publicly known"),
        (10, 1, 7, "suffices for 1 topic."),
        (10, 3, 3, "one each"),
    ],
)
def test_the_number_of_directions_is_explained(asked, used, supported, said):
    assert said in directions_explained(asked, used, supported)

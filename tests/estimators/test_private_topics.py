"""`PrivateTopics`: what the command line's fit is, from a frame to a frame."""

from __future__ import annotations

import hashlib
import re
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import private_topics
from private_topics import (
    BudgetLedger,
    CandidateVocabulary,
    DurableLedger,
    InputError,
    LedgerError,
    PrivacyError,
    PrivacyWarning,
    PrivateSpectralLDA,
    PrivateTopics,
    PrivateVocabulary,
    Tokeniser,
    TopicWord,
    WordList,
    fit_texts,
    rename_topics,
    topics_of,
    write_report,
)
from private_topics.corpus.counts.counting import count_texts
from private_topics.corpus.counts.matrix import stack_rows
from private_topics.corpus.made_up.letters import make_letters
from private_topics.estimators import private_topics as module
from private_topics.estimators.notebook import view_of
from private_topics.estimators.saving import load_estimator, read_model, write_model
from private_topics.privacy.ledger import unledgered

pandas = pytest.importorskip("pandas")
LETTERS = list(make_letters(2_000, seed=2))
ROWS = [f"row {number}" for number in range(len(LETTERS))]
FRAME = pandas.DataFrame(
    {"note": [letter.text for letter in LETTERS], "who": [letter.patient for letter in LETTERS]}, index=ROWS
)
FRAME.loc["row 7", "note"] = None
FEW = ["hours", "kind", "nurse", "parking", "waited"]


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        yield


@pytest.fixture(scope="module")
def fitted() -> PrivateTopics:
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        return PrivateTopics(4, epsilon=8, delta=1e-5, refine_steps=2).fit(FRAME, text="note", unit="who")


def asked_for(monkeypatch: pytest.MonkeyPatch, data: Any = ("text",), **settings: Any) -> dict[str, Any]:
    """What a fit of these settings would hand to `fit_texts`."""
    seen: dict[str, Any] = {}

    def watched(model: Any, texts: Any, words: Any, tokeniser: Any, *, knowledge: Any, progress: Any) -> Any:
        seen.update(model=model, texts=texts, words=words, tokeniser=tokeniser, knowledge=knowledge)
        return model

    monkeypatch.setattr(module, "fit_texts", watched)
    PrivateTopics(**settings).fit(data)
    return seen


@pytest.mark.parametrize("kind", ["durable", "in memory", "of another kind", "none"])
def test_a_hopeless_fit_is_refused_before_it_is_charged(kind: str, tmp_path: Path) -> None:
    """Whatever keeps the account; with `anyway` it is charged once, and the model keeps the ledger that was given."""
    spent: list[Any] = []
    ledger = {
        "durable": DurableLedger.register(tmp_path / "budget.db", "letters", 3.0, 1e-4),
        "in memory": BudgetLedger(3.0, 1e-4),
        "of another kind": SimpleNamespace(reserve=lambda budget, **kind: spent.append((budget, *kind)) or "a row"),
        "none": None,
    }[kind]
    unledgered.UNLEDGERED.budgets.clear()

    def charged() -> int:
        return len(unledgered.UNLEDGERED.budgets if ledger is None else getattr(ledger, "spent", spent))

    model = PrivateTopics(4, delta=1e-5, vocabulary=FEW, knowledge=None, refine_steps=0, ledger=ledger)
    with pytest.raises(PrivacyError, match=r"Refused before anything was charged.*What helps.*anyway=True") as error:
        model.fit(FRAME["note"][:40])
    assert "--" not in str(error.value)
    assert charged() == 0
    assert not hasattr(model, "model_")
    assert model.fit(FRAME["note"][:40], anyway=True).model_.ledger is ledger
    assert charged() == 1
    assert model.set_params(n_topics=1).fit(FRAME["note"][:40]).model_.ledger is ledger
    assert charged() == 2
    assert all(set(kind).isdisjoint({"settings", "ids", "day", "unit", "neighbours"}) for _, *kind in spent)


def test_what_is_refused_does_not_depend_on_the_texts() -> None:
    """Forty texts of any kind are refused in the same words; where their number is private, nobody is."""
    said = set()
    for texts in (FRAME["note"][:40].tolist(), [""] * 40, ["nurse kind " * 1_000] * 40):
        with pytest.raises(PrivacyError, match="Refused") as error:
            PrivateTopics(4, delta=1e-5, vocabulary=FEW, knowledge=None).fit(texts)
        said.add(str(error.value))
    assert len(said) == 1
    private = PrivateTopics(4, delta=1e-5, vocabulary=FEW, knowledge=None, refine_steps=0, neighbours="add-remove")
    assert private.fit(FRAME["note"][:40].tolist()).components_.shape[1] == len(FEW)


def test_users_are_protected_and_a_missing_text_counts(fitted: PrivateTopics) -> None:
    statement = fitted.privacy_
    assert (statement.unit, statement.n_units) == ("user", FRAME["who"].nunique())
    assert statement.proved
    assert statement.private
    assert any("vectors" in line for line in statement.public)
    without = PrivateTopics(2, vocabulary=FEW, knowledge=None, refine_steps=0).fit(FRAME["note"])
    assert (without.privacy_.unit, without.privacy_.n_units) == ("document", len(FRAME))


def test_topics_have_labels_words_and_shares(fitted: PrivateTopics) -> None:
    topics = fitted.topics_
    assert [topic.number for topic in topics] == list(range(len(fitted.components_)))
    assert sum(topic.share for topic in topics) == pytest.approx(1.0)
    for topic, row in zip(topics, fitted.components_, strict=True):
        assert len(topic.words) == 10
        assert topic.words[0] == TopicWord(str(fitted.feature_names_in_[row.argmax()]), row.max())
        assert topic.reliability is None
        assert str(topic).startswith(topic.label)
        leading = {word.word for word in topics_of(fitted, 30)[topic.number].words}
        assert set(topic.label.split(", ")) <= leading


def test_a_label_holds_distinctive_words() -> None:
    """A word that every topic has is in no label, however probable; equal labels are told apart."""
    model = PrivateSpectralLDA(2)
    model.components_ = np.array([[0.4, 0.3, 0.2, 0.1, 0, 0, 0], [0.4, 0, 0, 0, 0.3, 0.2, 0.1]])
    model.doc_topic_prior_ = np.array([0.5, 0.5])
    model.feature_names_in_ = np.array(["said", "heart", "lung", "vein", "car", "road", "wheel"], dtype=object)
    assert [topic.label for topic in topics_of(model)] == ["heart, lung, vein", "car, road, wheel"]
    model.topic_labels_ = ["organs", "organs"]
    assert [topic.label for topic in topics_of(model)] == ["organs", "organs (2)"]


def test_a_report_shows_what_the_model_in_it_knows(fitted: PrivateTopics, tmp_path: Path) -> None:
    """Labels and edits are those of the model that it wraps, also where a file was edited."""
    assert not hasattr(fitted, "topic_labels_")
    rename_topics(fitted.model_, {0: "of the heart"}).save(tmp_path / "named.model")
    named = PrivateTopics.load(tmp_path / "named.model")
    assert named.topics_[0].label == named.topic_labels_[0] == "of the heart"
    assert named.edits_ == named.model_.edits_
    page = write_report(named, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Topic 0: of the heart" in page


def test_transform_keeps_the_index_and_names_the_topics(fitted: PrivateTopics) -> None:
    with pytest.warns(UserWarning, match=r"1 of 2,000 documents hold no word"):
        found = fitted.transform(FRAME)
    assert list(found.index) == ROWS
    assert list(found.columns) == [topic.label for topic in fitted.topics_] == list(fitted.get_feature_names_out())
    assert found.loc["row 7"].isna().all()
    known = found.drop(index="row 7")
    np.testing.assert_allclose(known.sum(axis=1), 1.0)
    texts = list(FRAME["note"].drop("row 7"))
    counts = stack_rows(list(count_texts(texts, list(fitted.feature_names_in_), fitted.tokeniser_)))
    np.testing.assert_allclose(known, fitted.model_.transform(counts), atol=1e-12)


@pytest.mark.parametrize("made", [list, tuple, np.array, lambda texts: [{"note": text} for text in texts]])
def test_transform_takes_what_fit_takes(fitted: PrivateTopics, made: Any) -> None:
    texts = ["the nurse was kind", "we waited for hours"]
    found = fitted.transform(made(texts))
    expected = fitted.transform(pandas.DataFrame({"other": texts}), text="other")
    pandas.testing.assert_frame_equal(found, expected)


def test_transform_refuses_one_string(fitted: PrivateTopics) -> None:
    with pytest.raises(InputError, match="Got one string") as caught:
        fitted.transform("Alice waited for hours")
    assert "Alice" not in str(caught.value)
    assert fitted.transform([]).shape == (0, len(fitted.components_))


def test_transform_needs_pandas(fitted: PrivateTopics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("private_topics.errors.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"private-topics\[frames\]"):
        fitted.transform(["a text"])


def test_saved_and_loaded(fitted: PrivateTopics, tmp_path: Path) -> None:
    fitted.save(tmp_path / "letters.model")
    loaded = PrivateTopics.load(tmp_path / "letters.model")
    assert (loaded.n_topics, loaded.epsilon) == (4, 8)
    assert loaded.topics_ == fitted.topics_
    assert loaded.privacy_ == fitted.privacy_
    texts = ["the nurse was kind"]
    pandas.testing.assert_frame_equal(loaded.transform(texts), fitted.transform(texts))
    other = load_estimator(tmp_path / "letters.model")  # the commands read the same file
    assert type(other) is PrivateSpectralLDA
    assert topics_of(other) == fitted.topics_
    write_report(loaded, tmp_path / "report.html")
    PrivateSpectralLDA(2, epsilon=9).fit(np.eye(8, 5, dtype=int)).save(tmp_path / "counts.model")
    with pytest.raises(InputError, match="fitted to counts"):
        PrivateTopics.load(tmp_path / "counts.model")


def test_load_gives_back_what_was_saved(fitted: PrivateTopics, tmp_path: Path) -> None:
    """Edits keep it what it is; files of the command `fit`, and of before, hold a model of counts as they did."""
    fitted.save(tmp_path / "letters.model")
    loaded = private_topics.load(tmp_path / "letters.model")
    assert type(loaded) is PrivateTopics
    assert loaded.topics_ == fitted.topics_
    assert loaded.get_params().keys() == fitted.get_params().keys()
    loaded.save(tmp_path / "again.model")
    assert (tmp_path / "again.model").read_bytes() == (tmp_path / "letters.model").read_bytes()
    named = private_topics.name_topics(
        private_topics.rename_topics(loaded, {0: "first"}), lambda words: f"about {words[0]}", relevance=1.0
    )
    assert type(named) is PrivateTopics
    named.save(tmp_path / "named.model")
    again = private_topics.load(tmp_path / "named.model")
    assert [topic.label for topic in again.topics_] == [f"about {topic.words[0].word}" for topic in fitted.topics_]
    assert again.edits_.released == hashlib.sha256((tmp_path / "letters.model").read_bytes()).hexdigest()
    assert not hasattr(fitted.model_, "topic_labels_")

    header, arrays = read_model(tmp_path / "letters.model")
    assert header.pop("interface") == "PrivateTopics"
    write_model(tmp_path / "before.model", {key: header[key] for key in header.keys() - {"sha256", "arrays"}}, arrays)
    before = private_topics.load(tmp_path / "before.model")
    assert type(before) is PrivateSpectralLDA
    assert PrivateTopics.load(tmp_path / "before.model").topics_ == before.topics_ == fitted.topics_


def test_class_shares_take_it(fitted: PrivateTopics) -> None:
    texts = [(text, f"u{number}") for number in range(300) for text in ("the nurse was kind", "the surgeon was late")]
    labels = ["north", "south"] * 300
    found = private_topics.class_shares(fitted, texts, ["north", "south"], labels=labels, delta=1e-4, noise_seed=1)
    assert found.shares.shape == (2, len(fitted.topics_))


def test_scikit_learn_conventions(fitted: PrivateTopics) -> None:
    ledger = BudgetLedger(4.0, 1e-4)
    settings = {"n_topics": 3, "extra_stop_words": ("patient",), "ledger": ledger, "vocabulary": ["heart", "lung"]}
    copy = clone(PrivateTopics(**settings))
    assert copy.ledger is ledger
    assert copy.get_params() | settings == copy.get_params()
    assert not hasattr(copy, "privacy_")
    assert not hasattr(clone(fitted), "components_")
    with pytest.raises(ValueError, match="not fitted"):
        copy.transform(["a"])


def test_the_usual_choices_are_those_of_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = asked_for(monkeypatch)
    assert isinstance(usual["words"], CandidateVocabulary)
    assert usual["words"].candidates.words == usual["knowledge"].word_list.words
    assert usual["tokeniser"] == Tokeniser()
    german = asked_for(monkeypatch, language="german", extra_stop_words=["patient"])
    assert isinstance(german["words"], PrivateVocabulary)
    assert german["knowledge"] is None
    assert german["tokeniser"] == Tokeniser(languages=("german",), stop_words=("patient",))
    assert asked_for(monkeypatch, language=None)["tokeniser"].languages == ()
    assert isinstance(asked_for(monkeypatch, knowledge=None)["words"], PrivateVocabulary)
    assert isinstance(asked_for(monkeypatch, vocabulary="private")["words"], PrivateVocabulary)
    assert asked_for(monkeypatch, vocabulary="private")["knowledge"] is not None


def test_public_lists(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("heart\nlung\n")
    listed = WordList("mine", ("heart", "lung"))
    for given in (tmp_path / "words.txt", str(tmp_path / "words.txt"), ["heart", "lung"], listed):
        found = asked_for(monkeypatch, vocabulary=given)
        assert found["words"].words == ("heart", "lung")
        assert found["knowledge"].name == "english"
    assert asked_for(monkeypatch, vocabulary=["wortlos", "zungenbrecher"])["knowledge"] is None  # not insisted on
    public = asked_for(monkeypatch, knowledge=["a public letter on the heart"] * 3, vocabulary=["heart"])
    assert public["knowledge"] is not None


def test_refused_before_anything_is_charged(tmp_path: Path) -> None:
    texts = [letter.text for letter in LETTERS[:50]]
    for problem, settings in {
        "would leak it": {"vocabulary": "corpus"},
        "'vocabulary' parameter of PrivateTopics": {"vocabulary": 7},
        "no public knowledge": {"knowledge": texts},
        "'extra_stop_words' parameter": {"extra_stop_words": "patient"},
        "'n_components' parameter": {"n_topics": 0},
        "'corpus' parameter of PrivateTopics goes with": {"corpus": "letters"},
    }.items():
        ledger = BudgetLedger(10.0, 1e-3)
        with pytest.raises((InputError, PrivacyError), match=problem):
            PrivateTopics(**{"ledger": ledger} | settings).fit(texts)
        assert ledger.spent == ()
    (tmp_path / "letters.txt").write_text("a letter\n")
    with pytest.raises(PrivacyError, match="no public knowledge"):
        PrivateTopics(knowledge=tmp_path / "letters.txt").fit(str(tmp_path / "letters.txt"))


def test_a_ledger_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "budget.db"
    DurableLedger.register(path, "letters", 9.0, 1e-4, unit="user")
    settings: dict[str, Any] = {"epsilon": 8, "delta": 1e-5, "refine_steps": 0, "ledger": path}
    settings |= {"vocabulary": FEW, "knowledge": None}
    with pytest.raises(InputError, match="'corpus' parameter of PrivateTopics must name"):
        PrivateTopics(3, **settings).fit(FRAME, text="note")
    with pytest.raises(PrivacyError, match="user"):
        PrivateTopics(3, corpus="letters", **settings).fit(FRAME, text="note")
    with pytest.raises(LedgerError):
        PrivateTopics(3, corpus="mails", **settings).fit(FRAME, text="note")
    model = PrivateTopics(3, corpus="letters", **settings).fit(FRAME, text="note", unit="who")
    (entry,) = DurableLedger(path, "letters").entries()
    model.save(tmp_path / "model")
    assert entry.digest == model.model_._file_digest()
    with pytest.raises(PrivacyError):
        model.fit(FRAME, text="note", unit="who")
    assert model.privacy_.epsilon == 8  # as it was


def test_the_fit_is_that_of_fit_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same noise, the same model: nothing is done to the data in between."""
    fixed = lambda *given, **more: PrivateSpectralLDA(*given, noise_seed=5, **more)  # noqa: E731
    words = WordList("a list of words that was given", tuple(FEW))
    pairs = list(zip(FRAME["note"].fillna(""), FRAME["who"], strict=True))
    expected = fit_texts(fixed(2, epsilon=8, delta=1e-5), pairs, words)
    monkeypatch.setattr(module, "PrivateSpectralLDA", fixed)
    settings: dict[str, Any] = {"epsilon": 8, "delta": 1e-5, "vocabulary": FEW, "knowledge": None}
    found = PrivateTopics(2, **settings).fit(FRAME, text="note", unit="who")
    np.testing.assert_array_equal(found.components_, expected.components_)
    assert found.privacy_ == expected.privacy_


def test_a_notebook_shows_guarantee_topics_and_statement(fitted: PrivateTopics) -> None:
    page = fitted._repr_html_()
    assert "(8, 1e-05)-differential privacy" in page
    assert "unit: user" in page
    assert "proved" in page
    assert fitted.topics_[0].label in page
    assert "This model satisfies" in page
    assert fitted._repr_mimebundle_()["text/html"] == page
    assert fitted.model_._repr_html_() == page
    unfitted = PrivateTopics()._repr_mimebundle_()
    assert "PrivateTopics" in unfitted["text/plain"]


def test_names_do_not_act_on_a_notebook(fitted: PrivateTopics) -> None:
    hostile = clone(fitted.model_)
    vars(hostile).update({name: value for name, value in vars(fitted.model_).items() if name.endswith("_")})
    names = list(fitted.feature_names_in_)
    names[int(fitted.components_[0].argmax())] = "<script>alert(1)</script>\u202e"
    hostile.feature_names_in_ = np.array(names, dtype=object)
    page = view_of(hostile)
    assert "&lt;script&gt;" in page
    assert "\u202e" not in page
    assert not re.search(r"<(script|img|link|iframe)|\bon\w+=|https?:", page)


def test_a_model_that_is_not_private_says_so() -> None:
    seeded = PrivateSpectralLDA(2, epsilon=9, noise_seed=1).fit(np.eye(8, 5, dtype=int))
    assert "NOT PRIVATE" in seeded._repr_html_()
    assert "differential privacy for" not in seeded._repr_html_()


def test_pandas_is_imported_by_transform_alone() -> None:
    assert "pandas" not in vars(module)
    assert "private_topics.estimators.private_topics" in sys.modules

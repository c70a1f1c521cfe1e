"""From texts to a fitted model: one run and one charge for vocabulary and topics, the same units in both."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from private_topics import (
    BudgetLedger,
    BudgetSplit,
    DurableLedger,
    InputError,
    ModelFileError,
    PrivacyError,
    PrivateSpectralLDA,
    SpectralLDA,
    load,
)
from private_topics.corpus.counts.counting import count_texts
from private_topics.corpus.made_up.letters import make_letters
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.corpus.words.vocabulary import WordList
from private_topics.estimators.private import settings_of
from private_topics.estimators.saving import read_model, write_model
from private_topics.estimators.texts import (
    WITH_VOCABULARY,
    CorpusVocabulary,
    PrivateVocabulary,
    fit_texts,
    make_vocabulary,
)
from private_topics.privacy.budget import PrivacyBudget
from private_topics.progress import Progress

STRANGERS = [f"word{first}{second}" for first in "abcdefgh" for second in "abcdefgh"]  # no two share a word
LETTERS = [(letter.text, letter.patient) for letter in make_letters(1_500, seed=2)]
TEXTS = [text for text, _ in LETTERS]


def private(epsilon: float = 40.0, **settings: Any) -> PrivateSpectralLDA:
    defaults = {"delta": 1e-5, "refine_steps": 1, "budget_split": WITH_VOCABULARY, "noise_seed": 3}
    return PrivateSpectralLDA(3, epsilon=epsilon, **{**defaults, **settings})


def test_one_run_and_one_charge_for_vocabulary_and_topics() -> None:
    ledger = BudgetLedger(50.0, 1e-3)
    model = fit_texts(private(ledger=ledger), TEXTS, PrivateVocabulary())
    statement = model.privacy_
    assert [release.name for release in statement.releases][:2] == ["vocabulary", "unigram"]
    assert statement.releases[0].share == pytest.approx(WITH_VOCABULARY.vocabulary)
    assert sum(release.share for release in statement.releases) == pytest.approx(1.0, abs=1e-6)
    assert statement.epsilon_spent == pytest.approx(40.0, rel=1e-4)
    assert statement.epsilon_spent <= 40.0
    assert ledger.spent == (PrivacyBudget(40.0, 1e-5),)
    assert (statement.unit, statement.n_units) == ("document", 1_500)
    assert not any("vocabulary" in fact for fact in statement.public)
    assert model.n_features_in_ == len(model.feature_names_in_) > 100
    assert model.tokeniser_ == Tokeniser()


def test_a_public_list_is_the_fit_on_its_counts_and_is_named() -> None:
    words = WordList("hospital words", ("queue", "nurse", "Parking", "the", "soup", "pain", "invoice", "home"))
    model = fit_texts(private(budget_split=None), TEXTS, words)
    used = ["queue", "nurse", "parking", "soup", "pain", "invoice", "home"]
    asked = replace(settings_of(private(budget_split=None)), of_texts=True).split_for(1.0, len(TEXTS), len(used), 0.0)
    expected = private(budget_split=asked).fit(count_texts(TEXTS, used))
    np.testing.assert_array_equal(model.components_, expected.components_)
    assert list(model.feature_names_in_) == used
    assert any(words.digest in fact and "7 are used" in fact for fact in model.privacy_.public)
    assert model.privacy_.releases == expected.privacy_.releases


def test_users_are_units_in_both_stages_and_empty_documents_count() -> None:
    silent = [("", "silent"), ("", "silent"), ("", "mute")]
    model = fit_texts(private(), [*LETTERS, *silent], PrivateVocabulary())
    assert model.privacy_.unit == "user"
    assert model.privacy_.n_units == len({label for _, label in LETTERS}) + 2
    once = fit_texts(private(), LETTERS, PrivateVocabulary(size=50))
    many_times = fit_texts(private(), [*LETTERS, *LETTERS], PrivateVocabulary(size=50))
    assert list(once.feature_names_in_) == list(many_times.feature_names_in_)  # a user counts once, however talkative


def test_the_size_of_a_vocabulary_and_the_tokeniser_are_kept() -> None:
    tokeniser = Tokeniser(stemmer="s", min_length=5)
    model = fit_texts(private(), TEXTS, PrivateVocabulary(size=40), tokeniser)
    assert model.n_features_in_ == 40
    assert min(map(len, model.feature_names_in_)) >= 5
    assert model.tokeniser_ == tokeniser


def test_the_model_file_remembers_how_text_becomes_words(tmp_path: Any) -> None:
    tokeniser = Tokeniser(languages=("english", "german"), stop_words=("hospital",))
    model = fit_texts(SpectralLDA(3), TEXTS, CorpusVocabulary(60), tokeniser)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.tokeniser_ == tokeniser
    assert list(again.feature_names_in_) == list(model.feature_names_in_)
    header, arrays = read_model(tmp_path / "model")
    for damaged in ({"version": 99}, "lower", {**header["tokeniser"], "case": "upper"}):
        kept = {key: value for key, value in header.items() if key not in ("sha256", "format", "version", "arrays")}
        write_model(tmp_path / "damaged", {**kept, "tokeniser": damaged}, arrays)
        with pytest.raises(ModelFileError, match="how text becomes words"):
            load(tmp_path / "damaged")
    model.fit(np.ones((5, 60), int) + np.eye(5, 60, dtype=int))
    assert not hasattr(model, "tokeniser_")


def test_without_privacy_the_most_common_words_are_taken() -> None:
    texts = ["apple apple pear", "apple plum", "pear apple fig", "plum fig apple pear quince"] * 5
    model = fit_texts(SpectralLDA(1), texts, CorpusVocabulary(size=3))
    assert list(model.feature_names_in_) == ["apple", "fig", "pear"]
    with pytest.raises(InputError, match="enough documents"):
        fit_texts(SpectralLDA(1), ["apple", "pear"], CorpusVocabulary())
    many = " ".join(f"word{''.join(ending)}" for ending in product("abcdefghijklmnopqr", repeat=3))
    assert fit_texts(SpectralLDA(1), [many, many], CorpusVocabulary()).n_features_in_ == 5_000


class Unspendable:
    def reserve(self, *arguments: Any, **kind: Any) -> None:
        raise AssertionError("charged")


@pytest.mark.parametrize(
    ("settings", "texts", "vocabulary", "error"),
    [
        ({}, TEXTS, CorpusVocabulary(), PrivacyError),
        ({"budget_split": BudgetSplit()}, TEXTS, PrivateVocabulary(), PrivacyError),
        ({"delta": 0, "configuration": 1, "budget_split": None}, TEXTS, PrivateVocabulary(), PrivacyError),
        ({"epsilon": -1.0}, TEXTS, PrivateVocabulary(), PrivacyError),
        ({}, iter(TEXTS), PrivateVocabulary(), InputError),
        ({}, TEXTS[:1], PrivateVocabulary(), InputError),
        ({}, [], PrivateVocabulary(), InputError),
        ({}, [("one", "u"), ("two", "u")], PrivateVocabulary(), InputError),
        ({}, [("one", "u"), ("two", None)], PrivateVocabulary(), InputError),
        ({}, ["one", ("two", "u")], PrivateVocabulary(), InputError),
        ({}, [3, 4], PrivateVocabulary(), InputError),
        ({}, TEXTS, PrivateVocabulary(size=0), InputError),
        ({}, TEXTS, PrivateVocabulary(most_words_per_unit=0), InputError),
        ({}, TEXTS, WordList("useless", ("the", "of")), InputError),
        ({}, TEXTS[:1], WordList("short", ("queue",)), InputError),
    ],
)
def test_refused_before_anything_is_charged(settings: Any, texts: Any, vocabulary: Any, error: Any) -> None:
    settings = {"epsilon": 1.0, **settings}
    with pytest.raises(error):
        fit_texts(private(ledger=Unspendable(), **settings), texts, vocabulary)


def test_an_unproved_calibration_takes_no_private_vocabulary() -> None:
    model = private(configuration=1, calibration="published", allow_unproved=True, budget_split=None)
    with pytest.raises(PrivacyError, match="proved"):
        fit_texts(model, TEXTS, PrivateVocabulary())


@pytest.mark.parametrize("labelled", [False, True])
def test_a_row_of_the_ledger_says_how_many_units_and_words(labelled: bool, tmp_path: Path) -> None:
    """Units, which are public, when the budget is reserved; words, which are released, at the end."""
    ledger = DurableLedger.register(tmp_path / "budget.db", "letters", 200.0, 1e-2)
    model = fit_texts(private(ledger=ledger), LETTERS if labelled else TEXTS, PrivateVocabulary())
    make_vocabulary(LETTERS if labelled else TEXTS, PrivacyBudget(10.0, 1e-5), PrivateVocabulary(30), ledger=ledger)
    strangers = [(text, f"S{number}") for number, text in enumerate(STRANGERS)] if labelled else STRANGERS
    with pytest.raises(PrivacyError, match="nothing to fit"):
        fit_texts(private(ledger=ledger), strangers, PrivateVocabulary())
    fitted, alone, failed = ledger.entries()
    n_units = len({label for _, label in LETTERS}) if labelled else 1_500
    assert fitted.settings["n_units"] == alone.settings["n_units"] == model.privacy_.n_units == n_units
    assert (fitted.results, alone.results) == ({"n_words": model.n_features_in_}, {"n_words": 30})
    assert fitted.settings["private"] is False  # of this test's noise, which has a seed
    assert (failed.settings["n_units"], failed.results, failed.state) == (64, {}, "reserved")


def test_other_models_are_refused() -> None:
    with pytest.raises(InputError, match="private model"):
        fit_texts(SpectralLDA(2), TEXTS, PrivateVocabulary())


def test_no_word_that_units_share_is_said_and_stays_charged() -> None:
    ledger = BudgetLedger(50.0, 1e-3)
    with pytest.raises(PrivacyError, match="stays charged"):
        fit_texts(private(ledger=ledger), STRANGERS, PrivateVocabulary())
    assert len(ledger.spent) == 1


def test_units_too_few_for_any_word_are_refused_before_anything_is_charged() -> None:
    """At (1, 1e-6) a tenth of the budget needs 114 units, the whole of it 37; documents of one user are one unit."""
    refusing, budget = Unspendable(), PrivacyBudget(1.0, 1e-6)
    model = private(1.0, delta=1e-6, ledger=refusing)
    talkative = [("the same words", f"user {number % 113}") for number in range(500)]
    for few in (["the same words"] * 113, talkative):
        with pytest.raises(InputError, match=r"at least 114 documents, or users, .* with 113 .* Nothing was charged"):
            fit_texts(model, few, PrivateVocabulary())
    with pytest.raises(InputError, match=r"at least 37 documents, or users, .* with 36 "):
        make_vocabulary(["word"] * 36, budget, PrivateVocabulary(), ledger=refusing)
    for enough in (lambda: fit_texts(model, ["word"] * 114, PrivateVocabulary()),
                   lambda: make_vocabulary(["word"] * 37, budget, PrivateVocabulary(), ledger=refusing)):  # fmt: skip
        with pytest.raises(AssertionError, match="charged"):
            enough()


class Growing:
    """A corpus that is longer at the second pass."""

    def __init__(self) -> None:
        self.passes = 0

    def __iter__(self) -> Any:
        self.passes += 1
        return iter(TEXTS + TEXTS[: self.passes - 1])


def test_a_corpus_that_changes_is_refused() -> None:
    with pytest.raises(InputError, match="changed between two passes"):
        fit_texts(private(), Growing(), PrivateVocabulary())


def test_a_vocabulary_alone_spends_its_own_budget() -> None:
    ledger = BudgetLedger(20.0, 1e-4)
    words, run = make_vocabulary(LETTERS, PrivacyBudget(10.0, 1e-5), PrivateVocabulary(size=30), ledger=ledger)
    assert len(words) == 30
    assert run.epsilon_spent == pytest.approx(10.0, rel=1e-4)
    assert ledger.spent == (PrivacyBudget(10.0, 1e-5),)


def test_progress_hears_of_passes_and_stages() -> None:
    class Listening(Progress):
        def __init__(self) -> None:
            self.heard: list[str] = []

        def documents(self, texts: Any, what: str) -> Any:
            self.heard.append(what)
            return texts

        def stage(self, name: str) -> None:
            self.heard.append(name)

    progress = Listening()
    model = private().set_params(verbose=progress)
    fit_texts(model, TEXTS, PrivateVocabulary(), progress=progress)
    assert progress.heard[:3] == ["reading words", "counting words", "unigram"]
    assert progress.heard[-1] == "refinement 1 of 1"
    json.dumps(model._plain_parameters())

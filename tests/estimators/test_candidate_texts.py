"""Texts with a vocabulary chosen among public candidates: one run, one charge, no other word read."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from private_topics import (
    WITH_VOCABULARY,
    BudgetLedger,
    BudgetSplit,
    CandidateVocabulary,
    DurableLedger,
    InputError,
    PrivacyBudget,
    PrivacyError,
    PrivacyWarning,
    PrivateSpectralLDA,
    SpectralLDA,
    Tokeniser,
    WordList,
    fit_texts,
    make_vocabulary,
)
from private_topics.corpus.made_up.letters import make_letters
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.releases.candidates import FEWEST_WORDS

LETTERS = [(letter.text, letter.patient) for letter in make_letters(1_500, seed=2)]
TEXTS = [text for text, _ in LETTERS]
PUBLIC = sorted({word for letter in make_letters(800, seed=9) for word in Tokeniser().words(letter.text)})
UNUSED = [f"unused{first}{second}{third}" for first in "abcdefghij" for second in "abcdefghij" for third in "abcdefg"]
LISTED = WordList("public words", tuple(PUBLIC + UNUSED))
WANTED = CandidateVocabulary(LISTED)


def private(epsilon: float = 40.0, **settings: Any) -> PrivateSpectralLDA:
    defaults = {"delta": 1e-5, "refine_steps": 1, "budget_split": WITH_VOCABULARY, "noise_seed": 3}
    return PrivateSpectralLDA(3, epsilon=epsilon, **{**defaults, **settings})


def entering(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The weights of the candidates before noise, of every run from now on."""
    seen: list[np.ndarray] = []
    release = PrivateRun.release

    def watched(run: PrivateRun, query: Any, aggregate: Any, share: float, **rest: Any) -> Any:
        if query.name == "candidate words":
            seen.append(np.array(aggregate))
        return release(run, query, aggregate, share, **rest)

    monkeypatch.setattr(PrivateRun, "release", watched)
    return seen


def test_one_run_and_one_charge_for_vocabulary_and_topics() -> None:
    ledger = BudgetLedger(50.0, 1e-3)
    model = fit_texts(private(ledger=ledger), TEXTS, WANTED)
    statement = model.privacy_
    first = statement.releases[0]
    assert [release.name for release in statement.releases][:2] == ["candidate words", "unigram"]
    assert first.share == pytest.approx(WITH_VOCABULARY.vocabulary)
    assert (first.coordinates, first.proof, first.kind) == (len(LISTED), "candidates", "GaussianEvent")
    assert first.numbers == f"{len(LISTED):,}"
    assert sum(release.share for release in statement.releases) == pytest.approx(1.0, abs=1e-6)
    assert statement.epsilon_spent == pytest.approx(40.0, rel=1e-4)
    assert statement.epsilon_spent <= 40.0
    assert ledger.spent == (PrivacyBudget(40.0, 1e-5),)
    assert (statement.unit, statement.n_units) == ("document", 1_500)
    assert set(model.feature_names_in_) <= set(PUBLIC + UNUSED)
    assert list(model.feature_names_in_) == sorted(model.feature_names_in_)
    assert len(model.feature_names_in_) > 100
    assert len(set(model.feature_names_in_) & set(UNUSED)) <= 6
    assert model.tokeniser_ == Tokeniser()


def test_the_statement_names_the_candidates() -> None:
    statement = fit_texts(private(), TEXTS, WANTED).privacy_
    (fact,) = [fact for fact in statement.public if "candidates" in fact]
    assert fact == (
        f"the candidates for the vocabulary, the public word list 'public words' ({len(LISTED):,} words, SHA-256 "
        f"{LISTED.digest})"
    )
    assert "candidate words" in statement.table()
    seedless = fit_texts(private(noise_seed=None), TEXTS, WANTED).privacy_
    assert fact in seedless.text
    assert "released with noise: candidate words, unigram" in seedless.text


def test_a_row_of_the_ledger_names_the_list_and_reserves_no_threshold(tmp_path: Path) -> None:
    ledger = DurableLedger.register(tmp_path / "budget.db", "letters", 200.0, 1e-2)
    model = fit_texts(private(ledger=ledger), LETTERS, CandidateVocabulary(LISTED, 50, 30))
    words, run = make_vocabulary(LETTERS, PrivacyBudget(10.0, 1e-5), CandidateVocabulary(LISTED, 30), ledger=ledger)
    assert len(words) == 30
    assert run.epsilon_spent == pytest.approx(10.0, rel=1e-4)
    fitted, alone = ledger.entries()
    n_units = len({label for _, label in LETTERS})
    noted = {"vocabulary": "candidates", "candidates": "public words", "sha256": LISTED.digest}
    assert noted.items() <= fitted.settings.items()
    assert noted.items() <= alone.settings.items()
    assert (fitted.settings["vocabulary_size"], fitted.settings["most_words_per_unit"]) == (50, 30)
    assert fitted.settings["n_units"] == alone.settings["n_units"] == model.privacy_.n_units == n_units
    assert (fitted.results, alone.results) == ({"n_words": 50}, {"n_words": 30})
    assert fitted.reservation.threshold_delta == alone.reservation.threshold_delta == 0.0
    assert (fitted.state, alone.state) == ("finished", "finished")


def test_users_are_units_however_many_documents_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = entering(monkeypatch)
    silent = [("", "silent"), ("", "silent"), ("of other words alone", "mute")]
    model = fit_texts(private(), [*LETTERS, *silent], WANTED)
    assert model.privacy_.unit == "user"
    assert model.privacy_.n_units == len({label for _, label in LETTERS}) + 2
    fit_texts(private(), [*LETTERS, *LETTERS[::-1]], WANTED)
    assert np.array_equal(*seen)


@pytest.mark.parametrize("labelled", [False, True])
def test_words_that_are_not_candidates_change_nothing(labelled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of users too, whose words are cut to the limit: those cut are candidates."""
    seen = entering(monkeypatch)
    wanted = CandidateVocabulary(LISTED, 60, 8)
    strange = [(f"{text} {'strange' * (n % 5)} odd{'abc'[n % 3]}", label) for n, (text, label) in enumerate(LETTERS)]
    models = [
        fit_texts(private(), texts if labelled else [text for text, _ in texts], wanted)
        for texts in (LETTERS, strange)
    ]
    assert np.array_equal(*seen)
    assert seen[0].sum() > 0
    assert np.array_equal(models[0].components_, models[1].components_)
    assert list(models[0].feature_names_in_) == list(models[1].feature_names_in_)
    assert models[0].privacy_ == models[1].privacy_


def test_the_order_of_documents_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = entering(monkeypatch)
    for texts, jobs in ((TEXTS, 1), (TEXTS[::-1], 2)):
        fit_texts(private(n_jobs=jobs), texts, WANTED)
    assert np.array_equal(*seen)


def test_a_corpus_without_common_words_gives_a_poor_vocabulary_and_no_error() -> None:
    strangers = [f"word{first}{second}" for first in "abcdefgh" for second in "abcdefgh"]
    ledger = BudgetLedger(50.0, 1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        model = fit_texts(private(1.0, ledger=ledger), strangers, WANTED)
    assert set(PUBLIC[: FEWEST_WORDS // 2]) <= set(model.feature_names_in_)
    assert np.isfinite(model.components_).all()
    assert len(ledger.spent) == 1


def test_the_size_and_the_tokeniser_are_kept() -> None:
    tokeniser = Tokeniser(stemmer="s", min_length=5)
    model = fit_texts(private(), TEXTS, CandidateVocabulary(LISTED, 40), tokeniser)
    assert model.n_features_in_ == 40
    assert min(map(len, model.feature_names_in_)) >= 5
    assert model.privacy_.releases[0].coordinates == len(tokeniser.usable(LISTED.words)) < len(LISTED)


class Unspendable:
    def reserve(self, *arguments: Any, **kind: Any) -> None:
        raise AssertionError("charged")


class Unreadable:
    def __iter__(self) -> Any:
        raise AssertionError("read")


@pytest.mark.parametrize(
    ("settings", "texts", "vocabulary", "error"),
    [
        ({"budget_split": BudgetSplit()}, Unreadable(), WANTED, PrivacyError),
        ({"budget_split": BudgetSplit()}, TEXTS, WANTED, PrivacyError),
        ({"delta": 0, "configuration": 1, "budget_split": None}, TEXTS, WANTED, PrivacyError),
        ({}, iter(TEXTS), WANTED, InputError),
        ({}, TEXTS[:1], WANTED, InputError),
        ({}, [], WANTED, InputError),
        ({}, [("one", "u"), ("two", "u")], WANTED, InputError),
        ({}, [("one", "u"), ("two", None)], WANTED, InputError),
        ({}, ["one", ("two", "u")], WANTED, InputError),
        ({}, TEXTS, CandidateVocabulary(LISTED, 0), InputError),
        ({}, TEXTS, CandidateVocabulary(LISTED, 10, 0), InputError),
        ({}, TEXTS, CandidateVocabulary(WordList("useless", ("the", "of"))), InputError),
    ],
)
def test_refused_before_anything_is_charged(settings: Any, texts: Any, vocabulary: Any, error: Any) -> None:
    with pytest.raises(error):
        fit_texts(private(1.0, ledger=Unspendable(), **settings), texts, vocabulary)


def test_candidates_are_a_word_list_and_need_a_private_model() -> None:
    with pytest.raises(InputError, match="must be a WordList"):
        CandidateVocabulary(["queue", "nurse"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="private model"):
        fit_texts(SpectralLDA(2), TEXTS, WANTED)

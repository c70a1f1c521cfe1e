"""The first question of a run on texts: does anybody have words? A run that stops there is charged that alone."""

from __future__ import annotations

import json
import math
import sqlite3
import warnings
from typing import Any

import numpy as np
import pytest

from private_support import captured_releases, corpus_of_units, replaced_aggregates
from private_topics import (
    BudgetLedger,
    CandidateVocabulary,
    DurableLedger,
    NoWordsError,
    PrivacyWarning,
    PrivateSpectralLDA,
    PrivateVocabulary,
    WordList,
    fit_texts,
)
from private_topics.privacy.curves import mu_of_budget
from private_topics.privacy.ledger.in_memory import Ledger
from private_topics.privacy.neighbours import NEIGHBOURS
from private_topics.releases.units_with_words import TEXTS_SHARE, UNITS_WITH_WORDS
from private_topics.sums.scores import WithWords

WORDS = [f"term{letter}{letter}" for letter in "abcdefghijklmnopqrst"]
LIST = WordList("a list", tuple(WORDS))
VOCABULARIES = {
    "list": LIST,
    "candidates": CandidateVocabulary(LIST),
    "private": PrivateVocabulary(most_words_per_unit=10),
}
N, STEP = 1_500, 2.0**-20


def texts(empty: bool, count: int = N) -> list[str]:
    draw = np.random.default_rng(0)
    return ["" if empty else " ".join(draw.choice(WORDS, 8)) for _ in range(count)]


def fitted(corpus: Any, vocabulary: str, ledger: Any = None, **settings: Any) -> PrivateSpectralLDA:
    model = PrivateSpectralLDA(2, epsilon=1.0, delta=1e-6, ledger=ledger, **settings)
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        return fit_texts(model, corpus, VOCABULARIES[vocabulary])


def ledgers(tmp_path: Any) -> list[Ledger]:
    return [BudgetLedger(1.0, 1e-6), DurableLedger.register(tmp_path / "ledger.db", "letters", 1.0, 1e-6)]


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_texts_without_words_stop_the_fit_there(vocabulary: str, neighbours: Any, tmp_path: Any) -> None:
    for ledger in ledgers(tmp_path) if neighbours == "replace" else [BudgetLedger(1.0, 1e-6, neighbours=neighbours)]:
        with captured_releases() as seen, pytest.raises(NoWordsError, match="is the text field right") as stopped:
            fitted(texts(empty=True), vocabulary, ledger, neighbours=neighbours, noise_seed=1)
        assert seen[-1][1].name == UNITS_WITH_WORDS.name
        assert len(seen) == (2 if neighbours == "add-remove" else 1)
        spent = len(seen) * TEXTS_SHARE
        (reserved,) = ledger._books()[1]
        assert spent <= reserved.spent <= spent * (1.0 + 1e-6)
        assert ledger.epsilon_spent < 0.2
        assert f"epsilon {ledger.epsilon_spent:.2g} spent of the 1 asked for" in str(stopped.value)


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_texts_with_words_go_on(vocabulary: str) -> None:
    model = fitted(texts(empty=False), vocabulary, noise_seed=1)
    first, *_ = model.privacy_.releases
    assert first.name == UNITS_WITH_WORDS.name
    assert first.share == pytest.approx(TEXTS_SHARE)
    assert math.fsum(line.share for line in model.privacy_.releases) <= 1.0 + 1e-9


def test_what_is_left_after_a_stop_can_be_spent_and_no_more(tmp_path: Any) -> None:
    for ledger in ledgers(tmp_path):
        with pytest.raises(NoWordsError):
            fitted(texts(empty=True), "list", ledger)
        left = ledger.remaining()
        assert 0.99 < left < 1.0
        model = PrivateSpectralLDA(2, epsilon=left, delta=1e-6, ledger=ledger)
        with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
            fit_texts(model, texts(empty=False), LIST)
        assert ledger.remaining() < 0.01
        assert ledger.epsilon_spent <= 1.0
        with pytest.raises(ValueError, match="exceed the corpus's total"):
            fitted(texts(empty=False), "list", ledger)


def test_the_released_number_decides() -> None:
    """A corpus full of words is stopped where the released number says that there are none."""
    for empty in (True, False):
        for vocabulary in VOCABULARIES:
            with replaced_aggregates(lambda query, found: 0 * found), pytest.raises(NoWordsError):
                fitted(texts(empty), vocabulary, noise_seed=1)


def test_so_few_units_that_the_number_tells_nothing_are_never_stopped() -> None:
    """Below six deviations of the noise an empty corpus passes the question: its fit finds no topic, and says so."""
    sigma = 1.0 / (mu_of_budget(1.0, 1e-6) * math.sqrt(TEXTS_SHARE))
    few = int(6.0 * sigma) - 1  # STANDS_OUT over FEW
    assert few < 260
    model = fitted(texts(empty=True, count=few), "list", noise_seed=1)
    assert model.privacy_.releases[0].name == UNITS_WITH_WORDS.name
    assert len(model.components_) == 1
    with pytest.raises(NoWordsError):
        fitted(texts(empty=True, count=few + 2), "list", noise_seed=1)


def test_counts_are_not_asked() -> None:
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        model = PrivateSpectralLDA(2, noise_seed=1).fit(np.ones((50, 5), int))
    assert UNITS_WITH_WORDS.name not in [line.name for line in model.privacy_.releases]


def test_no_unit_counts_for_more_than_one() -> None:
    def total(unit: tuple[dict[int, int], ...]) -> float:
        corpus = corpus_of_units([({0: 1},), unit], 3)
        return float(corpus.total(WithWords(STEP))[0][0]) * STEP

    units: list[tuple[dict[int, int], ...]] = [({},), ({0: 1},), ({1: 2**31 - 1},), ({0: 1}, {}, {}), ({0: 1},) * 7]
    totals = [total(unit) for unit in units]
    assert max(totals) - min(totals) <= 1.0
    assert max(totals) - min(totals) > 0.99


def test_a_changed_fraction_makes_the_ledger_unreadable(tmp_path: Any) -> None:
    ledger = DurableLedger.register(tmp_path / "ledger.db", "letters", 1.0, 1e-6)
    with pytest.raises(NoWordsError):
        fitted(texts(empty=True), "list", ledger)
    assert ledger.entries()[0].state == "given up"
    with sqlite3.connect(ledger.path) as connection:
        (noted,) = connection.execute("SELECT results FROM reservation").fetchone()
        forged = json.loads(noted) | {"spent": 0.001}
        connection.execute("UPDATE reservation SET results = ?", (json.dumps(forged).ljust(256),))
    with pytest.raises(ValueError, match="damaged"):
        ledger.entries()

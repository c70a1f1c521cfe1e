"""Fits without a ledger: the second one of a process warns, once, with what all have spent."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from private_topics import (
    BudgetLedger,
    PrivacyBudget,
    PrivacyWarning,
    PrivateSpectralLDA,
    PrivateVariationalLDA,
    PrivateVocabulary,
    make_vocabulary,
)
from private_topics.privacy.ledger import unledgered
from private_topics.privacy.ledger.unledgered import Tally

COUNTS = np.random.default_rng(0).integers(0, 3, (60, 8))
SAID = "had no ledger"


@pytest.fixture(autouse=True)
def tally(monkeypatch: pytest.MonkeyPatch) -> Tally:
    fresh = Tally()
    monkeypatch.setattr(unledgered, "UNLEDGERED", fresh)
    return fresh


def said_by(action: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [
        str(one.message) for one in caught if issubclass(one.category, PrivacyWarning) and SAID in str(one.message)
    ]


def private(**settings: Any) -> PrivateSpectralLDA:
    return PrivateSpectralLDA(2, **{"epsilon": 2.0, "delta": 1e-4, "refine_steps": 0} | settings)


def test_the_second_fit_warns_and_no_other() -> None:
    assert said_by(lambda: private().fit(COUNTS)) == []
    (message,) = said_by(lambda: private(epsilon=3.0).fit(COUNTS))
    assert "2 private fits" in message
    assert "epsilon 5 and delta 0.0002" in message
    assert said_by(lambda: private().fit(COUNTS)) == []


def test_a_grid_search_warns_once() -> None:
    search = GridSearchCV(private(), {"n_components": [2, 3]}, cv=2)
    assert len(said_by(lambda: search.fit(COUNTS))) == 1


@pytest.mark.parametrize("settings", [{"noise_seed": 1}, {"ledger": BudgetLedger(99.0, 1e-2)}])
def test_what_a_ledger_sees_or_is_not_private_is_not_counted(tally: Tally, settings: dict[str, Any]) -> None:
    assert said_by(lambda: [private(**settings).fit(COUNTS) for _ in range(3)]) == []
    assert tally.budgets == []


def test_what_is_not_proved_is_not_counted(tally: Tally) -> None:
    published = {"configuration": 1, "calibration": "published", "allow_unproved": True}
    said_by(lambda: private(**published).fit(COUNTS))
    assert tally.budgets == []


def test_a_refused_fit_spends_nothing(tally: Tally) -> None:
    with pytest.raises(ValueError, match="integer"):
        private().fit(COUNTS + 0.5)
    assert tally.budgets == []


def test_every_private_run_is_counted(tally: Tally) -> None:
    pytest.importorskip("dp_accounting")
    budget = PrivacyBudget(2.0, 1e-4)
    said_by(lambda: PrivateVariationalLDA(2, epsilon=2.0, delta=1e-4, steps=2).fit(COUNTS))
    said_by(lambda: make_vocabulary(["heart and lung"] * 400, budget, PrivateVocabulary()))
    assert tally.budgets == [budget, budget]

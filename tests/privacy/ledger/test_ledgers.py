"""What every ledger promises: what it admits and refuses, what is left, who shares it, what fits leave in it.

One suite for all ledgers. A new one adds a line to `LEDGERS`.
"""

from __future__ import annotations

import copy
import math
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ledger_support import SMALL, places_in
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from private_topics import PrivateSpectralLDA, PrivateVariationalLDA, make_lda_corpus
from private_topics.errors import PrivacyError
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.curves import gdp_epsilon, mu_of_budget
from private_topics.privacy.ledger.durable import DurableLedger
from private_topics.privacy.ledger.in_memory import BudgetLedger
from private_topics.privacy.randomness import NoiseStream

pytestmark = pytest.mark.filterwarnings("ignore::private_topics.errors.PrivacyWarning")

Opened = Callable[..., Any]
LEDGERS = {
    "in memory": lambda path: BudgetLedger,
    "in a file": lambda path: lambda *total, **settings: DurableLedger.register(path, "notes", *total, **settings),
}
KINDS: list[dict[str, Any]] = [{}, {"exact": True}, {"guarantee": "approximate"}, {"guarantee": "pure"},
                               {"threshold_delta": 1e-8}]  # fmt: skip


@pytest.fixture(params=LEDGERS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """`opened(epsilon, delta, set_aside=...)`: a ledger with this total."""
    return LEDGERS[request.param](tmp_path / "budget.db")


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_all_keep_the_same_books(tmp_path: Path, kind: dict[str, Any]) -> None:
    ledgers = [opened(tmp_path / "budget.db")(2.0, 1e-5) for opened in LEDGERS.values()]
    (before,) = {ledger.remaining(1e-6, **kind) for ledger in ledgers}
    assert before > 0
    for epsilon in (0.3, 0.6, 0.9, 0.5, 2.1, 0.2):
        outcomes = set()
        for ledger in ledgers:
            try:
                ledger.reserve(PrivacyBudget(epsilon, 1e-6), **kind)
                outcomes.add("reserved")
            except PrivacyError as error:
                outcomes.add(str(error))
        (outcome,) = outcomes
        assert outcome == "reserved" or "total budget" in outcome
    ((spent,), (epsilon_spent,), (remaining,)) = (
        {ledger.spent for ledger in ledgers},
        {ledger.epsilon_spent for ledger in ledgers},
        {ledger.remaining(1e-6, **kind) for ledger in ledgers},
    )
    assert 0 < len(spent) < 6
    assert epsilon_spent <= 2.0
    assert remaining < before


@pytest.mark.parametrize("kind", KINDS[:4], ids=str)
def test_what_remains_is_what_fits(opened: Opened, kind: dict[str, Any]) -> None:
    ledger = opened(2.0, 1e-5, set_aside=0.2)
    ledger.reserve(PrivacyBudget(0.5, 1e-7))
    left = ledger.remaining(1e-7, **kind)
    with pytest.raises(PrivacyError):
        ledger.reserve(PrivacyBudget(left * (1 + 1e-5), 1e-7), **kind)
    ledger.reserve(PrivacyBudget(left, 1e-7), **kind)
    assert ledger.epsilon_spent <= 2.0
    assert ledger.remaining(1e-7, **kind) < 0.01 * left


@pytest.mark.parametrize("kind", [*KINDS[:3], {"threshold_delta": 1e-7}], ids=str)
def test_one_fit_may_take_the_whole_total(opened: Opened, kind: dict[str, Any]) -> None:
    ledger = opened(1.0, 1e-6)
    assert ledger.remaining(**kind) >= 1.0
    ledger.reserve(PrivacyBudget(1.0, 1e-6), **kind)
    assert ledger.epsilon_spent <= 1.0
    assert ledger.remaining() == 0.0
    with pytest.raises(PrivacyError, match="total budget"):
        ledger.reserve(PrivacyBudget(0.001, 1e-9))


def test_many_gaussian_fits_get_what_the_accountant_gives(opened: Opened) -> None:
    """Sixteen fits cost four times the mu of one; all but two per cent of delta is theirs."""
    ledger = opened(3.0, 1e-6)
    one = gdp_epsilon(mu_of_budget(3.0, 1e-6 * 0.98) / 4.0, 1e-7)
    for _ in range(16):
        ledger.reserve(PrivacyBudget(one * (1 - 1e-6), 1e-7))
    assert ledger.epsilon_spent == pytest.approx(3.0, rel=2e-3)
    with pytest.raises(PrivacyError, match="total budget"):
        ledger.reserve(PrivacyBudget(one / 4, 1e-7))


def test_the_advice_of_a_refusal_is_true(opened: Opened) -> None:
    """It sends the reader to what is left and says that the total stays; a fit of what is left is then admitted."""
    ledger = opened(1.0, 1e-6)
    ledger.reserve(PrivacyBudget(0.8, 1e-7))
    with pytest.raises(PrivacyError) as error:
        ledger.reserve(PrivacyBudget(0.8, 1e-7))
    message = str(error.value)
    assert "smaller epsilon or delta" in message
    assert "remaining()" in message
    assert "fixed" in message
    assert "larger" not in message
    ledger.reserve(PrivacyBudget(ledger.remaining(delta=1e-7), 1e-7))


@pytest.mark.parametrize("bad", [{"guarantee": "perfect"}, {"threshold_delta": 1e-9}, {"threshold_delta": -1e-12},
                                 {"threshold_delta": math.nan}])  # fmt: skip
def test_senseless_reservations_are_refused(opened: Opened, bad: dict[str, Any]) -> None:
    ledger = opened(1.0, 1e-6)
    with pytest.raises(PrivacyError):
        ledger.reserve(SMALL, **bad)
    assert ledger.spent == ()


@pytest.mark.parametrize("set_aside", [-0.1, 1.0, math.nan, True, "half"])
def test_a_senseless_set_aside_is_refused(opened: Opened, tmp_path: Path, set_aside: Any) -> None:
    with pytest.raises(PrivacyError, match="set_aside"):
        opened(1.0, 1e-6, set_aside=set_aside)
    assert list(tmp_path.iterdir()) == []


def test_threads_share_one_ledger(opened: Opened) -> None:
    ledger, budget, rows, refusals = opened(3.0, 1e-6), PrivacyBudget(1.0, 1e-7), [], []

    def reserve() -> None:
        try:
            rows.append(ledger.reserve(budget))
        except PrivacyError as error:
            refusals.append(error)

    threads = [threading.Thread(target=reserve) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rows) + len(refusals) == 20
    assert len(rows) == len(ledger.spent) == places_in(3.0, 1e-6, budget)
    if hasattr(ledger, "entries"):
        assert sorted(rows) == [entry.id for entry in ledger.entries()]
    assert ledger.epsilon_spent <= 3.0
    with pytest.raises(PrivacyError):
        ledger.reserve(budget)


# -- with estimators -------------------------------------------------------------------------------------------------

X = make_lda_corpus(300, 30, 2, random_state=0)[0]
ESTIMATORS = [PrivateSpectralLDA(2), PrivateVariationalLDA(2, steps=4, sampling_rate=0.3)]
every_private_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=["spectral", "variational"])


@every_private_estimator
def test_copies_are_the_same_purse(opened: Opened, estimator: Any) -> None:
    ledger = opened(3.0, 1e-5)
    assert copy.copy(ledger) is copy.deepcopy(ledger) is ledger
    charged = clone(estimator).set_params(epsilon=0.5, ledger=ledger)
    assert clone(charged).ledger is ledger
    GridSearchCV(charged, {"n_components": [2, 3]}, cv=2, refit=True).fit(X)
    assert len(ledger.spent) == 5


@every_private_estimator
def test_a_fit_pays_and_is_refused_before_noise(
    opened: Opened, estimator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = opened(3.0, 1e-6)
    charged = clone(estimator).set_params(epsilon=2.5, ledger=ledger)
    charged.fit(X)
    assert ledger.spent == (PrivacyBudget(2.5, 1e-6),)
    assert ledger.epsilon_spent == pytest.approx(2.5, rel=1e-3)
    drawn, before = [], ledger.epsilon_spent
    monkeypatch.setattr(NoiseStream, "rounded_gaussian", lambda *arguments: drawn.append(arguments))
    with pytest.raises(PrivacyError, match="total budget"):
        charged.fit(X)
    assert drawn == []
    assert (len(ledger.spent), ledger.epsilon_spent) == (1, before)


@every_private_estimator
def test_a_fit_that_fails_half_way_keeps_its_reservation(
    opened: Opened, estimator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has released a value by then: nothing may be given back, and a row must not say that it finished."""
    honest, drawn = NoiseStream.rounded_gaussian, []

    def failing(*arguments: Any) -> Any:
        if drawn:
            raise RuntimeError("half-way")
        drawn.append(arguments)
        return honest(*arguments)

    monkeypatch.setattr(NoiseStream, "rounded_gaussian", failing)
    ledger = opened(1.2, 1e-6)
    charged = clone(estimator).set_params(ledger=ledger)
    with pytest.raises(RuntimeError, match="half-way"):
        charged.fit(X)
    assert [entry.state for entry in getattr(ledger, "entries", tuple)()] in ([], ["reserved"])
    assert ledger.spent == (PrivacyBudget(1.0, 1e-6),)
    assert ledger.epsilon_spent == pytest.approx(1.0, rel=1e-3)
    with pytest.raises(PrivacyError, match="total"):
        charged.fit(X)

"""What every ledger promises: what it admits and refuses, what is left, who shares it, what fits leave in it.

One suite for all ledgers. A new one adds a line to `LEDGERS`.
"""

from __future__ import annotations

import ast
import copy
import math
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ledger_support import SMALL, places_in
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from hang_support import FOREVER, HANG
from private_topics import PrivateSpectralLDA, PrivateVariationalLDA, make_lda_corpus
from private_topics.errors import PrivacyError
from private_topics.planning.refusal import PlannedLedger
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.curves import gdp_epsilon, mu_of_budget
from private_topics.privacy.ledger import file as ledger_file
from private_topics.privacy.ledger import reservations
from private_topics.privacy.ledger.durable import DurableLedger
from private_topics.privacy.ledger.in_memory import BudgetLedger
from private_topics.privacy.randomness import NoiseStream

pytestmark = pytest.mark.filterwarnings("ignore::private_topics.errors.PrivacyWarning")

Opened = Callable[..., Any]
LEDGERS = {
    "in memory": lambda path: BudgetLedger,
    "in a file": lambda path: lambda *total, **settings: DurableLedger.register(path, "notes", *total, **settings),
    "planned": lambda path: lambda *total, **settings: PlannedLedger(BudgetLedger(*total, **settings)),
}
KINDS: list[dict[str, Any]] = [{}, {"exact": True}, {"guarantee": "approximate"}, {"guarantee": "pure"},
                               {"threshold_delta": 1e-8}]  # fmt: skip


@pytest.fixture(params=LEDGERS)
def opened(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opened:
    """`opened(epsilon, delta, set_aside=...)`: a ledger with this total. Who waits for its file does not give up."""
    monkeypatch.setattr(ledger_file, "WAIT_SECONDS", FOREVER)
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

    threads = [threading.Thread(target=reserve, daemon=True) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG)
    assert len(rows) + len(refusals) == 20
    assert len(rows) == len(ledger.spent) == places_in(3.0, 1e-6, budget)
    if hasattr(ledger, "entries"):
        assert sorted(rows) == [entry.id for entry in ledger.entries()]
    assert ledger.epsilon_spent <= 3.0
    with pytest.raises(PrivacyError):
        ledger.reserve(budget)


# -- races -----------------------------------------------------------------------------------------------------------

NEARLY_ALL = PrivacyBudget(0.9, 1e-7)
LOOKS = 200
"""A rival that nothing holds up ends long before so many looks; one that is slower fails nothing."""


def asked(ledger: Any) -> str:
    try:
        ledger.reserve(NEARLY_ALL)
    except PrivacyError as error:
        return (
            "refused" if "total budget" in str(error) or "in the process that made it" in str(error) else str(error)
        )
    return "reserved"


class RivalThread:
    """A thread that asks a ledger as soon as it is let go."""

    def __init__(self, ledger: Any) -> None:
        self._thread = threading.Thread(target=lambda: setattr(self, "answer", asked(ledger)), daemon=True)
        self.let_go, self.finish = self._thread.start, lambda: self._thread.join(HANG)

    def ended(self) -> bool:
        return not self._thread.is_alive()


class RivalProcess:
    """A forked process that does the same. It is made before the ledger is in use: a copied lock would be held."""

    def __init__(self, ledger: Any) -> None:
        start, self._start = os.pipe()
        self._answer, end = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            os.close(self._start)
            os.read(start, 1)  # returns when the parent closes its end
            os.write(end, asked(ledger).encode())
            os._exit(0)
        os.close(start)
        os.close(end)

    def let_go(self) -> None:
        os.close(self._start)

    def ended(self) -> bool:
        if self._process and os.waitpid(self._process, os.WNOHANG)[0]:
            self._process = 0
        return not self._process

    def finish(self) -> None:
        with open(self._answer, "rb") as pipe:
            self.answer = pipe.read().decode()
        if self._process:
            os.waitpid(self._process, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "rival",
    [
        RivalThread,
        pytest.param(
            RivalProcess,
            marks=[
                pytest.mark.process,
                pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
                pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),  # of threads that only wait
            ],
        ),
    ],
)
def test_nobody_comes_between_a_verdict_and_its_row(
    opened: Opened, rival: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rival asks at the very moment when the first fit is admitted and not yet noted. One of the two fits in."""
    ledger = opened(1.0, 1e-6)
    honest, second = reservations._composed_delta, rival(ledger)

    def interrupted(*arguments: Any) -> float:
        verdict = honest(*arguments)
        monkeypatch.setattr(reservations, "_composed_delta", honest)
        second.let_go()
        for _ in range(LOOKS):
            if second.ended():
                break
            time.sleep(0.01)
        return verdict

    monkeypatch.setattr(reservations, "_composed_delta", interrupted)
    first = asked(ledger)
    assert reservations._composed_delta is honest, "the first fit was not interrupted"
    second.finish()
    assert (first, second.answer) == ("reserved", "refused")
    assert ledger.spent == (NEARLY_ALL,)


def test_every_class_that_reserves_is_a_ledger_of_this_suite(tmp_path: Path) -> None:
    library = Path(reservations.__file__).parents[2]
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in library.rglob("*.py"))
    found = {
        node.name
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and any(getattr(part, "name", "") == "reserve" for part in node.body)
    }
    listed = {type(made(tmp_path / "budget.db")(1.0, 1e-6)).__name__ for made in LEDGERS.values()}
    assert found - {"FitAccount"} == listed  # an account is one fit's, and asks the ledger that it was given


# -- with estimators -------------------------------------------------------------------------------------------------

X = make_lda_corpus(6_000, 12, 2, random_state=0)[0]  # as many as the plan wants
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

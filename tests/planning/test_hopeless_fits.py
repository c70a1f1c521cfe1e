"""What the plan calls hopeless is refused before it is charged, from public numbers alone."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from private_topics import BudgetLedger, PrivacyBudget, PrivacyError, PrivateSpectralLDA
from private_topics.planning.plan import plan
from private_topics.planning.refusal import PlannedLedger, hopeless
from private_topics.privacy.ledger.durable import DurableLedger
from private_topics.privacy.shares import NoiseShares

USUAL = PrivacyBudget(1.0, 1e-6)
KINDS = {
    "a private vocabulary": {"vocabulary": "private"},
    "candidates": {"vocabulary": "candidates", "vocabulary_size": 3_000},
    "candidates and knowledge": {"vocabulary": "candidates", "knowledge": "english"},
    "a list": {"n_words": 3_000},
    "a list and knowledge": {"n_words": 3_000, "knowledge": "english"},
}


def settings(kind: str, n_units: int | None, n_components: int = 10) -> dict[str, Any]:
    units = {} if n_units is None else {"n_units": n_units}
    return {**KINDS[kind], **units, "n_components": n_components, "alpha0": 1.0, "refine_steps": 4}


@pytest.mark.parametrize("kind", KINDS)
def test_few_units_are_hopeless_and_many_are_not(kind: str) -> None:
    found = hopeless(USUAL, settings(kind, 50))
    assert found is not None
    assert "What helps" in found
    assert hopeless(USUAL, settings(kind, 100_000)) is None
    assert hopeless(PrivacyBudget(20.0, 1e-6), settings(kind, 2_000)) is None


@pytest.mark.parametrize("kind", KINDS)
def test_refused_is_what_stays_hopeless_with_twice_the_units(kind: str) -> None:
    """The forecast is right to a factor of two: what it barely refuses would be refused with twice as many."""
    tried = sorted({int(50 * 1.05**step) for step in range(130)})
    refused = [hopeless(USUAL, settings(kind, n)) is not None for n in tried]
    last = tried[refused.index(False) - 1]
    assert not any(refused[refused.index(False) :])
    if "n_words" in KINDS[kind]:
        known = "english" if "knowledge" in KINDS[kind] else None
        assert plan(2 * last, 3_000, 10, knowledge=known).expected_topics == 1
        assert plan(int(2.2 * last), 3_000, 10, knowledge=known).expected_topics > 1


def test_one_topic_that_was_asked_for_is_not_hopeless() -> None:
    assert hopeless(USUAL, settings("a list", 50, n_components=1)) is None
    assert "Hardly any word" in (hopeless(USUAL, settings("a private vocabulary", 50, n_components=1)) or "")


def test_a_private_number_of_units_decides_nothing() -> None:
    """Only a public bound on it may: with so few units at most, the fit is hopeless whatever their number is."""
    for kind in KINDS:
        assert hopeless(USUAL, settings(kind, None), neighbours="add-remove") is None
        assert hopeless(USUAL, settings(kind, None), neighbours="add-remove", most_units=20) is not None
    told = hopeless(USUAL, settings("a list", None), neighbours="add-remove", most_units=20)
    assert "at most 20 documents" in (told or "")


def counts(n_units: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 3, size=(n_units, 40))


def test_nothing_is_charged_by_a_refusal(tmp_path: Any) -> None:
    durable = DurableLedger.register(tmp_path / "budget.db", "notes", 3.0, 1e-5)
    model = PrivateSpectralLDA(5, ledger=PlannedLedger(durable))
    with pytest.raises(PrivacyError, match="Refused before anything was charged"):
        model.fit(counts(60))
    assert durable.entries() == ()
    assert not hasattr(model, "components_")
    PrivateSpectralLDA(1, ledger=PlannedLedger(durable)).fit(counts(60))
    entry = durable.entries()[0]
    assert (entry.state, entry.settings["n_units"]) == ("finished", 60)
    assert PlannedLedger(durable).remaining() == durable.remaining()


@pytest.mark.parametrize("neighbours", ["replace", "zero-out", "add-remove"])
def test_what_the_texts_say_does_not_decide(neighbours: str) -> None:
    """Whatever 60 units say, and under add-remove however many they are, the answer is the same."""
    said = set()
    corpora = [counts(60), np.zeros((60, 40), int), counts(60) * 1_000]
    corpora += [counts(3), counts(7_000)] if neighbours == "add-remove" else []
    for X in corpora:
        ledger = PlannedLedger(None, most_units=80 if neighbours == "add-remove" else None)
        try:
            PrivateSpectralLDA(5, neighbours=neighbours, most_units=None, ledger=ledger).fit(X)
            said.add("fitted")
        except PrivacyError as error:
            said.add(str(error))
    assert len(said) == 1
    assert "Refused" in said.pop()


def test_the_relation_of_the_ledger_is_checked_at_the_beginning(tmp_path: Any) -> None:
    durable = DurableLedger.register(tmp_path / "budget.db", "notes", 3.0, 1e-5)
    with pytest.raises(PrivacyError, match="neighbours"):
        PrivateSpectralLDA(1, neighbours="zero-out", ledger=PlannedLedger(durable)).fit(counts(60))
    memory = PlannedLedger(BudgetLedger(3.0, 1e-5))
    assert memory.total.epsilon == 3.0


def test_noise_in_shares_makes_more_fits_hopeless() -> None:
    """What one site would be let through with is refused where twenty draw the noise and one of them is honest."""
    kind, shares = "a list", NoiseShares(20, 1)
    let_through = next(n for n in range(500, 40_000, 250) if hopeless(USUAL, settings(kind, n)) is None)
    assert hopeless(USUAL, settings(kind, let_through), shares=shares) is not None
    assert hopeless(USUAL, settings(kind, 1_000_000), shares=shares) is None
    charged = settings(kind, let_through)
    PlannedLedger(BudgetLedger(3.0, 1e-5)).reserve(USUAL, settings=charged)
    with pytest.raises(PrivacyError, match="Refused before anything was charged"):
        PlannedLedger(BudgetLedger(3.0, 1e-5), shares=shares).reserve(USUAL, settings=charged)


@pytest.mark.parametrize(
    "ledger", [None, SimpleNamespace(reserve=lambda budget, **kind: None)], ids=["none", "other"]
)
@pytest.mark.parametrize("ask", [lambda one: one.total, lambda one: one.remaining(), lambda one: one.unit])
def test_without_books_it_says_that_there_are_none(ledger: Any, ask: Any) -> None:
    planned = PlannedLedger(ledger)
    planned.require("user", "zero-out")  # nothing to compare with
    with pytest.raises(PrivacyError, match="No ledger that keeps a total was given"):
        ask(planned)

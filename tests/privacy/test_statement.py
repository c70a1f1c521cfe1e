"""The statement's table: what the column of numbers means, also for a vocabulary."""

from __future__ import annotations

from typing import Any

import pytest

from private_topics.errors import PrivacyError
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.mechanisms import PrivateRun, Query
from private_topics.privacy.neighbours import NEIGHBOURS
from private_topics.privacy.set_union import SENSITIVITY
from private_topics.privacy.statement import PrivacyStatement, statement_of

BUDGET = PrivacyBudget(1.0, 1e-6)


def statement(sampler: str = "fast", *, words: bool = True) -> PrivacyStatement:
    run = PrivateRun(BUDGET, sampler=sampler, threshold_delta=1e-7)
    if words:
        query = Query("vocabulary", "vector", SENSITIVITY, 2.0**-10, "vocabulary")
        run.release_words(query, {"pain": 900}, 0.5, threshold_delta=1e-7, most_words=1_000)
    run.release(Query("unigram", "vector", 1.0, 2.0**-10, "unigram"), [1, 2, 3], 0.5)
    return statement_of(run, grouped=True, n_units=9, configuration="sequential", public=(), components="")


def test_a_vocabulary_is_counted_by_the_words_of_a_unit() -> None:
    for sampler in ("fast", "exact"):
        found = statement(sampler)
        vocabulary, unigram = found.releases
        assert (vocabulary.names_words, vocabulary.numbers) == (True, "≤ 1,000 per unit")
        assert (unigram.names_words, unigram.numbers) == (False, "3")
        lines = found.table().splitlines()
        assert lines[0].split() == ["release", "numbers", "sensitivity", "sigma", "share"]
        assert "≤ 1,000 per unit" in lines[1]
        assert {len(line) for line in lines[:4]} == {len(lines[0])}
        assert lines[-1].startswith("per unit: ")
        assert PrivacyStatement.from_dict(found.to_dict()) == found


def test_without_a_vocabulary_there_is_no_footnote() -> None:
    assert "per unit" not in statement(words=False).table()


def test_a_statement_has_the_relation_of_its_run() -> None:
    for relation in NEIGHBOURS:
        run = PrivateRun(BUDGET, neighbours=relation)
        run.release(Query("unigram", "vector", 1.0, 2.0**-10, "unigram"), [1, 2, 3], 0.5)
        found = statement_of(run, grouped=False, n_units=9, configuration="sequential", public=(), components="")
        assert found.relation == relation


def test_an_incomplete_statement_is_refused_and_so_are_unknown_entries() -> None:
    whole = statement().to_dict()
    for name in set(whole) - {"relation"}:
        with pytest.raises(PrivacyError, match="incomplete or has unknown entries"):
            PrivacyStatement.from_dict({key: value for key, value in whole.items() if key != name})
    for other in ({**whole, "more": 1}, [*whole], None):
        with pytest.raises(PrivacyError, match="incomplete or has unknown entries"):
            PrivacyStatement.from_dict(other)  # type: ignore[arg-type]


@pytest.mark.parametrize("field", ["n_units", "coordinates"])
def test_a_number_of_things_is_one_that_a_float_holds_with_its_neighbours(field: str) -> None:
    def with_number(number: Any) -> dict[str, Any]:
        whole = statement(words=False).to_dict()
        (whole if field == "n_units" else whole["releases"][0])[field] = number
        return whole

    largest = 2**53  # the number after it is no float
    for number in (1, largest):
        PrivacyStatement.from_dict(with_number(number))
    for number in (0, -1, largest + 1, 2**54, 1.0, True):
        with pytest.raises(PrivacyError, match="impossible"):
            PrivacyStatement.from_dict(with_number(number))


@pytest.mark.parametrize("epsilon", [1e-31, 1e13, 1e308])
def test_an_epsilon_that_no_budget_has_is_not_one_of_a_statement(epsilon: float) -> None:
    """A report would ask what the same budget buys elsewhere."""
    with pytest.raises(PrivacyError, match="impossible"):
        PrivacyStatement.from_dict({**statement(words=False).to_dict(), "epsilon": epsilon})

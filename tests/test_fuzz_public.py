"""Odd values for every parameter of every public name and command: a result or a documented error, and soon.

A fixed few hundred calls; `benchmarks/fuzz_public.py` makes as many others as time allows.
"""

from __future__ import annotations

import inspect

import pytest
from hypothesis import HealthCheck, given, settings

import private_topics
from fuzz_support import COMMANDS, ENTRIES, ESTIMATORS, PARAMETERS, judge, lay_out

CALLS = {
    "estimators": 60,
    "unfitted estimators": 30,
    "plan, BudgetSplit, make_lda_corpus, load": 150,
    "ledgers": 60,
    "commands": 60,
}


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        place = tmp_path_factory.mktemp("fuzz")
        patch.chdir(place)
        patch.setenv("TMPDIR", str(place))
        lay_out(place)
        yield


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_result_or_a_documented_error(entry):
    @settings(max_examples=CALLS[entry], database=None, suppress_health_check=list(HealthCheck))
    @given(call=ENTRIES[entry])
    def attack(call):
        judge(call)

    attack()


def test_nothing_public_is_left_out():
    functions = {"plan", "BudgetSplit", "make_lda_corpus", "load", "BudgetLedger", "DurableLedger", *ESTIMATORS}
    kinds = {name for name in private_topics.__all__ if isinstance(getattr(private_topics, name), type)}
    errors = {name for name in kinds if issubclass(getattr(private_topics, name), Exception)}
    assert functions | errors | {"__version__"} == set(private_topics.__all__)
    for name in ESTIMATORS:
        assert set(inspect.signature(getattr(private_topics, name)).parameters) <= set(PARAMETERS)
    assert {path[0] for path in COMMANDS} >= {"fit", "topics", "transform", "evaluate", "report", "plan", "audit"}


def test_an_unexpected_error_and_a_hang_are_findings():
    with pytest.raises(ZeroDivisionError):
        judge(lambda: 1 / 0)
    with pytest.raises(ValueError, match="no error of the library"):
        judge(lambda: (_ for _ in ()).throw(ValueError("no error of the library")))
    with pytest.raises(TimeoutError, match="longer than"):
        judge(lambda: [None for _ in iter(int, 1)], 0.1)

"""Forked processes and ledgers: what is left is spent once, whoever asks for it.

Children are forked as `multiprocessing` does on Linux. Those that fit come from a process that has not fitted yet
(this very file, run as a script): OpenMP ends a child whose parent had threads.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from private_topics import BudgetLedger, DurableLedger, PrivateSpectralLDA, make_lda_corpus
from private_topics.errors import PrivacyError
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.ledger import file as ledger_file
from private_topics.privacy.mechanisms import PrivateRun, Query
from private_topics.releases.candidates import release_candidates
from private_topics.releases.vocabulary import release_vocabulary

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore::private_topics.errors.PrivacyWarning"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),  # of threads that only wait
]
CHILDREN, RELEASED, REFUSED, BROKEN = 4, 0, 7, 9
BUDGET = PrivacyBudget(0.99, 1e-6)


def forked(action: Callable[[], Any]) -> list[int]:
    """What each child came to: it released, was refused, or something else happened."""
    children = []
    for _ in range(CHILDREN):
        child = os.fork()
        if child == 0:
            status = BROKEN
            try:
                action()
                status = RELEASED
            except PrivacyError:
                status = REFUSED
            finally:
                os._exit(status)
        children.append(child)
    return sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


def fit(ledger: Any) -> None:
    X = make_lda_corpus(60, 12, 2, random_state=0)[0]
    PrivateSpectralLDA(2, epsilon=BUDGET.epsilon, delta=BUDGET.delta, n_jobs=1, refine_steps=0, ledger=ledger).fit(X)


def test_children_do_not_each_spend_a_ledger_in_memory() -> None:
    ledger = BudgetLedger(1.0, 1e-6)
    assert forked(lambda: ledger.reserve(BUDGET)) == [REFUSED] * CHILDREN
    query = Query("one", "scalar", 1.0, 2.0**-10, "unigram")
    own_runs = forked(lambda: PrivateRun(BUDGET, reserve=ledger.reserve).release(query, np.int64(0), 1.0))
    assert own_runs == [REFUSED] * CHILDREN
    ledger.reserve(BUDGET)  # here it works as before


def test_children_share_a_ledger_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hang_support import FOREVER

    monkeypatch.setattr(ledger_file, "WAIT_SECONDS", FOREVER)
    ledger = DurableLedger.register(tmp_path / "budget.db", "notes", 1.0, 1e-6)
    assert forked(lambda: ledger.reserve(BUDGET)) == [RELEASED, *[REFUSED] * (CHILDREN - 1)]
    assert len(ledger.entries()) == 1


def test_fits_of_children_stay_within_the_total(tmp_path: Path) -> None:
    """Four fits at 0.99 of a total of 1."""
    from hang_support import FOREVER, HANG

    command = [sys.executable, __file__, str(tmp_path / "budget.db"), str(FOREVER)]
    found = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=HANG).stdout)
    assert found == {"memory": [REFUSED] * CHILDREN, "file": [RELEASED, *[REFUSED] * (CHILDREN - 1)]}


def _reserved(ledger: BudgetLedger, answers: Any) -> None:
    try:
        ledger.reserve(BUDGET)
        answers.put("released")
    except PrivacyError as error:
        answers.put(str(error))


def test_multiprocessing_is_refused_in_words_that_help() -> None:
    ledger, context = BudgetLedger(1.0, 1e-6), multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=_reserved, args=(ledger, answers))
    child.start()
    assert "DurableLedger" in answers.get()
    child.join()
    with pytest.raises(PrivacyError, match="DurableLedger"):  # as spawned processes and joblib pass it on
        pickle.dumps(ledger)


UNITS = [["alpha", "beta"]] * 60
WORDS = {
    "private": lambda run: release_vocabulary(run, UNITS, share=1.0),
    "candidates": lambda run: release_candidates(run, UNITS, ["alpha", "beta", "gamma"], share=1.0),
}


@pytest.mark.parametrize("release", WORDS.values(), ids=WORDS)
def test_a_forked_run_releases_no_words(release: Callable[[PrivateRun], list[str]]) -> None:
    """Each child would have the parent's budget, and its noise a different one: four averages of one vocabulary."""
    run = PrivateRun(PrivacyBudget(5.0, 1e-3), threshold_delta=1e-4)
    assert forked(lambda: release(run)) == [REFUSED] * CHILDREN
    assert "alpha" in release(run)


if __name__ == "__main__":
    ledger_file.WAIT_SECONDS = float(sys.argv[2])
    in_file = DurableLedger.register(sys.argv[1], "notes", 1.0, 1e-6)
    in_memory = BudgetLedger(1.0, 1e-6)
    print(json.dumps({"memory": forked(lambda: fit(in_memory)), "file": forked(lambda: fit(in_file))}))

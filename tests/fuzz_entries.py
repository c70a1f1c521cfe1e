"""Everything that is fuzzed, by name: tests/attacks/test_fuzz_public.py and attacks/fuzz_public.py."""

from __future__ import annotations

from pathlib import Path

import fuzz_support
from fuzz_names import NAMES, name_calls
from fuzz_sites import lay_out_sites, site_calls
from fuzz_support import ESTIMATORS

ENTRIES = {
    "estimators": fuzz_support.estimator_calls(),
    "unfitted estimators": fuzz_support.unfitted_calls(),
    "plan, BudgetSplit, make_lda_corpus, load": fuzz_support.function_calls(),
    "ledgers": fuzz_support.ledger_calls(),
    "commands": fuzz_support.command_calls(),
    "sites": site_calls(),
    "names": name_calls(),
}
CALLED = {*NAMES, *ESTIMATORS, "plan", "BudgetSplit", "make_lda_corpus", "load", "private_log_likelihood"}
CALLED |= {"BudgetLedger", "DurableLedger"}
"""Public names that some entry calls."""


def lay_out(folder: Path) -> None:
    """Files of every kind that a call may be given."""
    fuzz_support.lay_out(folder)
    lay_out_sites(folder)

"""What a private fit leaves in a ledger is public: neighbours leave the same row."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from private_topics import DurableLedger, PrivacyWarning, PrivateSpectralLDA, PrivateVariationalLDA, make_lda_corpus

COUNTS = make_lda_corpus(60, 12, 2, random_state=0)[0].toarray()
USERS = np.arange(60) // 3


def with_other_words() -> tuple[np.ndarray, np.ndarray]:
    """The last user of 20 says something else, in as many documents."""
    other = COUNTS.copy()
    other[USERS == 19] = 7
    return other, USERS


def with_more_documents() -> tuple[np.ndarray, np.ndarray]:
    """The last user of 20 has 50 documents instead of three."""
    return np.vstack([COUNTS, np.tile(COUNTS[:1], (47, 1))]), np.append(USERS, [19] * 47)


@pytest.mark.parametrize("estimator", [PrivateSpectralLDA, PrivateVariationalLDA])
@pytest.mark.parametrize(
    "neighbour", [with_other_words, with_more_documents], ids=["words of a user", "documents of a user"]
)
def test_neighbours_leave_the_same_row_in_the_ledger(neighbour, estimator, tmp_path: Path) -> None:
    rows = []
    for name, (counts, users) in (("one", (COUNTS, USERS)), ("other", neighbour())):
        ledger = DurableLedger.register(tmp_path / f"{name}.db", "notes", 3.0, 1e-4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            estimator(2, epsilon=1.0, delta=1e-5, ledger=ledger).fit(sp.csr_array(counts), groups=users)
        (entry,) = ledger.entries()
        rows.append((entry.label, entry.reservation, entry.settings, entry.state, sorted(entry.results)))
        assert (entry.settings["n_units"], entry.settings["n_words"]) == (20, 12)
    assert rows[0] == rows[1]


@pytest.mark.parametrize("estimator", [PrivateSpectralLDA, PrivateVariationalLDA])
def test_a_delta_that_may_publish_a_unit_is_warned_of(estimator) -> None:
    """One over the number of users, not of documents."""
    counts = sp.csr_array(COUNTS)
    for delta, warned in ((1 / 20, True), (1 / 21, False)):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            estimator(2, epsilon=1.0, delta=delta).fit(counts, groups=USERS)
        told = [str(warning.message) for warning in seen if issubclass(warning.category, PrivacyWarning)]
        assert any("one over the number of units, 20" in message for message in told) == warned

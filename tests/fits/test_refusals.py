"""What a private fit refuses, and that it does so before any noise is drawn: a refusal costs nothing.

A refusal says what to do and quotes nothing of the corpus. The vocabulary of the texts below holds a made-up word to
look for.
"""

from __future__ import annotations

import ast
import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from private_support import captured_releases
from private_topics import (
    BudgetLedger,
    BudgetSplit,
    InputError,
    PrivacyError,
    PrivacyWarning,
    PrivateSpectralLDA,
    PrivateVariationalLDA,
    make_lda_corpus,
)
from private_topics.privacy import mechanisms
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.curves import gdp_epsilon, mu_of_budget, zcdp_delta
from private_topics.privacy.mechanisms import PrivateRun, Query
from private_topics.privacy.randomness import NoiseStream

ROOT = Path(__file__).resolve().parents[2]
TELLTALE = "zyzzogeton"
TEXTS = [f"the patient {TELLTALE} has seven cats", "another document of words"]
NOT_ABOVE_ZERO = [0.0, -1.0, math.nan, math.inf, -math.inf, None, "one", True]
NOT_INSIDE = [0.0, 1.0, -1e-6, 2.0, math.nan, None, "small", False]


@pytest.fixture
def counts():
    return make_lda_corpus(200, 30, 2, random_state=0)[0]


@pytest.fixture
def no_noise(monkeypatch):
    """Any draw of noise fails the test."""

    def drawn(*arguments):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(NoiseStream, "rounded_gaussian", drawn)
    monkeypatch.setattr(mechanisms, "discrete_gaussian", drawn)


def refused(model: PrivateSpectralLDA, X, kind: type[Exception] = PrivacyError, **settings) -> str:
    """The message with which the fit is refused; the model stays unfitted."""
    with pytest.raises(kind) as raised:
        model.fit(X, **settings)
    assert not hasattr(model, "components_")
    assert not hasattr(model, "privacy_")
    return str(raised.value)


def test_the_fixture_sees_noise(counts, no_noise):
    with pytest.raises(AssertionError, match="noise was drawn"):
        PrivateSpectralLDA(2).fit(counts)


@pytest.mark.parametrize("epsilon", NOT_ABOVE_ZERO, ids=repr)
def test_epsilon_must_be_a_number_above_zero(epsilon, counts, no_noise):
    message = refused(PrivateSpectralLDA(2, epsilon=epsilon), counts)
    assert "'epsilon'" in message
    assert "above 0" in message


@pytest.mark.parametrize("delta", NOT_INSIDE, ids=repr)
def test_delta_must_lie_between_zero_and_one(delta, counts, no_noise):
    message = refused(PrivateSpectralLDA(2, delta=delta), counts)
    assert "'delta'" in message
    assert "between 0 and 1" in message


RAW = {
    "list": TEXTS,
    "tuple": tuple(TEXTS),
    "array": np.array(TEXTS),
    "column": np.array(TEXTS)[:, None],
    "object array": np.array(TEXTS, dtype=object),
    "series": pd.Series(TEXTS),
    "frame": pd.DataFrame({"text": TEXTS}),
    "tokens": [text.split() for text in TEXTS],
}


@pytest.mark.parametrize("texts", RAW.values(), ids=RAW)
def test_raw_text_has_no_public_vocabulary(texts, no_noise):
    message = refused(PrivateSpectralLDA(2), texts)
    assert "public" in message
    assert "vocabulary" in message
    assert TELLTALE not in message


def test_one_text_is_not_quoted(no_noise):
    """A str is taken for a path; if it is a text, the message must not pass it on."""
    with pytest.raises((PrivacyError, InputError)) as raised:
        PrivateSpectralLDA(2).fit(" ".join(TEXTS))
    assert TELLTALE not in str(raised.value)


def test_counts_over_a_public_word_list_are_welcome():
    counts = CountVectorizer(vocabulary=["cats", "words", "patient"]).transform(TEXTS * 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        assert PrivateSpectralLDA(2).fit(counts).privacy_.private


def test_unproved_calibration_needs_an_opt_in(counts, no_noise):
    message = refused(PrivateSpectralLDA(2, calibration="published"), counts)
    assert "not proved" in message
    assert "allow_unproved=True" in message
    assert "calibration='proved'" in message


@pytest.mark.parametrize(
    "settings",
    [
        {"calibration": "guessed"},
        {"configuration": "best"},
        {"engine": "abacus"},
        {"sampler": "sloppy"},
        {"sampler": "exact", "noise_seed": 1},
        {"budget_split": 0.5},
        {"budget_split": BudgetSplit(unigram=0.0, refine=0.695)},
        {"noise_seed": "seven"},
        {"random_state": "seven"},
        {"n_jobs": 0},
        {"n_components": 0},
        {"refine_steps": -1},
        {"alpha0": math.nan},
    ],
    ids=lambda settings: ", ".join(settings),
)
def test_other_settings_are_checked_before_noise(settings, counts, no_noise):
    ledger = BudgetLedger(10.0, 1e-5)
    refused(PrivateSpectralLDA(**{"n_components": 2, "ledger": ledger, **settings}), counts, ValueError)
    assert ledger.spent == ()


def test_broken_counts_and_groups_are_refused_before_noise_and_charge(counts, no_noise):
    ledger = BudgetLedger(10.0, 1e-5)
    broken = counts.toarray() - 1
    refused(PrivateSpectralLDA(2, ledger=ledger), broken, InputError)
    refused(PrivateSpectralLDA(2, ledger=ledger), counts, InputError, groups=[1, 2, 3])
    refused(PrivateSpectralLDA(2, ledger=ledger), counts, InputError, groups=np.full(200, np.nan))
    for labels in (np.arange(200), np.arange(200).astype(str), np.arange(200.0), np.arange(200).astype(object)):
        masked = np.ma.masked_array(labels, np.arange(200) == 7)
        refused(PrivateSpectralLDA(2, ledger=ledger), counts, InputError, groups=masked)
        refused(PrivateVariationalLDA(2, ledger=ledger), counts, InputError, groups=masked)
    assert ledger.spent == ()


@pytest.mark.parametrize("estimator", [PrivateSpectralLDA, PrivateVariationalLDA])
def test_a_single_document_or_user_is_refused_before_noise_and_charge(estimator, counts, no_noise):
    """The number of units is public: the refusal tells nothing else."""
    ledger = BudgetLedger(10.0, 1e-5)
    for X, groups in ((counts[:1], None), (counts, np.zeros(200, int))):
        message = refused(estimator(2, ledger=ledger), X, InputError, groups=groups)
        assert "at least two documents, or users" in message
    assert ledger.spent == ()


@pytest.mark.parametrize("estimator", [PrivateSpectralLDA, PrivateVariationalLDA])
def test_a_file_that_breaks_off_is_refused_before_noise_and_charge(estimator, tmp_path, no_noise):
    """Its header has the number of documents, so nothing before the first sum reads it to the end."""
    path, ledger = tmp_path / "docword.a.txt", BudgetLedger(10.0, 1e-5)
    path.write_text("200\n3\n201\n" + "".join(f"{number} 1 5\n" for number in range(1, 201)))
    refused(estimator(2, ledger=ledger), path, InputError)
    assert ledger.spent == ()


def test_an_exhausted_ledger_refuses_before_noise(counts, monkeypatch):
    ledger = BudgetLedger(1.0, 1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        PrivateSpectralLDA(2, epsilon=0.7, delta=1e-5, ledger=ledger).fit(counts)
    drawn = []
    monkeypatch.setattr(NoiseStream, "rounded_gaussian", lambda *arguments: drawn.append(arguments))
    before = ledger.epsilon_spent
    for epsilon in (0.9, 1.5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            message = refused(PrivateSpectralLDA(2, epsilon=epsilon, delta=1e-5, ledger=ledger), counts)
        assert "total" in message
        assert "Nothing was released" in message
        assert "epsilon" in message
    assert drawn == []
    assert ledger.epsilon_spent == before <= 1.0


def test_a_ledger_is_charged_before_the_first_draw(counts, no_noise):
    """A fit that dies at its first draw has paid: what it may have shown is not taken back."""
    ledger = BudgetLedger(1.0, 1e-5)
    with pytest.raises(AssertionError, match="noise was drawn"):
        PrivateSpectralLDA(2, epsilon=0.5, delta=1e-5, ledger=ledger).fit(counts)
    assert len(ledger.spent) == 1


@pytest.mark.parametrize(("total", "delta"), [((1.0, 1e-6), 1e-9), ((3.0, 1e-3), 1e-9)])
def test_a_ledger_covers_exact_samplers_too(total, delta, monkeypatch):
    """The discrete Gaussian adds up in zCDP, not in mu: what a ledger admits must stay within its total that way."""
    monkeypatch.setattr(mechanisms, "discrete_gaussian", lambda count, ratio: np.zeros(count, np.int64))
    ledger = BudgetLedger(*total)
    epsilon = gdp_epsilon(mu_of_budget(*total) / 2.0, delta) * (1.0 - 1e-6)  # four such fits exhaust the total in mu
    query = Query("one", "scalar", 1.0, 2.0**-10, "unigram")
    spent = 0.0
    for _ in range(5):
        run = PrivateRun(PrivacyBudget(epsilon, delta), sampler="exact", reserve=ledger.reserve)
        try:
            run.release(query, np.int64(0), 1.0)
        except PrivacyError:
            break
        spent += run.accountant.mu**2 / 2.0
    assert spent > 0.0
    assert zcdp_delta(spent, total[0]) <= total[1]


def test_a_large_delta_is_warned_of(counts):
    with pytest.warns(PrivacyWarning, match="delta"):
        PrivateSpectralLDA(2, delta=1 / 200).fit(counts)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        PrivateSpectralLDA(2, delta=1 / 201).fit(counts)
    assert not any("delta =" in str(warning.message) for warning in warned)


def test_delta_is_held_against_users_not_documents(counts):
    users = np.arange(200) // 2
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        PrivateSpectralLDA(2, delta=1 / 150).fit(counts, groups=users)
    assert not any("delta =" in str(warning.message) for warning in warned)
    with pytest.warns(PrivacyWarning, match="delta = "):
        PrivateSpectralLDA(2, delta=1 / 90).fit(counts, groups=users)


def test_unsupported_components_are_warned_of(counts):
    with pytest.warns(PrivacyWarning, match="topics asked for") as warned:
        model = PrivateSpectralLDA(8, epsilon=0.05).fit(counts)
    assert len(model.components_) < 8
    assert any("plan" in str(warning.message) for warning in warned)
    assert "asked for: 8" in model.privacy_.components


def proofs_named_in_code() -> set[str]:
    """Every page named as `docs/proofs/<name>.md` anywhere in the package."""
    named = set()
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                named |= {word.split(".md")[0] for word in node.value.split("docs/proofs/")[1:] if ".md" in word}
    return {name for name in named if name.replace("_", "").isalnum()}


def test_every_release_names_a_proof_that_exists():
    X = make_lda_corpus(2_000, 40, 3, alpha0=0.1, random_state=0)[0]
    pages = {page.stem for page in (ROOT / "docs" / "proofs").glob("*.md")}
    with captured_releases() as seen, warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        PrivateSpectralLDA(3, epsilon=60.0, alpha0=0.1, refine_steps=1, noise_seed=0).fit(X)
        PrivateSpectralLDA(3, epsilon=0.01, alpha0=0.1, refine_steps=1, noise_seed=0).fit(X)
    assert len(seen) > 10
    missing = {released.event.proof for _, released in seen} - pages
    assert not missing, f"no page for {sorted(missing)}"


def test_every_proof_named_in_the_code_exists():
    pages = {page.stem for page in (ROOT / "docs" / "proofs").glob("*.md")}
    named = proofs_named_in_code()
    assert {"unigram", "second_moment", "histogram", "clip_sums", "frame_second", "tensor", "refinement"} <= named
    assert named <= pages, f"no page for {sorted(named - pages)}"


@pytest.mark.parametrize("steps", [-1, 10_001, 2**62, 1.0, True])
def test_numbers_of_steps_that_cannot_be_meant_are_refused(steps):
    """A forged model with 2^62 steps must not be read either: its report would forecast each."""
    with pytest.raises(InputError, match=r"'refine_steps' parameter of .* must be an int in the range"):
        PrivateSpectralLDA(2, refine_steps=steps).fit(np.eye(8, 5, dtype=int))

"""Configuration 1 with delta zero: sensitivities in the L1 norm attacked, noise on every entry, refusals."""

from __future__ import annotations

import contextlib
import itertools
import math
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from private_support import (
    LARGEST_COUNT,
    Entering,
    Unit,
    captured_releases,
    context_of,
    corpus_of_units,
    counts_of,
    numba_threads,
    replaced_aggregates,
)
from private_topics import BudgetLedger, InputError, PrivacyError, PrivacyWarning, PrivateSpectralLDA, make_lda_corpus
from private_topics.evaluation import topic_error_l2
from private_topics.fits.pure import MOST_PURE_WORDS, PURE, release_moments
from private_topics.privacy.randomness import NoiseStream
from private_topics.privacy.simple_composition import PureBudget, SimpleRun
from private_topics.sums import packed_moments

ROOT = Path(__file__).resolve().parents[2]
N_WORDS = 6
BASE: list[Unit] = [({1: 3, 2: 1, 5: 2},), ({0: 4},), ({},), ({3: 1, 4: 1, 1: 1},)]
WRONG, FALSE_ALARM = 0.7, 1e-6
NAMES = [release.name for release in PURE.releases]


def entering(units: list[Unit], epsilon: float = 1.0, n_units: int | None = None) -> dict[str, Entering]:
    """What the real code hands to each release."""
    corpus = corpus_of_units(units, N_WORDS, n_units=n_units)
    context = context_of(PURE, SimpleRun(PureBudget(epsilon), noise_seed=0), corpus, n_topics=2)
    with captured_releases() as seen, numba_threads(1):
        release_moments(context)
    return {entry.query.name: entry for entry, _ in seen}


def check(family: list[dict[str, Entering]], name: str, declared: float = 1.0) -> float:
    """Assert that no two of a family are further apart, in the L1 norm and in integers; return the largest ratio."""
    largest = 0.0
    for first, second in itertools.combinations(family, 2):
        assert first[name].query == second[name].query
        distance = int(np.abs(first[name].aggregate - second[name].aggregate).sum()) * first[name].query.step
        assert distance <= declared * first[name].query.sensitivity, f"{name}: beyond the sensitivity"
        largest = max(largest, distance / first[name].query.sensitivity)
    return largest


def extreme_units(grouped: bool) -> list[Unit]:
    documents = [
        {}, {1: 2}, {1: 3}, {2: 3}, {1: 2, 2: 1}, {3: 1000}, {4: 1000}, {1: 1, 2: 1, 3: 1}, {5: 10**6, 0: 1},
        dict.fromkeys(range(N_WORDS), 1), dict.fromkeys(range(3), 30), dict.fromkeys(range(3, 6), 30),
        {1: LARGEST_COUNT}, dict.fromkeys(range(N_WORDS), LARGEST_COUNT),
    ]  # fmt: skip
    if not grouped:
        return [(document,) for document in documents]
    return [
        tuple({1: 3} for _ in range(300)),
        tuple({2: 300} for _ in range(300)),
        ({3: 3}, *({} for _ in range(99))),
        tuple(documents),
        ({4: 5}, {5: 5}, {0: 7}),
    ]


@pytest.mark.parametrize("grouped", [False, True], ids=["documents", "users"])
@pytest.mark.parametrize("name", NAMES)
def test_the_declared_sensitivity_holds_and_is_needed(name, grouped):
    base = [*BASE, ({5: 6}, {2: 3})] if grouped else BASE
    family = [entering([*base, unit]) for unit in extreme_units(grouped)]
    assert check(family, name) > 0.99
    with pytest.raises(AssertionError, match="beyond the sensitivity"):
        check(family, name, WRONG)


@pytest.mark.parametrize("name", NAMES)
def test_contributions_that_are_too_large_are_caught(name, monkeypatch):
    monkeypatch.setattr(packed_moments, "SAFETY", 1.0 / WRONG)
    family = [entering([*BASE, unit]) for unit in extreme_units(False)[2:7]]
    with pytest.raises(AssertionError, match="beyond the sensitivity"):
        check(family, name)


counts = st.one_of(st.integers(1, 4), st.sampled_from([1000, 10**6, LARGEST_COUNT]))
documents = st.dictionaries(st.integers(0, N_WORDS - 1), counts, max_size=N_WORDS)


@settings(max_examples=60)
@given(
    st.lists(documents, min_size=1, max_size=3),
    st.lists(documents, min_size=1, max_size=3),
    st.sampled_from([0.01, 1.0, 1e5]),
    st.sampled_from([None, 2**20]),
)
def test_search_finds_no_neighbours_beyond_the_sensitivity(first, second, epsilon, n_units):
    family = [entering([*BASE[:2], unit], epsilon, n_units) for unit in (first, second)]
    for name in NAMES:
        check(family, name)


def test_the_moments_are_what_they_are_called():
    """Against the definition, document by document, with all its places."""
    units: list[Unit] = [({0: 2, 1: 1},), ({2: 5},), ({0: 1, 3: 2, 5: 3},), ({4: 2},)]
    got = entering(units, epsilon=1e6)
    expected = {"unigram": np.zeros(N_WORDS), "second moment": np.zeros((6, 6)), "third moment": np.zeros((6, 6, 6))}
    for (document,) in units:
        tokens = [word for word, count in document.items() for _ in range(count)]
        if len(tokens) >= 3:
            for order, array in enumerate(expected.values(), start=1):
                for chosen in itertools.permutations(tokens, order):
                    array[chosen] += 1.0 / math.perm(len(tokens), order)
    for order, (name, array) in enumerate(expected.items(), start=1):
        index = list(itertools.combinations_with_replacement(range(N_WORDS), order))
        packed = [array[i] * len(set(itertools.permutations(i))) for i in index]
        np.testing.assert_allclose(got[name].aggregate * got[name].query.step, packed, rtol=1e-6, atol=1e-8)


# -- whole fits ----------------------------------------------------------------------------------------------------


@cache
def synthetic(seed: int = 0, n_words: int = 30):
    return make_lda_corpus(4_000, n_words, 3, alpha0=0.2, mean_length=40, random_state=seed)


def fitted(X: Any = None, epsilon: float = 20.0, n_components: int = 3, groups: Any = None, **more: Any):
    options = {"delta": 0.0, "alpha0": 0.2, "configuration": 1, "noise_seed": 1, **more}
    with captured_releases() as seen, warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        model = PrivateSpectralLDA(n_components, epsilon=epsilon, **options)
        model.fit(synthetic()[0] if X is None else X, groups=groups)
    return seen, model


def standardised(seen: list[Any]) -> dict[str, np.ndarray]:
    return {
        released.name: (released.value - entry.aggregate * entry.query.step) / released.event.scale
        for entry, released in seen
    }


@pytest.mark.statistical
def test_every_release_has_the_noise_that_is_recorded(monkeypatch):
    """Twice the sum of |residual|/scale is chi-squared with two degrees of freedom each; false alarms 1e-6 each."""

    def accepted() -> list[bool]:
        results = []
        for residual in standardised(fitted()[0]).values():
            statistic, freedom = 2.0 * np.abs(residual).sum(), 2 * residual.size
            results.append(bool(chi2.ppf(FALSE_ALARM / 2, freedom) < statistic < chi2.isf(FALSE_ALARM / 2, freedom)))
        return results

    assert accepted() == [True] * 3
    exact = NoiseStream.rounded_laplace
    monkeypatch.setattr(NoiseStream, "rounded_laplace", lambda self, count, ratio: exact(self, count, 0.9 * ratio))
    assert accepted()[2] is False
    monkeypatch.setattr(NoiseStream, "rounded_laplace", lambda self, count, ratio: exact(self, count, 0.2 * ratio))
    assert accepted() == [False] * 3


@pytest.mark.parametrize(
    "options",
    [{}, {"sampler": "exact", "noise_seed": None}, {"groups": np.arange(4_000) // 2}, {"epsilon": 0.001}],
    ids=["whole", "exact", "users", "tiny epsilon"],
)
def test_every_number_is_noised(options):
    seen, model = fitted(**options)
    assert [released.name for _, released in seen] == NAMES
    for entry, released in seen:
        assert (released.value != entry.aggregate * entry.query.step).all(), (
            f"{released.name}: a number without noise"
        )
    assert len(model.components_) == (1 if "epsilon" in options else 3)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)


def test_nothing_but_released_values_is_left_behind():
    reference = {entry.query.name: entry.aggregate for entry, _ in fitted()[0]}
    kinds = [{}, {0: LARGEST_COUNT}, dict.fromkeys(range(30), 10**6), {3: 1}]
    traces = []
    for X in (synthetic(seed=7)[0], counts_of([kinds[n % 4] for n in range(4_000)], 30)):
        with replaced_aggregates(lambda query, aggregate: reference[query.name]) as queries:
            model = fitted(X)[1]
        arrays = model.components_.tobytes(), model.doc_topic_prior_.tobytes(), model.supported_components_
        traces.append((queries, arrays, model.privacy_.to_dict()))
    assert traces[0] == traces[1]


def test_statement_and_file(tmp_path):
    _, model = fitted(noise_seed=None, epsilon=2.0)
    statement = model.privacy_
    assert (statement.epsilon, statement.delta) == (2.0, 0.0)
    assert statement.proved
    assert "(2, 0)-differential privacy" in statement.text
    assert "without exception" in statement.text
    assert "add up" in statement.accounting
    assert [release.share for release in statement.releases] == list(PURE.fractions.values())
    spent = [release.sensitivity * math.sqrt(2.0) / release.sigma for release in statement.releases]
    assert math.fsum(spent) <= 2.0
    assert math.fsum(spent) == pytest.approx(2.0, rel=1e-6)
    assert all((ROOT / "docs" / "proofs" / f"{release.proof}.md").exists() for release in statement.releases)
    model.save(tmp_path / "model")
    assert PrivateSpectralLDA.load(tmp_path / "model").privacy_ == statement


def test_learns_the_topics():
    """The error at epsilon 3 was 0.0075 when this was written."""
    X, truth, _ = make_lda_corpus(20_000, 50, 3, alpha0=0.2, random_state=0)
    model = PrivateSpectralLDA(3, epsilon=3.0, delta=0.0, alpha0=0.2, configuration=1).fit(X)
    assert topic_error_l2(model.components_, truth) < 0.02


def test_a_ledger_adds_pure_epsilons():
    ledger = BudgetLedger(1.0, 1e-6)
    fitted(epsilon=0.5, ledger=ledger)
    with pytest.raises(PrivacyError, match="total"):
        fitted(epsilon=0.6, ledger=ledger)
    fitted(epsilon=0.5 - 1e-9, ledger=ledger)
    assert len(ledger.spent) == 2


def no_draw(*arguments: Any) -> None:
    raise AssertionError("noise was drawn")


@pytest.mark.parametrize(
    "options",
    [{"configuration": "sequential"}, {"configuration": 2}, {"configuration": "auto"},
     {"calibration": "published", "allow_unproved": True}, {"delta": -0.1}, {"delta": False}],
    ids=str,
)  # fmt: skip
def test_delta_zero_needs_configuration_1(options, monkeypatch):
    monkeypatch.setattr(NoiseStream, "rounded_laplace", no_draw)
    monkeypatch.setattr(NoiseStream, "rounded_gaussian", no_draw)
    with pytest.raises(PrivacyError, match="delta"):
        fitted(**options)


def test_large_vocabularies_are_refused_before_noise(monkeypatch):
    monkeypatch.setattr(NoiseStream, "rounded_laplace", no_draw)
    ledger = BudgetLedger(1.0, 1e-6)
    with pytest.raises(InputError, match=f"at most {MOST_PURE_WORDS} words"):
        fitted(np.ones((5, MOST_PURE_WORDS + 1), int), ledger=ledger)
    assert ledger.spent == ()


# -- what is said ----------------------------------------------------------------------------------------------------

SETTINGS: dict[str, dict[str, Any]] = {
    "delta 0": {"delta": 0.0, "epsilon": 1e6},
    "published": {"calibration": "published", "allow_unproved": True, "epsilon": 1.0},
    "published, analytic": {"calibration": "published-analytic", "allow_unproved": True, "epsilon": 1.0},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_neighbours_hear_the_same(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Whatever one document is: warnings, stages and what is printed, with all aggregates those of one corpus."""
    X = make_lda_corpus(60, N_WORDS, 2, mean_length=20, random_state=0)[0].toarray()
    rows = [{}, {0: 1}, {2: LARGEST_COUNT}, dict.fromkeys(range(N_WORDS), 1_000)]
    corpora = [np.vstack([X[:-1], counts_of([row], N_WORDS).toarray()]) for row in rows]

    def told(counts: Any, aggregates: dict[str, np.ndarray] | None) -> tuple[Any, dict[str, np.ndarray]]:
        model = PrivateSpectralLDA(2, configuration=1, noise_seed=0, verbose=True, **SETTINGS[name])
        with (
            warnings.catch_warnings(record=True) as said,
            captured_releases() as seen,
            replaced_aggregates(lambda query, _: aggregates[query.name]) if aggregates else contextlib.nullcontext(),
        ):
            warnings.simplefilter("always")
            model.fit(counts)
        stages = [line.split("s  ")[-1] for line in capfd.readouterr().err.splitlines()]
        heard = [str(one.message) for one in said], stages, model.privacy_, model.components_.tobytes()
        return heard, {entry.query.name: entry.aggregate for entry, _ in seen}

    first, aggregates = told(corpora[0], None)
    assert len(aggregates) >= 2
    for counts in corpora:
        assert told(counts, aggregates)[0] == first

"""Configurations 1 and 2 with a proof, attacked like the sequential release.

*Sensitivity*: no two corpora that differ in one unit are further apart than declared, in rational arithmetic; with
0.7 of the sensitivity declared, or with contributions 1/0.7 too large, the same check fails. *Noise*: every released
number differs from its un-noised value, and residuals have the recorded spread (chi-squared, false-alarm rate 1e-6
per release, fixed noise seeds). *Taint*: with the aggregates replaced, nothing a fit leaves behind depends on the
corpus.
"""

from __future__ import annotations

import math
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noise_support import (
    check_noised,
    check_statement,
    fitted_on,
    releases_as_recorded,
    releases_of_untainted,
    symmetric_basis,
)
from private_support import (
    LARGEST_COUNT,
    Document,
    Entering,
    RecordingRun,
    Unit,
    check_sensitivity,
    context_of,
    corpus_of_units,
    numba_threads,
    spike,
)
from private_topics import BudgetSplit, InputError, PrivacyError, PrivacyWarning, PrivateSpectralLDA, make_lda_corpus
from private_topics.evaluation import topic_error_l2
from private_topics.fits import proved
from private_topics.fits.proved import PROVED, contraction, first_topics, second_topics
from private_topics.privacy.budget import PrivacyBudget
from private_topics.releases.moments import release_second_moment, release_unigram
from private_topics.spectral.frame import Frame
from private_topics.spectral.whitening import Whitening
from private_topics.sums import quantised, unit_sums
from private_topics.sums.norms import EDGES
from private_topics.sums.triple_norms import PROJECTION_ERROR

ROOT = Path(__file__).resolve().parents[2]
N_WORDS = 8
WORDS = np.arange(1, 7)  # words 0 and 7 are outside the spectral stage
BASE: list[Unit] = [({1: 3, 2: 1, 5: 2},), ({0: 4, 6: 2},), ({},), ({3: 1, 4: 1, 1: 1},)]
THIRD = {1: "third moment", 2: "frame third moment"}
NORMS = {1: "third norms", 2: "frame third norms"}
EARLIER = ["unigram", "second norms", "second moment", "second clip factors"]
SHARP, WRONG = 0.99, 0.7
TIGHT, LOOSE = 20, 64  # bins of the canned norm histograms: they set the clips


def orthonormal(seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(len(WORDS), 3)))[0]


BASES = {
    "words": np.eye(len(WORDS), 3),
    "opposite": np.array([1.0, 1.0, -1.0, -1.0, 1.0, -1.0])[:, None] / np.sqrt(6.0),
    "random": orthonormal(0),
}


def entering(
    configuration: int, units: list[Unit], basis: np.ndarray, position: int, **options: Any
) -> dict[str, Entering]:
    """Run the real code of every release, the earlier released values held fixed."""
    corpus = corpus_of_units(units, N_WORDS, n_units=options.get("n_units"))
    answers = {"second norms": spike(position), NORMS[configuration]: spike(position)}
    answers["second moment"] = np.diag(1.0 + np.arange(len(WORDS)))
    answers["second clip factors"] = np.ones(1)
    run = RecordingRun(PrivacyBudget(options.get("epsilon", 1.0), 1e-6), answers)
    context = context_of(PROVED[configuration], run, corpus)
    values = options.get("values", np.ones(basis.shape[1]))
    with numba_threads(1):
        release_unigram(context)
        release_second_moment(context, WORDS)
        frame = Frame(Whitening(contraction(basis)[0], values), values, 0.0)
        {1: first_topics, 2: second_topics}[configuration](context, WORDS, np.full(len(WORDS), 1.0 / N_WORDS), frame)
    assert list(run.entering) == [*EARLIER, NORMS[configuration], THIRD[configuration], "third clip factors"]
    return run.entering


def extreme_documents(basis: np.ndarray) -> list[Document]:
    """Hand-made documents, any two of which are neighbours: short, long, of one word, of all, against the basis."""
    documents: list[Document] = [
        {}, {1: 2}, {1: 3}, {1: 2, 2: 1}, {1: 1, 2: 1, 3: 1}, {0: 3}, {0: 2, 1: 1},
        *({word: 1000} for word in range(N_WORDS)), dict.fromkeys(range(N_WORDS), 1),
        dict.fromkeys(range(1, 4), 50), dict.fromkeys(range(4, 7), 50), {1: 10**6, 2: 3},
        {1: LARGEST_COUNT}, {2: LARGEST_COUNT, 3: LARGEST_COUNT}, dict.fromkeys(range(N_WORDS), LARGEST_COUNT),
    ]  # fmt: skip
    for column in basis.T:
        for sign in (1.0, -1.0):
            pull = np.round(300 * np.maximum(0.0, sign * column) / np.abs(column).max()).astype(int)
            documents.append({int(word): int(count) for word, count in zip(WORDS, pull, strict=True) if count})
    return documents


def extreme_users(basis: np.ndarray) -> list[Unit]:
    documents = extreme_documents(basis)
    return [
        *((document,) for document in documents[::3]),
        tuple({1: 1000} for _ in range(500)),
        tuple({3: 1000} for _ in range(500)),
        tuple({1 + n % 6: 1 + n} for n in range(500)),
        ({1: 1000}, *({} for _ in range(499))),
        ({2: LARGEST_COUNT}, {3: 3}, {}),
        tuple(documents),
    ]


@cache
def family(configuration: int, basis: str, position: int, grouped: bool = False) -> list[dict[str, Entering]]:
    units = extreme_users(BASES[basis]) if grouped else [(document,) for document in extreme_documents(BASES[basis])]
    base = [*BASE[:-1], ({7: 6}, {2: 2})] if grouped else BASE
    return [entering(configuration, [*base, unit], BASES[basis], position) for unit in units]


@pytest.mark.parametrize("grouped", [False, True], ids=["documents", "users"])
@pytest.mark.parametrize("configuration", [1, 2])
def test_the_declared_sensitivity_holds_and_is_needed(configuration, grouped):
    """Disjoint words attain √2 C over all triples; opposite rows attain 2 C inside the whitening."""
    basis = {1: "words", 2: "opposite"}[configuration]
    tight, loose = (family(configuration, basis, position, grouped) for position in (TIGHT, LOOSE))
    for name in (THIRD[configuration], NORMS[configuration]):
        assert check_sensitivity(tight, name) > SHARP
        with pytest.raises(AssertionError, match="beyond the sensitivity"):
            check_sensitivity(tight, name, WRONG)
    assert check_sensitivity(loose, "third clip factors") > SHARP
    with pytest.raises(AssertionError, match="beyond the sensitivity"):
        check_sensitivity(loose, "third clip factors", WRONG)


@pytest.mark.parametrize("n_units", [6, 2**26])
def test_the_third_moment_declares_the_error_of_its_proof(n_units):
    """docs/proofs/configuration_1.md, theorem 1."""
    query = entering(1, BASE, BASES["words"], TIGHT, n_units=n_units)["third moment"].query
    clip, entries = float(EDGES[TIGHT]), 27
    needed = np.sqrt(2.0) * clip + 2.0 * 2.0**-36 * np.sqrt(entries) * n_units * clip + query.step * np.sqrt(entries)
    assert query.sensitivity == pytest.approx(needed, rel=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("position", [TIGHT, 32, LOOSE])
@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("configuration", [1, 2])
def test_no_extreme_neighbours_exceed_the_sensitivity(configuration, basis, position):
    neighbours = family(configuration, basis, position)
    for name in neighbours[0]:
        check_sensitivity(neighbours, name)


@pytest.mark.slow
@pytest.mark.parametrize("configuration", [1, 2])
@pytest.mark.parametrize(("epsilon", "n_units"), [(0.05, 2**26), (1.0, 2**18), (1e4, 5)])
def test_no_lattice_makes_neighbours_exceed_the_sensitivity(configuration, epsilon, n_units):
    documents = extreme_documents(BASES["random"])[::2]
    neighbours = [
        entering(configuration, [*BASE, (document,)], BASES["random"], 30, epsilon=epsilon, n_units=n_units)
        for document in documents
    ]
    for name in neighbours[0]:
        check_sensitivity(neighbours, name)


@pytest.mark.parametrize("configuration", [1, 2])
def test_contributions_that_are_too_large_are_caught(configuration, monkeypatch):
    monkeypatch.setattr({1: unit_sums, 2: quantised}[configuration], "SAFETY", 1.0 / WRONG)
    basis = BASES[{1: "words", 2: "opposite"}[configuration]]
    neighbours = [
        entering(configuration, [*BASE, (document,)], basis, TIGHT) for document in extreme_documents(basis)[5:16]
    ]
    with pytest.raises(AssertionError, match="beyond the sensitivity"):
        check_sensitivity(neighbours, THIRD[configuration])


def test_a_basis_that_stretches_is_caught(monkeypatch):
    """Without the contraction, columns of norm 1.2 carry contributions beyond the sensitivity."""
    monkeypatch.setitem(globals(), "contraction", lambda basis: (basis, 1.0))
    monkeypatch.setattr(proved, "contraction", lambda basis: (1.2 * basis, 1.0))
    neighbours = [
        entering(1, [*BASE, (document,)], BASES["words"], TIGHT)
        for document in extreme_documents(BASES["words"])[5:16]
    ]
    with pytest.raises(AssertionError, match="beyond the sensitivity"):
        check_sensitivity(neighbours, "third moment")


numbers = st.one_of(st.integers(1, 4), st.sampled_from([10, 1000, 10**6, LARGEST_COUNT]))
documents = st.dictionaries(st.integers(0, N_WORDS - 1), numbers, max_size=N_WORDS)


@pytest.mark.slow
@settings(max_examples=100)
@given(
    st.sampled_from([1, 2]),
    st.integers(1, 64),
    st.integers(0, 5),
    st.lists(documents, min_size=1, max_size=3),
    st.lists(documents, min_size=1, max_size=3),
)
def test_search_finds_no_neighbours_beyond_the_sensitivity(configuration, position, seed, first, second):
    values = 10.0 ** -np.arange(3.0) if seed % 2 else np.ones(3)
    neighbours = [
        entering(configuration, [*BASE[:2], unit], orthonormal(seed), position, values=values)
        for unit in (first, second)
    ]
    for name in neighbours[0]:
        check_sensitivity(neighbours, name)


def test_a_contraction_is_one_whatever_the_eigensolver_returned():
    random = np.random.default_rng(0)
    for basis in (np.linalg.qr(random.normal(size=(50, 7)))[0], random.normal(size=(50, 7)), np.eye(4, 2)):
        shrunk, stretch = contraction(basis)
        assert np.linalg.norm(shrunk, 2) < 1.0
        np.testing.assert_allclose(shrunk * np.sqrt(stretch), basis, rtol=1e-14)
    assert contraction(np.linalg.qr(random.normal(size=(50, 7)))[0])[1] < 1.0 + 1e-8


def test_noise_inside_an_orthonormal_basis_has_the_law_of_noise_on_all_triples():
    """In orthonormal coordinates of symmetric tensors, `E -> E(U,U,U)` has orthonormal rows: docs/proofs."""
    basis = np.linalg.qr(np.random.default_rng(2).normal(size=(5, 3)))[0]
    large, small = (symmetric_basis(size).reshape(-1, size**3) for size in (5, 3))
    projection = np.einsum("ijk,ia,jb,kc->abcijk", np.ones((5, 5, 5)), basis, basis, basis).reshape(27, 125)
    transfer = small @ projection @ large.T
    np.testing.assert_allclose(transfer @ transfer.T, np.eye(len(small)), atol=1e-12)


# -- whole fits ----------------------------------------------------------------------------------------------------


@cache
def synthetic(n_documents: int = 3_000, n_words: int = 60, seed: int = 0):
    return make_lda_corpus(n_documents, n_words, 3, alpha0=0.1, mean_length=40, random_state=seed)


def fitted(configuration: int, X: Any = None, **options: Any):
    return fitted_on(synthetic()[0] if X is None else X, configuration, **options)


@pytest.mark.statistical
@pytest.mark.parametrize("configuration", [1, 2])
def test_every_release_has_the_noise_that_is_recorded(configuration, monkeypatch):
    from private_topics.privacy.randomness import NoiseStream

    assert list(releases_as_recorded(synthetic()[0], configuration).values()) == [True] * 7
    exact = NoiseStream.rounded_gaussian
    monkeypatch.setattr(NoiseStream, "rounded_gaussian", lambda self, count, ratio: exact(self, count, 0.4 * ratio))
    refused = list(releases_as_recorded(synthetic()[0], configuration).values())
    assert refused[:3] == [False] * 3  # unigram, histogram, matrix: 480, 528 and 14,640 numbers
    assert not refused[5]  # the tensor, 80 numbers


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sampler": "exact", "noise_seed": None},
        {"groups": np.arange(3_000) // 2},
        {"epsilon": 0.01},
        {"n_jobs": 1},
    ],
    ids=["whole", "exact", "users", "tiny epsilon", "one thread"],
)
@pytest.mark.parametrize("configuration", [1, 2])
def test_every_number_is_noised(configuration, options):
    X = synthetic(3_000, 14)[0] if options.get("sampler") == "exact" else None
    seen, model = fitted(configuration, X, **options)
    if options.get("epsilon") is None:
        assert [released.name for _, released in seen] == [
            *EARLIER, NORMS[configuration], THIRD[configuration], "third clip factors"
        ]  # fmt: skip
        assert model.components_.shape[0] == 3
    else:
        assert [released.name for _, released in seen] == EARLIER
        assert model.components_.shape[0] == 1
    check_noised(seen, model)


@pytest.mark.parametrize("configuration", [1, 2])
def test_nothing_but_released_values_is_left_behind(configuration):
    assert len(releases_of_untainted(configuration, synthetic()[0], synthetic(seed=7)[0])) == 7


@pytest.mark.parametrize("configuration", [1, 2])
def test_statement_file_and_proofs(configuration, tmp_path):
    check_statement(configuration, *fitted(configuration, noise_seed=None), tmp_path)


@pytest.mark.parametrize("configuration", [1, 2])
def test_learns_the_topics(configuration):
    """The error at epsilon 3 was 0.019 for both when this was written."""
    X, truth, _ = make_lda_corpus(20_000, 200, 4, alpha0=0.2, random_state=0)
    model = PrivateSpectralLDA(4, epsilon=3.0, delta=1e-6, alpha0=0.2, configuration=configuration).fit(X)
    assert topic_error_l2(model.components_, truth) < 0.035


def test_blocks_move_the_third_moment_by_no_more_than_certified():
    """Configuration 1 adds in float64: another partition changes its aggregate within the certified error."""
    X = synthetic()[0]
    one, two = fitted(1, X), fitted(1, [X[:700], X[700:]])
    for (entry, _), (other, _) in zip(one[0], two[0], strict=True):
        apart = np.linalg.norm((entry.aggregate - other.aggregate).astype(float)) * entry.query.step
        if entry.query.name != "third moment":
            assert apart == 0.0
        else:
            assert entry.query == other.query
            clip = entry.query.sensitivity / math.sqrt(2.0)
            assert apart <= 27**0.5 * (2.0 * PROJECTION_ERROR * len(X.indptr) * clip + entry.query.step)
    np.testing.assert_allclose(one[1].components_, two[1].components_, atol=1e-6)


def test_own_split_is_used_and_checked():
    split = BudgetSplit(unigram=0.1, histograms=0.1, second=0.4, frame=0.0, tensor=0.4, refine=0.0)
    shares = {release.name: release.share for release in fitted(2, budget_split=split)[1].privacy_.releases}
    assert shares["unigram"] == pytest.approx(0.1)
    assert shares["second norms"] == pytest.approx(0.025)
    assert shares["frame third moment"] == pytest.approx(0.4)
    with pytest.raises(PrivacyError, match="positive fractions"):
        fitted(
            1, budget_split=BudgetSplit(unigram=0.5, histograms=0.0, second=0.5, frame=0.0, tensor=0.0, refine=0.0)
        )


def test_more_topics_than_the_budget_carries_are_warned_of():
    with pytest.warns(PrivacyWarning, match="carries 1 of the 3") as warned:
        PrivateSpectralLDA(3, epsilon=0.01, configuration=1).fit(synthetic()[0])
    assert any(warning.filename == __file__ for warning in warned)


def test_automatic_choice_is_proved():
    model = PrivateSpectralLDA(3, configuration="auto", allow_unproved=True, noise_seed=0, delta=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        assert model.fit(synthetic()[0]).privacy_.proved
    assert model.privacy_.configuration == "sequential"


@pytest.mark.parametrize("configuration", [0, 5, True, "1", None])
def test_unknown_configurations_are_refused(configuration):
    with pytest.raises(InputError, match="configuration"):
        PrivateSpectralLDA(3, configuration=configuration).fit(synthetic()[0])

"""The paper's configurations as published, number by number.

Every formula below is written out from the paper (appendix of sensitivity proofs, Procedure 1, Proposition on the
Gaussian mechanism) and held against what the code declares, records and releases; nothing is taken from
`configurations.bounds`. Models must say that they are not proved.
"""

from __future__ import annotations

import itertools
import math
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from private_support import LARGEST_COUNT, Entering, captured_releases, counts_of, replaced_aggregates
from private_topics import (
    BudgetLedger,
    BudgetSplit,
    InputError,
    PrivacyError,
    PrivacyWarning,
    PrivateSpectralLDA,
    load,
    make_lda_corpus,
)
from private_topics.evaluation import topic_error_l2
from private_topics.fits import published
from private_topics.fits.published import CLASSICAL_REASON, REASONS
from private_topics.privacy.curves import gdp_delta
from private_topics.privacy.events import GaussianEvent, LaplaceEvent
from private_topics.privacy.mechanisms import Released
from private_topics.privacy.randomness import NoiseStream

N, D, K, ALPHA0, EPSILON, DELTA = 4_000, 12, 3, 0.5, 2_000.0, 1e-5
RELEASES = {
    1: ["e4 second moment", "e3 third moment", "e8 second moment"],
    2: ["sigma_k", "e6 whitened tensor", "e8 second moment"],
    3: ["sigma_k", "gamma_s", "e7 eigenpairs", "e8 second moment"],
    4: ["sigma_k", "gamma_s", "e9 topics"],
}
CONFIGURATIONS = list(RELEASES)


@cache
def corpus(seed: int = 0):
    X, truth, alpha = make_lda_corpus(N, D, K, alpha0=ALPHA0, mean_length=30, random_state=seed)
    return X, truth, alpha


def fitted(configuration: int, X: Any = None, epsilon: float = EPSILON, **more: Any):
    options = {"delta": DELTA, "alpha0": ALPHA0, "noise_seed": 1, "calibration": "published", **more}
    groups = options.pop("groups", None)
    with captured_releases() as seen, warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        model = PrivateSpectralLDA(K, epsilon=epsilon, configuration=configuration, allow_unproved=True, **options)
        model.fit(corpus()[0] if X is None else X, groups=groups)
    return {released.name: (entry, released) for entry, released in seen}, model


# -- the paper's formulas, written out -----------------------------------------------------------------------------


def second_sensitivity() -> float:
    return 2 / N + ALPHA0 / (ALPHA0 + 1) * 4 / N


def third_sensitivity() -> float:
    return (
        2 / N
        + 4 * ALPHA0 / (ALPHA0 + 2) / N
        + 12 * ALPHA0**2 / ((ALPHA0 + 1) * (ALPHA0 + 2)) * (N - 1) / (N * (N - 2))
    )


def tensor_sensitivity(sigma_k: float) -> float:
    """With `σ_{k+1}` at its lower bound, zero."""
    norm = (
        1
        + 6 * ALPHA0 / (ALPHA0 + 2) * N / (N - 1)
        + 6 * ALPHA0**2 / ((ALPHA0 + 1) * (ALPHA0 + 2)) * N**3 / (N * (N - 1) * (N - 2))
    )
    first = norm * (2 * K) ** 1.5 * second_sensitivity() ** 3 / (sigma_k * math.sqrt(sigma_k / 2)) ** 3
    return first + third_sensitivity() * K**1.5 / (sigma_k / 2) ** 1.5


def eigenpair_sensitivity(sigma_k: float, gamma_s: float) -> float:
    return 2 * math.sqrt(K) * tensor_sensitivity(sigma_k) / gamma_s


def tau(parts: int) -> float:
    return math.sqrt(2 * math.log(1.25 / (DELTA / parts))) / (EPSILON / parts)


def lower_bound(released: Released, parts: int) -> float:
    """Paper, Procedure 1."""
    epsilon, delta = EPSILON / parts, DELTA / parts
    return max(0.0, float(released.value) - 2 / (N * epsilon) * math.log(1 / (2 * delta)))


# -- the moments, by brute force -----------------------------------------------------------------------------------


@cache
def moments() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`m`, `M2`, `M3` as arrays over all words, pairs and triples of words."""
    counts = corpus()[0].toarray().astype(float)
    counts = counts[counts.sum(axis=1) >= 3]
    eye, length = np.eye(D), counts.sum(axis=1)
    pairs = np.einsum("ni,nj,n->ij", counts, counts, 1 / (length * (length - 1)))
    pairs -= np.diag(counts.T @ (1 / (length * (length - 1))))
    weight = 1 / (length * (length - 1) * (length - 2))
    triples = np.einsum("ni,nj,nk,n->ijk", counts, counts, counts, weight)
    twice = np.einsum("ni,nj,n->ij", counts, counts, weight)
    triples -= np.einsum("ij,ik->ikj", twice, eye) + np.einsum("ij,ik->ijk", twice, eye)
    triples -= np.einsum("ji,jk->ijk", twice, eye)
    triples += 2 * np.einsum("i,ij,ik->ijk", counts.T @ weight, eye, eye)
    m, e2, e3 = counts.T @ (1 / length) / N, pairs / N, triples / N
    mixed = np.einsum("ij,k->ijk", e2, m)
    placed = mixed + mixed.transpose(0, 2, 1) + mixed.transpose(2, 1, 0)
    cube = np.einsum("i,j,k->ijk", m, m, m)
    second = e2 - ALPHA0 / (ALPHA0 + 1) * np.outer(m, m)
    third = e3 - ALPHA0 / (ALPHA0 + 2) * placed + 2 * ALPHA0**2 / ((ALPHA0 + 1) * (ALPHA0 + 2)) * cube
    return m, second, third


def spectrum(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1][:K], vectors[:, ::-1][:, :K]


def entered(pair: tuple[Entering, Released]) -> np.ndarray:
    return pair[0].aggregate * pair[0].query.step


def up_to_signs(tensor: np.ndarray, other: np.ndarray) -> bool:
    """Eigenvectors have no sign: equality up to flips of the axes."""
    return any(
        np.allclose(tensor, np.einsum("abc,a,b,c->abc", other, signs, signs, signs), rtol=1e-4, atol=1e-6)
        for signs in itertools.product((1.0, -1.0), repeat=K)
    )


# -- configuration by configuration --------------------------------------------------------------------------------


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_every_release_has_its_part_of_epsilon_and_delta(configuration):
    seen, model = fitted(configuration)
    assert list(seen) == RELEASES[configuration]
    shares = [release.share for release in model.privacy_.releases]
    assert shares == [1 / len(seen)] * len(seen)
    assert model.privacy_.epsilon_spent == pytest.approx(EPSILON)
    assert "add up" in model.privacy_.accounting
    for name, (_, released) in seen.items():
        assert isinstance(released.event, LaplaceEvent if name in ("sigma_k", "gamma_s") else GaussianEvent)


def test_configuration_1():
    seen, _ = fitted(1)
    _, second, third = moments()
    for name in ("e4 second moment", "e8 second moment"):
        entry, released = seen[name]
        assert entry.query.sensitivity == pytest.approx(second_sensitivity(), rel=1e-12)
        assert released.sigma == pytest.approx(second_sensitivity() * tau(3), rel=1e-12)
        np.testing.assert_allclose(entered(seen[name]), second, atol=1e-9)
    entry, released = seen["e3 third moment"]
    assert entry.query.sensitivity == pytest.approx(third_sensitivity(), rel=1e-12)
    assert released.sigma == pytest.approx(third_sensitivity() * tau(3), rel=1e-12)
    basis = spectrum(seen["e4 second moment"][1].value)[1]  # of the noisy second moment
    assert up_to_signs(entered(seen["e3 third moment"]), np.einsum("ijk,ia,jb,kc->abc", third, basis, basis, basis))
    assert not np.allclose(seen["e4 second moment"][1].value, seen["e8 second moment"][1].value, atol=1e-12)


def test_configuration_2():
    seen, _ = fitted(2)
    _, second, third = moments()
    values, vectors = spectrum(second)
    entry, released = seen["sigma_k"]
    assert released.event.scale == pytest.approx(1 / (N * EPSILON / 3), rel=1e-8)
    assert float(entered(seen["sigma_k"])) == pytest.approx(values[-1], rel=1e-6)
    sigma_k = lower_bound(released, 3)
    entry, released = seen["e6 whitened tensor"]
    assert entry.query.sensitivity == pytest.approx(tensor_sensitivity(sigma_k), rel=1e-10)
    assert released.sigma == pytest.approx(tensor_sensitivity(sigma_k) * tau(3), rel=1e-10)
    whitening = vectors / np.sqrt(values)  # of the second moment without noise
    expected = np.einsum("ijk,ia,jb,kc->abc", third, whitening, whitening, whitening)
    assert up_to_signs(entered(seen["e6 whitened tensor"]), expected)
    assert seen["e8 second moment"][1].sigma == pytest.approx(second_sensitivity() * tau(3), rel=1e-12)
    np.testing.assert_allclose(entered(seen["e8 second moment"]), second, atol=1e-9)


def check_procedure(seen: dict[str, Any], parts: int) -> tuple[float, float, np.ndarray]:
    """Procedure 1 with both bounds; returns them and the eigenvalues of the whitened tensor by brute force."""
    _, second, third = moments()
    values, vectors = spectrum(second)
    whitening = vectors / np.sqrt(values)
    tensor = np.einsum("ijk,ia,jb,kc->abc", third, whitening, whitening, whitening)
    starts = np.random.default_rng(0).normal(size=(60, K))
    found = []
    for v in starts:
        for _ in range(300):
            v = np.einsum("abc,b,c->a", tensor, v, v)
            v /= np.linalg.norm(v)
        found.append(float(np.einsum("abc,a,b,c", tensor, v, v, v)))
    eigenvalues = np.unique(np.round(np.array(found), 3))[::-1]
    gaps = -np.diff([*eigenvalues, 0.0]) / 4
    assert len(eigenvalues) == K
    for name, value, tolerance in (("sigma_k", values[-1], 1e-6), ("gamma_s", gaps.min(), 0.2)):
        assert seen[name][1].event.scale == pytest.approx(1 / (N * EPSILON / parts), rel=1e-8)
        assert float(entered(seen[name])) == pytest.approx(value, rel=tolerance)  # power method: nearly orthogonal
    return lower_bound(seen["sigma_k"][1], parts), lower_bound(seen["gamma_s"][1], parts), eigenvalues


def test_configuration_3():
    seen, _ = fitted(3)
    sigma_k, gamma_s, eigenvalues = check_procedure(seen, 4)
    entry, released = seen["e7 eigenpairs"]
    assert entry.aggregate.shape == (K + 1, K)
    assert entry.query.sensitivity == pytest.approx(eigenpair_sensitivity(sigma_k, gamma_s), rel=1e-10)
    assert released.sigma == pytest.approx(eigenpair_sensitivity(sigma_k, gamma_s) * tau(4), rel=1e-10)
    stacked = entered(seen["e7 eigenpairs"])
    np.testing.assert_allclose(stacked[:-1].T @ stacked[:-1], np.eye(K), atol=1e-3)  # up to the lattice step
    np.testing.assert_allclose(stacked[-1], eigenvalues, rtol=0.02)


def test_configuration_4():
    """The release is in units of the published sensitivity, whose unreleased factors no record shows."""
    seen, _ = fitted(4)
    sigma_k, gamma_s, eigenvalues = check_procedure(seen, 3)
    values, _ = spectrum(moments()[1])
    entry, released = seen["e9 topics"]
    assert entry.query.sensitivity == 1.0
    assert released.sigma == pytest.approx(tau(3), rel=1e-12)
    factor = (ALPHA0 + 2) / (2 * math.sqrt((ALPHA0 + 1) * ALPHA0))
    vector = eigenpair_sensitivity(sigma_k, gamma_s)
    scale = factor * (
        eigenvalues[0] * math.sqrt(values[0]) * vector
        + eigenvalues[0] * math.sqrt(values[0]) / sigma_k * second_sensitivity()
        + math.sqrt(values[0] + second_sensitivity()) * vector
    )
    assert entry.aggregate.shape == (K, D + 1)
    rows = entered(seen["e9 topics"]) * scale
    unscaled = math.sqrt(ALPHA0 * (ALPHA0 + 1))  # the paper's topics sum to the inverse of this
    np.testing.assert_allclose(np.abs(rows[:, :-1].sum(axis=1)) * unscaled, 1.0, rtol=0.05)
    np.testing.assert_allclose(np.sort(rows[:, -1]), np.sort((factor * eigenvalues) ** -2.0), rtol=0.05)


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_analytic_noise_is_the_smallest_for_the_same_sensitivities(configuration):
    seen, model = fitted(
        configuration, epsilon=6.0 if configuration < 3 else EPSILON, calibration="published-analytic"
    )
    parts = len(seen)
    epsilon, delta = model.epsilon / parts, DELTA / parts
    for entry, released in seen.values():
        if isinstance(released.event, GaussianEvent):
            mu = entry.query.sensitivity / released.sigma
            assert gdp_delta(mu, epsilon) <= delta
            assert gdp_delta(mu * (1 + 1e-6), epsilon) > delta
    assert not any("tau" in reason for reason in model.privacy_.reasons)


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_with_little_noise_the_topics_are_found(configuration):
    """At an epsilon of no use to anybody the un-noised algorithm is left, error 0.03 on these few documents."""
    _, model = fitted(configuration, epsilon=1e9)
    assert topic_error_l2(model.components_, corpus()[1]) < 0.06
    np.testing.assert_allclose(np.sort(model.doc_topic_prior_), np.sort(corpus()[2]), rtol=0.2)
    assert model.supported_components_ == K


# -- noise, refusals, statement ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"sampler": "exact", "noise_seed": None}, {"groups": np.arange(N) // 2}], ids=str
)
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_every_number_is_noised(configuration, options):
    seen, model = fitted(configuration, **options)
    for name, pair in seen.items():
        assert (pair[1].value != entered(pair)).all(), f"{name}: a number without noise"
    assert np.isfinite(model.components_).all()
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)
    assert (model.doc_topic_prior_ > 0).all()


@pytest.mark.statistical
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_noise_is_as_recorded(configuration):
    """Residuals over all entries of a release and eight noise seeds: chi-squared, false-alarm rate 1e-6 each."""
    found: dict[str, list[np.ndarray]] = {}
    for noise_seed in range(8):
        for name, (entry, released) in fitted(configuration, noise_seed=noise_seed)[0].items():
            residual = released.value - entry.aggregate * entry.query.step
            if isinstance(released.event, GaussianEvent):
                upper = np.triu_indices(len(residual)) if entry.query.kind == "symmetric_matrix" else ...
                found.setdefault(name, []).append((residual / released.std())[upper].ravel())
    for name, parts in found.items():
        if "tensor" not in name and "third" not in name:  # equal entries of a tensor are one draw: see below
            joined = np.concatenate(parts)
            assert chi2.ppf(5e-7, joined.size) < (joined**2).sum() < chi2.isf(5e-7, joined.size), name
        else:
            index = tuple(np.array(list(itertools.combinations_with_replacement(range(K), 3))).T)
            joined = np.concatenate([part.reshape(K, K, K)[index] for part in parts])
            assert chi2.ppf(5e-7, joined.size) < (joined**2).sum() < chi2.isf(5e-7, joined.size), name


def outlandish():
    kinds = [{}, {0: LARGEST_COUNT}, dict.fromkeys(range(D), 10**6), {9: 1, 8: 1, 7: 1}, {3: 1}]
    return counts_of([kinds[n % 5] for n in range(N)], D)


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_nothing_but_released_values_is_left_behind(configuration):
    """Not proved, but no leak either: with the aggregates replaced, no trace of the corpus is left."""
    reference = {name: pair[0].aggregate for name, pair in fitted(configuration)[0].items()}
    traces = []
    for X in (corpus(5)[0], outlandish(), counts_of([{}] * N, D)):
        with replaced_aggregates(lambda query, aggregate: reference[query.name]) as queries:
            model = fitted(configuration, X)[1]
        arrays = model.components_.tobytes(), model.doc_topic_prior_.tobytes(), model.supported_components_
        traces.append((queries, arrays, model.privacy_.to_dict()))
    assert traces[0] == traces[1] == traces[2]


@pytest.mark.parametrize(
    ("configuration", "name", "epsilon"), [(2, "sigma_k", 0.5), (3, "gamma_s", 5), (4, "gamma_s", 5)]
)
def test_a_lower_bound_of_zero_is_refused_on_the_released_value(configuration, name, epsilon):
    """What was released decides, not the corpus: the same corpus passes when another value is released of it."""
    with captured_releases() as seen, pytest.raises(PrivacyError, match=f"lower bound of {name} is zero") as refused:
        fitted(configuration, epsilon=epsilon)
    names = RELEASES[configuration]
    assert [released.name for _, released in seen] == names[: names.index(name) + 1]
    assert "sequential" in str(refused.value)
    assert not any(character.isdigit() for character in str(refused.value))
    large = {"sigma_k": 10**9, "gamma_s": 10**9}
    with replaced_aggregates(lambda query, aggregate: np.int64(large.get(query.name, 0)) + aggregate) as queries:
        fitted(configuration, epsilon=epsilon)
    assert [query.name for query in queries] == RELEASES[configuration]


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_statement_says_not_proved_and_survives_a_file(configuration, tmp_path):
    _, model = fitted(configuration, noise_seed=None)
    statement = model.privacy_
    assert not statement.proved
    assert statement.reasons
    assert statement.text.startswith("NOT PROVED")
    assert "satisfies" not in statement.text
    assert "docs/errata.md" in statement.text
    assert statement.configuration == f"configuration {configuration} (published)"
    model.save(tmp_path / "model")
    for loaded in (load(tmp_path / "model"), PrivateSpectralLDA.load(tmp_path / "model")):
        assert loaded.privacy_ == statement
        assert (loaded.configuration, loaded.calibration) == (configuration, "published")


def test_every_reason_is_an_erratum():
    errata = (Path(__file__).resolve().parents[2] / "docs" / "errata.md").read_text(encoding="utf-8")
    for reason in itertools.chain(*REASONS.values()):
        assert f"| {reason.rsplit('(', 1)[1].rstrip(')')} |" in errata


def test_reasons_grow_with_the_configuration():
    reasons = [set(fitted(configuration)[1].privacy_.reasons) for configuration in CONFIGURATIONS]
    assert reasons[1] < reasons[2] < reasons[3]
    assert not reasons[0] & reasons[1] - {CLASSICAL_REASON}
    assert any("three mixed terms" in reason for reason in reasons[0])
    assert any("not released" in reason for reason in reasons[3])


REFUSED = {
    "no opt-in": ({"allow_unproved": False}, PrivacyError, "allow_unproved=True"),
    "sequential": ({"configuration": "sequential"}, InputError, "calibration='proved'"),
    "automatic": ({"configuration": "auto"}, InputError, "calibration='proved'"),
    "ledger": ({"ledger": BudgetLedger(1.0, 1e-5)}, PrivacyError, "ledger"),
    "split": ({"budget_split": BudgetSplit()}, InputError, "budget_split"),
    "delta": ({"delta": 0.0}, PrivacyError, "delta"),
    "unknown": ({"calibration": "guessed"}, InputError, "calibration"),
}


@pytest.mark.parametrize(("options", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_refusals_come_before_noise(options, kind, message, monkeypatch):
    for sampler in ("rounded_gaussian", "rounded_laplace"):
        monkeypatch.setattr(NoiseStream, sampler, lambda *arguments: pytest.fail("noise was drawn"))
    settings = {"configuration": 2, "calibration": "published", "allow_unproved": True, "delta": DELTA, **options}
    with pytest.raises(kind, match=message):
        PrivateSpectralLDA(K, **settings).fit(corpus()[0])


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_large_vocabularies_are_refused(configuration, monkeypatch):
    monkeypatch.setattr(published, "MOST_DENSE_WORDS", D - 1)
    with pytest.raises(InputError, match="dense matrix"):
        fitted(configuration)


def test_more_topics_than_words_and_few_documents():
    _, model = fitted(1, corpus()[0][:, :2])
    assert model.components_.shape == (2, 2)
    with pytest.raises(InputError, match="at least 3"):
        fitted(1, corpus()[0][:2])

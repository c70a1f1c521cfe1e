"""Whether the noise of a release is the one that is recorded: residuals, their coordinates, a chi-squared test."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import chi2

from private_support import LARGEST_COUNT, Entering, captured_releases, counts_of, replaced_aggregates
from private_topics import PrivacyWarning, PrivateSpectralLDA
from private_topics.privacy.mechanisms import Released

FALSE_ALARM = 1e-6


def isometric(entering: Entering, residual: np.ndarray) -> np.ndarray:
    """Coordinates of a residual in an orthonormal basis of its space."""
    if not entering.query.kind.startswith("symmetric"):
        return residual.ravel()
    size, order = len(residual), residual.ndim
    index = np.array(list(itertools.combinations_with_replacement(range(size), order)))
    distinct = 1 + np.count_nonzero(np.diff(index, axis=1), axis=1)
    permutations = np.array({2: [0, 1, 2], 3: [0, 1, 3, 6]}[order])[distinct]
    return residual[tuple(index.T)] * np.sqrt(permutations)


def symmetric_basis(rank: int) -> np.ndarray:
    """Orthonormal symmetric 3-tensors that span all of them."""
    found = []
    for index in itertools.combinations_with_replacement(range(rank), 3):
        tensor = np.zeros((rank,) * 3)
        for order in itertools.permutations(index):
            tensor[order] = 1.0
        found.append(tensor / np.linalg.norm(tensor))
    return np.array(found)


def standardised(entering: Entering, released: Released) -> np.ndarray:
    residual = released.value - entering.aggregate * entering.query.step
    return isometric(entering, residual) / released.sigma


def as_recorded(standard: np.ndarray) -> bool:
    statistic, size = float((standard**2).sum()), standard.size
    return bool(chi2.ppf(FALSE_ALARM / 2, size) < statistic < chi2.isf(FALSE_ALARM / 2, size))


def fitted_on(X: Any, configuration: int, *, epsilon: float = 60.0, groups: Any = None, **more: Any):
    """What entered and left each release of a fit of three topics, and the model."""
    options = {"delta": 1e-5, "alpha0": 0.1, "configuration": configuration, "noise_seed": 1, **more}
    with captured_releases() as seen, warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        model = PrivateSpectralLDA(3, epsilon=epsilon, **options).fit(X, groups=groups)
    return seen, model


def releases_as_recorded(X: Any, configuration: int) -> dict[str, bool]:
    """Whether the residuals of each release, over several noise seeds, have the recorded spread."""
    found: dict[str, list[np.ndarray]] = {}
    for noise_seed in range(8):
        for entering, released in fitted_on(X, configuration, noise_seed=noise_seed)[0]:
            found.setdefault(released.name, []).append(standardised(entering, released))
    return {name: as_recorded(np.concatenate(parts)) for name, parts in found.items()}


def outlandish(n_units: int, n_words: int = 60) -> sp.csr_array:
    """As unlike text as counts can be."""
    kinds = [{}, {0: LARGEST_COUNT}, dict.fromkeys(range(n_words), 10**6), {59: 1, 58: 1, 57: 1}, {3: 1}]
    return counts_of([kinds[n % 5] for n in range(n_units)], n_words)


def releases_of_untainted(configuration: int, X: sp.csr_array, other: sp.csr_array) -> list[str]:
    """With the aggregates of `X` in the place of its own, nothing a fit leaves behind tells what its corpus was."""
    reference = {entry.query.name: entry.aggregate for entry, _ in fitted_on(X, configuration)[0]}
    traces = []
    for private in (other, outlandish(X.shape[0], X.shape[1])):
        with replaced_aggregates(lambda query, aggregate: reference[query.name]) as queries:
            model = fitted_on(private, configuration)[1]
        arrays = model.components_.tobytes(), model.doc_topic_prior_.tobytes(), model.supported_components_
        shown = model.privacy_.to_dict(), model.transform(np.ones((1, X.shape[1]), int)).tolist()
        traces.append((queries, arrays, shown))
    assert traces[0] == traces[1]
    return [query.name for query in traces[0][0]]


def check_statement(configuration: int, seen: list[Any], model: PrivateSpectralLDA, folder: Path) -> None:
    """A proved statement within its budget, a page for every release, and a file that brings it all back."""
    statement = model.privacy_
    assert statement.proved
    assert statement.reasons == ()
    assert statement.configuration == f"configuration {configuration} (proved)"
    assert statement.epsilon_spent <= statement.epsilon
    assert abs(sum(release.share for release in statement.releases) - 1.0) <= 1e-6
    pages = {page.stem for page in (Path(__file__).resolve().parents[1] / "docs" / "proofs").glob("*.md")}
    assert {released.event.proof for _, released in seen} <= pages
    assert f"configuration_{configuration}" in pages
    model.save(folder / "model")
    loaded = PrivateSpectralLDA.load(folder / "model")
    assert loaded.privacy_ == statement
    assert loaded.configuration == configuration


def check_noised(seen: list[Any], model: PrivateSpectralLDA) -> None:
    for entry, released in seen:
        assert (released.value != entry.aggregate * entry.query.step).all(), f"{released.name}: without noise"
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)
    assert (model.doc_topic_prior_ > 0).all()

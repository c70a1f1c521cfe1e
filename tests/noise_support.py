"""Whether the noise of a release is the one that is recorded: residuals, their coordinates, a chi-squared test."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
from scipy.stats import chi2

from private_support import Entering, captured_releases
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

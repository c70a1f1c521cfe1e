"""The estimators that every suite runs over, one corpus for all of them, and each fitted to it once."""

from functools import cache
from typing import Any

import pytest
from sklearn.base import clone

from private_topics import PrivateSpectralLDA, PrivateVariationalLDA, SpectralLDA, VariationalLDA, make_lda_corpus

N_TOPICS, N_WORDS, ALPHA0 = 3, 80, 0.3
FEW = {"steps": 4, "sampling_rate": 0.3}
PRIVATE = {"epsilon": 20.0, "delta": 1e-5, "noise_seed": 0}

ESTIMATORS = {
    "SpectralLDA": SpectralLDA(N_TOPICS, alpha0=ALPHA0, random_state=0),
    "VariationalLDA": VariationalLDA(N_TOPICS, alpha0=ALPHA0, random_state=0, **FEW),
    "PrivateSpectralLDA": PrivateSpectralLDA(N_TOPICS, alpha0=ALPHA0, **PRIVATE),
    "PrivateVariationalLDA": PrivateVariationalLDA(N_TOPICS, alpha0=ALPHA0, **PRIVATE, **FEW),
}
every_estimator = pytest.mark.parametrize("kind", ESTIMATORS)
every_private_estimator = pytest.mark.parametrize("kind", [kind for kind in ESTIMATORS if "Private" in kind])
every_variational_estimator = pytest.mark.parametrize("kind", [kind for kind in ESTIMATORS if "Variational" in kind])


def made(kind: str, **settings: Any) -> Any:
    """An unfitted estimator, with some settings of its own."""
    return clone(ESTIMATORS[kind]).set_params(**settings)


def seeded(kind: str, seed: int | None) -> dict[str, int | None]:
    """The setting that fixes a fit: of a private one, the noise."""
    return {"noise_seed" if "Private" in kind else "random_state": seed}


@cache
def corpus() -> tuple[Any, Any, Any]:
    return make_lda_corpus(6000, N_WORDS, N_TOPICS, alpha0=ALPHA0, mean_length=50, random_state=0)


@cache
def fitted(kind: str) -> Any:
    return made(kind).fit(corpus()[0])

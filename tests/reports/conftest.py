"""Models that the reports are written from, fitted once."""

import browser_support
import pytest
from report_support import N_TOPICS, N_UNITS, N_WORDS, fitted

from private_topics import SpectralLDA, make_lda_corpus


@pytest.fixture(scope="session")
def corpus():
    return make_lda_corpus(N_UNITS, N_WORDS, N_TOPICS, alpha0=0.3, mean_length=60, random_state=3)


@pytest.fixture(scope="session")
def model(corpus):
    return fitted(corpus[0], epsilon=5.0)


@pytest.fixture(scope="session")
def bad_models(corpus):
    """Models without a proved guarantee, by the headline of their reports."""
    X = corpus[0][:2_000]
    published = {"configuration": 1, "calibration": "published", "allow_unproved": True}
    return {
        "NOT PRIVATE: no privacy guarantee": SpectralLDA(N_TOPICS, random_state=0).fit(X),
        "NOT PRIVATE: the noise comes from a known seed": fitted(X, noise_seed=987_654_321),
        "NOT PROVED: aims at (1, 1e-06)-differential privacy": fitted(X, **published),
    }


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    with browser_support.running(browser_support.program(), tmp_path_factory.mktemp("profile")) as found:
        yield found

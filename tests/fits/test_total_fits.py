"""A private fit is a total function of a valid corpus: no counts, no lengths and no number of documents end it.

What may be refused is settings and what the guarantee takes as public, before anything is charged
(docs/proofs/records.md). A numpy warning here is an error: it would be a message that depends on the corpus.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from private_topics import PrivacyWarning, PrivateSpectralLDA, PrivateVariationalLDA, PublicKnowledge
from private_topics.corpus.words.vocabulary import WordList
from private_topics.estimators.texts import PrivateVocabulary, fit_texts, make_vocabulary
from private_topics.privacy.budget import PrivacyBudget
from private_topics.sums import triple_norms

N, D = 40, 12
LARGEST = 2**31 - 1
ORDINARY = np.random.default_rng(0).poisson(2.0, (N, D))
KNOWN = np.random.default_rng(1).poisson(3.0, (50, D))


def with_row(row: Any, others: Any = 0) -> np.ndarray:
    X = ORDINARY * others
    X[0] = row
    return X


CORPORA = {
    "all empty": (np.zeros((N, D), int), None),
    "one word": (5 * np.eye(D, dtype=int)[np.zeros(N, int)], None),
    "too short": (2 * np.eye(D, dtype=int)[np.arange(N) % D], None),
    "the largest counts": (np.full((N, D), LARGEST), None),
    "one largest document": (with_row(LARGEST, 1), None),
    "nothing else": (with_row(LARGEST), None),
    "one user has nearly all": (ORDINARY, np.r_[np.zeros(N - 3, int), 1, 2, 3]),
    "two users": (ORDINARY, np.r_[np.zeros(N - 1, int), 1]),
    "two documents": (ORDINARY[:2], None),
    "one column": (ORDINARY[:, :1], None),
}
FITS: dict[str, Any] = {
    "sequential": PrivateSpectralLDA(3),
    "knowledge": PrivateSpectralLDA(3, knowledge=PublicKnowledge.from_counts(KNOWN)),
    **{f"configuration {number}": PrivateSpectralLDA(3, configuration=number) for number in (1, 2, 3, 4)},
    "delta zero": PrivateSpectralLDA(3, configuration=1, delta=0.0),
    "minibatches": PrivateVariationalLDA(3),
}


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("fit", FITS)
def test_every_valid_corpus_gives_a_model(fit: str, corpus: str) -> None:
    X, groups = CORPORA[corpus]
    if fit == "knowledge" and X.shape[1] != D:
        pytest.skip("knowledge is of as many columns")
    for epsilon in (1.0,) if fit == "minibatches" else (1.0, 1e8):
        model = FITS[fit].set_params(epsilon=epsilon, noise_seed=1)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", PrivacyWarning)
            model.fit(X, groups=groups)
        assert np.isfinite(model.components_).all()
        np.testing.assert_allclose(model.components_.sum(axis=1), 1.0)


@pytest.mark.filterwarnings("ignore::private_topics.PrivacyWarning")
@pytest.mark.parametrize("text", ["", "\ud800\0 \U0001f600", "word " * 10_000], ids=["empty", "no words", "one word"])
def test_texts_may_be_anything(text: str) -> None:
    texts = [(text, f"user {number // 2}") for number in range(300)]
    listed = WordList("two words", ("word", "ward"))
    model = fit_texts(PrivateSpectralLDA(2, noise_seed=1), texts, listed)
    assert model.components_.shape == (1, 2)
    words, _ = make_vocabulary(texts, PrivacyBudget(1.0, 1e-6), PrivateVocabulary())
    assert set(words) <= {"word"}


@pytest.mark.filterwarnings("ignore::private_topics.PrivacyWarning")
def test_the_number_of_a_users_documents_ends_no_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Configuration 1 refused a corpus of more than `MOST_CHUNKS` pieces after noise had been drawn."""
    monkeypatch.setattr(triple_norms, "MOST_CHUNKS", 3, raising=False)
    X = np.random.default_rng(2).dirichlet(np.full(D, 0.1), 3)[np.arange(600) % 3]
    counts = np.random.default_rng(3).poisson(40 * X)
    users = np.r_[np.zeros(400, int), np.arange(1, 201)]
    model = PrivateSpectralLDA(3, configuration=1, epsilon=1e5, noise_seed=1)
    model.fit([counts[start : start + 100] for start in range(0, 600, 100)], groups=users)
    assert "third moment" in [release.name for release in model.privacy_.releases]

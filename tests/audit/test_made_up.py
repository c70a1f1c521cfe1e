"""The corpus that an audit makes up is like the model's: its unit, its words, its releases; contradictions refused.

A fit draws real noise. The settings are far from the edges where it would decide between releases: none of 60 runs
of each fit here made others.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

from private_topics import InputError, PrivacyWarning, PrivateSpectralLDA, make_lda_corpus
from private_topics.audit import corpus_like, made_up
from private_topics.audit.made_up import corpus_for, fresh
from private_topics.fits.sequential import RELEASES
from private_topics.progress import Progress

MODEL: dict[str, Any] = {"delta": 1e-5, "alpha0": 0.5, "refine_steps": 1, "n_jobs": 1}
LARGE = 6_000  # words: the refinement may be cut


class Listening(Progress):
    def __init__(self) -> None:
        self.stages: list[str] = []

    def stage(self, name: str) -> None:
        self.stages.append(name)


def fitted(X: Any, groups: Any = None, topics: int = 3, **settings: Any) -> PrivateSpectralLDA:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return PrivateSpectralLDA(topics, **MODEL | settings).fit(X, groups=groups)


@cache
def model_of_users() -> PrivateSpectralLDA:
    X = make_lda_corpus(1_200, 30, 3, alpha0=0.5, mean_length=40, random_state=0)[0]
    return fitted(X, np.arange(1_200) // 4, epsilon=30.0)


@cache
def model_of_documents() -> PrivateSpectralLDA:
    X = make_lda_corpus(800, 30, 3, alpha0=0.5, mean_length=40, random_state=0)[0]
    return fitted(X, epsilon=20.0)


@cache
def large_model() -> PrivateSpectralLDA:
    """Words as rare as in a language, too many for all topics asked for: the unigram is released a second time."""
    random = np.random.default_rng(0)
    topics = random.gamma(0.3, size=(6, LARGE)) / np.arange(1, LARGE + 1)
    topics /= topics.sum(axis=1, keepdims=True)
    X = made_up.drawn(topics, np.full(6, 0.1), 600, 1)
    return fitted(X, topics=10, epsilon=200.0)


def names(model: PrivateSpectralLDA) -> list[str]:
    """The noise chooses between two releases that stand in each other's place: they count as the same."""
    place = {release.name: release.in_place_of or release.name for release in RELEASES}
    return [place.get(line.name, line.name) for line in model.privacy_.releases]


def refitted(model: PrivateSpectralLDA, X: Any, groups: Any) -> PrivateSpectralLDA:
    return fitted(X, groups, int(model.n_components), epsilon=model.epsilon)


def test_users_stay_users_over_the_words_of_the_model():
    X, groups = corpus_like(model_of_users(), n_jobs=1)
    assert X.shape[1] == 30
    assert groups is not None
    np.testing.assert_array_equal(np.unique(groups, return_counts=True)[1], np.full(X.shape[0] // 3, 3))
    assert names(refitted(model_of_users(), X, groups)) == names(model_of_users())


def test_documents_stay_documents():
    X, groups = corpus_like(model_of_documents(), n_jobs=1)
    assert X.shape == (800, 30)
    assert groups is None


@pytest.mark.parametrize(
    ("model", "asked", "said"),
    [(model_of_users, 1, "protects users"), (model_of_documents, 2, "protects documents")],
    ids=["one document per user", "users of documents"],
)
def test_another_unit_than_the_model_s_is_refused(model, asked, said):
    with pytest.raises(InputError, match=said):
        corpus_like(model(), documents_per_user=asked)


def test_sizes_that_are_asked_for_are_taken():
    X, groups = corpus_like(model_of_users(), documents=100, words=12, documents_per_user=5)
    assert X.shape == (100, 12)
    assert len(np.unique(groups)) == 20
    with pytest.raises(InputError, match="has 30 words"):
        corpus_like(model_of_users(), words=31)


def test_a_large_vocabulary_takes_the_path_of_the_model():
    """The releases of a cut vocabulary, which no corpus of 200 words would make."""
    model = large_model()
    assert "unigram again" in names(model)
    assert names(model)[-2:] == ["refinement 1", "evidence"]
    X, groups = corpus_like(model, n_jobs=1)
    assert X.shape[1] == LARGE
    assert names(refitted(model, X, groups)) == names(model)
    small, _ = corpus_like(model, documents=600, words=200)
    assert "unigram again" not in names(refitted(model, small, None))


def test_other_sizes_are_tried_until_the_releases_are_the_model_s(monkeypatch):
    """As if the model had few documents: the first corpus is too small for its topics."""
    monkeypatch.setattr(made_up, "OTHER_SIZES", (50.0, 2.0))
    X = make_lda_corpus(3_000, 30, 3, alpha0=0.5, mean_length=40, random_state=0)[0]
    model = fitted(X, epsilon=3.0, refine_steps=1)  # with more steps noise decides whether a cross moment joins them
    object.__setattr__(model.privacy_, "n_units", 60)
    progress = Listening()
    X, _ = corpus_like(model, n_jobs=1, progress=progress)
    assert progress.stages == [f"choosing the size of the corpus: {size} units" for size in ("60", "3,000")]
    assert X.shape[0] == 3_000


def test_the_nearest_is_taken_where_no_size_makes_the_releases():
    model = fitted(make_lda_corpus(800, 30, 3, alpha0=0.5, mean_length=40, random_state=0)[0], epsilon=20.0)
    extra = model.privacy_.releases[-1]
    releases = (*model.privacy_.releases, type(extra)(**vars(extra) | {"name": "refinement 9"}))
    object.__setattr__(model.privacy_, "releases", releases)
    progress = Listening()
    X, _ = corpus_like(model, n_jobs=1, progress=progress)
    assert len(progress.stages) == 5
    assert X.shape[0] in (800, 1_600, 3_200)


def test_too_many_numbers_mean_fewer_words(monkeypatch):
    monkeypatch.setattr(made_up, "MOST_NUMBERS", 300)
    model = model_of_documents()
    numbers = sum(release.coordinates for release in model.privacy_.releases)
    X, _ = corpus_like(model, documents=60)
    assert X.shape[1] == 30 * 300 // numbers
    monkeypatch.setattr(made_up, "MOST_NUMBERS", 1)
    assert corpus_like(model, documents=60)[0].shape[1] == made_up.FEWEST_WORDS


def test_the_words_that_stay_are_the_frequent_ones():
    model = model_of_documents()
    mixture = model.doc_topic_prior_ @ model.components_
    kept = np.sort(np.argsort(-mixture)[:10])
    X, _ = corpus_like(model, documents=20_000, words=10)
    expected = (model.doc_topic_prior_ / model.doc_topic_prior_.sum()) @ (
        model.components_[:, kept] / model.components_[:, kept].sum(axis=1, keepdims=True)
    )
    np.testing.assert_allclose(X.sum(axis=0) / X.sum(), expected, atol=0.01)
    assert 49 < X.sum() / 20_000 < 51


def test_the_number_of_units_is_bounded():
    assert next(made_up._sizes(10_000_000, 1)) == 50_000
    assert list(made_up._sizes(10_000_000, 1)) == [50_000, 100_000, 25_000, 12_500]
    assert next(made_up._sizes(10_000_000, 3)) == 16_666
    assert list(made_up._sizes(2, 1)) == [50, 100, 200]


def test_nothing_of_a_model_is_charged_or_seeded():
    settings = fresh(fitted(make_lda_corpus(300, 20, 2, random_state=0)[0], topics=2, noise_seed=4, epsilon=20.0))
    assert settings.noise_seed is None
    assert settings.ledger is None
    assert settings.engine == "local"
    assert not hasattr(settings, "components_")


def test_settings_alone_make_a_corpus():
    model = PrivateSpectralLDA(4, epsilon=2.0)
    X, groups = corpus_for(model, documents=None, words=50, per_user=1, seed=0)
    assert X.shape == (2_000, 50)
    assert groups is None
    X, groups = corpus_for(model, documents=None, words=50, per_user=2, seed=0)
    assert X.shape == (4_000, 50)
    assert len(np.unique(groups)) == 2_000


def test_a_model_without_a_test_of_its_topics_is_audited_without_one():
    X = make_lda_corpus(600, 40, 2, alpha0=0.1, random_state=0)[0]
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        of = {keep: PrivateSpectralLDA(2, epsilon=60.0, delta=1e-4, keep=keep).fit(X) for keep in (None, "untested")}
    assert {keep: fresh(model).keep for keep, model in of.items()} == {None: None, "untested": "untested"}
    of["untested"].set_params(keep=None)  # as a file of before has it
    assert fresh(of["untested"]).keep == "untested"
    assert "evidence" in names(of[None])

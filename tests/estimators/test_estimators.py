"""SpectralLDA as a scikit-learn estimator: the conventions, the fitted attributes, threads, seeds."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from private_topics import (
    InputError,
    PrivateSpectralLDA,
    PrivateVariationalLDA,
    SpectralLDA,
    VariationalLDA,
    make_lda_corpus,
)
from private_topics.evaluation import document_completion_perplexity, unigram_perplexity

EXPECTED_FAILURES = {
    "check_fit2d_1feature": "its documents have one or two words each; moments need three, and the error says so",
}


@parametrize_with_checks(
    [SpectralLDA(n_components=2)], expected_failed_checks=lambda estimator: dict(EXPECTED_FAILURES)
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_expected_failures_are_few():
    assert len(EXPECTED_FAILURES) <= 5


@pytest.fixture(scope="module")
def corpus():
    return make_lda_corpus(4000, 120, 4, alpha0=0.5, mean_length=60, random_state=0)


@pytest.fixture(scope="module")
def model(corpus):
    return SpectralLDA(4, random_state=0).fit(corpus[0])


def test_fitted_attributes(model, corpus):
    assert model.components_.shape == (4, 120)
    assert model.components_.min() >= 0
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0, atol=1e-12)
    assert model.doc_topic_prior_.shape == (4,)
    assert model.doc_topic_prior_.min() > 0
    assert model.doc_topic_prior_.sum() == pytest.approx(model.alpha0)
    assert model.n_features_in_ == 120
    assert not hasattr(model, "feature_names_in_")
    assert list(model.get_feature_names_out()) == ["topic0", "topic1", "topic2", "topic3"]


def test_fit_leaves_parameters_and_input_alone(corpus):
    X = corpus[0].copy()
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    estimator = SpectralLDA(4, refine_steps=1, random_state=0)
    parameters = estimator.get_params()
    assert estimator.fit(X) is estimator
    assert estimator.get_params() == parameters
    for now, then in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_transform(model, corpus):
    proportions = model.transform(corpus[0][:50])
    assert proportions.shape == (50, 4)
    assert proportions.min() > 0
    np.testing.assert_allclose(proportions.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(model.transform(corpus[0][7:8])[0], proportions[7])


def test_transform_of_an_empty_document_is_the_prior(model):
    proportions = model.transform(sp.csr_array((1, 120), dtype=np.int64))
    np.testing.assert_allclose(proportions[0], model.doc_topic_prior_ / model.doc_topic_prior_.sum())


def test_transform_finds_the_topic_of_a_pure_document(model):
    pure = np.rint(model.components_ * 2000).astype(int)
    np.testing.assert_array_equal(model.transform(pure).argmax(axis=1), np.arange(4))


def test_perplexity_is_document_completion(model, corpus):
    held_out = corpus[0][:300]
    expected = document_completion_perplexity(model.components_, held_out)
    assert model.perplexity(held_out) == pytest.approx(expected, rel=1e-12)
    assert model.score(held_out) == pytest.approx(-np.log(expected), rel=1e-12)
    assert expected < 0.8 * unigram_perplexity(corpus[0], held_out)


def test_top_words(model):
    names = [f"name{j}" for j in range(120)]
    words = model.top_words(names, n=3)
    assert [len(row) for row in words] == [3] * 4
    for row, topic in zip(words, model.components_, strict=True):
        values = [topic[names.index(word)] for word in row]
        assert values == sorted(topic, reverse=True)[:3]
    assert model.top_words(n=2)[0][0].startswith("word")
    assert len(model.top_words(n=500)[0]) == 120


@pytest.mark.parametrize("arguments", [{"feature_names": ["a"]}, {"n": 0}, {"n": 1.5}])
def test_top_words_refuses(model, arguments):
    with pytest.raises(InputError):
        model.top_words(**arguments)


def test_same_seed_same_model_and_clone(corpus, model):
    again = clone(model)
    assert not hasattr(again, "components_")
    np.testing.assert_array_equal(again.fit(corpus[0]).components_, model.components_)
    other = SpectralLDA(4, random_state=1).fit(corpus[0])
    assert (other.components_ != model.components_).any()


@pytest.mark.parametrize("refine_steps", [0, 1])
def test_threads_do_not_change_the_result(corpus, refine_steps):
    one, two = (SpectralLDA(4, refine_steps=refine_steps, n_jobs=jobs, random_state=0) for jobs in (1, 2))
    one.fit(corpus[0])
    two.fit(corpus[0])
    np.testing.assert_allclose(one.components_, two.components_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.doc_topic_prior_, two.doc_topic_prior_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.transform(corpus[0][:20]), two.transform(corpus[0][:20]), rtol=0, atol=1e-12)


TEXTS = ["cat dog cat pet", "dog pet cat dog", "star moon star sky", "moon sky star moon"] * 20


def test_pipeline_from_text():
    pipeline = make_pipeline(CountVectorizer(), SpectralLDA(2, random_state=0))
    proportions = pipeline.fit_transform(TEXTS)
    assert proportions.shape == (80, 2)
    assert list(pipeline.get_feature_names_out()) == ["topic0", "topic1"]
    words = pipeline[-1].top_words(pipeline[0].get_feature_names_out(), n=3)
    assert {frozenset(row) for row in words} == {frozenset(["cat", "dog", "pet"]), frozenset(["star", "moon", "sky"])}
    assert (proportions[0::4].argmax(axis=1) != proportions[2::4].argmax(axis=1)).all()


def test_grid_search_prefers_the_true_number_of_topics(corpus):
    search = GridSearchCV(SpectralLDA(random_state=0), {"n_components": [1, 4]}, cv=2).fit(corpus[0][:2000])
    assert search.best_params_ == {"n_components": 4}


def test_data_frames_keep_their_names(corpus):
    frame = pd.DataFrame(corpus[0][:500].toarray(), columns=[f"n{j}" for j in range(120)])
    estimator = SpectralLDA(2, random_state=0).fit(frame)
    assert list(estimator.feature_names_in_) == list(frame.columns)
    assert estimator.top_words(n=1)[0][0].startswith("n")
    with pytest.raises(InputError, match="feature names"):
        estimator.transform(frame[frame.columns[::-1]])
    estimator.fit(corpus[0][:500])
    assert not hasattr(estimator, "feature_names_in_")


def test_kinds_of_input_agree(corpus):
    X = corpus[0][:600]
    expected = SpectralLDA(3, random_state=0).fit(X).components_
    for other in (X.toarray(), X.tocsc(), sp.coo_array(X), X.toarray().astype(float), sp.csr_matrix(X)):
        np.testing.assert_array_equal(SpectralLDA(3, random_state=0).fit(other).components_, expected)


@pytest.mark.parametrize("method", ["transform", "perplexity", "top_words", "save", "get_feature_names_out"])
def test_unfitted(method, tmp_path):
    arguments = {"transform": ([[1, 2]],), "perplexity": ([[1, 2]],), "save": (tmp_path / "model",)}
    with pytest.raises(NotFittedError):
        getattr(SpectralLDA(), method)(*arguments.get(method, ()))


def test_verbose_prints_stages_to_standard_error(corpus, capsys):
    SpectralLDA(2, random_state=0, verbose=True).fit(corpus[0][:300])
    printed = capsys.readouterr()
    assert printed.out == ""
    assert [line.split("s  ")[-1] for line in printed.err.splitlines()] == [
        "first and second moments",
        "third moment",
        "refinement 1 of 1",
    ]


def test_silent_by_default(corpus, capsys):
    SpectralLDA(2, random_state=0).fit(corpus[0][:300])
    printed = capsys.readouterr()
    assert printed.out == printed.err == ""


@pytest.mark.parametrize(
    "model",
    [
        SpectralLDA(2),
        PrivateSpectralLDA(2, epsilon=20.0, delta=1e-3, noise_seed=0),
        VariationalLDA(2, steps=2),
        PrivateVariationalLDA(2, epsilon=20.0, delta=1e-3, steps=2, noise_seed=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_fit_that_fails_leaves_the_model_as_it_was(model):
    def stops():
        raise RuntimeError("the disk is gone")

    class Blocks:
        columns = ("a", "b", "c")

        def __iter__(self):
            yield np.ones((40, 3), int)
            stops()

    X, _, _ = make_lda_corpus(300, 12, 2, random_state=0)
    model = clone(model)
    with pytest.raises(RuntimeError):
        model.fit(Blocks())
    with pytest.raises(NotFittedError):
        model.transform(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    with pytest.raises(RuntimeError):
        model.fit(Blocks())
    assert {name: value for name, value in vars(model).items() if name.endswith("_")}.keys() == before.keys()
    assert all(getattr(model, name) is value for name, value in before.items())
    assert len(model.top_words()[0]) == 10
    assert model.transform(X).shape == (300, len(model.components_))

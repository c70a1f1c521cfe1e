"""What every estimator promises: scikit-learn's conventions, fitted attributes, transform, files, threads, seeds.

One suite for all estimators. A new one adds a line to `estimator_support.ESTIMATORS`.
"""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from estimator_support import (
    ALPHA0,
    ESTIMATORS,
    N_TOPICS,
    N_WORDS,
    corpus,
    every_estimator,
    fitted,
    made,
    seeded,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import private_topics
from private_topics import (
    InputError,
    ModelFileError,
    PrivateSpectralLDA,
    PrivateVariationalLDA,
    SpectralLDA,
    VariationalLDA,
)
from private_topics.estimators.base import TopicEstimator
from private_topics.evaluation import document_completion_perplexity, unigram_perplexity

pytestmark = pytest.mark.filterwarnings("ignore::private_topics.PrivacyWarning")

EXPECTED_FAILURES = {
    "check_fit2d_1feature": "its documents have one or two words each; moments need three, and the error says so",
}
CHECKED = [
    SpectralLDA(n_components=2),
    PrivateSpectralLDA(n_components=2, noise_seed=1, delta=1e-3),
    VariationalLDA(n_components=2, steps=5),
    PrivateVariationalLDA(n_components=2, steps=5, noise_seed=1, delta=1e-3),
]


def test_every_estimator_is_here():
    public = {getattr(private_topics, name) for name in private_topics.__all__}
    named = {kind.__name__ for kind in public if isinstance(kind, type) and issubclass(kind, TopicEstimator)}
    assert named == set(ESTIMATORS) == {type(estimator).__name__ for estimator in CHECKED}


@parametrize_with_checks(
    CHECKED, expected_failed_checks=lambda estimator: EXPECTED_FAILURES if type(estimator) is SpectralLDA else {}
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_expected_failures_are_few():
    assert len(EXPECTED_FAILURES) <= 5


@every_estimator
def test_fitted_attributes(kind):
    model = fitted(kind)
    assert model.components_.shape == (N_TOPICS, N_WORDS)
    assert model.components_.min() >= 0
    np.testing.assert_allclose(model.components_.sum(axis=1), 1.0, atol=1e-12)
    assert model.doc_topic_prior_.shape == (N_TOPICS,)
    assert model.doc_topic_prior_.min() > 0
    assert model.doc_topic_prior_.sum() == pytest.approx(ALPHA0)
    assert model.n_features_in_ == N_WORDS
    assert not hasattr(model, "feature_names_in_")
    assert list(model.get_feature_names_out()) == ["topic0", "topic1", "topic2"]


@every_estimator
def test_fit_leaves_parameters_and_input_alone(kind):
    X = corpus()[0][:500].copy()
    before = X.data.copy(), X.indices.copy(), X.indptr.copy()
    estimator = made(kind)
    parameters = estimator.get_params()
    assert estimator.fit(X) is estimator
    assert estimator.get_params() == parameters
    for now, then in zip((X.data, X.indices, X.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


@every_estimator
def test_transform(kind):
    X = corpus()[0]
    proportions = fitted(kind).transform(X[:50])
    assert proportions.shape == (50, N_TOPICS)
    assert proportions.min() > 0
    np.testing.assert_allclose(proportions.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(fitted(kind).transform(X[7:8])[0], proportions[7])


@every_estimator
def test_transform_of_an_empty_document_is_the_prior(kind):
    model = fitted(kind)
    proportions = model.transform(sp.csr_array((1, N_WORDS), dtype=np.int64))
    np.testing.assert_allclose(proportions[0], model.doc_topic_prior_ / model.doc_topic_prior_.sum())


@every_estimator
def test_transform_finds_the_topic_of_a_pure_document(kind):
    pure = np.rint(fitted(kind).components_ * 2000).astype(int)
    np.testing.assert_array_equal(fitted(kind).transform(pure).argmax(axis=1), np.arange(N_TOPICS))


@every_estimator
def test_perplexity_is_document_completion(kind):
    model, held_out = fitted(kind), corpus()[0][:300]
    expected = document_completion_perplexity(model.components_, held_out)
    assert model.perplexity(held_out) == pytest.approx(expected, rel=1e-12)
    assert model.score(held_out) == pytest.approx(-np.log(expected), rel=1e-12)
    assert expected < 0.8 * unigram_perplexity(corpus()[0], held_out)


@every_estimator
def test_top_words(kind):
    model, names = fitted(kind), [f"name{j}" for j in range(N_WORDS)]
    words = model.top_words(names, n=3)
    assert [len(row) for row in words] == [3] * N_TOPICS
    for row, topic in zip(words, model.components_, strict=True):
        values = [topic[names.index(word)] for word in row]
        assert values == sorted(topic, reverse=True)[:3]
    assert model.top_words(n=2)[0][0].startswith("word")
    assert len(model.top_words(n=500)[0]) == N_WORDS
    for arguments in ({"feature_names": ["a"]}, {"n": 0}, {"n": 1.5}):
        with pytest.raises(InputError):
            model.top_words(**arguments)


@every_estimator
def test_same_seed_same_model_and_clone(kind):
    again = clone(fitted(kind))
    assert not hasattr(again, "components_")
    np.testing.assert_array_equal(again.fit(corpus()[0]).components_, fitted(kind).components_)
    other = made(kind, **seeded(kind, 1)).fit(corpus()[0])
    assert (other.components_ != fitted(kind).components_).any()


@pytest.mark.parametrize(
    ("kind", "settings"), [*((kind, {}) for kind in ESTIMATORS), ("SpectralLDA", {"refine_steps": 0})]
)
def test_threads_do_not_change_the_result(kind, settings):
    X = corpus()[0][:2000]
    one, two = (made(kind, n_jobs=jobs, **settings).fit(X) for jobs in (1, 2))
    np.testing.assert_allclose(one.components_, two.components_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.doc_topic_prior_, two.doc_topic_prior_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.transform(X[:20]), two.transform(X[:20]), rtol=0, atol=1e-12)


@every_estimator
def test_blocks_do_not_change_the_result(kind):
    """But for the refinement without privacy, whose batches are those of the blocks."""
    settings = {"refine_steps": 0} if kind == "SpectralLDA" else {}
    X = corpus()[0][:900]
    expected = made(kind, n_jobs=1, **settings).fit(X).components_
    blocks = made(kind, n_jobs=1, **settings).fit([X[:400], X[400:]])
    np.testing.assert_allclose(blocks.components_, expected, rtol=0, atol=1e-12)


@every_estimator
def test_kinds_of_input_agree(kind):
    X = corpus()[0][:600]
    expected = made(kind).fit(X).components_
    for other in (X.toarray(), X.tocsc(), sp.coo_array(X), X.toarray().astype(float), sp.csr_matrix(X)):
        np.testing.assert_array_equal(made(kind).fit(other).components_, expected)


@every_estimator
def test_data_frames_keep_their_names(kind):
    X = corpus()[0][:500]
    frame = pd.DataFrame(X.toarray(), columns=[f"n{j}" for j in range(N_WORDS)])
    estimator = made(kind).fit(frame)
    assert list(estimator.feature_names_in_) == list(frame.columns)
    assert estimator.top_words(n=1)[0][0].startswith("n")
    with pytest.raises(InputError, match="feature names"):
        estimator.transform(frame[frame.columns[::-1]])
    estimator.fit(X)
    assert not hasattr(estimator, "feature_names_in_")


@every_estimator
@pytest.mark.parametrize("method", ["transform", "perplexity", "top_words", "save", "get_feature_names_out"])
def test_unfitted(kind, method, tmp_path):
    arguments = {"transform": ([[1, 2]],), "perplexity": ([[1, 2]],), "save": (tmp_path / "model",)}
    with pytest.raises(NotFittedError):
        getattr(made(kind), method)(*arguments.get(method, ()))


STAGES = {
    "SpectralLDA": ["first and second moments", "third moment", "refinement 1 of 1"],
    "VariationalLDA": [f"minibatch {number} of 4" for number in range(1, 5)],
    "PrivateSpectralLDA": [
        *("unigram", "second moment", "moments inside the frame"),
        *(f"refinement {number} of 4" for number in range(1, 5)),
        "evidence",
    ],
    "PrivateVariationalLDA": [f"minibatch {number} of 4" for number in range(1, 5)],
}


@every_estimator
def test_verbose_prints_stages_to_standard_error(kind, capsys):
    made(kind).fit(corpus()[0][:300])
    printed = capsys.readouterr()
    assert printed.out == printed.err == ""
    made(kind, verbose=True).fit(corpus()[0][:300])
    printed = capsys.readouterr()
    assert printed.out == ""
    assert [line.split("s  ")[-1] for line in printed.err.splitlines()] == STAGES[kind]


@every_estimator
def test_save_and_load(kind, tmp_path):
    model, path = fitted(kind), tmp_path / "topics.model"
    model.save(path)
    for loaded in (type(model).load(path), private_topics.load(path)):
        assert type(loaded) is type(model)
        assert loaded.get_params() == model.get_params()
        for name in (name for name in vars(model) if name.endswith("_")):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
        np.testing.assert_array_equal(loaded.transform(corpus()[0][:5]), model.transform(corpus()[0][:5]))
    for other in {*map(type, ESTIMATORS.values())} - {type(model)}:
        with pytest.raises(ModelFileError):
            other.load(path)


class FailingBlocks:
    """A corpus whose first block comes and whose second does not."""

    columns = ("a", "b", "c")

    def __iter__(self):
        yield np.ones((40, 3), int)
        raise RuntimeError("the disk is gone")


@every_estimator
def test_a_fit_that_fails_leaves_the_model_as_it_was(kind):
    X, model = corpus()[0][:300], made(kind)
    with pytest.raises(RuntimeError):
        model.fit(FailingBlocks())
    with pytest.raises(NotFittedError):
        model.transform(X)
    model.fit(X)
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    with pytest.raises(RuntimeError):
        model.fit(FailingBlocks())
    assert {name: value for name, value in vars(model).items() if name.endswith("_")}.keys() == before.keys()
    assert all(getattr(model, name) is value for name, value in before.items())
    assert len(model.top_words()[0]) == 10
    assert model.transform(X).shape == (300, len(model.components_))


TEXTS = ["cat dog cat pet", "dog pet cat dog", "star moon star sky", "moon sky star moon"] * 20


def test_pipeline_from_text():
    pipeline = make_pipeline(CountVectorizer(), SpectralLDA(2, random_state=0))
    proportions = pipeline.fit_transform(TEXTS)
    assert proportions.shape == (80, 2)
    assert list(pipeline.get_feature_names_out()) == ["topic0", "topic1"]
    words = pipeline[-1].top_words(pipeline[0].get_feature_names_out(), n=3)
    assert {frozenset(row) for row in words} == {frozenset(["cat", "dog", "pet"]), frozenset(["star", "moon", "sky"])}
    assert (proportions[0::4].argmax(axis=1) != proportions[2::4].argmax(axis=1)).all()


def test_grid_search_prefers_the_true_number_of_topics():
    search = GridSearchCV(SpectralLDA(random_state=0), {"n_components": [1, N_TOPICS]}, cv=2).fit(corpus()[0][:2000])
    assert search.best_params_ == {"n_components": N_TOPICS}

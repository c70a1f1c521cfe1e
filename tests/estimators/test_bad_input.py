"""Bad input to SpectralLDA: each case a clear error, and no value of the corpus in any message."""

import numpy as np
import pytest
import scipy.sparse as sp

from private_topics import InputError, SpectralLDA

GOOD = np.random.default_rng(0).poisson(2.0, (40, 12))
MARK = 7654321  # a value that must not show up in a message


def changed(value, dtype=np.float64):
    X = GOOD.astype(dtype)
    X[3, 4] = value
    return X


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.coo_array])
@pytest.mark.parametrize(
    ("value", "message"),
    [(-MARK, "Negative"), (MARK + 0.5, "integer counts"), (np.nan, "NaN or inf"), (np.inf, "NaN or inf")],
)
@pytest.mark.parametrize("method", ["fit", "transform", "perplexity"])
def test_values_that_are_no_counts(kind, value, message, method):
    estimator = SpectralLDA(2).fit(GOOD)
    with pytest.raises(InputError, match=message) as caught:
        getattr(estimator, method)(kind(changed(value)))
    assert str(MARK) not in str(caught.value)


def test_too_few_usable_documents():
    X = np.zeros((30, 12), int)
    X[:, 0] = 2  # two words each: too short for a third moment
    X[0] = 5
    with pytest.raises(InputError, match="at least n_components=2 documents of three or more words"):
        SpectralLDA(2).fit(X)


def test_too_few_words_that_occur():
    X = np.zeros((30, 12), int)
    X[:, :2] = 5
    with pytest.raises(InputError, match="at least n_components=3 words"):
        SpectralLDA(3).fit(X)


def test_fewer_columns_than_topics():
    with pytest.raises(InputError, match="n_components=13"):
        SpectralLDA(13).fit(GOOD)


@pytest.mark.parametrize("value", [0, -1, 1.5, "2", True, None])
def test_bad_numbers_of_topics(value):
    with pytest.raises(InputError, match="'n_components' parameter of SpectralLDA must be an int"):
        SpectralLDA(value).fit(GOOD)


@pytest.mark.parametrize(
    ("name", "value"),
    [("alpha0", v) for v in (0, -1.0, np.nan, np.inf, "1", True)]
    + [("refine_steps", v) for v in (-1, 0.5, None)]
    + [("n_jobs", v) for v in (0, 1.5, "2")],
)
def test_bad_parameters(name, value):
    with pytest.raises(InputError, match=f"'{name}' parameter of SpectralLDA"):
        SpectralLDA(2, **{name: value}).fit(GOOD)


@pytest.mark.parametrize(
    "X", [np.zeros((0, 5), int), np.zeros((5, 0), int), [], [[]], sp.csr_array((0, 4)), [np.zeros((0, 3))]]
)
def test_an_empty_corpus(X):
    with pytest.raises(InputError):
        SpectralLDA(1).fit(X)


def test_only_empty_documents():
    with pytest.raises(InputError, match="documents of three or more words"):
        SpectralLDA(1).fit(np.zeros((10, 5), int))


def test_a_block_of_another_width():
    with pytest.raises(InputError, match="different number of words"):
        SpectralLDA(2).fit([GOOD, GOOD[:, :-1]])


def test_a_bad_block_in_the_middle():
    with pytest.raises(InputError, match="Negative"):
        SpectralLDA(2).fit([GOOD, changed(-1), GOOD])


def test_a_generator_works_only_once():
    with pytest.raises(InputError, match="more than once"):
        SpectralLDA(2).fit(block for block in [GOOD, GOOD])


@pytest.mark.parametrize("X", ["no/such/folder", "no-such-file.npz", "no-such-file.txt"])
def test_missing_files(X):
    with pytest.raises(InputError):
        SpectralLDA(2).fit(X)


def test_other_width_at_transform():
    estimator = SpectralLDA(2).fit(GOOD)
    for method in ("transform", "perplexity"):
        with pytest.raises(InputError, match="expecting 12 features"):
            getattr(estimator, method)(GOOD[:, :-1])


@pytest.mark.parametrize(
    "X",
    [
        np.eye(12, dtype=int) * 50,  # every document one word: rank as high as it gets, no shared words
        np.ones((30, 12), int),  # all documents alike: second moment of rank one
        np.r_[GOOD, np.zeros((20, 12), int)],  # empty documents
    ],
)
@pytest.mark.parametrize("refine_steps", [0, 1])
def test_degenerate_corpora_give_sound_models(X, refine_steps):
    estimator = SpectralLDA(3, refine_steps=refine_steps).fit(X)
    assert np.isfinite(estimator.components_).all()
    assert estimator.components_.min() >= 0
    np.testing.assert_allclose(estimator.components_.sum(axis=1), 1.0)
    assert np.isfinite(estimator.doc_topic_prior_).all()
    assert estimator.doc_topic_prior_.sum() == pytest.approx(1.0)

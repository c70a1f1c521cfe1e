"""Bad input to every estimator: each case a clear error, and no value of the corpus in any message."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from estimator_support import ESTIMATORS, every_estimator, made

from private_topics import InputError, SpectralLDA

pytestmark = pytest.mark.filterwarnings("ignore::private_topics.PrivacyWarning")

GOOD = np.random.default_rng(0).poisson(2.0, (40, 12))
MARK = 7654321  # a value that must not show up in a message


@cache
def fitted(kind):
    return made(kind).fit(GOOD)


def changed(value, dtype=np.float64):
    X = GOOD.astype(dtype)
    X[3, 4] = value
    return X


@every_estimator
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.coo_array])
@pytest.mark.parametrize(
    ("value", "message"),
    [(-MARK, "Negative"), (MARK + 0.5, "integer counts"), (np.nan, "NaN or inf"), (np.inf, "NaN or inf")],
)
@pytest.mark.parametrize("method", ["fit", "transform", "perplexity"])
def test_values_that_are_no_counts(kind, form, value, message, method):
    with pytest.raises(InputError, match=message) as caught:
        getattr(fitted(kind), method)(form(changed(value)))
    assert str(MARK) not in str(caught.value)


@every_estimator
def test_masked_counts_are_not_used(kind):
    """What is behind a mask is not meant to be read; as an array without one it would be."""
    masked = np.ma.masked_array(changed(MARK, int), GOOD == MARK)
    made(kind).fit(masked)  # nothing is masked
    masked[3, 4] = np.ma.masked
    for method in ("fit", "transform", "perplexity"):
        with pytest.raises(InputError, match="masked"):
            getattr(fitted(kind), method)(masked)


def test_too_few_usable_documents():
    X = np.zeros((30, 12), int)
    X[:, 0] = 2  # two words each: too short for a third moment
    X[0] = 5
    with pytest.raises(InputError, match="at least n_components=2 documents of three or more words"):
        SpectralLDA(2).fit(X)
    with pytest.raises(InputError, match="documents of three or more words"):
        SpectralLDA(1).fit(np.zeros((10, 5), int))


def test_too_few_words_that_occur():
    X = np.zeros((30, 12), int)
    X[:, :2] = 5
    with pytest.raises(InputError, match="at least n_components=3 words"):
        SpectralLDA(3).fit(X)


def test_fewer_columns_than_topics():
    with pytest.raises(InputError, match="n_components=13"):
        SpectralLDA(13).fit(GOOD)


BAD_VALUES = {
    "n_components": (0, -1, 1.5, "2", True, None),
    "alpha0": (0, -1.0, np.nan, np.inf, "1", True),
    "refine_steps": (-1, 0.5, None),
    "n_jobs": (0, 1.5, "2"),
}
BAD_PARAMETERS = [
    (kind, name, value)
    for kind, estimator in ESTIMATORS.items()
    for name in estimator.get_params()
    for value in BAD_VALUES.get(name, ())
]


@pytest.mark.parametrize(("kind", "name", "value"), BAD_PARAMETERS)
def test_bad_parameters(kind, name, value):
    expected = f"'{name}' parameter of {kind} must be " + ("an int" if name == "n_components" else "")
    with pytest.raises(InputError, match=expected):
        made(kind, **{name: value}).fit(GOOD)


@every_estimator
def test_too_many_topics(kind):
    with pytest.raises(InputError, match="n_components"):
        made(kind, n_components=2**70).fit(GOOD)


@every_estimator
@pytest.mark.parametrize(
    "X", [np.zeros((0, 5), int), np.zeros((5, 0), int), [], [[]], sp.csr_array((0, 4)), [np.zeros((0, 3))]]
)
def test_an_empty_corpus(kind, X):
    with pytest.raises(InputError):
        made(kind, n_components=1).fit(X)


BAD_BLOCKS = {
    "a block of another width": ([GOOD, GOOD[:, :-1]], "different number of words"),
    "a bad block in the middle": ([GOOD, changed(-1), GOOD], "Negative"),
}


@every_estimator
@pytest.mark.parametrize(("blocks", "message"), BAD_BLOCKS.values(), ids=BAD_BLOCKS)
def test_bad_blocks(kind, blocks, message):
    with pytest.raises(InputError, match=message):
        made(kind).fit(blocks)


@every_estimator
def test_a_generator_works_only_once(kind):
    with pytest.raises(InputError, match="more than once"):
        made(kind).fit(block for block in [GOOD, GOOD])


@every_estimator
@pytest.mark.parametrize("X", ["no/such/folder", "no-such-file.npz", "no-such-file.txt"])
def test_missing_files(kind, X):
    with pytest.raises(InputError):
        made(kind).fit(X)


@every_estimator
@pytest.mark.parametrize("method", ["transform", "perplexity"])
def test_other_width_at_transform(kind, method):
    with pytest.raises(InputError, match="expecting 12 features"):
        getattr(fitted(kind), method)(GOOD[:, :-1])


@every_estimator
@pytest.mark.parametrize(
    "X",
    [
        np.eye(12, dtype=int) * 50,  # every document one word: rank as high as it gets, no shared words
        np.ones((30, 12), int),  # all documents alike: second moment of rank one
        np.r_[GOOD, np.zeros((20, 12), int)],  # empty documents
    ],
)
@pytest.mark.parametrize("refine_steps", [0, 1])
def test_degenerate_corpora_give_sound_models(kind, X, refine_steps):
    steps = {"steps": refine_steps + 1} if "Variational" in kind else {"refine_steps": refine_steps}
    estimator = made(kind, **steps).fit(X)
    assert np.isfinite(estimator.components_).all()
    assert estimator.components_.min() >= 0
    np.testing.assert_allclose(estimator.components_.sum(axis=1), 1.0)
    assert np.isfinite(estimator.doc_topic_prior_).all()
    assert estimator.doc_topic_prior_.sum() == pytest.approx(estimator.alpha0)

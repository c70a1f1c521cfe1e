"""`make_lda_corpus` draws what it says: checked against the exact moments of LDA.

The statistical tests have fixed seeds; over seeds, each of the 46 z-tests fails with probability below 6e-7
(five standard deviations, normal approximation) and each of the 3 chi-square tests with probability 1e-6: the
file raises a false alarm for fewer than one seed in 30,000.
"""

import numpy as np
import pytest
import scipy.stats

from private_topics.corpus.counts.matrix import document_lengths
from private_topics.corpus.made_up import synthetic
from private_topics.corpus.made_up.synthetic import make_lda_corpus
from private_topics.errors import InputError


def z_score(values: np.ndarray, expected: float) -> float:
    return float((values.mean() - expected) / (values.std(ddof=1) / np.sqrt(len(values))))


def test_shapes_and_truth():
    counts, topics, alpha = make_lda_corpus(50, 30, 4, alpha0=2.0, random_state=0)
    assert counts.shape == (50, 30)
    assert (counts.data.dtype, counts.indices.dtype, counts.indptr.dtype) == (np.int32, np.int32, np.int32)
    assert counts[::2].nnz + counts[1::2].nnz == counts.tocoo().nnz == counts.nnz
    assert topics.shape == (4, 30)
    assert (topics >= 0).all()
    np.testing.assert_allclose(topics.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(alpha, [0.5] * 4)


def test_reproducible():
    def draw(random_state):
        return make_lda_corpus(200, 30, 3, random_state=random_state)[0].toarray()

    np.testing.assert_array_equal(draw(3), draw(3))
    np.testing.assert_array_equal(draw(np.random.default_rng(3)), draw(np.random.default_rng(3)))
    np.testing.assert_array_equal(draw(np.random.RandomState(3)), draw(3))
    assert (draw(3) != draw(4)).any()
    assert (draw(None) != draw(None)).any()
    generator = np.random.default_rng(3)
    assert (draw(generator) != draw(generator)).any()


@pytest.mark.parametrize("chunk_tokens", [50, 1 << 21])
def test_words_of_a_single_topic_follow_it(monkeypatch, chunk_tokens):
    """With one topic all tokens are independent draws from it: chi-square over the words, level 1e-6."""
    monkeypatch.setattr(synthetic, "CHUNK_TOKENS", chunk_tokens)
    counts, topics, _ = make_lda_corpus(2000, 40, 1, mean_length=50, random_state=1)
    observed = np.bincount(counts.indices, counts.data, minlength=40)
    expected = topics[0] * observed.sum()
    common = expected > 5
    observed = np.append(observed[common], observed[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    assert common.sum() > 10
    assert scipy.stats.chisquare(observed, expected).pvalue > 1e-6


def test_lengths_are_poisson():
    lengths = document_lengths(make_lda_corpus(20_000, 20, 3, mean_length=4.5, random_state=2)[0])
    observed = np.bincount(np.minimum(lengths, 12), minlength=13)
    probability = scipy.stats.poisson(4.5).pmf(np.arange(13))
    probability[12] = 1 - probability[:12].sum()
    assert observed[0] > 0  # empty documents happen and are kept
    assert scipy.stats.chisquare(observed, probability * len(lengths)).pvalue > 1e-6


@pytest.mark.parametrize("alpha0", [0.001, 0.1, 1.0, 20.0, 1000.0])
def test_first_and_second_moments_are_those_of_lda(alpha0):
    """Along a direction v: E<v,c> = λ<v,m> and E[<v,c>² - <v²,c>] = λ² v'E2v, for Poisson(λ) lengths.

    The directions read off the difference of two topic weights: at alpha0 = 1 and 20, an alpha0 wrong by 15 %
    typically is five to seven standard deviations off.
    """
    k, mean_length = 4, 30
    counts, topics, alpha = make_lda_corpus(
        20_000, 60, k, alpha0=alpha0, mean_length=mean_length, random_state=int(alpha0 * 1000)
    )
    np.testing.assert_allclose(alpha.sum(), alpha0)
    theta_second = (np.diag(alpha) + np.outer(alpha, alpha)) / (alpha0 * (alpha0 + 1))
    for topic in range(k):
        direction = np.linalg.pinv(topics) @ (np.eye(k)[topic] - np.eye(k)[topic - 1])
        along = counts @ direction
        along_topics = topics @ direction
        assert abs(z_score(along, mean_length * (alpha / alpha0) @ along_topics)) < 5
        pairs = along**2 - counts @ direction**2
        assert abs(z_score(pairs, mean_length**2 * along_topics @ theta_second @ along_topics)) < 5


def test_topics_follow_the_stated_dirichlet():
    """E[mu_w²] of a symmetric Dirichlet with parameter c is (c + 1) / (d (cd + 1))."""
    topics = make_lda_corpus(1, 50, 4000, random_state=5)[1]
    c, d = synthetic.TOPIC_CONCENTRATION, 50
    assert abs(z_score((topics**2).sum(axis=1), (c + 1) / (c * d + 1))) < 5
    assert abs(z_score(topics[:, 7], 1 / d)) < 5


@pytest.mark.parametrize("alpha0", [1e-300, 1e-3, 1e3, 1e300])
def test_extreme_alpha0(alpha0):
    counts, topics, _ = make_lda_corpus(300, 20, 5, alpha0=alpha0, random_state=0)
    assert np.isfinite(topics).all()
    assert abs(document_lengths(counts).mean() - 100) < 5 * 10 / np.sqrt(300)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 1, 4), (5, 2, 7)])
def test_smallest_sizes(sizes):
    counts, topics, alpha = make_lda_corpus(*sizes, mean_length=0.5, random_state=0)
    assert counts.shape == sizes[:2]
    assert topics.shape == (sizes[2], sizes[1])
    assert alpha.shape == (sizes[2],)


@pytest.mark.parametrize("name", ["n_documents", "n_words", "n_topics"])
@pytest.mark.parametrize("value", [0, -1, 2.0, "3", None, True])
def test_bad_sizes(name, value):
    sizes = {"n_documents": 3, "n_words": 3, "n_topics": 3, name: value}
    with pytest.raises(
        InputError,
        match=rf"The '{name}' parameter of make_lda_corpus must be an int .* Got {value!r} instead\.",
    ):
        make_lda_corpus(**sizes)


@pytest.mark.parametrize("name", ["alpha0", "mean_length"])
@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "3", None, True])
def test_bad_positive_numbers(name, value):
    with pytest.raises(InputError, match=rf"The '{name}' parameter of make_lda_corpus must be a float"):
        make_lda_corpus(3, 3, 3, **{name: value})

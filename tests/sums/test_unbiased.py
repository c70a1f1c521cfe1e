"""The moments of a sampled corpus scatter around the population moments of the model it was drawn from.

Every coordinate of every moment gives a z-score; the test fails if any exceeds the Bonferroni bound at a false-alarm
rate of 1e-6 for each moment (normal approximation; 200,000 documents, bounded contributions). The seed is fixed.
"""

import numpy as np
import pytest
from scipy.stats import norm

from private_topics.corpus.counts.layout import select_words
from private_topics.corpus.counts.matrix import document_lengths, validate_counts
from private_topics.corpus.made_up.synthetic import make_lda_corpus
from private_topics.sums.moments import FrameSums, add_first_moment, add_second_moment, mirror_upper
from private_topics.sums.parts import DocumentWeights

FALSE_ALARM = 1e-6
N, WORDS, TOPICS, ALPHA0 = 200_000, 6, 3, 0.8
GROUPS = 400

pytestmark = [pytest.mark.statistical, pytest.mark.xdist_group("unbiased")]  # one worker draws the corpus for all


def population(topics, alpha):
    """E phi1, E phi2, E phi3 of LDA: Dirichlet moments of theta, contracted with the topics."""
    total = alpha.sum()
    unit = np.eye(len(alpha))
    second = (np.outer(alpha, alpha) + np.diag(alpha)) / (total * (total + 1))
    pairs = np.einsum("i,j,ia,ib,jc->abc", alpha, alpha, unit, unit, unit)
    third = np.einsum("a,b,c->abc", alpha, alpha, alpha)
    third = third + pairs + pairs.transpose(0, 2, 1) + pairs.transpose(2, 1, 0)
    third = third + 2 * np.einsum("i,ia,ib,ic->abc", alpha, unit, unit, unit)
    third = third / (total * (total + 1) * (total + 2))
    return (
        alpha @ topics / total,
        np.einsum("ij,ia,jb->ab", second, topics, topics),
        np.einsum("ijk,ia,jb,kc->abc", third, topics, topics, topics),
    )


def group_means(counts):
    """Moments of `GROUPS` equal groups of documents: their scatter gives the standard error of the mean."""
    frame = np.eye(WORDS)
    size = counts.shape[0] // GROUPS
    for start in range(0, counts.shape[0], size):
        block = validate_counts(counts[start : start + size])
        lengths = document_lengths(block)
        weights = DocumentWeights.of_lengths(lengths)
        usable = (lengths >= 3).sum()
        first, second, sums = np.zeros(WORDS), np.zeros((WORDS, WORDS)), FrameSums(WORDS, WORDS)
        add_first_moment(block, weights.first, first)
        add_second_moment(select_words(block, None, WORDS), weights.second, second)
        mirror_upper(second)
        sums.add(select_words(block, None, WORDS), frame, weights)
        yield first / usable, second / usable, sums.third(frame) / usable


@pytest.fixture(scope="module")
def sampled():
    counts, topics, alpha = make_lda_corpus(N, WORDS, TOPICS, alpha0=ALPHA0, mean_length=7, random_state=4)
    return [np.array(moment) for moment in zip(*group_means(counts), strict=True)], population(topics, alpha)


def largest_z(groups, expected):
    error = groups.std(axis=0, ddof=1) / np.sqrt(len(groups))
    z = (groups.mean(axis=0) - expected) / np.where(error > 0, error, np.inf)
    assert (error > 0).mean() > 0.9  # the scores mean something
    return np.abs(z).max(), norm.isf(FALSE_ALARM / 2 / z.size)


@pytest.mark.slow
@pytest.mark.parametrize("order", [1, 2, 3])
def test_moments_are_unbiased(sampled, order):
    groups, expected = sampled[0][order - 1], sampled[1][order - 1]
    np.testing.assert_allclose(expected.sum(), 1.0)
    z, limit = largest_z(groups, expected)
    assert z < limit


@pytest.mark.slow
def test_the_biased_second_moment_would_be_seen(sampled):
    """Without the diagonal correction (c c' / l²) the same test fails: it has the power to notice."""
    groups, expected = sampled[0][1], sampled[1][1]
    biased = groups + np.eye(WORDS) * sampled[0][0][:, None, :] / 7  # what c c'/l² adds to the diagonal, about
    z, limit = largest_z(biased, expected)
    assert z > 3 * limit

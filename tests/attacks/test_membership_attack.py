"""The likelihood-ratio attack on scores with a known answer."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm

from membership_attack import (
    FEWEST_SHADOWS,
    area,
    centred,
    evidence,
    random_half,
    rate_with_interval,
    true_alarms,
)
from membership_methods import scores_of


def gaussian_scores(n_models, n_targets, shift, seed=0):
    """Every target has its own mean and spread; membership adds `shift` spreads."""
    generator = np.random.default_rng(seed)
    members = np.array([random_half(seed, shadow, n_targets, n_targets)[1] for shadow in range(n_models)])
    mean, spread = generator.normal(0, 50, n_targets), generator.uniform(0.1, 10, n_targets)
    return mean + spread * (generator.normal(size=members.shape) + shift * members), members


@pytest.mark.parametrize(("shift", "shared_spread"), [(1.0, True), (3.0, True), (3.0, False)])
def test_the_attack_reaches_the_optimal_rates_between_gaussians(shift, shared_spread):
    """Neyman and Pearson: `Φ(shift + Φ⁻¹(false))`. About 100 models on each side lose a little, never win.

    64,000 pairs on each side, 64 false alarms: the rate found has a standard deviation of at most 0.06 of itself at
    shift 3 and 0.15 at shift 1, most of it from the threshold, so the margins are three or more of them.
    """
    scores, members = gaussian_scores(200, 640, shift)
    ratios = evidence(scores, members, shared_spread=shared_spread)
    for false_rate in (0.001, 0.01):
        best = norm.cdf(shift + norm.ppf(false_rate))
        found = true_alarms(ratios, members, np.array([false_rate]))[0]
        margin = 0.5 if shift < 2 else 0.2
        assert (1 - margin) * best < found < (1 + margin) * best
    assert area(ratios, members) == pytest.approx(norm.cdf(shift / np.sqrt(2)), abs=0.015)


def test_a_shared_spread_is_the_stronger_attack_where_membership_moves_little():
    """24 models: about 0.06 of the members against 0.05, each with a standard deviation of about 0.003."""
    scores, members = gaussian_scores(24, 2000, 1.0, seed=6)
    own, shared = (
        true_alarms(evidence(scores, members, shared_spread=shared), members, np.array([0.01]))[0]
        for shared in (False, True)
    )
    assert shared > 1.1 * own


@pytest.mark.parametrize("shared_spread", [False, True])
def test_scores_that_tell_nothing_give_as_many_true_as_false_alarms(shared_spread):
    """64,000 pairs, 640 alarms: standard deviation 0.00056 with the threshold's own; false alarm below 1e-6."""
    scores, members = gaussian_scores(200, 640, 0.0, seed=1)
    ratios = evidence(scores, members, shared_spread=shared_spread)
    assert true_alarms(ratios, members, np.array([0.01]))[0] == pytest.approx(0.01, abs=0.0028)
    rate = rate_with_interval(ratios, members)
    assert rate.low < 0.001 < rate.high < 0.003
    assert rate.false_alarms == 64


def test_the_interval_holds_the_true_rate_and_shrinks_with_the_number_of_pairs():
    best = norm.cdf(2.0 + norm.ppf(0.01))
    widths = []
    for n_models, n_targets in ((60, 100), (200, 600)):
        scores, members = gaussian_scores(n_models, n_targets, 2.0, seed=2)
        rate = rate_with_interval(evidence(scores, members, shared_spread=True), members, 0.01)
        assert rate.low < rate.value < rate.high
        widths.append(rate.high - rate.low)
    assert rate.low < best < rate.high
    assert widths[1] < widths[0] / 2


@pytest.mark.parametrize("shared_spread", [False, True])
def test_evidence_leaves_the_attacked_model_out(shared_spread):
    scores, members = gaussian_scores(20, 9, 1.0, seed=3)
    ratios = evidence(scores, members, shared_spread=shared_spread)
    compared = 0
    for model, target in np.ndindex(*scores.shape):
        others = np.arange(20) != model
        inside = scores[others & members[:, target], target]
        outside = scores[others & ~members[:, target], target]
        if min(len(inside), len(outside)) < FEWEST_SHADOWS:
            assert ratios[model, target] == 0.0
            continue
        spreads = [inside.std(ddof=1), outside.std(ddof=1)]
        if shared_spread:
            freedom = len(inside) - 1, len(outside) - 1
            spreads = [np.sqrt(np.average(np.square(spreads), weights=freedom))] * 2
        densities = norm.logpdf(scores[model, target], [inside.mean(), outside.mean()], spreads)
        assert ratios[model, target] == pytest.approx(densities[0] - densities[1], rel=1e-8, abs=1e-8)
        compared += 1
    assert compared > 100


def test_true_alarms_by_hand():
    ratios = np.array([[5.0, 4.0, 3.0, 2.0], [1.0, 3.5, 0.5, 0.0]])
    members = np.array([[True, False, True, True], [True, False, False, False]])
    assert true_alarms(ratios, members, np.array([0.1, 0.25, 0.5, 1.0])).tolist() == [0.25, 0.25, 1.0, 1.0]
    assert area(ratios, members) == pytest.approx((4 + 2 + 2 + 2) / 16)


def test_halves_are_halves_and_tell_nothing_of_each_other():
    halves = np.array([random_half(7, shadow, 400, 100)[1] for shadow in range(300)])
    rows, members = random_half(7, 0, 400, 100)
    assert len(rows) == len(set(rows)) == 200
    assert np.array_equal(members, np.isin(np.arange(100), rows))
    assert np.array_equal(members, halves[0])
    correlation = np.corrcoef(halves)[np.triu_indices(300, 1)]
    assert abs(correlation.mean()) < 0.002  # 44,850 pairs of standard deviation 0.1: four of their mean's


class Fitted:
    def __init__(self, components, doc_topic_prior_):
        self.components_, self.doc_topic_prior_ = components, doc_topic_prior_


def test_the_likelihood_is_that_of_the_best_mixture():
    generator = np.random.default_rng(4)
    topics = generator.dirichlet(np.full(30, 0.3), size=2)
    counts = sp.csr_array(generator.poisson(2.0, size=(20, 30)))
    found = scores_of(Fitted(topics, np.array([0.75, 0.25])), counts)
    weights = np.linspace(0, 1, 2001)[:, None]
    smooth = 0.999 * topics + 0.001 / 30
    grid = np.log(weights * smooth[0] + (1 - weights) * smooth[1]) @ counts.toarray().T
    assert found["likelihood"] == pytest.approx(grid.max(axis=0), rel=1e-4)
    dense = counts.toarray()
    expected = dense @ (0.75 * topics[0] + 0.25 * topics[1]) / np.linalg.norm(dense, axis=1)
    assert found["match"] == pytest.approx(expected)


def test_one_topic_is_scored_as_a_unigram_and_pseudocounts_are_normalised():
    counts = sp.csr_array(np.array([[2, 1, 0], [0, 0, 4]]))
    found = scores_of(Fitted(np.array([[5.0, 3.0, 2.0]]), 0.5), counts)
    word = 0.999 * np.array([0.5, 0.3, 0.2]) + 0.001 / 3
    assert found["likelihood"] == pytest.approx(counts.toarray() @ np.log(word))


def test_centring_removes_what_a_model_does_to_all_documents():
    generator = np.random.default_rng(5)
    likelihood, lengths = generator.normal(size=(6, 8)), generator.integers(10, 50, 8)
    moved = likelihood + generator.normal(size=(6, 1)) * lengths
    assert centred(moved, lengths) == pytest.approx(centred(likelihood, lengths))

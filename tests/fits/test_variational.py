"""Private online variational Bayes: sensitivity, coins, nothing but released values, and what the topics are worth.

The sensitivity is attacked with real sums (`captured_releases`) at sampling rate one, where every unit is in the
minibatch; what a coin does to a unit is tested apart.
"""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest

from private_support import (
    LARGEST_COUNT,
    Entering,
    captured_releases,
    corpus_of_units,
    counts_of,
    exceeds,
    ratio,
    replaced_aggregates,
)
from private_topics import (
    InputError,
    PrivacyWarning,
    PrivateVariationalLDA,
    VariationalLDA,
    make_lda_corpus,
)
from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.engines.local import LocalCorpus
from private_topics.evaluation import topic_error_l2
from private_topics.fits import variational as vips
from private_topics.fits.variational import (
    PlainMinibatches,
    PrivateMinibatches,
    Schedule,
    default_rate,
    online_topics,
    private_word_prior,
    word_weights,
)
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.randomness import NoiseStream
from private_topics.privacy.subsampling import SubsampledRun
from private_topics.progress import Progress

WORDS, TOPICS = 12, 3
BUDGET = PrivacyBudget(1.0, 1e-6)
PRIOR = np.full(TOPICS, 0.1)


def some_weights(seed=0, sharp=1.0):
    """Word weights as `word_weights` makes them, from mild to extreme."""
    counts = np.random.RandomState(seed).gamma(0.3, 1.0 / 0.3, (WORDS, TOPICS)) * 10.0**sharp
    return word_weights(counts, 0.01)


def minibatches(corpus, rate=1.0, clip=0.0, steps=5, seed=0):
    run = SubsampledRun(BUDGET, steps=steps, rate=rate, n_units=corpus.n_units, noise_seed=seed)
    return PrivateMinibatches(run, corpus, PRIOR, clip)


def entering(units, weights, clip=0.0, n_units=None) -> Entering:
    corpus = corpus_of_units(units, WORDS, n_units=n_units)
    statistic = minibatches(corpus, clip=clip)
    if n_units is not None:  # as many coins as units there are
        statistic.run.n_units = len(units)
    with captured_releases() as seen:
        statistic(weights)
    return seen[0][0]


# -- sensitivity -----------------------------------------------------------------------------------------------------

OTHERS = [[{0: 2, 1: 1, 5: 4}], [{2: 1}], [{}], [{3: 7, 4: 7, 11: 1}]]
EXTREMES = [
    [{}],
    [{0: 1}],
    [{11: 1}],
    [{0: LARGEST_COUNT}],
    [{11: LARGEST_COUNT}],
    [{word: LARGEST_COUNT for word in range(WORDS)}],
    [{word: 1 for word in range(WORDS)}],
    [{0: LARGEST_COUNT, 1: 1}],
    [{word: 10**word for word in range(9)}],
]
USERS = [
    [{0: 1}] * 7,
    [{word: 1} for word in range(WORDS)],
    [{0: LARGEST_COUNT}, {11: 1}, {}],
    [{}, {}],
]


@pytest.mark.parametrize("clip", [0.0, 3.0, 1e6])
@pytest.mark.parametrize("sharp", [-2.0, 1.0, 6.0])
@pytest.mark.parametrize("family", [EXTREMES, USERS + EXTREMES[:4]], ids=["documents", "users"])
def test_extreme_neighbours_stay_within_the_sensitivity(family, sharp, clip):
    weights = some_weights(sharp=sharp)
    sums = [entering([*OTHERS, unit], weights, clip, n_units=10**6) for unit in family]
    largest = 0.0
    for first, second in itertools.combinations(sums, 2):
        assert not exceeds(first, second)
        largest = max(largest, ratio(first, second))
    if clip == 0.0:
        assert largest > 0.999  # documents without a common word attain it


@pytest.mark.parametrize("clip", [0.0, 3.0])
@pytest.mark.parametrize("sharp", [-2.0, 1.0, 6.0])
def test_one_contribution_has_norm_at_most_one(sharp, clip):
    """Subsampling is priced with the norm of a contribution too, not with the distance of two alone."""
    weights = some_weights(sharp=sharp)
    without = entering([*OTHERS, [{}]], weights, clip, n_units=10**6)
    norms = []
    for unit in EXTREMES + USERS:
        present = entering([*OTHERS, unit], weights, clip, n_units=10**6)
        assert (present.aggregate >= without.aggregate).all()
        assert not exceeds(present, without, declared=math.sqrt(0.5))
        norms.append(ratio(present, without) * math.sqrt(2.0))
    assert max(norms) > 0.999


def test_random_units_stay_within_the_sensitivity():
    state = np.random.RandomState(3)
    for seed in range(5):
        weights = some_weights(seed, sharp=state.uniform(-2, 5))
        units = [
            [{int(word): int(10 ** state.uniform(0, 6)) for word in state.choice(WORDS, state.randint(1, 9), False)}]
            for _ in range(6)
        ]
        sums = [entering([*OTHERS, unit], weights) for unit in units]
        for first, second in itertools.combinations(sums, 2):
            assert not exceeds(first, second)


def test_a_contribution_depends_on_its_own_unit_only():
    """Another company, another order, another block: the same integers."""
    weights = some_weights()
    alone = entering([[{}]] * 4 + [EXTREMES[7]], weights).aggregate
    nothing = entering([[{}]] * 5, weights).aggregate
    together = entering([*OTHERS, EXTREMES[7]], weights).aggregate
    others = entering([*OTHERS, [{}]], weights).aggregate
    turned = entering([EXTREMES[7], *OTHERS[::-1]], weights).aggregate
    assert not nothing.any()
    np.testing.assert_array_equal(together - others, alone)
    np.testing.assert_array_equal(turned, together)


def test_clip_keeps_small_documents_whole():
    weights = some_weights()
    small, large = [{0: 1, 1: 1}], [{0: 900, 1: 900}]
    step = entering([small, large], weights, 50.0).query.step
    values = [
        np.linalg.norm((entering([unit, [{}]], weights, 50.0).aggregate * step).astype(float))
        for unit in (small, large)
    ]
    assert values[0] < 2.0 / 50.0
    assert values[1] == pytest.approx(1.0, abs=1e-4)


# -- coins -----------------------------------------------------------------------------------------------------------


def test_units_without_heads_leave_no_trace(monkeypatch):
    weights = some_weights()
    units = [*OTHERS, *EXTREMES[1:6]]
    corpus = corpus_of_units(units, WORDS, block_documents=2)
    members = np.array([n % 3 == 0 for n in range(len(units))])
    monkeypatch.setattr(NoiseStream, "coins", lambda stream, count, heads: members)
    with captured_releases() as seen:
        minibatches(corpus, rate=0.5)(weights)
    kept = [unit if member else [{}] for unit, member in zip(units, members, strict=True)]
    statistic = minibatches(corpus_of_units(kept, WORDS), rate=0.5)
    monkeypatch.setattr(NoiseStream, "coins", lambda stream, count, heads: np.ones(count, bool))
    with captured_releases() as expected:
        statistic(weights)
    np.testing.assert_array_equal(seen[0][0].aggregate, expected[0][0].aggregate)
    assert seen[0][0].aggregate.any()


def test_documents_of_a_user_follow_one_coin():
    """Ten users of three documents, each user with a word of its own: all of a user's documents count, or none."""
    users = np.arange(30) // 3
    corpus = LocalCorpus.of(MatrixBlocks(counts_of([{int(user): 3} for user in users], WORDS), 7), users)
    assert corpus.n_units == 10
    statistic = minibatches(corpus, rate=0.5)
    with captured_releases() as seen:
        statistic(np.ones((WORDS, TOPICS)))  # equal topics: (1, 1, 1) / √3 for each document
    per_word = seen[0][0].aggregate.sum(axis=1) * seen[0][0].query.step
    members = NoiseStream.seeded(0).coins(10, 2**52)
    assert 0 < members.sum() < 10
    np.testing.assert_allclose(per_word[:10], members * math.sqrt(3.0), rtol=1e-4)


def test_every_step_sums_over_the_units_of_its_own_coins(monkeypatch):
    """Each unit has a word of its own, so that a sum shows who is in it."""
    corpus = corpus_of_units([[{word: 3}] for word in range(WORDS)], WORDS)
    statistic = minibatches(corpus, rate=0.5)
    tossed, honest = [], NoiseStream.coins
    monkeypatch.setattr(NoiseStream, "coins", lambda *how: tossed.append(honest(*how)) or tossed[-1])
    with captured_releases() as seen:
        for _ in range(5):
            statistic(np.ones((WORDS, TOPICS)))
    assert len({tuple(members) for members in tossed}) > 1
    for members, (before, _) in zip(tossed, seen, strict=True):
        np.testing.assert_array_equal(before.aggregate.any(axis=1), members)


@pytest.mark.parametrize("block_documents", [1, 3, 7])
def test_documents_have_their_own_shares_in_every_block(block_documents):
    """Users of one to five documents, in any order: a minibatch of all of them weighs each user as one."""
    users = np.random.RandomState(0).permutation(np.repeat(np.arange(5), np.arange(1, 6)))
    counts = counts_of([{int(user): 3} for user in users], WORDS)
    corpus = LocalCorpus.of(MatrixBlocks(counts, block_documents), users)
    weight = np.zeros(WORDS)
    for block, share in vips.minibatch(corpus, np.arange(5) != 2):
        np.add.at(weight, block.words, share)
    np.testing.assert_allclose(weight[:5], [1.0, 1.0, 0.0, 1.0, 1.0])


def test_the_true_size_of_a_minibatch_is_not_used():
    """Statistics are scaled by the rate, a public number, whatever the coins did."""
    corpus = corpus_of_units(OTHERS * 50, WORDS)
    statistic = minibatches(corpus, rate=0.25)
    with captured_releases() as seen:
        value = statistic(some_weights())
    np.testing.assert_allclose(value, seen[0][1].value / 0.25)
    assert statistic.noise == pytest.approx(seen[0][1].sigma / 0.25)


# -- nothing but released values -------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"clip": 4.0}, {"sampling_rate": 1.0}, {"sampling_rate": 0.1, "steps": 3}])
def test_the_model_is_made_of_released_values_only(settings):
    """With every aggregate replaced by zeros, two corpora give one model; and every path adds noise."""
    models = []
    for seed in (0, 1):
        X = make_lda_corpus(300, 40, 2, random_state=seed)[0]
        with replaced_aggregates(lambda query, aggregate: np.zeros_like(aggregate)) as queries:
            fitted = quiet(PrivateVariationalLDA(2, noise_seed=5, **({"steps": 6} | settings))).fit(X)
        assert len(queries) == fitted.steps
        models.append(fitted)
    np.testing.assert_array_equal(models[0].components_, models[1].components_)
    assert models[0].privacy_ == models[1].privacy_
    assert np.ptp(models[0].components_) > 0.0


def quiet(estimator):
    warnings.simplefilter("ignore", PrivacyWarning)
    return estimator


@pytest.mark.filterwarnings("ignore::private_topics.PrivacyWarning")
def test_noise_reaches_every_entry_of_every_step():
    X = make_lda_corpus(400, 30, 2, random_state=0)[0]
    with captured_releases() as seen:
        PrivateVariationalLDA(2, steps=4).fit(X)
    assert len(seen) == 4
    for before, after in seen:
        residual = after.value - before.aggregate * before.query.step
        assert (residual != 0).mean() > 0.99
        assert 0.5 < residual.std() / after.sigma < 1.5


# -- the learner -----------------------------------------------------------------------------------------------------


def test_schedule():
    schedule = Schedule(50, 0.1, 1.0, 0.7, 0.1)
    weights = [schedule.weight(step) for step in range(50)]
    assert weights[0] == 1.0
    assert weights == sorted(weights, reverse=True)
    assert Schedule(5, 0.1, 0.5, 2.0, 0.1).weight(0) == 1.0  # never more than all
    running = np.zeros(20_000)
    noise = np.random.RandomState(0).standard_normal((50, 20_000))
    for weight, fresh in zip(weights, noise, strict=True):
        running += weight * (fresh - running)
    assert schedule.averaging() == pytest.approx(running.std(), rel=0.05)
    assert private_word_prior(100.0, schedule) == pytest.approx(vips.PRIOR_PER_NOISE * 100.0 * schedule.averaging())
    assert private_word_prior(0.0, schedule) == vips.SMALLEST_PRIOR


def test_default_rates():
    assert default_rate(10) == 1.0
    assert default_rate(4000) == 0.25
    assert default_rate(10**6) == 0.1


def test_word_weights_are_those_of_the_posterior():
    expected = np.array([[10.0, -3.0], [5.0, 0.0]])
    draws = np.random.RandomState(0).dirichlet([10.1, 5.1], 200_000)
    np.testing.assert_allclose(word_weights(expected, 0.1)[:, 0], np.exp(np.log(draws).mean(axis=0)), rtol=0.01)
    assert np.isfinite(word_weights(np.full((5, 2), -1e9), 0.01)).all()
    assert (word_weights(np.full((5, 2), -1e9), 0.01) > 0).all()


def test_too_many_words_or_topics_are_refused():
    corpus = corpus_of_units(OTHERS, WORDS)
    run = SubsampledRun(BUDGET, steps=1, rate=1.0, n_units=4)
    with pytest.raises(InputError, match="at most"):
        PrivateMinibatches(run, corpus, np.full(1001, 0.1), clip=0.0)


@pytest.fixture(scope="module")
def easy():
    return make_lda_corpus(8000, 60, 3, alpha0=0.3, mean_length=60, random_state=0)


def test_recovers_topics_without_privacy(easy):
    """At most 0.006 for each of ten seeds when this was written."""
    model = VariationalLDA(3, alpha0=0.3, random_state=0).fit(easy[0])
    assert topic_error_l2(model.components_, easy[1]) < 0.02


@pytest.mark.slow
def test_private_at_a_huge_epsilon_is_close_to_the_plain_fit(easy):
    plain = VariationalLDA(3, alpha0=0.3, random_state=0, sampling_rate=1.0, steps=30).fit(easy[0])
    private = PrivateVariationalLDA(3, epsilon=1e5, alpha0=0.3, random_state=0, sampling_rate=1.0, steps=30).fit(
        easy[0]
    )
    assert topic_error_l2(private.components_, plain.components_) < 0.02
    assert topic_error_l2(private.components_, easy[1]) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "least", "most"), [(0.05, 0.2, 1.5), (2.0, 0.005, 0.04)])
def test_error_grows_as_the_budget_falls(easy, epsilon, least, most):
    """0.29 to 0.88 and 0.021 to 0.024 over five noise seeds when this was written."""
    model = PrivateVariationalLDA(3, epsilon=epsilon, alpha0=0.3, steps=30, noise_seed=1).fit(easy[0])
    assert least < topic_error_l2(model.components_, easy[1]) < most


def test_full_minibatches_are_batch_variational_bayes(easy):
    """One step at rate one: the plain statistic is the sum over all documents, the private one its scaled form."""
    corpus = LocalCorpus.of(MatrixBlocks(easy[0]))
    prior, weights = np.full(3, 0.1), word_weights(np.random.RandomState(0).gamma(1.0, 50.0, (60, 3)), 0.1)
    plain = PlainMinibatches(corpus, prior, 1.0, np.random.RandomState(0))(weights)
    assert plain.sum() == pytest.approx(easy[0].sum())
    run = SubsampledRun(PrivacyBudget(1e9, 1e-6), steps=1, rate=1.0, n_units=8000)
    whole = PrivateMinibatches(run, corpus, prior, clip=1e4)(weights)  # no document is that large: nothing is clipped
    np.testing.assert_allclose(whole, plain, rtol=1e-3, atol=2.0)


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0])
def test_a_plain_minibatch_stands_for_the_whole_corpus(rate):
    """Documents that are all alike: whichever are drawn, the expected counts are those of all of them."""
    counts = np.tile(np.array([[2, 0, 1, 4]]), (60, 1))
    statistic = PlainMinibatches(LocalCorpus.of(MatrixBlocks(counts)), PRIOR, rate, np.random.RandomState(0))
    expected = statistic(some_weights()[:4])
    np.testing.assert_allclose(expected.sum(axis=1), counts.sum(axis=0), rtol=1e-6)


def test_progress_names_the_step_and_nothing_else():
    said = []

    class Listening(Progress):
        def stage(self, name):
            said.append(name)

    online_topics(
        lambda weights: np.ones_like(weights),
        4,
        2,
        Schedule(2, 1.0, 1.0, 0.7, 0.1),
        np.random.RandomState(0),
        Listening(),
    )
    assert said == ["minibatch 1 of 2", "minibatch 2 of 2"]


def test_topics_start_from_expected_counts_around_one(monkeypatch):
    """docs/proofs/variational.md: mean one and variance 1/100, for every word of every topic alike."""
    seen = []
    monkeypatch.setattr(vips, "word_weights", lambda expected, prior: seen.append(expected.copy()) or expected)
    schedule = Schedule(1, 1.0, 1.0, 0.7, 0.1)
    online_topics(np.ones_like, 400, 50, schedule, np.random.RandomState(0), Progress())
    assert seen[0].shape == (400, 50)
    assert seen[0].mean() == pytest.approx(1.0, abs=0.005)
    assert seen[0].var() == pytest.approx(0.01, rel=0.05)
    assert np.abs(seen[0].mean(axis=0) - 1.0).max() < 0.03

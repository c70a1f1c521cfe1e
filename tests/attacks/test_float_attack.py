"""Attacks on low-order digits break naïve float noise and leave the library's releases at chance.

The attacks are those of attacks/float_attack.py. All seeds are fixed. A row of the library is alarmed about when
its successes leave the central binomial interval that a sound mechanism leaves with probability 1e-4.
"""

import numpy as np
import pytest
from scipy.stats import binom

import float_attack as attack

pytestmark = pytest.mark.statistical

TRIALS, FALSE_ALARM, SEED = 200, 1e-4, 11


@pytest.fixture(scope="module")
def table():
    return attack.rows(TRIALS, seed=SEED, noise_seed=SEED)


def test_naive_noise_is_broken(table):
    naive = [row for row in table if row.naive]
    assert len(naive) == 7
    for row in naive:
        assert row.successes > 0.9 * row.trials, f"{row.mechanism}, {row.attack}"


def test_the_library_stays_at_chance(table):
    """The learnt attack also sees magnitudes, so it may reach what the guarantee itself allows, and no more."""
    ours = [row for row in table if not row.naive]
    assert len(ours) == 6
    for row in ours:
        most = row.allowed if row.attack == "learnt digits" else 0.501
        low, high = binom.ppf(FALSE_ALARM / 2, row.trials, 0.5), binom.isf(FALSE_ALARM / 2, row.trials, most)
        assert low <= row.successes <= high, f"{row.mechanism}, {row.attack}"


@pytest.mark.parametrize("pure", [True, False])
def test_the_true_corpus_always_explains_naive_noise(pure):
    """So the attack on reachable noise errs only when the wrong corpus explains everything too."""
    generator, pair = np.random.default_rng(SEED), attack.Pair(64, pure=pure)
    law, sampler = (attack.laplace_law, attack.by_logarithm) if pure else (attack.gaussian_law, attack.by_inverse)
    possible = attack.reached_by(law(pair.width))
    wrong = []
    for _ in range(30):
        value = attack.naive(pair, sampler, generator)(pair.sums(0))
        assert possible(pair.sums(0), value).all()
        wrong.append(possible(pair.sums(1), value).mean())
    assert np.mean(wrong) < 0.8


def test_both_corpora_explain_every_value_of_the_lattice():
    """The library's outputs are whole steps, and every whole step can come from either corpus."""
    pair = attack.Pair(4096)
    value = attack.ours(pair, SEED)(pair.sums(0))
    for corpus in (0, 1):
        steps = (value - pair.sums(corpus)) / pair.step
        assert np.array_equal(steps, np.rint(steps))
        assert attack.reached(pair.sums(corpus), value).all()


def test_float_sums_of_neighbours_are_far_apart_and_integer_sums_are_not():
    for units, exact_distance in ((attack.doubling_units(), 2.0**-6), (attack.reordered_units(), 0.0)):
        for part in units:
            assert part.min() >= 0.0
            assert part.max() <= 1.0
        assert abs(np.subtract(*map(attack.float_sum, units))) == 32.0
        assert abs(np.subtract(*(attack.lattice_sum(part, 2.0**-24) for part in units))) == exact_distance
    first, second = attack.doubling_units()
    assert (first != second).sum() == 1
    assert np.array_equal(*map(np.sort, attack.reordered_units()))

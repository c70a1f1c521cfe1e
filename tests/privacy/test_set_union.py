"""The threshold of a private set union: exact, sharp, and as OpenDP has it; the noise behind it as recorded.

Statistical tests have a false-alarm rate of 1e-6 each, over fixed noise seeds, and a twin that must fail.
"""

from __future__ import annotations

import itertools
import math
import os
from typing import Any

import mpmath
import numpy as np
import opendp.prelude as opendp
import pytest
from scipy.stats import binom, chi2, norm

from private_topics.corpus.words.vocabulary import union_weights
from private_topics.errors import PrivacyError
from private_topics.privacy import mechanisms
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.curves import gdp_delta
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.privacy.randomness import NoiseStream
from private_topics.privacy.set_union import SENSITIVITY, threshold_steps, units_to_pass, word_weight
from private_topics.releases.vocabulary import release_vocabulary, vocabulary_query

opendp.enable_features("contrib")

FALSE_ALARM = 1e-6
BUDGET = PrivacyBudget(1.0, 1e-6)


def run_with(threshold_delta: float = 1e-7, budget: PrivacyBudget = BUDGET, **noise: Any) -> PrivateRun:
    return PrivateRun(budget, threshold_delta=threshold_delta, **noise)


def weights_of(units: Any, step: float, most: int) -> dict[str, int]:
    return union_weights(units, most, lambda count: word_weight(count, step))


def passing(weight: int, limit: int, ratio: float, count: int) -> mpmath.mpf:
    """Probability that one of `count` words of this weight is named, with the rounded Gaussian, to 40 digits."""
    with mpmath.workdps(40):
        below = mpmath.ncdf((mpmath.mpf(limit - weight) - mpmath.mpf("0.5")) / mpmath.mpf(ratio))
        return 1 - below**count


@pytest.mark.parametrize("threshold_delta", [1e-12, 1e-7, 1e-3, 0.3])
@pytest.mark.parametrize("sigma", [0.05, 1.0, 17.0])
@pytest.mark.parametrize("most", [1, 7, 300])
def test_words_of_one_unit_are_named_with_probability_threshold_delta_at_most(
    threshold_delta: float, sigma: float, most: int
) -> None:
    step = 2.0 ** (math.floor(math.log2(sigma)) - 20)
    ratio = sigma / step
    limit = threshold_steps(most, step, ratio, threshold_delta)
    probabilities = [passing(word_weight(t, step), limit, ratio, t) for t in range(1, most + 1)]
    assert max(probabilities) <= threshold_delta
    assert max(probabilities) > 0.999 * threshold_delta  # not higher than it needs to be


@pytest.mark.parametrize("threshold_delta", [1e-12, 1e-7, 0.3])
@pytest.mark.parametrize("sigma", [0.05, 1.0, 17.0])
@pytest.mark.parametrize("most", [1, 7, 300])
def test_fewer_units_than_said_stay_below_the_threshold(threshold_delta: float, sigma: float, most: int) -> None:
    step = 2.0 ** (math.floor(math.log2(sigma)) - 20)
    limit = threshold_steps(most, step, sigma / step, threshold_delta)
    needed = units_to_pass(1, most, sigma, threshold_delta)
    assert (math.ceil(needed) - 1) * word_weight(1, step) < limit
    assert needed <= limit * step <= needed * (1 + 1e-8) + 4 * step
    assert units_to_pass(most, most, sigma, threshold_delta) == pytest.approx(math.sqrt(most) * needed)


@pytest.mark.parametrize("threshold_delta", [0.0, 1e-322])
def test_a_threshold_without_end_is_refused(threshold_delta: float) -> None:
    with pytest.raises(PrivacyError, match="too small"):
        units_to_pass(1, 100, 1.0, threshold_delta)
    with pytest.raises(PrivacyError, match="too small"):
        threshold_steps(100, 2.0**-20, 2.0**20, threshold_delta)


def test_a_threshold_beyond_the_lattice_is_refused() -> None:
    assert threshold_steps(1, 2.0**-20, 2.0**58, 1e-6) < 2**61
    with pytest.raises(PrivacyError, match="too small"):
        threshold_steps(1, 2.0**-20, 2.0**59, 1e-6)


@pytest.mark.parametrize("most", [0, -1, True, 2.0, 2**20 + 1])
def test_numbers_of_words_that_cannot_be_are_refused(most: Any) -> None:
    with pytest.raises(PrivacyError, match=r"an int from 1 to 2\*\*20"):
        units_to_pass(1, most, 1.0, 1e-6)


def test_the_discrete_gaussian_passes_no_more_often() -> None:
    """On coarse lattices, where it differs from the rounded one, summed exactly."""
    for ratio, most, threshold_delta in itertools.product((0.7, 3.0, 40.0), (1, 5), (1e-2, 1e-5)):
        step = 1 / 8
        limit = threshold_steps(most, step, ratio, threshold_delta)
        support = np.arange(-int(60 * ratio) - 60, int(60 * ratio) + 61)
        mass = np.exp(-0.5 * (support / ratio) ** 2)
        mass /= mass.sum()
        for count in range(1, most + 1):
            tail = float(mass[support >= limit - word_weight(count, step)].sum())
            assert -math.expm1(count * math.log1p(-tail)) <= threshold_delta


@pytest.mark.parametrize("threshold_delta", [1e-9, 1e-6, 1e-3])
def test_opendp_agrees(threshold_delta: float) -> None:
    """OpenDP's Gaussian threshold mechanism on the same lattice, for a unit of t words: the same delta and rho."""
    most, step, sigma = 50, 2.0**-17, 9.0
    ratio = sigma / step
    limit = threshold_steps(most, step, ratio, threshold_delta)
    space = (
        opendp.map_domain(opendp.atom_domain(T=str), opendp.atom_domain(T="i64")),
        opendp.l02inf_distance(opendp.absolute_distance(T="i64")),
    )
    mechanism = opendp.m.make_gaussian_threshold(*space, scale=ratio, threshold=limit)
    deltas = []
    for count in range(1, most + 1):
        weight = word_weight(count, step)
        rho, delta = mechanism.map((count, math.ceil(math.sqrt(count) * weight), weight))
        assert rho <= 0.5 * (1 / step / ratio) ** 2 * (1 + 1e-4)
        deltas.append(delta)
    assert max(deltas) == pytest.approx(threshold_delta, rel=1e-3)
    assert max(deltas) <= threshold_delta * (1 + 1e-6)


def test_the_charge_covers_the_exact_divergence_of_neighbours() -> None:
    """Replacing {a, u} by {b, v}: a and b stand in other units too, u and v nowhere else.

    The noisy weights of a and b are seen in full; u can only be named under the one corpus and v only under the
    other. Their hockey-stick divergence is p + (1-p) H, with p the probability of naming u and H that of the
    Gaussian shift. The accountant may not charge less, and charges hardly more. Counting p twice, or not at all,
    would be visibly wrong.
    """
    run = run_with(2e-3, PrivacyBudget(1.0, 1e-2), noise_seed=0)
    share = 1.0
    query = vocabulary_query(run, share)
    sigma = run.sigma(query, share)
    ratio = sigma / query.step
    limit = threshold_steps(2, query.step, ratio, 2e-3)
    weight = word_weight(2, query.step)
    p = float(passing(weight, limit, ratio, 1))
    shift = math.sqrt(2.0) * weight / ratio  # a falls by the weight, b rises by it
    release_vocabulary(run, [], share=share, most_words_per_unit=2)
    for epsilon in (0.1, 0.5, 1.0):
        exact = p + (1 - p) * gdp_delta(shift, epsilon)
        assert exact <= run.accountant.delta(epsilon)
    # two words that nobody else has, on each side: the threshold's delta is used up
    p = float(max(passing(word_weight(t, query.step), limit, ratio, t) for t in (1, 2)))
    assert p == pytest.approx(2e-3, rel=1e-3)
    shift = SENSITIVITY / sigma
    for epsilon in (0.1, 0.5, 1.0):
        bound = p + (1 - p) * gdp_delta(shift, epsilon)
        assert bound <= run.accountant.delta(epsilon) <= bound * 1.02
        assert run.accountant.delta(epsilon) > gdp_delta(shift, epsilon)


@pytest.mark.statistical
@pytest.mark.parametrize("most", [1, 3, 40])
def test_lonely_words_are_named_as_often_as_the_formula_says(most: int) -> None:
    """4,000 units with `t` words of their own: the units of which a word is named, against the exact binomial."""
    threshold_delta, units = 0.02, 4_000
    named_at_most = []
    for t in {1, most}:
        run = run_with(threshold_delta, PrivacyBudget(1.0, 0.1), noise_seed=most)
        query = vocabulary_query(run, 1.0)
        weights = weights_of(([f"u{unit}-{k}" for k in range(t)] for unit in range(units)), query.step, most)
        released = run.release_words(query, weights, 1.0, threshold_delta=threshold_delta, most_words=most)
        named = len({word.split("-")[0] for word in released.words})
        ratio = released.sigma / query.step
        limit = round(released.threshold / query.step)
        p = float(passing(word_weight(t, query.step), limit, ratio, t))
        assert p <= threshold_delta
        assert binom.ppf(FALSE_ALARM / 2, units, p) <= named <= binom.isf(FALSE_ALARM / 2, units, p)
        named_at_most.append(p)
    assert max(named_at_most) == pytest.approx(threshold_delta, rel=1e-3)


@pytest.mark.statistical
def test_a_lower_threshold_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        mechanisms, "threshold_steps", lambda most, step, ratio, delta: threshold_steps(most, step, ratio, 2 * delta)
    )
    run = run_with(0.02, PrivacyBudget(1.0, 0.1), noise_seed=1)
    query = vocabulary_query(run, 1.0)
    weights = weights_of(([f"u{unit}"] for unit in range(4_000)), query.step, 1)
    released = run.release_words(query, weights, 1.0, threshold_delta=0.02, most_words=1)
    assert len(released.words) > binom.isf(FALSE_ALARM / 2, 4_000, 0.02)


# -- noise -----------------------------------------------------------------------------------------------------------


def residuals(**noise: Any) -> tuple[np.ndarray, float]:
    run = run_with(**noise)
    query = vocabulary_query(run, 1.0)
    weights = {f"w{number:05d}": 10**10 + number for number in range(5_000)}
    released = run.release_words(query, weights, 1.0, threshold_delta=1e-7, most_words=10)
    assert released.words == tuple(weights)
    return released.value - np.array([*weights.values()]) * query.step, released.sigma


def chi_squared_accepts(coordinates: np.ndarray, sigma: float) -> bool:
    statistic, count = float(np.sum((coordinates / sigma) ** 2)), coordinates.size
    return chi2.isf(1 - FALSE_ALARM / 2, count) < statistic < chi2.isf(FALSE_ALARM / 2, count)


@pytest.mark.statistical
@pytest.mark.parametrize("noise", [{"noise_seed": 4}, {"sampler": "exact"}])
def test_noise_is_as_recorded(noise: dict[str, Any]) -> None:
    found, sigma = residuals(**noise)
    assert chi_squared_accepts(found, sigma)
    assert abs(found.mean()) < norm.isf(FALSE_ALARM / 2) * sigma / math.sqrt(found.size)


@pytest.mark.statistical
def test_too_little_noise_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = NoiseStream.rounded_gaussian
    monkeypatch.setattr(
        NoiseStream, "rounded_gaussian", lambda stream, count, ratio: honest(stream, count, 0.9 * ratio)
    )
    assert not chi_squared_accepts(*residuals(noise_seed=4))


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_run_refuses_to_release_words() -> None:
    run = run_with()
    query = vocabulary_query(run, 1.0)
    child = os.fork()
    if child == 0:
        try:
            run.release_words(query, {"word": 1}, 1.0, threshold_delta=1e-7, most_words=1)
        except PrivacyError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@pytest.mark.parametrize(
    ("budget", "delta"), [(BUDGET, 1e-3), (BUDGET, BUDGET.delta), (PrivacyBudget(1e-5, 0.1), 1e-4)]
)
def test_a_threshold_that_takes_all_of_delta_or_epsilon_is_refused(budget: PrivacyBudget, delta: float) -> None:
    with pytest.raises(PrivacyError, match="below its delta and epsilon"):
        run_with(delta, budget)

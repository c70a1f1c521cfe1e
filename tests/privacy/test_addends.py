"""Arrays in fine steps: what a site shows below a step is uniform whatever it holds, and the sum is rounded once.

The chi-squared tests have a false-alarm rate of 1e-9 each.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2
from test_shares import Together, query_for, spread_is

from private_topics.errors import InputError
from private_topics.privacy.addends import WORD_BITS, Fine, Whole, joined
from private_topics.privacy.adding import with_noise
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.shares import NoiseShares, SharedRun

BITS, SIZE = 100, 5
STEP = 1 << BITS


def whole_run(seed=0, sites=3):
    budget, shares = PrivacyBudget(1.0, 1e-6), NoiseShares(sites, sites)
    return SharedRun(budget, shares=shares, exchange=None, sampler="fast", noise_seed=seed)


def places_of(dimensions=2, size=SIZE):
    indices = np.indices((size,) * dimensions).reshape(dimensions, -1)
    return tuple(indices[:, (np.diff(indices, axis=0) >= 0).all(axis=0)])


def any_values(count, seed=0, largest=1000):
    generator = np.random.default_rng(seed)
    below = joined(generator.integers(0, 2**50, (2, count)), 50)
    return generator.integers(-largest, largest, count).astype(object) * STEP + below


def shown(values, dither, places):
    """The whole steps and what is below, as a site shows them without noise."""
    fine = Fine(query_for(whole_run(), "symmetric_matrix"), values, BITS, places)
    sent = fine.noisy(query_for(whole_run(), "symmetric_matrix"), 1.0, lambda n, _: np.zeros(n, np.int64), dither)
    whole, *words = sent.reshape(-1, len(values))
    return whole, joined(words, WORD_BITS)


def uniform(values, bits):
    """Whether every byte of numbers of so many bits is as frequent as any other."""
    octets = [((values >> place) & 255).astype(np.int64) for place in range(0, bits - 7, 8)]
    counts = np.array([np.bincount(octet, minlength=256) for octet in octets])
    expected = len(values) / 256
    return float(((counts - expected) ** 2).sum() / expected) < chi2.ppf(1 - 1e-9, 255 * len(octets))


@pytest.mark.parametrize("held", ["nothing", "anything"])
def test_what_is_below_a_step_is_uniform_whatever_it_was(held):
    places = places_of(size=200)
    values = any_values(len(places[0])) if held == "anything" else np.zeros(len(places[0]), object)
    dither = whole_run()._dither
    _, below = shown(values, dither, places)
    assert uniform(below, BITS)
    assert not uniform(values & (STEP - 1), BITS) or held == "anything"
    _, again = shown(values, dither, places)  # the next attempt of the same run
    assert uniform((again - below) & (STEP - 1), BITS)


def test_neighbours_that_show_the_same_below_a_step_are_no_further_apart_than_a_step_each():
    """The sensitivity that the pages declare, `Δ + h √entries`, holds for every value of what is shown."""
    places = places_of(size=60)
    count = len(places[0])
    values, moved = any_values(count), any_values(count, seed=1, largest=3)
    dither = whole_run()._dither(count, BITS)
    first, below = shown(values, lambda *_: dither, places)
    second, same = shown(values + moved, lambda *_: (dither - moved) & (STEP - 1), places)
    assert np.array_equal(below, same)
    apart = np.abs((second - first) - (moved / STEP).astype(float))
    assert apart.max() < 1.0
    assert apart.max() > 0.9  # the step is needed


@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("taking_part", [2, 5])
def test_the_sum_over_sites_is_that_of_all_documents_rounded_once(dimensions, taking_part):
    kind = {2: "symmetric_matrix", 3: "symmetric_tensor"}[dimensions]
    places = places_of(dimensions)
    parts = [any_values(len(places[0]), seed) for seed in range(taking_part)]
    dithers = [whole_run(seed)._dither(len(places[0]), BITS) for seed in range(taking_part)]
    query, sent = query_for(whole_run(), kind), 0
    for part, dither in zip(parts, dithers, strict=True):
        fine = Fine(query, part, BITS, places)
        sent = sent + fine.noisy(query, 1.0, lambda n, _: np.ones(n, np.int64), lambda *_, dither=dither: dither)
    total = fine.total(sent, taking_part)
    centred = sum(parts) + sum(dithers) - taking_part * (STEP // 2)
    expected = (2 * centred + STEP) // (2 * STEP) + taking_part  # to the nearest; and the noise
    assert np.array_equal(total[places], expected)
    assert all(np.array_equal(total, total.swapaxes(0, axis)) for axis in range(dimensions))


def test_whole_steps_have_the_noise_that_is_charged():
    together = Together(4, 2)
    places = places_of(size=200)
    query = query_for(together.runs[0], "symmetric_matrix")
    together.release(query, [(any_values(len(places[0])), BITS, places)] * 4, 1.0)
    (event,) = together.runs[0].released_events
    sent = list(together.parts[-1].values())[:2]
    left = sum(one[: len(places[0])] for one in sent) - 2 * (any_values(len(places[0])) // STEP)
    off = places[0] < places[1]
    assert event.coordinates == len(places[0])
    assert spread_is(left[off].astype(float) * query.step * math.sqrt(2), event.sensitivity / event.mu)


@pytest.mark.parametrize("rows", [1, 2, 600])
def test_of_a_symmetric_matrix_the_upper_triangle_is_handed_over(rows):
    """Whole steps: as with the other half, which is the same."""
    query = query_for(whole_run(), "symmetric_matrix")
    square = np.random.default_rng(rows).integers(-1000, 1000, (rows, rows))
    square += square.T
    half = Whole(query, square)
    drawn = np.random.default_rng(0)
    sent = half.noisy(query, 1.0, lambda count, _: drawn.integers(-9, 9, count), lambda *_: None)
    assert sent.shape == (half.size,) == (rows * (rows + 1) // 2,)
    drawn = np.random.default_rng(0)
    full = with_noise(query, square, 1.0, lambda count, _: drawn.integers(-9, 9, count), consume=False)
    assert np.array_equal(half.total(sent, 2), full)
    assert not np.array_equal(full, square)


def test_a_repeated_round_has_a_fresh_dither():
    together = Together(4, 3, attempts=((), (3,)))
    places = places_of(size=60)
    query = query_for(together.runs[0], "symmetric_matrix", share=0.02)
    together.release(query, [(any_values(len(places[0])), BITS, places)] * 4, 0.02)
    first, second = (parts[0].reshape(-1, len(places[0]))[1] for parts in together.parts)
    assert (first != second).mean() > 0.99
    other = together.parts[0][1].reshape(-1, len(places[0]))[1]
    assert (first != other).mean() > 0.99  # every site has its own


def test_sites_with_steps_of_another_fineness_do_not_agree():
    places, asked = places_of(), []
    for bits in (BITS, BITS + 1):
        run = whole_run()
        run._exchange = lambda digest, size, own: asked.append(digest()) or own(3)
        run.release(query_for(run, "symmetric_matrix"), (any_values(len(places[0])), bits, places), 1.0)
    assert asked[0] != asked[1]


def test_a_value_that_leaves_the_lattice_is_refused_uncharged():
    run, places = whole_run(), places_of()
    values = np.full(len(places[0]), 2**62 * STEP, object)
    with pytest.raises(InputError, match="leaves the lattice"):
        run.release(query_for(run, "symmetric_matrix"), (values, BITS, places), 1.0)
    assert not run.released_events


def test_words_are_joined_lowest_first():
    assert joined([np.array([1, 0]), np.array([0, 3])], 7).tolist() == [1, 3 << 7]


@pytest.mark.parametrize(("bits", "words"), [(1, 1), (WORD_BITS, 1), (WORD_BITS + 1, 2), (100, 3)])
def test_no_more_words_are_sent_than_hold_what_is_below_a_step(bits, words):
    places = places_of()
    fine = Fine(query_for(whole_run(), "symmetric_matrix"), np.zeros(len(places[0]), object), bits, places)
    assert fine.size == len(places[0]) * (1 + words)

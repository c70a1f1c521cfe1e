"""Do topics explain released moments, and how far does noise move them: against population moments and many draws."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from spectral_support import SHARES, Truth

from private_topics.spectral.evidence import (
    EXPLAINED,
    REFUTED,
    Leftover,
    leftover,
    noise_of_topics,
    relative_distance,
)
from private_topics.spectral.frame import CentralMoments, directions_of, topics_on_words

DRAWS = 150


def left_by(truth: Truth, topics: np.ndarray, shares: np.ndarray, **changed: np.ndarray) -> Leftover:
    moments = dataclasses.replace(truth.moments(), **changed)
    return leftover(topics, shares, truth.frame, moments, truth.centre, truth.alpha0)


@pytest.mark.parametrize("off", [0.0, 0.2], ids=["the mean as centre", "another centre"])
@pytest.mark.parametrize("shares", SHARES.values(), ids=SHARES)
@pytest.mark.parametrize("alpha0", [0.1, 1.0, 1000.0])
def test_the_true_topics_explain_their_moments_and_others_do_not(alpha0, shares, off):
    truth = Truth(alpha0, shares, off)
    found = left_by(truth, truth.inside, shares)
    assert found.small
    assert not found.large
    assert max(found.second, found.third) < 1e-6
    flat = left_by(truth, truth.inside + 0.5 * (truth.mean - truth.inside), shares)
    assert (flat.second, flat.third) == (pytest.approx(0.75), pytest.approx(0.875))  # halves, squared and cubed
    assert flat.large
    other = np.random.default_rng(0).dirichlet(np.full(truth.inside.shape[1], 0.3), len(shares))
    assert left_by(truth, other, shares).large


def test_topics_with_the_wrong_shares_do_not_explain():
    truth = Truth(1.0, SHARES["uneven"])
    assert not left_by(truth, truth.inside, SHARES["uneven"][::-1]).small


@pytest.mark.parametrize(("name", "allowed"), [("second", EXPLAINED), ("third", 2.0 * EXPLAINED)])
def test_how_much_may_be_left_over(name, allowed):
    """A part of either moment that no topics explain: a little less than is allowed, and a little more."""
    truth = Truth(1.0, SHARES["even"])
    value = getattr(truth.moments(), name)
    along = np.random.default_rng(1).normal(size=value.shape)
    along *= np.linalg.norm(value) / np.linalg.norm(along)
    for times, expected in ((0.8, True), (1.3, False)):
        found = left_by(truth, truth.inside, truth.shares, **{name: value + times * allowed * along})
        assert found.small is expected
        assert not found.large


@pytest.mark.parametrize(("second", "third"), [(1.01 * REFUTED, 0.0), (10.0, 10.0)])
def test_the_second_moment_alone_refutes_the_model(second, third):
    assert Leftover(second, third).large
    assert not Leftover(0.99 * REFUTED, 10.0).large


def drawn(moments: CentralMoments, generator: np.random.Generator) -> CentralMoments:
    """The moments with isometric symmetric noise: one draw for each set of equal entries, less the more there are."""
    rank = len(moments.mean)
    second = np.empty((rank, rank))
    for a, b in zip(*np.triu_indices(rank), strict=True):
        second[a, b] = second[b, a] = generator.normal(0.0, moments.noise / (1.0 if a == b else np.sqrt(2.0)))
    third = np.empty((rank,) * 3)
    for a, b, c in np.ndindex(third.shape):
        if a <= b <= c:
            places = {(a, b, c), (a, c, b), (b, a, c), (b, c, a), (c, a, b), (c, b, a)}
            value = generator.normal(0.0, moments.third_noise / np.sqrt(len(places)))
            for place in places:
                third[place] = value
    mean = generator.normal(0.0, moments.noise / np.sqrt(2.0), rank)
    return dataclasses.replace(
        moments, mean=moments.mean + mean, second=moments.second + second, third=moments.third + third
    )


@pytest.mark.parametrize(("noise", "third_noise"), [(0.01, 1e-9), (1e-9, 0.02), (0.005, 0.01)])
def test_noise_inside_the_frame_moves_topics_as_far_as_is_said(noise, third_noise):
    truth = Truth(1.0, SHARES["uneven"])
    moments, frame, centre = truth.moments(noise, third_noise), truth.frame, truth.centre
    found = directions_of(moments, 1.0, 4, np.random.RandomState(0))
    topics = topics_on_words(frame, moments, found, centre)
    said = np.mean([noise_of_topics(frame, moments, found, centre, 1.0, seed=seed)[0] for seed in range(8)])
    generator, moved = np.random.default_rng(3), []
    for _ in range(DRAWS):
        noisy = drawn(moments, generator)
        again = directions_of(noisy, 1.0, 4, np.random.RandomState(0))
        gaps = ((topics_on_words(frame, noisy, again, centre)[:, None] - topics) ** 2).sum(axis=2)
        moved.append(gaps[linear_sum_assignment(gaps)].sum())
    assert said == pytest.approx(np.sqrt(np.mean(moved)) / np.linalg.norm(topics), rel=0.25)


def test_noise_turns_the_frame_as_far_as_is_said():
    """Against frames of second moments with noise: how much of the topics is outside of their span."""
    noise = 2e-5
    truth = Truth(1.0, SHARES["even"], noise=noise)
    moments = truth.moments()
    found = directions_of(moments, 1.0, 4, np.random.RandomState(0))
    _, said = noise_of_topics(truth.frame, moments, found, truth.centre, 1.0, seed=0)
    deviations, generator, outside = truth.inside - truth.mean, np.random.default_rng(4), []
    size = len(truth.mean)
    for _ in range(DRAWS):
        drawn_noise = generator.normal(0.0, noise, (size, size))
        second = truth.pairs + (drawn_noise + drawn_noise.T) / 2.0
        _, vectors = np.linalg.eigh(second - 0.5 * np.outer(truth.mean, truth.mean))
        basis = vectors[:, -4:]
        outside.append(((deviations - deviations @ basis @ basis.T) ** 2).sum())
    expected = np.sqrt(np.mean(outside)) / np.linalg.norm(truth.inside)
    assert said == pytest.approx(expected, rel=0.15)


def test_distances_are_over_the_length_of_the_value():
    topics = np.array([[3.0, 0.0], [0.0, 4.0]])
    assert relative_distance(topics, topics) == 0.0
    assert relative_distance(np.zeros((2, 2)), topics) == pytest.approx(1.0)
    assert relative_distance(topics[::-1], topics) == pytest.approx(2.0**0.5)

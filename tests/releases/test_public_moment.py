"""What the released moment says of the public topics and of words: functions of released values alone."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from private_topics.releases.moments import averaged
from private_topics.releases.public_basis import COLUMN, PublicMoment, with_constant
from private_topics.spectral.public_basis import public_basis

N_WORDS, RANK, N_TOPICS = 120, 8, 5


def case(noise: float, seed: int = 0, other: bool = False):
    """The moment of documents that mix topics, with noise; the topics, or others; their shares."""
    generator = np.random.default_rng(seed)
    basis = public_basis(generator.normal(size=(N_WORDS, RANK)), np.full(N_WORDS, 1 / N_WORDS), RANK)
    topics, shares = generator.dirichlet(np.full(N_WORDS, 0.1), size=N_TOPICS), np.full(N_TOPICS, 1 / N_TOPICS)
    deviations = topics @ basis.rows
    deviations -= shares @ deviations
    size = 1 + RANK + basis.control.shape[1]
    value = np.zeros((size, size))
    value[0, 0] = COLUMN**2
    value[1 : 1 + RANK, 1 : 1 + RANK] = (deviations.T * shares) @ deviations
    symmetric = generator.normal(size=(size, size)) * noise
    moment = PublicMoment(basis, 1.0, value + (symmetric + symmetric.T) / 2.0, noise)
    if other:
        topics = generator.dirichlet(np.full(N_WORDS, 0.1), size=N_TOPICS)
    return moment, topics, shares


def test_topics_that_the_documents_mix_agree():
    moment, topics, shares = case(1e-9)
    assert moment.agrees(topics, shares)
    assert not moment.agrees(case(1e-9, seed=3, other=True)[1], shares)
    assert not moment.agrees(np.tile(topics.mean(axis=0), (N_TOPICS, 1)), shares)  # all the same
    assert not moment.agrees(np.eye(2, N_WORDS)[[0, 0]], np.full(2, 0.5))  # to the last bit


def test_topics_agree_by_how_much_there_is_of_each():
    moment, topics, _ = case(1e-9)
    shares = np.array([0.47, 0.47, 0.02, 0.02, 0.02])
    deviations = topics @ moment.basis.rows
    deviations -= shares @ deviations
    value = np.zeros_like(moment.value)
    value[0, 0] = COLUMN**2
    value[1 : 1 + RANK, 1 : 1 + RANK] = (deviations.T * shares) @ deviations
    seen = PublicMoment(moment.basis, 1.0, value, 1e-9)
    assert seen.agrees(topics, shares)
    assert not seen.agrees(topics, shares[::-1])


@pytest.mark.parametrize("seed", range(5))
def test_noise_that_hides_the_moment_does_not_speak_against_topics(seed):
    clear = float(np.linalg.norm(case(1e-9, seed)[0].central))
    moment, topics, shares = case(1e-3 * clear * COLUMN**2, seed)
    assert moment.agrees(topics, shares)


def test_coordinates_are_long_where_documents_differ():
    moment, *_ = case(1e-9)
    coordinates = moment.coordinates()
    np.testing.assert_allclose(
        coordinates @ coordinates.T, moment.basis.rows @ moment.central @ moment.basis.rows.T, atol=1e-6
    )
    noisy = PublicMoment(moment.basis, 1.0, moment.value * 0.0 + np.eye(len(moment.value)) * COLUMN**2, 1e3)
    scaled = noisy.coordinates() @ noisy.coordinates().T
    same = moment.basis.rows @ moment.basis.rows.T
    np.testing.assert_allclose(scaled / np.linalg.norm(scaled), same / np.linalg.norm(same), atol=1e-9)


def test_a_hidden_direction_counts_as_half_of_the_noise_edge():
    """The edge is where the eigenvalues of noise alone end: here of a large matrix, to a tenth."""
    moment, *_ = case(1e-9)
    noise = 0.01
    value = np.zeros_like(moment.value)
    value[0, 0] = COLUMN**2
    hidden = PublicMoment(moment.basis, 1.0, value - (noise / COLUMN) ** 2 / 2.0 * np.eye(len(value)), noise)
    size = 100
    drawn = np.random.default_rng(0).normal(size=(size, size)) * hidden.noise
    edge = np.linalg.eigvalsh((drawn + drawn.T) / 2.0)[-1] * np.sqrt(RANK / size)
    coordinates = hidden.coordinates()
    expected = edge / 2.0 * moment.basis.rows @ moment.basis.rows.T
    assert np.linalg.norm(coordinates @ coordinates.T - expected) < 0.1 * np.linalg.norm(expected)


def test_one_column_counts_documents():
    rows = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(with_constant(rows, 2.0), [[2.0, 0.0, 1.0], [2.0, 2.0, 3.0], [2.0, 4.0, 5.0]])


@pytest.mark.parametrize(
    ("noise", "cosine", "agree"),
    [
        (1e-9, 0.59, False),
        (1e-9, 0.61, True),
        (0.05, 0.59, True),  # 0.6 is within the noise
        (0.118, 0.3, True),  # half of what is seen is the energy of the noise itself, and the rest within it
        (0.5, 0.01, True),  # less is seen than noise alone would show
        (0.5, -0.01, False),
    ],
)
def test_topics_agree_up_to_the_noise(noise, cosine, agree):
    """A moment with this cosine to what topics predict, and noise in units of its norm."""
    moment, topics, shares = case(1e-9)
    deviations = topics @ moment.basis.rows
    deviations -= shares @ deviations
    expected = (deviations.T * shares) @ deviations
    expected /= np.linalg.norm(expected)
    other = np.diag(np.random.default_rng(1).normal(size=RANK))
    other -= (other * expected).sum() * expected
    other /= np.linalg.norm(other)
    seen = cosine * expected + np.sqrt(1.0 - cosine**2) * other
    value, size = np.zeros_like(moment.value), 1e-3
    value[0, 0] = COLUMN**2
    value[1 : 1 + RANK, 1 : 1 + RANK] = size * seen - (size * noise / COLUMN) ** 2 / 2.0 * np.eye(RANK)
    released = PublicMoment(moment.basis, 1.0, value, size * noise)
    np.testing.assert_allclose(released.central, size * seen, atol=1e-12)
    assert bool(released.agrees(topics, shares)) is agree


def test_noise_on_the_mean_does_not_bias_the_moment():
    """Averaged over all signs of it, with the variance of an entry off the diagonal, the moment is the exact one."""
    random = np.random.default_rng(0)
    mean, root, weight, sigma = random.normal(size=3), random.normal(size=(3, 3)), 500.0, 4.0
    exact = root @ root.T
    value = np.zeros((4, 4))
    value[0, 0], value[1:, 1:] = weight * COLUMN**2, weight * (exact + np.outer(mean, mean))
    found = []
    for signs in itertools.product((-1.0, 1.0), repeat=3):
        noisy = value.copy()
        noisy[0, 1:] = weight * COLUMN * mean + sigma / np.sqrt(2.0) * np.array(signs)
        found.append(PublicMoment(None, 1.0, noisy, sigma).all_directions)  # type: ignore[arg-type]
    np.testing.assert_allclose(np.mean(found, axis=0), exact)


@pytest.mark.parametrize(("doubt", "known"), [(0.0, False), (1.0, False), (3.0, True)])
def test_doubt_is_counted_in_the_noise_of_the_comparison(doubt, known):
    """Of two means over four numbers each, one of them doubled: 1.9 is less than twice one by two deviations."""
    noise = 0.05 / np.sqrt(1.0 / 4.0 + 4.0 / 4.0)
    value = np.diag([COLUMN**2, *4 * [1.9], *4 * [1.0]])
    value[1:, 1:] -= (noise / COLUMN) ** 2 / 2.0 * np.eye(8)
    moment = PublicMoment(SimpleNamespace(rank=4), 1.0, value, noise)  # type: ignore[arg-type]
    assert bool(moment.known(doubt)) is known


def test_an_average_of_two_releases_has_the_noise_of_both():
    again = SimpleNamespace(value=np.array([10.0]), sigma=1.0)
    value, sigma = averaged(np.array([5.0]), 2.0, again)  # type: ignore[arg-type]
    assert value == pytest.approx([9.0])  # weights 4/5 and 1/5
    assert sigma == pytest.approx((1.0 / 2.0**2 + 1.0 / 1.0**2) ** -0.5)


def test_as_much_as_asked_for_is_not_clearly_more():
    """Documents that deviate exactly twice as much along the basis, or nowhere at all, without any noise."""
    for along in ([2.0, 1.0], [0.0, 0.0]):
        value = np.diag([COLUMN**2, *4 * along[:1], *4 * along[1:]])
        moment = PublicMoment(SimpleNamespace(rank=4), 1.0, value, 0.0)  # type: ignore[arg-type]
        assert not moment.known(0.0)

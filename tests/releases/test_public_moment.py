"""What the released moment says of the public topics and of words: functions of released values alone."""

from __future__ import annotations

import numpy as np
import pytest

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


def test_one_column_counts_documents():
    rows = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(with_constant(rows, 2.0), [[2.0, 0.0, 1.0], [2.0, 2.0, 3.0], [2.0, 4.0, 5.0]])

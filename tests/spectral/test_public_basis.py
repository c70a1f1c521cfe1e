"""The basis that public vectors suggest: its geometry, and vectors that say nothing."""

from __future__ import annotations

import numpy as np
import pytest

from private_topics.spectral.public_basis import CONTROLS, centred_vectors, lifted, public_basis

N_WORDS, RANK = 60, 8


def vectors(seed: int = 0, rank: int = 20) -> np.ndarray:
    made = np.random.default_rng(seed).normal(size=(N_WORDS, rank)) * np.linspace(3.0, 0.1, rank)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def unigram() -> np.ndarray:
    return np.random.default_rng(1).dirichlet(np.full(N_WORDS, 0.5))


def test_directions_are_deviations_from_the_unigram_and_orthonormal():
    basis = public_basis(vectors(), unigram(), RANK)
    rows = np.hstack([basis.rows, basis.control])
    assert rows.shape == (N_WORDS, RANK + CONTROLS)
    np.testing.assert_allclose(basis.centre @ rows, 0.0, atol=1e-12)
    np.testing.assert_allclose((rows.T * basis.centre) @ rows, np.eye(rows.shape[1]), atol=1e-10)


def test_coordinates_of_a_distribution_give_it_back():
    """Exact where its deviation lies in the basis, whatever the unigram is."""
    basis = public_basis(vectors(), unigram(), RANK)
    wanted = np.random.default_rng(2).normal(size=RANK) * 0.05
    topic = basis.topics(wanted[:, None])[0]
    assert topic.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(topic @ basis.rows, wanted, atol=1e-12)


def test_the_leading_components_come_first_and_unknown_words_are_zero():
    known = vectors()
    known[5] = 0.0
    centre = lifted(unigram())
    found = centred_vectors(known, centre, RANK)
    assert not found[5].any()
    spread = centre @ found**2
    assert (np.diff(spread) <= 1e-12).all()
    np.testing.assert_allclose((centre * known.any(axis=1)) @ found, 0.0, atol=1e-12)


@pytest.mark.parametrize("same", [np.ones((N_WORDS, 4)), np.zeros((N_WORDS, 4))], ids=["equal", "zero"])
def test_vectors_that_tell_no_words_apart_have_no_directions(same):
    basis = public_basis(same, unigram(), RANK)
    assert basis.rank == 0
    assert basis.control.shape[1] == 0


def test_the_basis_depends_on_nothing_but_its_arguments():
    first, second = (public_basis(vectors(), unigram(), RANK) for _ in range(2))
    np.testing.assert_array_equal(first.rows, second.rows)
    np.testing.assert_array_equal(first.control, second.control)

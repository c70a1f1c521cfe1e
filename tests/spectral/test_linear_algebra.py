"""Eigenpairs of matrices, orthogonal tensors, and the projection onto the simplex."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from private_topics.inference.token_sampling import start_counts, step_size, topics_of_counts
from private_topics.spectral import power_method
from private_topics.spectral.power_method import LARGEST_RESTARTED, _apply, _apply_by_slices, decompose
from private_topics.spectral.symmetric import symmetric_part
from private_topics.spectral.topics import project_to_simplex
from private_topics.spectral.whitening import DENSE_LIMIT, top_eigenpairs, whitening_of


def orthogonal(size, seed):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))[0]


def tensor_of(values, vectors):
    return np.einsum("j,aj,bj,cj->abc", values, vectors, vectors, vectors)


def assert_same_pairs(pairs, values, vectors, tolerance):
    """The found columns are the true ones up to order; odd order, so signs are decided by positive values."""
    overlap = pairs.vectors.T @ (vectors * np.sign(values))
    order = np.abs(overlap).argmax(axis=1)
    assert sorted(order) == list(range(len(values)))
    np.testing.assert_allclose(overlap[np.arange(len(order)), order], 1.0, atol=tolerance)
    np.testing.assert_allclose(pairs.values, np.abs(values)[order], atol=tolerance)


@pytest.mark.parametrize(
    "size", [1, 2, 5, 20, *(pytest.param(size, marks=pytest.mark.slow) for size in (40, LARGEST_RESTARTED + 1))]
)
@pytest.mark.parametrize("kind", ["spread", "equal", "two groups", "negative"])
def test_power_method_finds_orthogonal_components(size, kind):
    rng = np.random.default_rng(size)
    values = {
        "spread": np.sort(rng.uniform(1.0, 10.0, size))[::-1],
        "equal": np.full(size, 3.0),
        "two groups": np.where(np.arange(size) < size // 2, 5.0, 2.0),
        "negative": rng.uniform(1.0, 10.0, size) * np.where(np.arange(size) % 2, -1.0, 1.0),
    }[kind]
    vectors = orthogonal(size, seed=100 + size)
    pairs = decompose(tensor_of(values, vectors))
    assert_same_pairs(pairs, values, vectors, 1e-9)
    assert (np.diff(pairs.values) <= 1e-12).all()
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(size), atol=1e-12)


def test_a_large_tensor_is_applied_by_slices_with_the_same_result():
    cube = symmetric_part(np.random.default_rng(0).normal(size=(7, 7, 7)))
    vectors = orthogonal(7, 1)
    expected = np.einsum("abc,bj,cj->aj", cube, vectors, vectors)
    np.testing.assert_allclose(_apply(cube, vectors), expected, atol=1e-13)
    np.testing.assert_allclose(_apply_by_slices(cube, vectors), expected, atol=1e-13)


def test_a_large_tensor_has_one_start_and_bounded_work(monkeypatch):
    applied = []
    monkeypatch.setattr(power_method, "_apply", lambda tensor, vectors: applied.append(1) or _apply(tensor, vectors))
    rng = np.random.default_rng(0)
    cube = symmetric_part(rng.normal(size=(8, 8, 8)))  # noise alone: no iteration comes to rest early
    decompose(cube)
    assert len(applied) > 2 * 50
    monkeypatch.setattr(power_method, "LARGEST_RESTARTED", 7)
    monkeypatch.setattr(power_method, "MOST_OPERATIONS", 5.0 * 8**4)
    applied.clear()
    decompose(cube)
    assert len(applied) == 1 + 5


@pytest.mark.parametrize("seed", range(3))
def test_power_method_with_a_small_perturbation(seed):
    rng = np.random.default_rng(seed)
    vectors, values = orthogonal(10, seed), np.linspace(5, 2, 10)
    noise = rng.normal(size=(10, 10, 10)) * 1e-4
    noise = sum(noise.transpose(order) for order in itertools.permutations(range(3))) / 6
    pairs = decompose(tensor_of(values, vectors) + noise)
    assert_same_pairs(pairs, values, vectors, 2e-3)


def test_power_method_of_a_zero_tensor_is_finite():
    pairs = decompose(np.zeros((4, 4, 4)))
    np.testing.assert_allclose(pairs.values, 0.0)
    assert np.isfinite(pairs.vectors).all()


def test_power_method_follows_its_seed():
    noise = np.random.default_rng(0).normal(size=(6, 6, 6))
    noise = sum(noise.transpose(order) for order in itertools.permutations(range(3)))
    first, second = (decompose(noise, random_state=np.random.RandomState(3)) for _ in range(2))
    np.testing.assert_array_equal(first.vectors, second.vectors)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 5, DENSE_LIMIT - 1, DENSE_LIMIT, DENSE_LIMIT + 1, 3 * DENSE_LIMIT // 2])
@pytest.mark.parametrize("rank", [1, 5, 30])
def test_top_eigenpairs_equal_numpy(size, rank):
    rank = min(rank, size)
    rng = np.random.default_rng(size)
    vectors = orthogonal(size, seed=1)
    spectrum = np.concatenate([np.geomspace(1.0, 1e-2, rank), rng.uniform(-0.005, 0.005, size - rank)])
    matrix = (vectors * spectrum) @ vectors.T
    matrix = (matrix + matrix.T) / 2
    values, found = top_eigenpairs(matrix, rank)
    expected = np.linalg.eigvalsh(matrix)[::-1][:rank]
    np.testing.assert_allclose(values, expected, atol=1e-13)
    np.testing.assert_allclose(matrix @ found, found * values, atol=1e-12)
    np.testing.assert_allclose(found.T @ found, np.eye(rank), atol=1e-12)
    assert (found[np.abs(found).argmax(axis=0), np.arange(rank)] > 0).all()


@pytest.mark.parametrize("size", [20, DENSE_LIMIT + 50])
def test_largest_means_signed_not_absolute(size):
    vectors = orthogonal(size, seed=2)
    spectrum = np.r_[-10.0, 2.0, 1.0, np.zeros(size - 3)]
    matrix = (vectors * spectrum) @ vectors.T
    values, _ = top_eigenpairs((matrix + matrix.T) / 2, 2)
    np.testing.assert_allclose(values, [2.0, 1.0], atol=1e-12)


def test_whitening_owns_both_directions():
    factor = np.random.default_rng(0).normal(size=(30, 4))
    matrix = factor @ factor.T
    whitening = whitening_of(matrix, 4)
    np.testing.assert_allclose(whitening.frame.T @ matrix @ whitening.frame, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(whitening.unwhiten(whitening.frame.T @ factor), factor, atol=1e-10)


def test_whitening_floors_what_is_not_positive():
    matrix = np.diag([4.0, 1.0, 0.0, -1.0])
    np.testing.assert_allclose(whitening_of(matrix, 4, floor=0.25).values, [4.0, 1.0, 0.25, 0.25])
    assert (whitening_of(matrix, 4).values > 0).all()
    assert np.isfinite(whitening_of(np.zeros((3, 3)), 2).frame).all()


rows_of_any_sign = arrays(
    np.float64, st.tuples(st.integers(1, 3), st.integers(1, 6)), elements=st.floats(-5, 5, allow_subnormal=False)
)


@given(rows_of_any_sign, st.integers(0, 2**31))
def test_projection_onto_the_simplex(rows, seed):
    """On the simplex, and closest: <x - p, q - p> <= 0 for all q of the simplex (its corners and random points)."""
    projected = project_to_simplex(rows)
    assert projected.min() >= 0
    np.testing.assert_allclose(projected.sum(axis=1), 1.0, atol=1e-14)
    size = rows.shape[1]
    points = np.vstack([np.eye(size), np.random.default_rng(seed).dirichlet(np.full(size, 0.5), 20)])
    for row, projection in zip(rows, projected, strict=True):
        assert ((points - projection) @ (row - projection)).max() <= 1e-12
    np.testing.assert_allclose(project_to_simplex(projected), projected, atol=1e-14)


@given(arrays(np.float64, 3, elements=st.integers(-8, 8).map(lambda value: value / 4)))
def test_projection_equals_the_best_support(row):
    """Brute force: on each support the projection is a shift; the closest feasible one of all supports wins."""
    best, distance = None, np.inf
    for size in (1, 2, 3):
        for support in itertools.combinations(range(3), size):
            candidate = np.zeros(3)
            candidate[list(support)] = row[list(support)] + (1 - row[list(support)].sum()) / size
            if candidate.min() >= 0 and np.sum((candidate - row) ** 2) < distance - 1e-15:
                best, distance = candidate, np.sum((candidate - row) ** 2)
    np.testing.assert_allclose(project_to_simplex(row[None])[0], best, atol=1e-12)


@given(rows_of_any_sign, st.integers(0, 2**31))
def test_projection_by_variances(rows, seed):
    """Optimal: `(s - x)/v` is one multiplier on the support of x and at most that elsewhere."""
    variances = 10.0 ** np.random.default_rng(seed).uniform(-4, 4, rows.shape[1])
    projected = project_to_simplex(rows, variances)
    assert projected.min() >= 0
    np.testing.assert_allclose(projected.sum(axis=1), 1.0, atol=1e-14)
    for row, x in zip(rows, projected, strict=True):
        multiplier = (row[x > 0].sum() - 1.0) / variances[x > 0].sum()
        np.testing.assert_allclose(x[x > 0], (row - multiplier * variances)[x > 0], atol=1e-11)
        assert (row - multiplier * variances)[x == 0].max(initial=-1.0) <= 1e-11


@given(rows_of_any_sign)
def test_equal_variances_are_none(rows):
    variances = np.full(rows.shape[1], 0.25)
    np.testing.assert_array_equal(project_to_simplex(rows, variances), project_to_simplex(rows))


def test_projection_of_rows_that_dwarf_one():
    """At 1e16 the 1 of the simplex is below the rounding of the sums: the largest entry must still win."""
    row = np.array([[1e16, -3e15, 9.9e15, 0.155]])
    np.testing.assert_array_equal(project_to_simplex(row), [[1.0, 0.0, 0.0, 0.0]])
    np.testing.assert_allclose(project_to_simplex(np.full((1, 4), 1e16)), 0.25)


def test_refinement_pieces():
    topics, unigram = np.array([[0.5, 0.5, 0.0], [0.0, 0.1, 0.9]]), np.array([0.25, 0.3, 0.45])
    counts = start_counts(topics, unigram, 600.0)
    np.testing.assert_allclose(counts.sum(axis=0), [300.0, 300.0])
    np.testing.assert_allclose(counts[:, 0], 300 * (topics[0] + unigram) / 2)
    word_topics = topics_of_counts(counts)
    np.testing.assert_allclose(word_topics.sum(axis=0), 1.0)
    np.testing.assert_allclose(word_topics[2, 0], (counts[2, 0] + 1) / 303)
    sizes = [step_size(step) for step in range(100)]
    assert sizes == sorted(sizes, reverse=True)
    assert 0 < sizes[-1] < sizes[0] <= 1

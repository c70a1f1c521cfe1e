"""The certificate of eigenpairs, attacked: no two tensors of the ball may have solutions further apart than it says.

Pairs are random, or chosen along the direction in which the solutions move most; a bound 0.9 times as large fails on
the same pairs, and the certified bound is at most `LOOSEST` times what was attained. Solutions are held against
Newton's method in extended precision.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from noise_support import symmetric_basis
from private_topics.spectral import certificate
from private_topics.spectral.certificate import Centre, Certificate, centre_of, certify, unweighted, weighted
from private_topics.spectral.power_method import EigenPairs

SIZES = [(2, 0.0), (3, 0.02), (4, 0.05), (6, 0.05)]
LOOSEST = {0.02: 1.2, 0.3: 2.6, 0.98: 20.0}
"""By the part of the largest certified radius: what the bound may exceed the attained one by."""


def tensor_of(rank: int, noise: float, seed: int = 0) -> np.ndarray:
    """`Σ λ_i v_i⊗v_i⊗v_i` plus symmetric noise of the given Frobenius norm."""
    random = np.random.default_rng([seed, rank])
    vectors = np.linalg.qr(random.normal(size=(rank, rank)))[0]
    values = random.uniform(1.0, 2.0, rank)
    return np.einsum("i,ai,bi,ci->abc", values, vectors, vectors, vectors) + noise * direction(rank, random)


def direction(rank: int, random: np.random.Generator) -> np.ndarray:
    """A random symmetric tensor of norm one."""
    drawn = certificate.exactly_symmetric(random.normal(size=(rank, rank, rank)))
    return drawn / np.linalg.norm(drawn)


def centre(rank: int, noise: float, seed: int = 0) -> Centre:
    found = centre_of(tensor_of(rank, noise, seed), np.random.RandomState(0))
    assert found is not None
    return found


def largest_radius(around: Centre) -> float:
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if certify(around, middle) else (low, middle)
    return low


def certified(rank: int, noise: float, part: float, seed: int = 0) -> Certificate:
    around = centre(rank, noise, seed)
    found = certify(around, part * largest_radius(around))
    assert found is not None
    return found


def steepest(around: Centre, solutions: np.ndarray, tensor: np.ndarray) -> np.ndarray:
    """The symmetric tensor of norm one along which the weighted solutions of `tensor` move most."""
    rank = len(tensor)
    jacobians = 2.0 * np.einsum("abc,ci->iab", tensor, solutions) - np.eye(rank)
    maps = around.weights @ np.linalg.inv(jacobians)
    basis = symmetric_basis(rank)
    rows = np.einsum("nabc,bi,ci->nia", basis, solutions, solutions)
    moves = np.einsum("iab,nib->nia", maps, rows).reshape(len(basis), -1)
    left = np.linalg.svd(moves)[0][:, 0]
    return np.einsum("n,nabc->abc", left, basis)


def attained(bound: Certificate, seed: int = 1, pairs: int = 40) -> float:
    """The largest ratio of distances over pairs of tensors of the ball: far apart, close, at the edge, steepest."""
    random = np.random.default_rng(seed)
    rank, worst = len(bound.centre.solutions), 0.0
    for number in range(pairs):
        reach = bound.radius * (1.0 if number % 2 else random.uniform())
        first = reach * direction(rank, random)
        if number == 0:
            first = bound.radius * steepest(bound.centre, bound.centre.solutions, bound.centre.tensor)
        solutions = bound.solutions(first)
        step = (
            direction(rank, random) if number % 3 else steepest(bound.centre, solutions, bound.centre.tensor + first)
        )
        second = bound.inside(first - np.sign((first * step).sum() or 1.0) * 1e-3 * bound.radius * step)
        moved = np.linalg.norm(weighted(bound.centre, solutions - bound.solutions(second)))
        worst = max(worst, float(moved / np.linalg.norm(first - second)))
    return worst


@pytest.mark.parametrize("part", LOOSEST)
@pytest.mark.parametrize(("rank", "noise"), SIZES)
def test_no_two_tensors_move_the_solutions_more_than_certified(rank, noise, part):
    bound = certified(rank, noise, part)
    worst = attained(bound)
    assert worst <= bound.lipschitz
    assert bound.lipschitz <= LOOSEST[part] * worst


@pytest.mark.parametrize("part", LOOSEST)
def test_the_bound_covers_the_derivative_at_solutions_that_have_moved(part):
    """The factor for Jacobians that move is needed by itself: what solutions that move add must be added to it."""
    bound = certified(3, 0.0, part)
    around, random = bound.centre, np.random.default_rng(2)
    maps = around.weights @ around.inverses
    stretch = 1.0 + np.linalg.cond(around.weights) * bound.contractions / (1.0 - bound.contractions)
    longer = -np.einsum("ai,bi,ci->abc", *3 * [around.solutions / np.linalg.norm(around.solutions, axis=0)])
    moved = [longer / np.linalg.norm(longer), *(direction(3, random) for _ in range(20))]
    norms = [certificate.derivative_norm(maps, bound.solutions(bound.radius * one)) for one in moved]
    assert max(norms) > certificate.derivative_norm(maps, around.solutions)
    assert max(norms) * stretch.max() <= bound.lipschitz


@pytest.mark.parametrize("part", LOOSEST)
@pytest.mark.parametrize(("rank", "noise"), SIZES)
def test_the_lipschitz_constant_is_that_of_the_proof(rank, noise, part):
    """`L` of docs/proofs/configuration_3.md, by norms of explicit matrices."""
    bound = certified(rank, noise, part)
    around, sizes = bound.centre, np.linalg.norm(bound.centre.solutions, axis=0)
    maps = around.weights @ around.inverses
    rows = np.einsum("iab,nbcd,ci,di->nia", maps, symmetric_basis(rank), around.solutions, around.solutions)
    first = np.linalg.svd(rows.reshape(len(rows), -1), compute_uv=False)[0]
    largest = max(
        np.linalg.norm(one, 2) * away * a for one, away, a in zip(maps, bound.distances, sizes, strict=True)
    )
    second = largest * (2.0 * np.linalg.norm(around.solutions / sizes, 2) + np.linalg.norm(bound.distances / sizes))
    factors = 1.0 + np.linalg.cond(around.weights) * bound.contractions / (1.0 - bound.contractions)
    needed = max(factors) * (first + second)
    assert needed <= bound.lipschitz <= needed * (1.0 + 1e-7)


def test_a_bound_that_is_a_tenth_too_small_fails():
    bound = certified(3, 0.02, 0.001)
    assert attained(bound) > 0.9 * bound.lipschitz


@pytest.mark.parametrize(("rank", "noise"), SIZES)
def test_the_derivative_has_the_norm_of_its_matrix(rank, noise):
    around = centre(rank, noise)
    maps = around.weights @ around.inverses
    basis = symmetric_basis(rank)
    rows = np.einsum("iab,nbcd,ci,di->nia", maps, basis, around.solutions, around.solutions)
    exact = np.linalg.norm(rows.reshape(len(basis), -1), 2)
    found = certificate.derivative_norm(maps, around.solutions)
    assert exact <= found <= exact * (1.0 + 1e-7)
    if noise == 0.0:
        assert found == pytest.approx(1.0, rel=1e-6)  # the weights make noise on the tensor isotropic


@pytest.mark.parametrize("part", LOOSEST)
@pytest.mark.parametrize(("rank", "noise"), SIZES)
def test_solutions_solve_stay_in_their_balls_and_are_the_only_ones(rank, noise, part):
    bound = certified(rank, noise, part)
    random = np.random.default_rng(3)
    for _ in range(5):
        difference = bound.radius * direction(rank, random)
        solutions = bound.solutions(difference)
        away = np.linalg.norm(solutions - bound.centre.solutions, axis=0)
        assert (away <= bound.distances).all()
        exact = extended_newton(bound.centre.tensor + difference, solutions)
        assert np.linalg.norm(weighted(bound.centre, solutions - exact)) <= bound.error < 1e-9
        for _ in range(3):
            start = random.normal(size=solutions.shape)
            start *= bound.distances / np.linalg.norm(start, axis=0)
            other = bound.centre.solutions + start
            for _ in range(bound.steps):
                left = certificate.residuals(bound.centre.tensor + difference, other)
                other = other - np.einsum("iab,bi->ai", bound.centre.inverses, left)
            np.testing.assert_allclose(other, exact, atol=1e-11)


def extended_newton(tensor: np.ndarray, solutions: np.ndarray) -> np.ndarray:
    """Newton's method with residuals in extended precision, until they are as small as it can hold."""
    wide, found = tensor.astype(np.longdouble), solutions.astype(np.longdouble)
    inverses = np.linalg.inv(2.0 * np.einsum("abc,ci->iab", tensor, solutions) - np.eye(len(tensor)))
    for _ in range(6):
        left = np.einsum("abc,bi,ci->ai", wide, found, found) - found
        found = found - np.einsum("iab,bi->ai", inverses, left)
    assert np.abs(left).max() < 1e-17
    return found


@pytest.mark.parametrize("part", LOOSEST)
def test_topic_vectors_move_no_more_than_the_inversion_says(part):
    bound = certified(4, 0.03, part)
    random = np.random.default_rng(5)
    for _ in range(40):
        first, second = (bound.solutions(bound.radius * direction(4, random)) for _ in range(2))
        apart = np.linalg.norm(first / (first**2).sum(axis=0) - second / (second**2).sum(axis=0))
        assert apart <= bound.inversion * np.linalg.norm(weighted(bound.centre, first - second))


def test_drawing_into_the_ball_brings_no_two_tensors_further_apart():
    bound = certified(3, 0.02, 0.5)
    random = np.random.default_rng(7)
    for scale in (0.1, 1.0, 1.5, 1e6):
        for _ in range(50):
            first, second = (scale * bound.radius * random.normal() * direction(3, random) for _ in range(2))
            inside = bound.inside(first), bound.inside(second)
            assert max(map(np.linalg.norm, inside)) <= bound.radius * (1.0 + 1e-14)
            assert np.linalg.norm(inside[0] - inside[1]) <= np.linalg.norm(first - second) * (1.0 + 1e-12)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_a_centre_is_found_whatever_its_eigenvalues(scale):
    """T(I, u, u) = u: a tensor twice as large has solutions half as large."""
    plain, scaled = centre(3, 0.02), centre_of(scale * tensor_of(3, 0.02), np.random.RandomState(0))
    np.testing.assert_allclose(scaled.solutions * scale, plain.solutions, rtol=1e-9)
    bound, other = certify(plain, 0.01), certify(scaled, 0.01 * scale)
    assert other.lipschitz == pytest.approx(bound.lipschitz, rel=1e-6)


def test_weights_go_both_ways():
    around = centre(5, 0.05)
    np.testing.assert_allclose(unweighted(around, weighted(around, around.solutions)), around.solutions, rtol=1e-12)


def test_a_ball_is_certified_up_to_an_eighth_of_the_smallest_eigenvalue():
    """For an orthogonal tensor with equal eigenvalues the discriminant is positive up to 1/8, in exact arithmetic."""
    equal = centre_of(np.einsum("ai,bi,ci->abc", np.eye(4), np.eye(4), np.eye(4)), np.random.RandomState(0))
    assert equal is not None
    assert 0.11 < largest_radius(equal) <= 0.125


def test_what_cannot_be_certified_is_not():
    around = centre(3, 0.02)
    for radius in (0.2, 5.0, np.inf, np.nan):
        assert certify(around, radius) is None
    random = np.random.default_rng(0)
    for seed in range(10):  # nothing near an orthogonal tensor
        drawn = centre_of(direction(6, random), np.random.RandomState(seed))
        assert drawn is None or certify(drawn, 0.05) is None
    assert centre_of(np.zeros((3, 3, 3)), np.random.RandomState(0)) is None


def test_one_eigenpair_found_twice_is_not_certified():
    around = centre(3, 0.0)
    twice = [0, 0, 2]
    same = Centre(around.tensor, around.solutions[:, twice], around.inverses[twice], around.weights[twice])
    assert certify(around, 0.01) is not None
    assert certify(same, 0.01) is None


# -- what the proof has in floating point: docs/proofs/configuration_3.md -----------------------------------------


def step_error(bound: Certificate) -> np.ndarray:
    """`e_r` of the page: the error of one step of Newton's method."""
    rank, sizes = len(bound.distances), np.linalg.norm(bound.centre.solutions, axis=0)
    reach = float(np.linalg.norm(bound.centre.tensor)) + bound.radius
    factors = 1.0 + np.linalg.norm(bound.centre.inverses, axis=(1, 2))
    return (rank**2 + rank + 64) * 2.0**-51 * factors * (reach * (2.0 * sizes) ** 2 + 2.0 * sizes)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
@pytest.mark.parametrize(("rank", "noise"), SIZES)
def test_the_error_of_a_step_is_that_of_the_proof(rank, noise, scale):
    around = centre_of(scale * tensor_of(rank, noise), np.random.RandomState(0))
    bound = certify(around, 0.05 * scale)
    needed = step_error(bound)
    assert (bound.rounding >= needed).all()
    assert (bound.rounding <= needed * (1.0 + 1e-8)).all()


@pytest.mark.parametrize("factor", [0.9, 1.0, 1.1])
@pytest.mark.parametrize("radius", [0.0, 1e-3, 0.02])
def test_every_ball_is_mapped_into_itself_by_the_inequality_of_the_proof(radius, factor):
    """For any matrix in place of the inverse Jacobian, and for the radius plus the error of the tensor."""
    around = centre(3, 0.02)
    around = replace(around, inverses=factor * around.inverses)
    bound = certify(around, radius)
    assert bound is not None
    tensor, solutions, inverses = around.tensor, around.solutions, around.inverses
    a, beta, t = (np.linalg.norm(solutions, axis=0), np.linalg.norm(inverses, 2, axis=(1, 2)),
                  np.linalg.norm(tensor.reshape(3, 9), 2))  # fmt: skip
    jacobians = 2.0 * np.einsum("abc,ci->iab", tensor, solutions) - np.eye(3)
    z = np.linalg.norm(np.eye(3) - inverses @ jacobians, 2, axis=(1, 2))
    left = np.einsum("iab,bi->ai", inverses, certificate.residuals(tensor, solutions))
    wide = radius + (3**3 + 64) * 2.0**-52 * (np.linalg.norm(tensor) + radius)
    start = np.linalg.norm(left, axis=0) + beta * wide * a**2 + 2.0 * step_error(bound)
    reached = start + (z + 2.0 * beta * wide * a) * bound.distances + beta * (wide + t) * bound.distances**2
    assert (reached <= bound.distances).all()
    assert (z + 2.0 * beta * wide * a + 2.0 * beta * (wide + t) * bound.distances <= bound.contractions).all()


def test_no_map_is_certified_that_contracts_by_less_than_a_tenth():
    """The page has `q <= 0.9`: the discriminant alone would allow any `q` below one."""
    for around in (centre(3, 0.02), centre(4, 0.05)):
        bound = certify(around, largest_radius(around))
        assert 0.899 < bound.contractions.max() <= 0.9


def test_the_error_covers_what_is_left_and_the_product_with_the_weights():
    bound = certified(3, 0.02, 0.3)
    none, sizes = np.zeros(3), np.linalg.norm(bound.centre.weights, axis=(1, 2))
    longest = 2.0 * np.linalg.norm(bound.centre.solutions, axis=0)
    rounding = replace(bound, distances=none, contractions=np.array([0.0, 0.5, 0.9]), rounding=np.full(3, 1e-3))
    assert rounding.error >= np.linalg.norm(sizes * [1e-3, 2e-3, 1e-2])  # the sum of the steps' errors
    remaining = replace(bound, rounding=none)
    assert remaining.error >= np.linalg.norm(sizes * bound.distances * bound.contractions.max() ** bound.steps)
    product = replace(bound, distances=none, rounding=none)  # sums of three products, Higham 2002, section 3.1
    assert product.error >= np.linalg.norm(3 * 2.0**-53 * sizes * longest)


def test_a_centre_is_symmetric_to_the_last_bit():
    tensor = certificate.exactly_symmetric(np.random.default_rng(0).normal(size=(5, 5, 5)))
    for order in itertools.permutations(range(3)):
        np.testing.assert_array_equal(np.transpose(tensor, order), tensor)


def test_a_solution_that_shrinks_to_zero_is_none(monkeypatch):
    """Zero solves `T(I, u, u) = u` too, and Newton's method from a short vector ends there."""
    exact = certificate.decompose

    def shortened(tensor, **options):
        pairs = exact(tensor, **options)
        return EigenPairs(pairs.values * [1.0, 1.0, 1e6], pairs.vectors)

    assert centre_of(tensor_of(3, 0.02), np.random.RandomState(0)) is not None
    monkeypatch.setattr(certificate, "decompose", shortened)
    assert centre_of(tensor_of(3, 0.02), np.random.RandomState(0)) is None


@pytest.mark.slow
@pytest.mark.parametrize(("rank", "taken"), [(64, True), (65, False)])
def test_up_to_64_topics_can_be_certified(rank, taken, monkeypatch):
    """As docs/proofs/configuration_3.md says. The eigenpairs are handed in: the power method would take minutes."""
    cube = np.zeros((rank, rank, rank))
    cube[tuple(3 * [np.arange(rank)])] = values = np.linspace(1.0, 2.0, rank)
    monkeypatch.setattr(certificate, "decompose", lambda tensor, **options: EigenPairs(values, np.eye(rank)))
    found = centre_of(cube, np.random.RandomState(0))
    assert (found is not None) is taken
    if found is not None:
        np.testing.assert_allclose(found.solutions, np.diag(1.0 / values), atol=1e-12)

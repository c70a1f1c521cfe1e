"""How far the eigenpairs of a symmetric tensor can move while the tensor stays in a ball: a certificate.

An eigenpair `T(I, v, v) = λ v` is one vector, `u = v/λ`, with `T(I, u, u) = u`. Around a centre `T₀` with such
vectors `u_i` the simplified Newton map `u - M_i (T(I, u, u) - u)` is a contraction of a ball of radius `ρ_i`, for
*every* `T` within `R` of `T₀` in Frobenius norm, if a discriminant is positive (Newton, Kantorovich). Then `u_i(T)`,
the only solution in that ball, is a function on the whole ball of tensors, and its derivative is bounded there. The
bound is for all vectors together, in coordinates `A_i u_i` in which isotropic noise on `T` is isotropic to first
order: `A_i = λ_i² (v_i v_i' + √3 (1 - v_i v_i'))`. Every number is rounded up. Proof:
docs/proofs/configuration_3.md.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from private_topics.spectral.power_method import decompose

NEWTON_STEPS = 30
UP = 1.0 + 2.0**-30  # covers the rounding of a spectral norm, and of the few operations on it
LARGEST_CONTRACTION, LARGEST_SHIFT = 0.9, 0.5
UNSOLVED = 2.0**-45
LARGEST_RANK = 64  # the bound needs a matrix of k² × k² numbers


@dataclass(frozen=True)
class Centre:
    """A symmetric tensor, its solutions `u_i` (columns), approximate inverse Jacobians `M_i` and weights `A_i`."""

    tensor: np.ndarray
    solutions: np.ndarray
    inverses: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class Certificate:
    """What holds for every tensor within `radius` of the centre.

    There is one solution within `distances[i]` of the centre's, the Newton map contracts by `contractions[i]`, and
    two tensors have weighted solutions at most `lipschitz` times as far apart as they are. `rounding` is per step.
    """

    centre: Centre
    radius: float
    distances: np.ndarray
    contractions: np.ndarray
    rounding: np.ndarray
    lipschitz: float

    @property
    def steps(self) -> int:
        """Newton steps after which the remaining error is below `UNSOLVED` of the distance."""
        return max(1, math.ceil(math.log(UNSOLVED) / math.log(max(float(self.contractions.max()), 2.0**-45))))

    @property
    def error(self) -> float:
        """How far the weighted solutions computed for a tensor inside are from the exact ones, together."""
        left = self.distances * UNSOLVED + self.rounding / (1.0 - self.contractions)
        sizes = np.linalg.norm(self.centre.weights, axis=(1, 2))
        product = (len(sizes) + 8) * 2.0**-52 * sizes * 2.0 * np.linalg.norm(self.centre.solutions, axis=0)
        return float(np.linalg.norm(sizes * left + product)) * UP

    def inside(self, difference: np.ndarray) -> np.ndarray:
        """The difference of a tensor from the centre, drawn into the ball: the nearest point of it."""
        size = float(np.linalg.norm(difference))
        result: np.ndarray = difference * (self.radius / size) if size > self.radius else difference
        return result

    @property
    def inversion(self) -> float:
        """A bound on the distance of all `λ_i v_i = u_i / ||u_i||²` together, over that of the weighted solutions."""
        sizes = np.linalg.norm(self.centre.solutions, axis=0) * UP
        return float(((sizes / (sizes / UP**2 - self.distances)) ** 2).max()) * UP

    def solutions(self, difference: np.ndarray) -> np.ndarray:
        """Columns `u_i` of the centre plus a difference inside the ball; a public number of steps."""
        tensor = self.centre.tensor + difference
        solutions = self.centre.solutions
        for _ in range(self.steps):
            solutions = solutions - np.einsum("iab,bi->ai", self.centre.inverses, residuals(tensor, solutions))
        return solutions


def residuals(tensor: np.ndarray, solutions: np.ndarray) -> np.ndarray:
    """Columns `T(I, u_i, u_i) - u_i`."""
    rank = len(tensor)
    pairs = (solutions[:, None, :] * solutions[None, :, :]).reshape(rank * rank, -1)
    result: np.ndarray = tensor.reshape(rank, rank * rank) @ pairs - solutions
    return result


def weighted(centre: Centre, solutions: np.ndarray) -> np.ndarray:
    """Columns `A_i u_i`."""
    result: np.ndarray = np.einsum("iab,bi->ai", centre.weights, solutions)
    return result


def unweighted(centre: Centre, columns: np.ndarray) -> np.ndarray:
    """Columns `u_i` of columns `A_i u_i`."""
    result: np.ndarray = np.linalg.solve(centre.weights, columns.T[:, :, None])[:, :, 0].T
    return result


def centre_of(tensor: np.ndarray, random_state: np.random.RandomState) -> Centre | None:
    """The eigenpairs of a tensor by the power method, polished by Newton's; None where that does not succeed."""
    tensor = exactly_symmetric(tensor)
    rank = len(tensor)
    pairs = decompose(tensor, random_state=random_state)
    if rank > LARGEST_RANK or not pairs.values.min() > 0:
        return None
    try:
        solutions, inverses = _polished(tensor, pairs.vectors / pairs.values)
    except np.linalg.LinAlgError:
        return None
    sizes = np.linalg.norm(solutions, axis=0)
    if not np.isfinite(inverses).all() or not (sizes > 0).all():
        return None
    vectors = solutions / sizes
    along = np.einsum("ai,bi->iab", vectors, vectors)
    weights = (math.sqrt(3.0) * np.eye(rank) - (math.sqrt(3.0) - 1.0) * along) / sizes[:, None, None] ** 2
    return Centre(tensor, solutions, inverses, weights)


def _polished(tensor: np.ndarray, solutions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Newton's method: solutions and the inverses of their Jacobians, not finite where it diverged."""
    with np.errstate(all="ignore"):
        for _ in range(NEWTON_STEPS):
            inverses = np.linalg.inv(_jacobians(tensor, solutions))
            solutions = solutions - np.einsum("iab,bi->ai", inverses, residuals(tensor, solutions))
        return solutions, np.linalg.inv(_jacobians(tensor, solutions))


def certify(centre: Centre, radius: float) -> Certificate | None:
    """The certificate of a ball around the centre, and of one wider by rounding; None where there is none."""
    if not 0.0 <= radius < np.linalg.norm(centre.tensor):
        return None
    wide = radius * UP + tensor_rounding(centre.tensor, radius)
    sizes = np.linalg.norm(centre.solutions, axis=0) * UP
    inverse = np.linalg.norm(centre.inverses, 2, axis=(1, 2)) * UP
    tensor = spectral_bound(centre.tensor)
    rounding = _rounding(centre, wide, sizes)
    off = np.eye(len(sizes)) - centre.inverses @ _jacobians(centre.tensor, centre.solutions)
    remainder = np.linalg.norm(off, 2, axis=(1, 2)) * UP + rounding / sizes
    start = np.linalg.norm(
        np.einsum("iab,bi->ai", centre.inverses, residuals(centre.tensor, centre.solutions)), axis=0
    )
    shift = (start + inverse * wide * sizes**2) * UP + 2.0 * rounding
    linear, square = 1.0 - remainder - 2.0 * inverse * wide * sizes * UP, inverse * (wide + tensor) * UP
    discriminant = linear**2 - 4.0 * square * shift
    if not ((linear > 0) & (discriminant > 0)).all():
        return None
    distances = 2.0 * shift / (linear + np.sqrt(discriminant)) * UP
    contractions = (1.0 - linear + 2.0 * square * distances) * UP
    holds = (shift + (1.0 - linear) * distances + square * distances**2) * (1.0 + 2.0**-40) <= distances
    holds &= (contractions <= LARGEST_CONTRACTION) & (distances <= LARGEST_SHIFT * sizes)
    if not holds.all() or not _apart(centre.solutions, distances):
        return None
    lipschitz = _lipschitz(centre, distances, contractions)
    return Certificate(centre, radius, distances, contractions, rounding, lipschitz)


def _apart(solutions: np.ndarray, distances: np.ndarray) -> bool:
    """Whether the balls of no two solutions meet."""
    between = np.linalg.norm(solutions[:, :, None] - solutions[:, None, :], axis=0)
    reach = (distances[:, None] + distances[None, :]) * (1.0 - np.eye(len(distances)))
    return bool((between >= reach).all())


def _lipschitz(centre: Centre, distances: np.ndarray, contractions: np.ndarray) -> float:
    """Norm of the derivative at the centre, widened for how far solutions (added) and Jacobians (a factor) move."""
    values = 1.0 / np.linalg.norm(centre.solutions, axis=0)
    maps = centre.weights @ centre.inverses
    largest = np.linalg.norm(maps, 2, axis=(1, 2)) * UP
    spread = 2.0 * float(np.linalg.norm(centre.solutions * values, 2)) + float(np.linalg.norm(values * distances))
    moving = float((largest * distances / values).max()) * spread
    stretch = 1.0 + np.linalg.cond(centre.weights) * contractions / (1.0 - contractions)
    return float(stretch.max()) * (derivative_norm(maps, centre.solutions) + moving) * UP**4


def derivative_norm(maps: np.ndarray, solutions: np.ndarray) -> float:
    """Norm of `E ↦ (B_i E(I, u_i, u_i))_i` on symmetric tensors, from the Gram matrix of its rows."""
    inner = solutions.T @ solutions
    rows = np.einsum("iab,jcb->iajc", maps, maps) * inner[:, None, :, None] ** 2
    cross = np.einsum("iab,bj->iaj", maps, solutions)
    rows += 2.0 * np.einsum("iaj,jci->iajc", cross, cross) * inner[:, None, :, None]
    size = maps.shape[0] * maps.shape[1]
    gram = rows.reshape(size, size) / 3.0
    return math.sqrt(float(np.linalg.norm(gram, 2)) * UP**2)


def spectral_bound(tensor: np.ndarray) -> float:
    """At least `max ||T(I, x, y)||` over unit vectors: the spectral norm of the tensor laid flat."""
    return float(np.linalg.norm(tensor.reshape(len(tensor), -1), 2)) * UP


def tensor_rounding(tensor: np.ndarray, radius: float) -> float:
    """Error of `tensor + inside(difference)` in floating point, Frobenius norm."""
    return (tensor.size + 64) * 2.0**-52 * (float(np.linalg.norm(tensor)) + radius)


def exactly_symmetric(tensor: np.ndarray) -> np.ndarray:
    """The mean over the six orders of the indices, symmetric exactly: the sorted one stands for all."""
    mean = np.sum([np.transpose(tensor, order) for order in itertools.permutations(range(3))], axis=0) / 6.0
    index = np.sort(np.indices(tensor.shape), axis=0)
    result: np.ndarray = mean[tuple(index)]
    return result


def _jacobians(tensor: np.ndarray, solutions: np.ndarray) -> np.ndarray:
    """`2 T(I, I, u_i) - 1` for every solution."""
    result: np.ndarray = 2.0 * np.einsum("abc,ci->iab", tensor, solutions) - np.eye(len(tensor))
    return result


def _rounding(centre: Centre, radius: float, sizes: np.ndarray) -> np.ndarray:
    """Error of one Newton step in floating point, for solutions at most twice as long as the centre's."""
    rank = len(sizes)
    terms = (np.linalg.norm(centre.tensor) + radius) * 4.0 * sizes**2 + 2.0 * sizes
    factors = 1.0 + np.linalg.norm(centre.inverses, axis=(1, 2))
    result: np.ndarray = (rank * rank + rank + 64) * 2.0**-51 * factors * terms
    return result

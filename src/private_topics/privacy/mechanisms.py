"""release(): the only place that draws noise. It checks the query, charges it, and only then draws.

A `PrivateRun` owns a budget, an accountant and a noise stream; `PrivateRun.release` turns an exact integer
aggregate into a `Released` value, and nothing else can make one. Symmetric arrays get isometric noise: one
Gaussian of variance sigma^2 in every direction of the space of symmetric arrays with the Frobenius norm.
Proofs: docs/proofs/lattice.md for one release, docs/proofs/composition.md for the run.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from private_topics.errors import InputError, PrivacyError
from private_topics.privacy.accountant import Accountant, mu_of_budget, rho_of_budget
from private_topics.privacy.budget import PrivacyBudget, sigma_for
from private_topics.privacy.events import DiscreteGaussianEvent, GaussianEvent
from private_topics.privacy.lattice import LARGEST_INTEGER
from private_topics.privacy.randomness import DISTANCE_PER_DRAW, LARGEST_RATIO, NoiseStream
from private_topics.privacy.symmetric import (
    add_symmetric_matrix_noise,
    add_symmetric_tensor_noise,
    is_symmetric_matrix,
    is_symmetric_tensor,
    symmetric_std,
)

Kind = Literal["scalar", "vector", "histogram", "symmetric_matrix", "symmetric_tensor", "array"]
Integers = npt.NDArray[np.int64]
Draw = Callable[[int, float], Integers]

KINDS: tuple[str, ...] = ("scalar", "vector", "histogram", "symmetric_matrix", "symmetric_tensor", "array")
_DIMENSIONS = {"scalar": 0, "vector": 1, "histogram": 1, "symmetric_matrix": 2, "symmetric_tensor": 3}
_CHUNK = 1 << 20
_MOST_COORDINATES = 2**40
# mu_total stays this far below what the budget allows, so that shares which sum to one but for rounding fit.
_HEADROOM = 1e-9
_RELEASE_TOKEN = object()


@dataclass(frozen=True)
class Query:
    """What is asked of the corpus: the sum of the units' contributions, in whole lattice steps.

    ``sensitivity`` bounds the L2 (Frobenius) distance of the sums of neighbours, in real units, that is
    step * integers; neighbours replace one unit. ``proof`` names the page under docs/proofs that shows it.
    """

    name: str
    kind: Kind
    sensitivity: float
    step: float
    proof: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise PrivacyError(
                f"The 'kind' of query {self.name!r} must be one of {KINDS}. Got {self.kind!r} instead."
            )
        for name in ("sensitivity", "step"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
                raise PrivacyError(f"The {name!r} of query {self.name!r} must be a float. Got {value!r} instead.")
            if not (math.isfinite(value) and value > 0):
                raise PrivacyError(
                    f"The {name!r} of query {self.name!r} must be finite and positive. Got {value!r} instead."
                )
            object.__setattr__(self, name, float(value))
        if not self.proof:
            raise PrivacyError(
                f"Query {self.name!r} must name the page under docs/proofs that bounds its sensitivity."
            )


@dataclass(frozen=True, eq=False)
class Released:
    """A noisy value that may be published. Only `PrivateRun.release` makes one."""

    value: npt.NDArray[np.float64]
    query: Query
    event: GaussianEvent
    token: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.token is not _RELEASE_TOKEN:
            raise PrivacyError("A Released value comes out of PrivateRun.release only, which charges for it.")
        object.__setattr__(self, "token", None)
        self.value.flags.writeable = False

    @property
    def name(self) -> str:
        return self.event.name

    @property
    def sigma(self) -> float:
        """The noise's standard deviation in every isometric coordinate."""
        return self.event.sigma

    def std(self) -> npt.NDArray[np.float64]:
        """The noise's standard deviation entry by entry (an array as large as the value)."""
        if self.query.kind in ("symmetric_matrix", "symmetric_tensor"):
            return symmetric_std(self.value.shape, self.sigma)
        return np.full(self.value.shape, self.sigma)


class PrivateRun:
    """One computation under one budget: calibrates, charges, draws.

    ``sampler`` is "fast" (rounded Gaussian, accounted in GDP) or "exact" (OpenDP's discrete Gaussian,
    accounted in zCDP, slow). A ``noise_seed`` makes the run reproducible and therefore not private.
    ``reserve`` is called once with the budget before the first draw (with ``exact=True`` for that sampler);
    when it raises, nothing has been charged or drawn.
    """

    def __init__(
        self,
        budget: PrivacyBudget,
        *,
        sampler: str = "fast",
        noise_seed: int | None = None,
        reserve: Callable[..., None] | None = None,
    ) -> None:
        if sampler not in ("fast", "exact"):
            raise PrivacyError(
                f"The 'sampler' parameter of PrivateRun must be 'fast' or 'exact'. Got {sampler!r} instead."
            )
        if sampler == "exact" and noise_seed is not None:
            raise PrivacyError("The exact sampler takes no 'noise_seed'. Use sampler='fast' for reproducible tests.")
        self.budget = budget
        self.sampler = sampler
        self._stream = NoiseStream() if noise_seed is None else NoiseStream.seeded(noise_seed)
        self._reserve = reserve
        self._lock = threading.Lock()
        self._process = os.getpid()
        self.sampler_delta = _sampler_delta(budget, sampler)
        self.accountant = Accountant(sampler_delta=self.sampler_delta)
        usable = budget.delta - self.sampler_delta
        if usable <= 0:
            raise PrivacyError(
                "The 'delta' of the budget is below the imprecision of the sampler. Choose a larger one."
            )
        if sampler == "fast":
            limit = mu_of_budget(budget.epsilon, usable)
        else:
            limit = math.sqrt(2 * rho_of_budget(budget.epsilon, usable))
        self.mu_total = limit * (1 - _HEADROOM)

    @property
    def private(self) -> bool:
        """False when the noise was drawn from a known seed."""
        return self._stream.secure

    @property
    def released_events(self) -> tuple[GaussianEvent, ...]:
        """What was charged so far, in order."""
        return tuple(event for event in self.accountant.events if isinstance(event, GaussianEvent))

    def sigma(self, query: Query, share: float) -> float:
        """The noise with which the query spends the fraction ``share`` of the budget (of mu^2, or of rho)."""
        return sigma_for(share, query.sensitivity, self.mu_total)

    def release(self, query: Query, aggregate: npt.ArrayLike, share: float, *, consume: bool = False) -> Released:
        """The aggregate (int64, in lattice steps) plus noise, in real units, charged ``share`` of the budget.

        Order: check everything, reserve, record, draw. With ``consume`` the aggregate's buffer is
        overwritten and becomes the value, which saves its size in memory.
        """
        if os.getpid() != self._process:  # a forked copy: its charges would go unseen
            raise PrivacyError("A PrivateRun works only in the process that made it. Release there.")
        integers = _checked(query, aggregate, consume)
        event = self._event(query, share, integers)
        with self._lock:
            self._afford(event)
            if self._reserve is not None:
                self._reserve(self.budget, **({"exact": True} if self.sampler == "exact" else {}))
                self._reserve = None
            self.accountant.record(event)
            draw = self._stream.rounded_gaussian if self.sampler == "fast" else _discrete_gaussian
            value = _noisy(query, integers, event.sigma, draw, consume)
        return Released(value, query, event, _RELEASE_TOKEN)

    def _event(self, query: Query, share: float, integers: Integers) -> GaussianEvent:
        sigma = self.sigma(query, share)
        if sigma / query.step > LARGEST_RATIO / 2:
            raise PrivacyError(f"The step of query {query.name!r} is too fine for its noise. Use lattice.step_for.")
        kind = GaussianEvent if self.sampler == "fast" else DiscreteGaussianEvent
        return kind(
            name=query.name,
            sensitivity=query.sensitivity,
            sigma=sigma,
            coordinates=_coordinates(query.kind, integers.shape),
            proof=query.proof,
        )

    def _afford(self, event: GaussianEvent) -> None:
        """Refuse a release beyond the budget."""
        after = Accountant((*self.accountant.events, event), sampler_delta=self.sampler_delta)
        if after.delta(self.budget.epsilon) > self.budget.delta:
            raise PrivacyError(
                f"Release {event.name!r} would exceed the privacy budget of this run. "
                "Give it a smaller share: the shares of a run must sum to at most 1."
            )

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise PrivacyError("A PrivateRun cannot be copied or pickled: each copy would spend the same budget.")


def _checked(query: Query, aggregate: npt.ArrayLike, consume: bool) -> Integers:
    """The aggregate as int64 of the announced shape. Messages carry shapes and names, never entries."""
    integers = np.asarray(aggregate)
    if integers.dtype != np.int64:
        raise InputError(
            f"The aggregate of query {query.name!r} must be int64, in lattice steps. Got {integers.dtype}."
        )
    if integers.size == 0:
        raise InputError(f"The aggregate of query {query.name!r} must not be empty.")
    if query.kind in _DIMENSIONS and integers.ndim != _DIMENSIONS[query.kind]:
        raise InputError(
            f"A query of kind {query.kind!r} takes {_DIMENSIONS[query.kind]} dimensions. Got {integers.ndim}."
        )
    if consume and not (integers.flags.writeable and integers.flags.c_contiguous):
        raise InputError("With consume=True the aggregate must be writable and C-contiguous.")
    if int(integers.max()) > LARGEST_INTEGER or int(integers.min()) < -LARGEST_INTEGER:
        raise InputError(f"The aggregate of query {query.name!r} leaves the lattice. Check its public bounds.")
    if query.kind == "symmetric_matrix" and not is_symmetric_matrix(integers):
        raise InputError(f"The aggregate of query {query.name!r} must be a square symmetric matrix.")
    if query.kind == "symmetric_tensor" and not is_symmetric_tensor(integers):
        raise InputError(f"The aggregate of query {query.name!r} must be a symmetric k x k x k tensor.")
    return integers


def _coordinates(kind: str, shape: tuple[int, ...]) -> int:
    """The number of independent noise variables."""
    if kind == "symmetric_matrix":
        return math.comb(shape[0] + 1, 2)
    return math.comb(shape[0] + 2, 3) if kind == "symmetric_tensor" else math.prod(shape)


def _noisy(query: Query, integers: Integers, sigma: float, draw: Draw, consume: bool) -> npt.NDArray[np.float64]:
    """The aggregate plus integer noise, in real units; in chunks, without a full-size temporary."""
    total = integers if consume else np.array(integers, order="C")
    ratio = sigma / query.step * (1 + 2.0**-50)
    if query.kind == "symmetric_matrix":
        add_symmetric_matrix_noise(total, ratio, draw)
    elif query.kind == "symmetric_tensor":
        add_symmetric_tensor_noise(total, ratio, draw)
    else:
        _add_noise(total.reshape(-1), ratio, draw)
    value = total.view(np.float64)
    flat_total, flat_value = total.reshape(-1), value.reshape(-1)
    for start in range(0, flat_total.size, _CHUNK):
        flat_value[start : start + _CHUNK] = flat_total[start : start + _CHUNK] * query.step
    return value


def _add_noise(flat: Integers, ratio: float, draw: Draw) -> None:
    for start in range(0, flat.size, _CHUNK):
        chunk = flat[start : start + _CHUNK]
        chunk += draw(chunk.size, ratio)


def _discrete_gaussian(count: int, ratio: float) -> Integers:
    """OpenDP's exact discrete Gaussian of this scale (Canonne, Kamath and Steinke 2020, algorithm 3)."""
    import opendp.prelude as opendp

    opendp.enable_features("contrib")
    space = opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l2_distance(T="f64")
    return np.array(opendp.m.make_gaussian(*space, scale=ratio)([0] * count), dtype=np.int64)


def _sampler_delta(budget: PrivacyBudget, sampler: str) -> float:
    """What the sampler adds to delta: (1 + e^epsilon) times its distance from its law (lattice.md)."""
    distance = DISTANCE_PER_DRAW if sampler == "fast" else 0.0
    return (1 + math.exp(budget.epsilon)) * distance * _MOST_COORDINATES if distance else 0.0

"""What is asked of the corpus: a sum in whole lattice steps, its declared sensitivity, and the shape it must have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from private_topics.errors import InputError, PrivacyError
from private_topics.privacy.lattice import LARGEST_INTEGER
from private_topics.privacy.symmetric import is_symmetric_matrix, is_symmetric_tensor

Kind = Literal["scalar", "vector", "histogram", "symmetric_matrix", "symmetric_tensor", "array"]
Integers = npt.NDArray[np.int64]

KINDS: tuple[str, ...] = ("scalar", "vector", "histogram", "symmetric_matrix", "symmetric_tensor", "array")
_DIMENSIONS = {"scalar": 0, "vector": 1, "histogram": 1, "symmetric_matrix": 2, "symmetric_tensor": 3}


@dataclass(frozen=True)
class Query:
    """What is asked of the corpus: the sum of the units' contributions, in whole lattice steps.

    ``sensitivity`` bounds the distance of the sums of neighbours in ``norm``, L2 (Frobenius) for Gaussian
    noise or L1 for Laplace noise, in real units, that is step * integers, for the neighbours of the run.
    ``proof`` names the page under docs/proofs that shows it.
    """

    name: str
    kind: Kind
    sensitivity: float
    step: float
    proof: str
    norm: Literal["l2", "l1"] = "l2"

    def __post_init__(self) -> None:
        if self.norm not in ("l2", "l1") or (self.norm == "l1" and self.kind.startswith("symmetric")):
            raise PrivacyError(
                f"The 'norm' of query {self.name!r} must be 'l2', or 'l1' for an array without symmetries."
            )
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


def checked_aggregate(query: Query, aggregate: npt.ArrayLike, consume: bool) -> Integers:
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


def independent_coordinates(kind: str, shape: tuple[int, ...]) -> int:
    """The number of independent noise variables."""
    if kind == "symmetric_matrix":
        return math.comb(shape[0] + 1, 2)
    return math.comb(shape[0] + 2, 3) if kind == "symmetric_tensor" else math.prod(shape)

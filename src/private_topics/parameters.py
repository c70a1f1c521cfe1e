"""What values a parameter may have: one table for all estimators, by the names of their parameters."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from private_topics.errors import InputError

MOST_NUMBERED_TOPICS = 2**16 - 1  # the number of a sampled topic has 16 bits: engines/gpu/token_sampling.cu
SMALLEST, LARGEST = 1e-9, 1e9  # of positive parameters: beyond, their powers and ratios leave floating point


@dataclass(frozen=True)
class Constraint:
    """Which values are allowed, and the same in words. None is allowed where it is the default."""

    allows: Callable[[Any], bool]
    words: str


def in_range(value: Any, smallest: float, largest: float) -> bool:
    """Whether a value is a real number of this range; not converted, since `float` of a large int overflows."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return real and bool(smallest <= value <= largest)


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _whole(smallest: int, largest: int | None = None) -> Constraint:
    most = "inf)" if largest is None else f"{largest}]"
    return Constraint(
        lambda value: _is_whole(value) and smallest <= value and (largest is None or value <= largest),
        f"an int in the range [{smallest}, {most}",
    )


def _real(smallest: float, largest: float) -> Constraint:
    return Constraint(
        lambda value: in_range(value, smallest, largest), f"a float in the range [{smallest:g}, {largest:g}]"
    )


def one_of(*allowed: str) -> Constraint:
    return Constraint(lambda value: isinstance(value, str) and value in allowed, f"one of {allowed}")


ENGINES = ("local", "spark", "gpu")
POSITIVE = _real(SMALLEST, LARGEST)
CONSTRAINTS = {
    "n_components": _whole(1, MOST_NUMBERED_TOPICS),
    "alpha0": POSITIVE,
    "refine_steps": _whole(0, 10_000),  # each has a part of the budget
    "n_jobs": Constraint(lambda value: isinstance(value, numbers.Integral) and value != 0, "a non-zero int"),
    "sampler": one_of("fast", "exact"),
    "keep": one_of("seen", "all", "untested"),
    "engine": Constraint(
        lambda value: one_of(*ENGINES).allows(value) or hasattr(value, "exchange"), f"one of {ENGINES} or a Site"
    ),
    "neighbours": one_of("replace", "zero-out", "add-remove"),
    "most_units": _whole(1, 2**34),  # beyond, too few digits are left to a unit
    "steps": _whole(1),
    "sampling_rate": _real(1e-9, 1.0),
    "offset": POSITIVE,
    "decay": POSITIVE,
    "clip": POSITIVE,
    "word_prior": _real(0.01, LARGEST),  # below, `exp(digamma)` of a word without counts underflows
}


def check_parameters(estimator: Any) -> None:
    """Validate the parameters of an estimator that the table knows."""
    constraints = CONSTRAINTS | getattr(estimator, "_constraints", {})
    for name, constraint in constraints.items():
        if hasattr(estimator, name):
            optional = _default(type(estimator), name) is None
            check(constraint, getattr(estimator, name), name, type(estimator).__name__, optional=optional)


def _default(kind: type, name: str) -> Any:
    """The default of a constructor's parameter; of a base class where a subclass does not take it."""
    for one in kind.__mro__:
        constructor = vars(one).get("__init__")
        parameters = {} if constructor is None or one is object else inspect.signature(constructor).parameters
        if name in parameters:
            return parameters[name].default
    return inspect.Parameter.empty


def check(constraint: Constraint, value: Any, parameter: str, caller: str, *, optional: bool = False) -> None:
    """Refuse a value that a constraint does not allow."""
    if not (constraint.allows(value) or (optional and value is None)):
        allowed = f"None or {constraint.words}" if optional else constraint.words
        raise InputError(f"The {parameter!r} parameter of {caller} must be {allowed}. Got {value!r} instead.")


def check_integer(value: Any, parameter: str, caller: str, smallest: int) -> None:
    check(_whole(smallest), value, parameter, caller)


def check_positive(value: Any, parameter: str, caller: str) -> None:
    check(POSITIVE, value, parameter, caller)

"""What values a parameter may have: checks that all estimators share."""

from __future__ import annotations

import numbers
from typing import Any

from private_topics.errors import InputError

MOST_TOPICS = 2**16 - 1  # the number of a sampled topic has 16 bits: engines/gpu/token_sampling.cu
SMALLEST, LARGEST = 1e-9, 1e9  # of positive parameters: beyond, their powers and ratios leave floating point


def check_parameters(estimator: Any) -> None:
    """Validate the parameters that all estimators share."""
    name = type(estimator).__name__
    check_integer(estimator.n_components, "n_components", name, 1)
    if estimator.n_components > MOST_TOPICS:
        raise InputError(f"{name} takes at most {MOST_TOPICS:,} topics ('n_components').")
    if hasattr(estimator, "refine_steps"):
        check_integer(estimator.refine_steps, "refine_steps", name, 0)
    check_positive(estimator.alpha0, "alpha0", name)
    if estimator.n_jobs is not None and (not isinstance(estimator.n_jobs, numbers.Integral) or estimator.n_jobs == 0):
        raise InputError(
            f"The 'n_jobs' parameter of {name} must be None or a non-zero int. Got {estimator.n_jobs!r} instead."
        )


def check_units(n_units: int) -> None:
    if n_units < 2:
        raise InputError("Found n_samples = 1: a private fit needs at least two documents, or users with groups.")


def check_integer(value: Any, parameter: str, caller: str, smallest: int) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < smallest:
        raise InputError(
            f"The {parameter!r} parameter of {caller} must be an int in the range [{smallest}, inf). "
            f"Got {value!r} instead."
        )


def in_range(value: Any, smallest: float, largest: float) -> bool:
    """Whether a value is a real number of this range; compared as it is, for `float` of a large int overflows."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return real and bool(smallest <= value <= largest)


def check_positive(value: Any, parameter: str, caller: str) -> None:
    if not in_range(value, SMALLEST, LARGEST):
        raise InputError(
            f"The {parameter!r} parameter of {caller} must be a float in the range [{SMALLEST:g}, {LARGEST:g}]. "
            f"Got {value!r} instead."
        )

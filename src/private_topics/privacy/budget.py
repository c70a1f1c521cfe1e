"""What may be spent: (epsilon, delta), and how much noise a release with a share of it gets."""

from __future__ import annotations

import math
from dataclasses import dataclass

from private_topics.errors import PrivacyError, warn_user

SUM_TOLERANCE = 1e-9
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-30, 1e12  # beyond, floating point cannot price a release


def is_number(value: object) -> bool:
    """Whether a value is a finite number."""
    try:
        return not isinstance(value, bool | str | bytes) and math.isfinite(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


@dataclass(frozen=True)
class PrivacyBudget:
    """The (epsilon, delta) a run may spend in total."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not is_number(self.epsilon) or not SMALLEST_EPSILON <= float(self.epsilon) <= LARGEST_EPSILON:
            raise PrivacyError(
                "The 'epsilon' parameter of PrivacyBudget must be a finite number above 0 "
                "(0.1 is strict, 1 is usual, 10 is weak; from 1e-30 to 1e12 can be priced). "
                f"Got {self.epsilon!r} instead."
            )
        if not is_number(self.delta) or not 0 < float(self.delta) < 1:
            raise PrivacyError(
                "The 'delta' parameter of PrivacyBudget must lie strictly between 0 and 1, "
                f"well below one over the number of units. Got {self.delta!r} instead."
            )
        object.__setattr__(self, "epsilon", float(self.epsilon))
        object.__setattr__(self, "delta", float(self.delta))


def sigma_for(share: float, sensitivity: float, mu_total: float) -> float:
    """The noise with which a release of this sensitivity spends the fraction ``share`` of ``mu_total``^2.

    sigma = sensitivity / (mu_total sqrt(share)), rounded up by a few units in the last place, so that the
    mu computed back from it in floating point never exceeds its share.
    """
    if not is_number(share) or not 0 < share <= 1 + SUM_TOLERANCE:
        raise PrivacyError(f"The 'share' of a release must lie in (0, 1]. Got {share!r} instead.")
    if not is_number(sensitivity) or sensitivity <= 0:
        raise PrivacyError(
            f"The 'sensitivity' of a release must be finite and positive. Got {sensitivity!r} instead."
        )
    if not is_number(mu_total) or mu_total <= 0:
        raise PrivacyError(f"The 'mu_total' of a run must be finite and positive. Got {mu_total!r} instead.")
    sigma = sensitivity / (mu_total * math.sqrt(share)) * (1.0 + 2.0**-49)
    if not math.isfinite(sigma) or sigma <= 0:
        raise PrivacyError("The noise of this release leaves the range of floating point. Rescale the query.")
    return sigma


def warn_if_delta_large(delta: float, n_units: int) -> None:
    """Warn when delta >= 1/N: publishing one unit chosen at random would already satisfy such a delta."""
    if n_units > 0 and delta >= 1.0 / n_units:
        warn_user(
            f"delta = {delta:g} is not below one over the number of units, {n_units}: it permits publishing "
            f"a whole unit now and then. Choose delta of at most {0.1 / n_units:.0e}."
        )

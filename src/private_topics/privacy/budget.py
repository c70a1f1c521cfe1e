"""What may be spent: (epsilon, delta), and the named fractions in which the releases of a run share it."""

from __future__ import annotations

import dataclasses
import math
import warnings
from dataclasses import dataclass

from private_topics.errors import PrivacyError, PrivacyWarning

SUM_TOLERANCE = 1e-9
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-30, 1e12  # beyond, floating point cannot price a release


def _is_number(value: object) -> bool:
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
        if not _is_number(self.epsilon) or not SMALLEST_EPSILON <= float(self.epsilon) <= LARGEST_EPSILON:
            raise PrivacyError(
                "The 'epsilon' parameter of PrivacyBudget must be a finite number above 0 "
                "(0.1 is strict, 1 is usual, 10 is weak; from 1e-30 to 1e12 can be priced). "
                f"Got {self.epsilon!r} instead."
            )
        if not _is_number(self.delta) or not 0 < float(self.delta) < 1:
            raise PrivacyError(
                "The 'delta' parameter of PrivacyBudget must lie strictly between 0 and 1, "
                f"well below one over the number of units. Got {self.delta!r} instead."
            )
        object.__setattr__(self, "epsilon", float(self.epsilon))
        object.__setattr__(self, "delta", float(self.delta))


@dataclass(frozen=True)
class BudgetSplit:
    """Fractions of mu^2 (of rho with the exact sampler), one per stage of a run. They sum to one.

    A stage with several releases divides its own fraction among them. A fraction of zero skips the stage.
    """

    unigram: float = 0.04
    histograms: float = 0.015
    second: float = 0.2
    frame: float = 0.03
    tensor: float = 0.06
    refine: float = 0.655
    vocabulary: float = 0.0

    def __post_init__(self) -> None:
        for name, fraction in self.as_dict().items():
            if not _is_number(fraction) or not 0 <= float(fraction) <= 1 + SUM_TOLERANCE:
                raise PrivacyError(
                    f"The {name!r} parameter of BudgetSplit must be a number from 0 to 1. Got {fraction!r} instead."
                )
            object.__setattr__(self, name, float(fraction))
        total = math.fsum(self.as_dict().values())
        if abs(total - 1.0) > SUM_TOLERANCE:
            raise PrivacyError(
                f"The fractions of BudgetSplit must sum to 1. They sum to {total!r}: "
                "change the others too when you change one."
            )

    def as_dict(self) -> dict[str, float]:
        """The fractions by name, in the order of the run."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def replace(self, **fractions: float) -> BudgetSplit:
        """The split with some fractions changed; the result is validated, so the changes must balance."""
        unknown = sorted(set(fractions) - set(self.as_dict()))
        if unknown:
            raise PrivacyError(f"BudgetSplit has no fraction {unknown[0]!r}; it has {list(self.as_dict())}.")
        return dataclasses.replace(self, **fractions)

    def without_refinement(self) -> BudgetSplit:
        """The fraction of the refinement given to second moment, frame and tensor, in their proportions."""
        spectral = self.second + self.frame + self.tensor
        if not self.refine or not spectral:
            return self
        grown = 1.0 + self.refine / spectral
        return self.replace(
            second=grown * self.second, frame=grown * self.frame, tensor=grown * self.tensor, refine=0.0
        )


def sigma_for(share: float, sensitivity: float, mu_total: float) -> float:
    """The noise with which a release of this sensitivity spends the fraction ``share`` of ``mu_total``^2.

    sigma = sensitivity / (mu_total sqrt(share)), rounded up by a few units in the last place, so that the
    mu computed back from it in floating point never exceeds its share.
    """
    if not _is_number(share) or not 0 < share <= 1 + SUM_TOLERANCE:
        raise PrivacyError(f"The 'share' of a release must lie in (0, 1]. Got {share!r} instead.")
    if not _is_number(sensitivity) or sensitivity <= 0:
        raise PrivacyError(
            f"The 'sensitivity' of a release must be finite and positive. Got {sensitivity!r} instead."
        )
    if not _is_number(mu_total) or mu_total <= 0:
        raise PrivacyError(f"The 'mu_total' of a run must be finite and positive. Got {mu_total!r} instead.")
    sigma = sensitivity / (mu_total * math.sqrt(share)) * (1.0 + 2.0**-49)
    if not math.isfinite(sigma) or sigma <= 0:
        raise PrivacyError("The noise of this release leaves the range of floating point. Rescale the query.")
    return sigma


def warn_if_delta_large(delta: float, n_units: int, *, stacklevel: int = 3) -> None:
    """Warn when delta >= 1/N: publishing one unit chosen at random would already satisfy such a delta."""
    if n_units > 0 and delta >= 1.0 / n_units:
        warnings.warn(
            f"delta = {delta:g} is not below one over the number of units, {n_units}: it permits publishing "
            f"a whole unit now and then. Choose delta of at most {0.1 / n_units:.0e}.",
            PrivacyWarning,
            stacklevel=stacklevel,
        )

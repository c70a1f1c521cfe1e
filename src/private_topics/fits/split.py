"""`BudgetSplit`: the named fractions in which the releases of a fit share its budget."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from private_topics.errors import PrivacyError
from private_topics.privacy.budget import SUM_TOLERANCE, is_number


class BudgetSplit(Mapping[str, float]):
    """Fractions of mu^2 (of rho with the exact sampler) by the names that releases give. They sum to one.

    Fractions that are not given are those of the sequential fit. Releases that name the same fraction divide it
    equally; a fraction of zero skips its releases.
    """

    def __init__(self, **fractions: float) -> None:
        found = _defaults()
        for name, fraction in fractions.items():
            if name not in found:
                raise PrivacyError(f"BudgetSplit has no fraction {name!r}; it has {list(found)}.")
            if not is_number(fraction) or not 0 <= float(fraction) <= 1 + SUM_TOLERANCE:
                raise PrivacyError(
                    f"The {name!r} parameter of BudgetSplit must be a number from 0 to 1. Got {fraction!r} instead."
                )
            found[name] = float(fraction)
        total = math.fsum(found.values())
        if abs(total - 1.0) > SUM_TOLERANCE:
            raise PrivacyError(
                f"The fractions of BudgetSplit must sum to 1. They sum to {total!r}: "
                "change the others too when you change one."
            )
        object.__setattr__(self, "_fractions", found)

    def __getitem__(self, name: str) -> float:
        return self._fractions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fractions)

    def __len__(self) -> int:
        return len(self._fractions)

    def __getattr__(self, name: str) -> Any:
        if name != "_fractions" and name in self._fractions:
            return self._fractions[name]
        raise AttributeError(f"BudgetSplit has no fraction {name!r}.")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("A BudgetSplit does not change: use replace.")

    def __hash__(self) -> int:
        return hash(tuple(self.items()))

    def __repr__(self) -> str:
        return f"BudgetSplit({', '.join(f'{name}={fraction!r}' for name, fraction in self.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.as_dict(),)

    def as_dict(self) -> dict[str, float]:
        """The fractions by name, in the order of the run."""
        return dict(self._fractions)

    def replace(self, **fractions: float) -> BudgetSplit:
        """The split with some fractions changed; the result is validated, so the changes must balance."""
        return BudgetSplit(**self.as_dict() | fractions)

    def without_refinement(self) -> BudgetSplit:
        """The fraction of the refinement given to second moment, frame and tensor, in their proportions."""
        spectral = self["second"] + self["frame"] + self["tensor"]
        if not self["refine"] or not spectral:
            return self
        grown = 1.0 + self["refine"] / spectral
        changed = {name: grown * self[name] for name in ("second", "frame", "tensor")}
        return self.replace(**changed, refine=0.0)


def _rebuilt(fractions: dict[str, float]) -> BudgetSplit:
    return BudgetSplit(**fractions)


def _defaults() -> dict[str, float]:
    """The fractions of the sequential fit; zero for those that releases of other fits name."""
    from private_topics.fits.choice import FITS  # whose fits make splits of their own

    named = [release.share for fit in FITS.values() for release in fit.releases if release.share is not None]
    return dict.fromkeys([*FITS["sequential"].fractions, *named], 0.0) | dict(FITS["sequential"].fractions)

"""Whether the noise has the size that is recorded: squared residuals over the recorded variance are chi-squared."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from private_topics.audit.recording import Entering
from private_topics.privacy.mechanisms import Released


@dataclass(frozen=True)
class Residual:
    """Squared noise in units of the recorded variance, over so many independent variables."""

    square: float
    draws: int

    @property
    def ratio(self) -> float:
        """Measured noise over recorded noise."""
        return math.sqrt(self.square / self.draws)

    def __add__(self, other: Residual) -> Residual:
        return Residual(self.square + other.square, self.draws + other.draws)

    def as_recorded(self, level: float) -> bool:
        """Within the two-sided quantiles at `level`."""
        low, high = chi2.ppf(level / 2, self.draws), chi2.isf(level / 2, self.draws)
        return bool(low <= self.square <= high)


def residual(entering: Entering, released: Released) -> Residual:
    """Of one release of a fit. The Frobenius norm is the norm in isometric coordinates."""
    noise = (released.value - entering.aggregate * entering.query.step) / released.sigma
    return Residual(float(np.vdot(noise, noise)), released.event.coordinates)

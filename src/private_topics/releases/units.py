"""The number of units, where it is not public: released first, and used in place of the true one from then on.

Proof: docs/proofs/units.md.
"""

from __future__ import annotations

import math

import numpy as np

from private_topics.errors import PrivacyError
from private_topics.privacy.mechanisms import PrivateRun, Query
from private_topics.privacy.neighbours import ADD_REMOVE
from private_topics.releases.release import Release

UNITS = Release("number of units", "number of units", None, "vector", "units", None, "units", radius=1.0)
"""It has no sensitivity to replaced units: their number is public."""
UNITS_SHARE = 0.01
"""The part of the budget for the number of units of a fit."""
MOST_UNITS = 4_000_000
"""The default maximum number of units: more of them cost digits of the sums."""
BEYOND = 40.0
"""Deviations that the noise does not reach: its probability is below 1e-300."""


def release_units(run: PrivateRun, number: int, share: float, most_units: int) -> int:
    """The number of units plus noise, at least one. More than `most_units` are refused, by the noisy number."""
    released = run.release(units_query(run), np.array([number], np.int64), share)
    found = max(1, round(float(released.value[0])))
    if found > most_units:
        raise PrivacyError(
            f"The corpus seems to hold more units than the 'most_units' parameter allows, {most_units:,}; what was "
            "charged stays charged. Fit again with a larger 'most_units'."
        )
    return found


def bound_on_units(run: PrivateRun, share: float, most_units: int) -> int:
    """What the true number does not exceed where the noisy one was not refused. A public number."""
    return most_units + math.ceil(BEYOND * run.sigma(units_query(run), share))


def units_query(run: PrivateRun) -> Query:
    """Whole units: the number has no finer digits."""
    if run.neighbours != ADD_REMOVE:
        raise PrivacyError("The number of units is public for the neighbours of this run: it is not released.")
    return Query(UNITS.name, UNITS.kind, UNITS.sensitivity_to(run.neighbours), 1.0, UNITS.proof)

"""What a reading of the paper's noise really costs: the noise it adds against sensitivities that are attained.

Configuration 1 releases M3 and M2 twice; one pair of neighbours (all other documents repeat one word) attains the L2
sensitivities of all three at once, so the loss below is one that some corpus has. Configurations 2 and 3 are charged
for the M2 of e8 alone, which no proof is needed for: they lose at least that. Configuration 4 releases topics, for
which nothing is known; None stands for that. A node that leaves without noise costs infinity.
"""

from __future__ import annotations

import math
from typing import Any

from private_topics.paper.bounds import (
    MomentWeights,
    attained_third_moment_l2,
    classical_sigma,
    configuration_moment_scale,
    corrected_second_moment_l2,
    printed_sigma,
    published_second_moment_sensitivity,
    published_third_moment_sensitivity,
)
from private_topics.paper.experiments.authors_code import FIRST_SHARE, zcdp_sigma
from private_topics.paper.experiments.oracle import splits
from private_topics.paper.experiments.readings import noise_shortfall
from private_topics.paper.experiments.rows import Row
from private_topics.privacy.curves import gdp_epsilon

LARGEST_MU = 1e3
"""Above it epsilon is `mu²/2` to three digits, whatever delta is."""


def true_epsilon(
    reading: str, configuration: int, epsilon: float, delta: float, n_documents: int, alpha0: float
) -> float | None:
    """At least this epsilon at this delta; `reading` is the last word of a method's name."""
    if configuration == 4:
        return None
    if reading in ("code", "unscaled"):
        if configuration != 1:
            return math.inf  # W† of the fit without noise
        return _epsilon([_third_in_code(reading == "code", epsilon, delta, n_documents, alpha0)], delta)
    grid = splits(configuration) if reading == "oracle" else splits(configuration)[:1]
    mus = [
        _published_mu(reading, name, share * epsilon, share * delta, n_documents, alpha0)
        for shares in grid
        for name, share in shares.items()
        if name.endswith((" second moment", " third moment"))
    ]
    return _epsilon(mus, delta)


def loss_of(row: Row, delta: float) -> float | None:
    """That of a row of figure 2 with a configuration of the paper; None for any other, which costs what it says."""
    words = row["method"].split()
    if row["epsilon"] is None or len(words) != 3 or words[-1] in ("proved", "refined"):
        return None
    return true_epsilon(words[-1], int(words[1]), row["epsilon"], delta, int(row["documents"]), row["alpha0"])


def _published_mu(reading: str, name: str, epsilon: float, delta: float, n_documents: int, alpha0: float) -> float:
    """Sensitivity over noise of a release of M2 or of M3."""
    sizes: dict[str, Any] = {"n_documents": n_documents, "alpha0": alpha0}
    third = name.endswith("third moment")
    true = attained_third_moment_l2(**sizes) if third else corrected_second_moment_l2(**sizes)
    if reading == "printed":
        return true / printed_sigma(configuration_moment_scale(n_documents=n_documents), epsilon, delta)
    stated = published_third_moment_sensitivity if third else published_second_moment_sensitivity
    scale = MomentWeights.of(alpha0).prefactor if third else noise_shortfall(alpha0)
    return (scale if reading == "scaled" else 1.0) * true / classical_sigma(stated(**sizes), epsilon, delta)


def _third_in_code(scaled: bool, epsilon: float, delta: float, n_documents: int, alpha0: float) -> float:
    """M3 alone: the noise on W and W† has the sensitivity of M2, and theirs is not known."""
    sizes: dict[str, Any] = {"n_documents": n_documents, "alpha0": alpha0}
    prefactor = MomentWeights.of(alpha0).prefactor
    claimed = published_third_moment_sensitivity(**sizes) * (prefactor if scaled else 1.0)
    return prefactor * attained_third_moment_l2(**sizes) / zcdp_sigma(claimed, FIRST_SHARE * epsilon, delta)


def _epsilon(mus: list[float], delta: float) -> float:
    mu = math.sqrt(math.fsum(each**2 for each in mus))
    return gdp_epsilon(mu, delta) if mu < LARGEST_MU else 0.5 * mu**2

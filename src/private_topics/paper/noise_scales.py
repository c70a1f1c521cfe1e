"""From a sensitivity to the scale of the noise: as the paper prints it, as it means it, and as it has to be.

Also the constants of its Procedure 1. Nothing here draws noise. Names as in `bounds`.
"""

from __future__ import annotations

import math

from private_topics.errors import InputError
from private_topics.paper.bounds import documents, require_positive
from private_topics.privacy.curves import mu_of_budget


def tau(epsilon: float, delta: float) -> float:
    """`τ = √(2 ln(1.25/δ)) / ε`. Paper, Proposition on the Gaussian mechanism: proved for `ε <= 1` only."""
    require_positive("epsilon", epsilon)
    require_probability("delta", delta)
    return math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon


def printed_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """Standard deviation of noise with the printed variance `Δ² τ`. Paper, Procedure 1 and configurations 1 to 4."""
    return sensitivity * math.sqrt(tau(epsilon, delta))


def classical_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """Standard deviation `Δ τ`. Paper, Proposition on the Gaussian mechanism."""
    return sensitivity * tau(epsilon, delta)


def analytic_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """The smallest standard deviation that is (ε, δ)-DP, for every ε (Balle and Wang 2018)."""
    return sensitivity / mu_of_budget(epsilon, delta)


def configuration_moment_scale(*, n_documents: int) -> float:
    """`1/N`, which stands in front of `τ` on the second and third moment (e3, e4, e8) of configurations 1 to 3."""
    return 1.0 / documents(n_documents)


# -- Paper, Procedure 1 ---------------------------------------------------------------------------------------------


def procedure_laplace_scale(*, n_documents: int, epsilon: float) -> float:
    """`1/(N ε)`: the Laplace noise on `σ_k` and `γ_s`, as printed."""
    require_positive("epsilon", epsilon)
    return 1.0 / (documents(n_documents) * epsilon)


def procedure_lower_bound(noisy_value: float, *, n_documents: int, epsilon: float, delta: float) -> float:
    """`max(0, noisy value - 2/(N ε) ln(1/(2δ)))`: below the true value with probability `1 - δ` or more.

    At the printed Laplace scale the margin is twice what that takes; at `2/(N ε)`, which the sensitivity `2/N` of
    `σ_k` asks for, it is exact.
    """
    require_positive("epsilon", epsilon)
    require_probability("delta", delta)
    margin = 2.0 / (documents(n_documents) * epsilon) * math.log(1.0 / (2.0 * delta))
    return max(0.0, noisy_value - margin)


def require_probability(name: str, value: float) -> None:
    """Refuse a number outside (0, 1)."""
    if not 0.0 < value < 1.0:
        raise InputError(f"The {name!r} parameter must be strictly between 0 and 1. Got {value!r} instead.")

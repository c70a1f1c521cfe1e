"""From a sensitivity to the spread of the noise: as the paper prints it, as it means it, and as it has to be.

Also the sensitivities that its section on the four configurations prints on the edges (constants dropped), and the
constants of its Procedure 1. Nothing here draws noise. Names as in `bounds`.
"""

from __future__ import annotations

import math

from private_topics.errors import InputError
from private_topics.paper.bounds import documents, ratio, require_positive, spectral_number, topics
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


# -- Paper, section "Differentially Private Spectral Algorithm": what stands in front of τ, as a sensitivity --------


def configuration_moment_scale(*, n_documents: int) -> float:
    """`1/N` on the second and third moment: edges e3, e4 and e8."""
    return 1.0 / documents(n_documents)


def configuration_tensor_scale(*, n_documents: int, n_topics: int, sigma_k: float) -> float:
    """`k^(3/2) / (N σ_k^(3/2))` on the whitened tensor: edge e6."""
    return ratio(topics(n_topics) ** 1.5, documents(n_documents) * spectral_number("sigma_k", sigma_k) ** 1.5)


def configuration_eigenpair_scale(*, n_documents: int, n_topics: int, sigma_k: float, gamma_s: float) -> float:
    """`k² / (N γ_s σ_k^(3/2))` on the eigenpairs: edge e7."""
    spread = spectral_number("gamma_s", gamma_s) * spectral_number("sigma_k", sigma_k) ** 1.5
    return ratio(topics(n_topics) ** 2, documents(n_documents) * spread)


def configuration_topic_scale(
    *, n_documents: int, n_topics: int, sigma_k: float, sigma_1: float, gamma_s: float
) -> float:
    """`k² √σ_1 / (N γ_s σ_k^(3/2))` on the topics: edge e9."""
    pairs = configuration_eigenpair_scale(
        n_documents=n_documents, n_topics=n_topics, sigma_k=sigma_k, gamma_s=gamma_s
    )
    return pairs * math.sqrt(spectral_number("sigma_1", sigma_1))


# -- Paper, Procedure 1 ---------------------------------------------------------------------------------------------


def procedure_laplace_scale(*, n_documents: int, epsilon: float) -> float:
    """`1/(N ε)`: the Laplace noise on `σ_k` and `γ_s`, as printed."""
    require_positive("epsilon", epsilon)
    return 1.0 / (documents(n_documents) * epsilon)


def corrected_laplace_scale(*, n_documents: int, epsilon: float) -> float:
    """`2/(N ε)`: what the sensitivity `2/N` of `σ_k` asks for. `γ_s` has no such bound."""
    return 2.0 * procedure_laplace_scale(n_documents=n_documents, epsilon=epsilon)


def procedure_lower_bound(noisy_value: float, *, n_documents: int, epsilon: float, delta: float) -> float:
    """`max(0, noisy value - 2/(N ε) ln(1/(2δ)))`: below the true value with probability `1 - δ` or more.

    At the printed Laplace scale the margin is twice what that takes; at the corrected scale it is exact.
    """
    require_positive("epsilon", epsilon)
    require_probability("delta", delta)
    margin = 2.0 / (documents(n_documents) * epsilon) * math.log(1.0 / (2.0 * delta))
    return max(0.0, noisy_value - margin)


def require_probability(name: str, value: float) -> None:
    """Refuse a number outside (0, 1)."""
    if not 0.0 < value < 1.0:
        raise InputError(f"The {name!r} parameter must be strictly between 0 and 1. Got {value!r} instead.")

"""How far one document moves each node of the paper's graph: as published, and as corrected where that is known.

"Paper" is "An end-to-end Differentially Private Latent Dirichlet Allocation Using a Spectral Algorithm"; "App. I" is
its appendix of sensitivity proofs. The functions named `published_…` return what the paper prints, right or wrong
(docs/errata.md says which); those named `corrected_…` are upper bounds that are attained. Neighbours replace one
document of `n_documents`. `sigma_1 >= … >= sigma_k > sigma_next` are singular values of the second LDA moment,
`gamma_s` a quarter of the smallest gap of the whitened tensor's eigenvalues, `tensor_sigma_1` the largest of these.
Where a singular value or a gap is zero the bounds are infinite, as in the paper's formulas.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from private_topics.errors import InputError
from private_topics.privacy.curves import mu_of_budget
from private_topics.spectral.power_method import decompose


@dataclass(frozen=True)
class MomentWeights:
    """The weights of the LDA moments: `M2 = E2 - pair m⊗m`, `M3 = E3 - mixed (E2⊗m, thrice) + cube m⊗m⊗m`.

    Paper, Lemma on the empirical moment estimators: `a`, `|b|`, `c`, and `prefactor` for its `d`, which it puts in
    front of the third moment and leaves out of every later bound.
    """

    pair: float
    mixed: float
    cube: float
    prefactor: float

    @classmethod
    def of(cls, alpha0: float) -> MomentWeights:
        require_positive("alpha0", alpha0)
        return cls(
            pair=alpha0 / (alpha0 + 1.0),
            mixed=alpha0 / (alpha0 + 2.0),
            cube=2.0 * alpha0**2 / ((alpha0 + 1.0) * (alpha0 + 2.0)),
            prefactor=alpha0 * (alpha0 + 1.0) * (alpha0 + 2.0) / 2.0,
        )


# -- as published ---------------------------------------------------------------------------------------------------


def published_moment_sensitivity(*, n_documents: int) -> float:
    """`2/N`, L1, for the second and the third moment alike. Paper, Theorem on global sensitivity (main text)."""
    return 2.0 / documents(n_documents)


def published_second_moment_sensitivity(*, n_documents: int, alpha0: float) -> float:
    """`2/N + 4 alpha0/((alpha0+1) N)`, L1. Paper, App. I, proof for the second moment."""
    return (2.0 + 4.0 * MomentWeights.of(alpha0).pair) / documents(n_documents)


def published_third_moment_sensitivity(*, n_documents: int, alpha0: float) -> float:
    """`2/N + 4|b|/N + 6c (N-1)/(N(N-2))`, L1, without the prefactor. Paper, App. I, proof for the third moment."""
    n, weights = documents(n_documents), MomentWeights.of(alpha0)
    return 2.0 / n + 4.0 * weights.mixed / n + 6.0 * weights.cube * (n - 1.0) / (n * (n - 2.0))


def published_third_moment_norm(*, n_documents: int, alpha0: float) -> float:
    """`1 + 6|b| N/(N-1) + 3c N²/((N-1)(N-2))`, for the L1 norm of the third moment. Paper, App. I, proof for T."""
    n, weights = documents(n_documents), MomentWeights.of(alpha0)
    return 1.0 + 6.0 * weights.mixed * n / (n - 1.0) + 3.0 * weights.cube * n**2 / ((n - 1.0) * (n - 2.0))


def published_whitening_sensitivity(
    *, n_documents: int, n_topics: int, alpha0: float, sigma_k: float, sigma_next: float = 0.0
) -> float:
    """`√(2k) Δ2 / (σ_k √((σ_k + σ_{k+1})/2))`, Frobenius, for `W`. Paper, App. I, Lemma on `W' - W`."""
    second = published_second_moment_sensitivity(n_documents=n_documents, alpha0=alpha0)
    middle = _middle(sigma_k, sigma_next)
    return ratio(math.sqrt(2.0 * topics(n_topics)) * second, sigma_k * math.sqrt(middle))


def published_unwhitening_sensitivity(*, n_documents: int, alpha0: float, sigma_k: float, sigma_1: float) -> float:
    """`√σ_1 Δ2 / σ_k`, spectral, for `W†`. Paper, App. I, proof for the final output, item 4."""
    second = published_second_moment_sensitivity(n_documents=n_documents, alpha0=alpha0)
    return ratio(math.sqrt(spectral_number("sigma_1", sigma_1)) * second, spectral_number("sigma_k", sigma_k))


def published_tensor_sensitivity(
    *, n_documents: int, n_topics: int, alpha0: float, sigma_k: float, sigma_next: float = 0.0
) -> float:
    """`||M3|| ΔW³ + Δ3 k^(3/2) / ((σ_k + σ_{k+1})/2)^(3/2)`, Frobenius, for `T`. Paper, App. I, proof for T."""
    norm = published_third_moment_norm(n_documents=n_documents, alpha0=alpha0)
    third = published_third_moment_sensitivity(n_documents=n_documents, alpha0=alpha0)
    frame = published_whitening_sensitivity(
        n_documents=n_documents, n_topics=n_topics, alpha0=alpha0, sigma_k=sigma_k, sigma_next=sigma_next
    )
    return norm * frame * frame * frame + ratio(third * n_topics**1.5, _middle(sigma_k, sigma_next) ** 1.5)


def published_eigenvector_sensitivity(
    *, n_documents: int, n_topics: int, alpha0: float, sigma_k: float, gamma_s: float, sigma_next: float = 0.0
) -> float:
    """`2√k Δ_T / γ_s`, for one eigenpair of `T`. Paper, App. I, proof for the tensor decomposition."""
    tensor = published_tensor_sensitivity(
        n_documents=n_documents, n_topics=n_topics, alpha0=alpha0, sigma_k=sigma_k, sigma_next=sigma_next
    )
    return ratio(2.0 * math.sqrt(n_topics) * tensor, spectral_number("gamma_s", gamma_s))


def published_topic_sensitivity(
    *,
    n_documents: int,
    n_topics: int,
    alpha0: float,
    sigma_k: float,
    sigma_1: float,
    gamma_s: float,
    tensor_sigma_1: float,
    sigma_next: float = 0.0,
) -> float:
    """`ρ (σ_1(T) √σ_1 Δ_v + σ_1(T) √σ_1/σ_k Δ2 + √(σ_1 + Δ2) Δ_v)` for one topic, `Δ_v` that of an eigenvector.

    `ρ = (alpha0+2) / (2 √((alpha0+1) alpha0))`. Paper, App. I, proof for the final output.
    """
    second = published_second_moment_sensitivity(n_documents=n_documents, alpha0=alpha0)
    vector = published_eigenvector_sensitivity(
        n_documents=n_documents,
        n_topics=n_topics,
        alpha0=alpha0,
        sigma_k=sigma_k,
        gamma_s=gamma_s,
        sigma_next=sigma_next,
    )
    inverse = published_unwhitening_sensitivity(
        n_documents=n_documents, alpha0=alpha0, sigma_k=sigma_k, sigma_1=sigma_1
    )
    largest = spectral_number("tensor_sigma_1", tensor_sigma_1)
    total = largest * math.sqrt(sigma_1) * vector + largest * inverse + math.sqrt(sigma_1 + second) * vector
    return unwhitening_factor(alpha0) * total


def unwhitening_factor(alpha0: float) -> float:
    """`ρ = (alpha0+2) / (2 √((alpha0+1) alpha0))`, from an eigenvalue of `T` to a topic's scale. Paper, App. I."""
    require_positive("alpha0", alpha0)
    return (alpha0 + 2.0) / (2.0 * math.sqrt((alpha0 + 1.0) * alpha0))


def published_spectral_value_sensitivity(*, n_documents: int) -> float:
    """`2/N` for `σ_k` and for `γ_s`. Paper, Lemma on the global sensitivity of `σ_k` and `γ_s`."""
    return 2.0 / documents(n_documents)


# -- as printed in the main text, constants dropped ---------------------------------------------------------------


def configuration_moment_scale(*, n_documents: int) -> float:
    """`1/N`, which stands in front of `τ` on the second and third moment (e3, e4, e8) of configurations 1 to 3."""
    return 1.0 / documents(n_documents)


def configuration_tensor_scale(*, n_documents: int, n_topics: int, sigma_k: float) -> float:
    """`k^1.5 / (N σ_k^1.5)`. Paper, configuration 2."""
    return ratio(topics(n_topics) ** 1.5, documents(n_documents) * spectral_number("sigma_k", sigma_k) ** 1.5)


def configuration_pair_scale(*, n_documents: int, n_topics: int, sigma_k: float, gamma_s: float) -> float:
    """`k² / (N γ_s σ_k^1.5)`. Paper, configuration 3."""
    tensor = configuration_tensor_scale(n_documents=n_documents, n_topics=n_topics, sigma_k=sigma_k)
    return ratio(math.sqrt(n_topics) * tensor, spectral_number("gamma_s", gamma_s))


# -- corrected ------------------------------------------------------------------------------------------------------


def corrected_second_moment_l1(*, n_documents: int, alpha0: float) -> float:
    """`(2 + 4a)/N`, attained: the appendix is right, the theorem of the main text is not."""
    return (2.0 + 4.0 * MomentWeights.of(alpha0).pair) / documents(n_documents)


def corrected_second_moment_l2(*, n_documents: int, alpha0: float) -> float:
    """`√(2 + 4a²)/N`, attained. The difference is affine in each document, so its norm is largest at a vertex."""
    return math.sqrt(2.0 + 4.0 * MomentWeights.of(alpha0).pair ** 2) / documents(n_documents)


def corrected_third_moment_l1(*, n_documents: int, alpha0: float, with_prefactor: bool = False) -> float:
    """`(2 + 12|b| + 6c)/N`, attained; times `alpha0(alpha0+1)(alpha0+2)/2` for the moment as the paper defines it."""
    weights = MomentWeights.of(alpha0)
    scale = weights.prefactor if with_prefactor else 1.0
    return scale * (2.0 + 12.0 * weights.mixed + 6.0 * weights.cube) / documents(n_documents)


def attained_third_moment_l2(*, n_documents: int, alpha0: float) -> float:
    """`√(2 + 6b² + 6(c-|b|)²)/N`, reached where all other documents repeat one word. No larger one was found; at most
    twice that is proved (research/counterexamples/moments.py)."""
    weights = MomentWeights.of(alpha0)
    squared = 2.0 + 6.0 * weights.mixed**2 + 6.0 * (weights.cube - weights.mixed) ** 2
    return math.sqrt(squared) / documents(n_documents)


def corrected_singular_value_sensitivity(*, n_documents: int) -> float:
    """`2/N` for each singular value of the second moment: Weyl, the change having spectral norm below `2/N`."""
    return 2.0 / documents(n_documents)


# -- the gap of a tensor --------------------------------------------------------------------------------------------


def gamma_s(tensor: np.ndarray) -> float:
    """`γ_s = min_i (λ_i - λ_{i+1})/4` over the eigenvalues of a symmetric tensor. Paper, Theorem on `μ̄_i, ᾱ_i`."""
    return gap_of_eigenvalues(decompose(tensor).values)


def gap_of_eigenvalues(eigenvalues: np.ndarray) -> float:
    """`γ_s` from eigenvalues in any order; `λ_{k+1}`, which the paper leaves open, is zero."""
    ordered = np.append(-np.sort(-np.abs(np.asarray(eigenvalues, np.float64))), 0.0)
    return float(np.min(ordered[:-1] - ordered[1:]) / 4.0)


# -- checks ---------------------------------------------------------------------------------------------------------


def documents(n_documents: int) -> float:
    """`N` as a float; the estimators need at least three documents."""
    if not n_documents >= 3:
        raise InputError(f"The 'n_documents' parameter must be at least 3. Got {n_documents!r} instead.")
    return float(n_documents)


def topics(n_topics: int) -> float:
    """`k` as a float."""
    if not n_topics >= 1:
        raise InputError(f"The 'n_topics' parameter must be at least 1. Got {n_topics!r} instead.")
    return float(n_topics)


def require_positive(name: str, value: float) -> None:
    """Refuse a public number that is not positive and finite."""
    if not 0.0 < value < math.inf:
        raise InputError(f"The {name!r} parameter must be positive and finite. Got {value!r} instead.")


def spectral_number(name: str, value: float) -> float:
    """A singular value or gap; the error message does not quote it, since it may come from a private corpus."""
    if not 0.0 <= value < math.inf:
        raise InputError(f"The {name!r} parameter must be finite and at least 0.")
    return float(value)


def _middle(sigma_k: float, sigma_next: float) -> float:
    return 0.5 * (spectral_number("sigma_k", sigma_k) + spectral_number("sigma_next", sigma_next))


def ratio(numerator: float, denominator: float) -> float:
    """The quotient; infinity where the denominator is zero."""
    return numerator / denominator if denominator > 0.0 else math.inf


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

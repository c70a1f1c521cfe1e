"""What error the paper promises for each of its configurations, and which one it expects to win where.

The theorems hide a constant; here it is one. So the numbers compare configurations with each other, not with a
measured error. Each theorem is a tuple of terms, in the order of the paper, as printed; `as_derived=True` gives the
terms that the proofs in App. J lead to where the two differ (docs/errata.md). `taus` holds `τ` per noisy edge:
`{"e6": tau(…), "e8": tau(…)}`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from private_topics.bisection import smallest
from private_topics.errors import InputError
from private_topics.paper.bounds import (
    documents,
    published_third_moment_sensitivity,
    ratio,
    require_positive,
    spectral_number,
    topics,
)
from private_topics.paper.graph import CONFIGURATIONS
from private_topics.paper.noise_scales import procedure_lower_bound, tau

# What the budget of a configuration is divided over: its noisy edges, and the releases of Procedure 1.
PARTS = {
    1: ("e3", "e4", "e8"),
    2: ("sigma_k", "e6", "e8"),
    3: ("sigma_k", "gamma_s", "e7", "e8"),
    4: ("sigma_k", "gamma_s", "e9"),
}

Terms = tuple[float, ...]


@dataclass(frozen=True)
class Problem:
    """The quantities that the theorems speak of: `N`, `d`, `k`, `σ_1(M2)`, `σ_k(M2)`, `γ_s`."""

    n_documents: int
    n_words: int
    n_topics: int
    sigma_1: float
    sigma_k: float
    gamma_s: float

    def __post_init__(self) -> None:
        documents(self.n_documents)
        topics(self.n_topics)
        require_positive("n_words", self.n_words)
        for name in ("sigma_1", "sigma_k", "gamma_s"):
            spectral_number(name, getattr(self, name))

    @classmethod
    def of_size(cls, n_documents: int, n_words: int, n_topics: int, *, gamma_s: float = 1.0) -> Problem:
        """The paper's rule of thumb that the singular values of the second moment are of the order of `1/d`."""
        return cls(n_documents, n_words, n_topics, 1.0 / n_words, 1.0 / n_words, gamma_s)


def utility_terms(
    configuration: int, problem: Problem, taus: Mapping[str, float], *, as_derived: bool = False
) -> Terms:
    """The terms of the utility loss `||μ_i - μ_i^DP||` of a configuration. Paper, the four utility theorems."""
    if configuration not in _TERMS:
        raise InputError(f"The 'configuration' parameter must be 1, 2, 3 or 4. Got {configuration!r} instead.")
    missing = CONFIGURATIONS[configuration].noisy - set(taus)
    if missing:
        raise InputError(f"The 'taus' parameter must have {', '.join(sorted(missing))}.")
    return _TERMS[configuration](problem, taus, as_derived)


def utility_bound(
    configuration: int, problem: Problem, taus: Mapping[str, float], *, as_derived: bool = False
) -> float:
    """The sum of the terms."""
    return math.fsum(utility_terms(configuration, problem, taus, as_derived=as_derived))


def equal_parts(configuration: int) -> dict[str, float]:
    """Equal fractions of (ε, δ) for the noisy edges and the releases of Procedure 1."""
    return dict.fromkeys(PARTS[configuration], 1.0 / len(PARTS[configuration]))


def taus_of(parts: Mapping[str, float], epsilon: float, delta: float) -> dict[str, float]:
    """`τ` of each part when it has this fraction of (ε, δ), which add up. Paper, Proposition on composition."""
    return {part: tau(share * epsilon, share * delta) for part, share in parts.items()}


def equal_taus(configuration: int, epsilon: float, delta: float) -> dict[str, float]:
    """`τ` of each part when (ε, δ) is divided equally over the noisy edges and the releases of Procedure 1."""
    return taus_of(equal_parts(configuration), epsilon, delta)


def refused(configuration: int, problem: Problem, parts: Mapping[str, float], epsilon: float, delta: float) -> bool:
    """Whether Procedure 1, without its noise, finds zero for a lower bound that this configuration needs."""
    values = {"sigma_k": problem.sigma_k, "gamma_s": problem.gamma_s}
    return any(
        procedure_lower_bound(
            values[part],
            n_documents=problem.n_documents,
            epsilon=parts[part] * epsilon,
            delta=min(0.5, parts[part] * delta),
        )
        == 0.0
        for part in PARTS[configuration]
        if part in values
    )


def utility_table(problem: Problem, epsilon: float, delta: float, *, as_derived: bool = False) -> dict[int, float]:
    """The bound of every configuration at one composite (ε, δ), divided equally."""
    return {
        configuration: utility_bound(
            configuration, problem, equal_taus(configuration, epsilon, delta), as_derived=as_derived
        )
        for configuration in PARTS
    }


def expected_configuration(problem: Problem, epsilon: float, delta: float, *, as_derived: bool = False) -> int:
    """The configuration with the smallest bound at one composite (ε, δ)."""
    table = utility_table(problem, epsilon, delta, as_derived=as_derived)
    return min(table, key=table.__getitem__)


def documents_for_error(
    configuration: int, problem: Problem, epsilon: float, delta: float, error: float, *, as_derived: bool = False
) -> float:
    """The smallest number of documents, to one per cent, at which the bound is at most `error`."""
    require_positive("error", error)
    taus = equal_taus(configuration, epsilon, delta)

    def enough(n: float) -> bool:
        larger = Problem(
            math.ceil(n), problem.n_words, problem.n_topics, problem.sigma_1, problem.sigma_k, problem.gamma_s
        )
        return utility_bound(configuration, larger, taus, as_derived=as_derived) <= error

    found = smallest(enough, 3.0, largest=1e30, precision=1.01)
    return math.ceil(found) if found < math.inf else math.inf


# -- the theorems ---------------------------------------------------------------------------------------------------


def _first(problem: Problem, taus: Mapping[str, float], as_derived: bool) -> Terms:
    """Theorem on Config. 1. Derived: both cubes are of `||W - W^DP||`, hence of `σ_k^(3/2)`."""
    root = math.sqrt(problem.n_words) / problem.n_documents
    whitened = ratio(root, problem.sigma_k**1.5)
    gap = ratio(math.sqrt(problem.n_topics), problem.gamma_s)
    before = _cube(whitened * taus["e4"]) + whitened * taus["e3"]
    after = before if as_derived else _cube(ratio(root, problem.sigma_k) * taus["e4"]) + whitened * taus["e3"]
    return (
        math.sqrt(problem.sigma_1) * gap * before,
        _unwhitening_term(problem, taus),
        math.sqrt(problem.sigma_1 + root * taus["e8"]) * gap * after,
    )


def _second(problem: Problem, taus: Mapping[str, float], as_derived: bool) -> Terms:
    """Theorem on Config. 2. Derived: the root of its first term covers `σ_1` alone."""
    k = float(problem.n_topics)
    spread = ratio(taus["e6"], problem.gamma_s * problem.n_documents * problem.sigma_k**1.5)
    return (
        math.sqrt(problem.sigma_1) * (k**2.5 if as_derived else k**1.25) * spread,
        _unwhitening_term(problem, taus),
        _unwhitened_norm(problem, taus) * k**2.5 * spread,
    )


def _third(problem: Problem, taus: Mapping[str, float], as_derived: bool) -> Terms:
    """Theorem on Config. 3. Derived: the root of its first term covers `σ_1` alone."""
    k = float(problem.n_topics)
    spread = ratio(taus["e7"], problem.gamma_s * problem.n_documents * problem.sigma_k**1.5)
    return (
        math.sqrt(problem.sigma_1) * (k**2.5 if as_derived else k**1.25) * spread,
        _unwhitening_term(problem, taus),
        _unwhitened_norm(problem, taus) * k**2 * spread,
    )


def _fourth(problem: Problem, taus: Mapping[str, float], as_derived: bool) -> Terms:
    """Theorem on Config. 4."""
    numerator = math.sqrt(problem.sigma_1 * problem.n_words) * problem.n_topics**2 * taus["e9"]
    return (ratio(numerator, problem.gamma_s * problem.n_documents * problem.sigma_k**1.5),)


_TERMS = {1: _first, 2: _second, 3: _third, 4: _fourth}


def _cube(value: float) -> float:
    return value * value * value  # infinite where a power would be an error


def _unwhitening_term(problem: Problem, taus: Mapping[str, float]) -> float:
    return ratio(math.sqrt(problem.sigma_1 * problem.n_words) * taus["e8"], problem.sigma_k * problem.n_documents)


def _unwhitened_norm(problem: Problem, taus: Mapping[str, float]) -> float:
    return math.sqrt(problem.sigma_1 + math.sqrt(problem.n_words) / problem.n_documents * taus["e8"])


# -- the remarks ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """Two configurations: which one a remark prefers, and which one the theorems it rests on prefer."""

    stated: int
    by_theorems: int
    bounds: dict[int, float]

    @property
    def agrees(self) -> bool:
        return self.stated == self.by_theorems


def first_or_second(problem: Problem, *, noise: float, as_derived: bool = False) -> Comparison:
    """Remark "Configuration 1 vs. 2": the second, by a factor `√d`. `noise` is the same `τ` on every edge."""
    return _compare(2, (1, 2), problem, noise, as_derived)


def second_or_third(
    problem: Problem, *, noise: float, alpha0: float, tensor_sigma_k: float, as_derived: bool = False
) -> Comparison:
    """Remark "Configuration 2 vs. 3": the third where `Δ3 <= γ_s σ_k(T) / (2√k)`, else the second."""
    moved = published_third_moment_sensitivity(n_documents=problem.n_documents, alpha0=alpha0)
    allowed = (
        problem.gamma_s * spectral_number("tensor_sigma_k", tensor_sigma_k) / (2.0 * math.sqrt(problem.n_topics))
    )
    return _compare(3 if moved <= allowed else 2, (2, 3), problem, noise, as_derived)


def third_or_fourth(problem: Problem, *, noise: float, as_derived: bool = False) -> Comparison:
    """Remark "Configuration 3 vs. 4": the third where `N > √d`, else the fourth."""
    stated = 3 if problem.n_documents > math.sqrt(problem.n_words) else 4
    return _compare(stated, (3, 4), problem, noise, as_derived)


def _compare(stated: int, pair: tuple[int, int], problem: Problem, noise: float, as_derived: bool) -> Comparison:
    require_positive("noise", noise)
    taus = dict.fromkeys(("e3", "e4", "e6", "e7", "e8", "e9"), noise)
    bounds = {each: utility_bound(each, problem, taus, as_derived=as_derived) for each in pair}
    return Comparison(stated, min(bounds, key=bounds.__getitem__), bounds)


# -- the non-private algorithm --------------------------------------------------------------------------------------


def documents_for_consistency(
    *, alpha0: float, smallest_share: float, sigma_k_topics: float, constant: float = 1.0
) -> float:
    """`C1 (alpha0+1) / (p_min² σ_k(μ)²)`: from here on the error below holds. Paper, Lemma on correctness."""
    require_positive("alpha0", alpha0)
    spread = (_share(smallest_share) * spectral_number("sigma_k_topics", sigma_k_topics)) ** 2
    return ratio(constant * (alpha0 + 1.0), spread)


def sampling_error(
    *,
    n_documents: int,
    n_topics: int,
    alpha0: float,
    smallest_share: float,
    sigma_k_topics: float,
    constant: float = 1.0,
) -> float:
    """`C2 (alpha0+1)² k³ / (p_min² σ_k(μ) √N)`: the error without noise. Paper, Lemma on correctness."""
    require_positive("alpha0", alpha0)
    numerator = constant * (alpha0 + 1.0) ** 2 * topics(n_topics) ** 3
    spread = _share(smallest_share) ** 2 * spectral_number("sigma_k_topics", sigma_k_topics)
    return ratio(numerator, spread * math.sqrt(documents(n_documents)))


def _share(smallest_share: float) -> float:
    if not 0.0 < smallest_share <= 1.0:
        raise InputError("The 'smallest_share' parameter must lie in (0, 1].")
    return smallest_share

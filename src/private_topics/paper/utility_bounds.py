"""What error the paper promises for each of its configurations, and which one it prefers where.

The theorems hide a constant, which is set to one here. So the numbers compare configurations with each other, not
with a measured error. Each theorem is a tuple of terms, in the order of the paper, as printed; `as_derived=True`
gives the terms that the proofs in App. J lead to where the two differ (docs/errata.md). `taus` holds `τ` per noisy
edge: `{"e6": tau(…), "e8": tau(…)}`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from private_topics.errors import InputError
from private_topics.paper.bounds import (
    documents,
    procedure_lower_bound,
    published_third_moment_sensitivity,
    ratio,
    require_positive,
    spectral_number,
    tau,
    topics,
)
from private_topics.paper.graph import CONFIGURATIONS

# What the budget of a configuration is divided over: its noisy edges, and the releases of Procedure 1.
PARTS = {
    1: ("e3", "e4", "e8"),
    2: ("sigma_k", "e6", "e8"),
    3: ("sigma_k", "gamma_s", "e7", "e8"),
    4: ("sigma_k", "gamma_s", "e9"),
}

Terms = tuple[float, ...]


@dataclass(frozen=True)
class Quantities:
    """What the theorems speak of: `N`, `d`, `k`, `σ_1(M2)`, `σ_k(M2)`, `γ_s`."""

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
    def of_size(cls, n_documents: int, n_words: int, n_topics: int, *, gamma_s: float = 1.0) -> Quantities:
        """By the paper's rule of thumb: the singular values of the second moment are of the order of `1/d`."""
        return cls(n_documents, n_words, n_topics, 1.0 / n_words, 1.0 / n_words, gamma_s)


def utility_terms(
    configuration: int, quantities: Quantities, taus: Mapping[str, float], *, as_derived: bool = False
) -> Terms:
    """The terms of the utility loss `||μ_i - μ_i^DP||` of a configuration. Paper, the four utility theorems."""
    if configuration not in _TERMS:
        raise InputError(f"The 'configuration' parameter must be 1, 2, 3 or 4. Got {configuration!r} instead.")
    missing = CONFIGURATIONS[configuration].noisy - set(taus)
    if missing:
        raise InputError(f"The 'taus' parameter must have {', '.join(sorted(missing))}.")
    return _TERMS[configuration](quantities, taus, as_derived)


def utility_bound(
    configuration: int, quantities: Quantities, taus: Mapping[str, float], *, as_derived: bool = False
) -> float:
    """The sum of the terms."""
    return math.fsum(utility_terms(configuration, quantities, taus, as_derived=as_derived))


def equal_taus(configuration: int, epsilon: float, delta: float) -> dict[str, float]:
    """`τ` of each part when (ε, δ) is divided equally over `PARTS`. Paper, Proposition on composition."""
    share = 1.0 / len(PARTS[configuration])
    return dict.fromkeys(PARTS[configuration], tau(share * epsilon, share * delta))


def refused(configuration: int, quantities: Quantities, epsilon: float, delta: float) -> bool:
    """Whether Procedure 1, without its noise, finds zero for a lower bound that this configuration needs."""
    share = 1.0 / len(PARTS[configuration])
    margin = {"epsilon": share * epsilon, "delta": min(0.5, share * delta)}
    values = {"sigma_k": quantities.sigma_k, "gamma_s": quantities.gamma_s}
    needed = (values[part] for part in PARTS[configuration] if part in values)
    return any(procedure_lower_bound(value, n_documents=quantities.n_documents, **margin) == 0.0 for value in needed)


def utility_table(quantities: Quantities, epsilon: float, delta: float) -> dict[int, float]:
    """The bound of every configuration at one composite (ε, δ), divided equally."""
    return {each: utility_bound(each, quantities, equal_taus(each, epsilon, delta)) for each in PARTS}


# -- the theorems ---------------------------------------------------------------------------------------------------


def _first(quantities: Quantities, taus: Mapping[str, float], as_derived: bool) -> Terms:
    """Theorem on Config. 1. Derived: both cubes are of `||W - W^DP||`, hence of `σ_k^(3/2)`."""
    root = math.sqrt(quantities.n_words) / quantities.n_documents
    whitened = ratio(root, quantities.sigma_k**1.5)
    gap = ratio(math.sqrt(quantities.n_topics), quantities.gamma_s)
    before = _cube(whitened * taus["e4"]) + whitened * taus["e3"]
    after = before if as_derived else _cube(ratio(root, quantities.sigma_k) * taus["e4"]) + whitened * taus["e3"]
    return (
        math.sqrt(quantities.sigma_1) * gap * before,
        _unwhitening_term(quantities, taus),
        math.sqrt(quantities.sigma_1 + root * taus["e8"]) * gap * after,
    )


def _second_or_third(
    edge: str, power: float, quantities: Quantities, taus: Mapping[str, float], as_derived: bool
) -> Terms:
    """Theorems on Config. 2 and 3. Derived: the root of their first term covers `σ_1` alone."""
    k = float(quantities.n_topics)
    spread = ratio(taus[edge], quantities.gamma_s * quantities.n_documents * quantities.sigma_k**1.5)
    return (
        math.sqrt(quantities.sigma_1) * (k**2.5 if as_derived else k**1.25) * spread,
        _unwhitening_term(quantities, taus),
        _unwhitened_norm(quantities, taus) * k**power * spread,
    )


def _fourth(quantities: Quantities, taus: Mapping[str, float], _as_derived: bool) -> Terms:
    """Theorem on Config. 4."""
    numerator = math.sqrt(quantities.sigma_1 * quantities.n_words) * quantities.n_topics**2 * taus["e9"]
    return (ratio(numerator, quantities.gamma_s * quantities.n_documents * quantities.sigma_k**1.5),)


_TERMS: Mapping[int, Callable[[Quantities, Mapping[str, float], bool], Terms]] = {
    1: _first,
    2: partial(_second_or_third, "e6", 2.5),
    3: partial(_second_or_third, "e7", 2.0),
    4: _fourth,
}


def _cube(value: float) -> float:
    return value * value * value  # infinite where a power would be an error


def _unwhitening_term(quantities: Quantities, taus: Mapping[str, float]) -> float:
    return ratio(
        math.sqrt(quantities.sigma_1 * quantities.n_words) * taus["e8"], quantities.sigma_k * quantities.n_documents
    )


def _unwhitened_norm(quantities: Quantities, taus: Mapping[str, float]) -> float:
    return math.sqrt(quantities.sigma_1 + math.sqrt(quantities.n_words) / quantities.n_documents * taus["e8"])


# -- the remarks ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """Two configurations: which one a remark prefers, and which one the theorems it rests on prefer."""

    stated: int
    by_theorems: int
    bounds: dict[int, float]


def first_or_second(quantities: Quantities, *, noise: float, as_derived: bool = False) -> Comparison:
    """Remark "Configuration 1 vs. 2": the second, by a factor `√d`. `noise` is the same `τ` on every edge."""
    return _compare(2, (1, 2), quantities, noise, as_derived)


def second_or_third(quantities: Quantities, *, noise: float, alpha0: float, tensor_sigma_k: float) -> Comparison:
    """Remark "Configuration 2 vs. 3": the third where `Δ3 <= γ_s σ_k(T) / (2√k)`, else the second."""
    moved = published_third_moment_sensitivity(n_documents=quantities.n_documents, alpha0=alpha0)
    smallest = spectral_number("tensor_sigma_k", tensor_sigma_k)
    allowed = quantities.gamma_s * smallest / (2.0 * math.sqrt(quantities.n_topics))
    return _compare(3 if moved <= allowed else 2, (2, 3), quantities, noise)


def third_or_fourth(quantities: Quantities, *, noise: float) -> Comparison:
    """Remark "Configuration 3 vs. 4": the third where `N > √d`, else the fourth."""
    stated = 3 if quantities.n_documents > math.sqrt(quantities.n_words) else 4
    return _compare(stated, (3, 4), quantities, noise)


def _compare(
    stated: int, pair: tuple[int, int], quantities: Quantities, noise: float, as_derived: bool = False
) -> Comparison:
    require_positive("noise", noise)
    taus = dict.fromkeys(("e3", "e4", "e6", "e7", "e8", "e9"), noise)
    bounds = {each: utility_bound(each, quantities, taus, as_derived=as_derived) for each in pair}
    return Comparison(stated, min(bounds, key=bounds.__getitem__), bounds)


# -- the non-private algorithm --------------------------------------------------------------------------------------


def sampling_error(
    *, n_documents: int, n_topics: int, alpha0: float, smallest_share: float, sigma_k_topics: float
) -> float:
    """`C2 (alpha0+1)² k³ / (p_min² σ_k(μ) √N)`: the error without noise. Paper, Lemma on correctness."""
    require_positive("alpha0", alpha0)
    if not 0.0 < smallest_share <= 1.0:
        raise InputError("The 'smallest_share' parameter must lie in (0, 1].")
    spread = smallest_share**2 * spectral_number("sigma_k_topics", sigma_k_topics)
    return ratio((alpha0 + 1.0) ** 2 * topics(n_topics) ** 3, spread * math.sqrt(documents(n_documents)))

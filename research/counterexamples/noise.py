"""The noise: what the printed scales really guarantee, in the exact curve of the Gaussian mechanism."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import chi2, norm

from counterexamples.corpora import Finding, lda_moments, single_words
from private_topics.paper import bounds
from private_topics.paper import bounds as noise_scales
from private_topics.privacy.curves import gdp_delta, gdp_epsilon, mu_of_budget
from private_topics.spectral.whitening import top_eigenpairs

DELTA = 1e-7  # the paper's figures use this one


def printed_variance(epsilon: float = 1.0, delta: float = DELTA) -> Finding:
    """Variance `Δ² τ` instead of `(Δ τ)²`."""
    return Finding(
        "printed-variance",
        f"epsilon of noise with the printed variance, delta = {delta:g} (Procedure 1, configurations 1 to 4)",
        *epsilons(1.0, noise_scales.printed_sigma(1.0, epsilon, delta), epsilon, delta),
    )


def dropped_constants(epsilon: float = 1.0, delta: float = DELTA, alpha0: float = 1.0, n: int = 1000) -> Finding:
    """`1/N` in front of `τ` for the second moment, whose L2 sensitivity is `√(2 + 4a²)/N`."""
    scale = noise_scales.configuration_moment_scale(n_documents=n)
    true = bounds.corrected_second_moment_l2(n_documents=n, alpha0=alpha0)
    return Finding(
        "dropped-constants",
        f"epsilon of noise tau/N on M2, alpha0 = {alpha0:g}, delta = {delta:g} (configurations 1 to 3)",
        *epsilons(true, noise_scales.classical_sigma(scale, epsilon, delta), epsilon, delta),
    )


def epsilons(sensitivity: float, sigma: float, epsilon: float, delta: float) -> tuple[float, float, float]:
    """The epsilon that is stated, that of noise of this width, and that of the width which is right."""
    right = noise_scales.analytic_sigma(sensitivity, epsilon, delta)
    return epsilon, gdp_epsilon(sensitivity / sigma, delta), gdp_epsilon(sensitivity / right, delta)


def classical_failure(delta: float = DELTA) -> float:
    """The smallest epsilon, to 0.01, at which noise of `Δ τ` no longer is (ε, δ)-DP."""
    for epsilon in np.arange(1.0, 50.0, 0.01):
        if gdp_delta(1.0 / noise_scales.tau(float(epsilon), delta), float(epsilon)) > delta:
            return float(epsilon)
    return math.inf


def unreleased_scale(n_words: int = 1000, epsilon: float = 1.0, alpha0: float = 1000.0) -> Finding:
    """Configuration 4 scales its noise with √σ_1 of the corpus itself: words that never occur give the scale away.

    Nearly all documents are of one word. The noise on the other `n_words` entries of the topic has a variance in
    proportion to σ_1; whether its sum of squares is large tells the neighbours apart. The other factors of the scale
    are released before, and the same for both.
    """
    corpus = single_words([9_997, 3])
    first, second = (
        float(top_eigenpairs(lda_moments(each, alpha0)[0], 1)[0][0]) for each in (corpus, corpus.replaced(0, 1))
    )
    return Finding(
        "unreleased-scale",
        f"delta at epsilon = {epsilon:g} of the noise alone, neighbours with 3 and 4 unusual documents of 10,000",
        DELTA,
        scale_divergence(second / first, n_words, epsilon),
        0.0,
    )


def scale_divergence(ratio: float, coordinates: int, epsilon: float) -> float:
    """Hockey-stick divergence of N(0, ratio I) from N(0, I): exact, the likelihood ratio grows with the norm."""
    if ratio == 1.0:
        return 0.0
    threshold = (2.0 * epsilon + coordinates * math.log(ratio)) / (1.0 - 1.0 / ratio)  # of |x|²
    return float(chi2.sf(threshold / ratio, coordinates) - math.exp(epsilon) * chi2.sf(threshold, coordinates))


def selection(tries: int = 10, epsilon: float = 1.0, delta: float = DELTA) -> Finding:
    """The best of several noisy results, by a score computed from them: here the result is its own score.

    The corrected number is the delta of releasing all of them.
    """
    mu = mu_of_budget(epsilon, delta)
    thresholds = np.linspace(-5.0, 15.0, 20_001)
    reached = -np.expm1(tries * norm.logcdf(thresholds - mu))
    unreached = -np.expm1(tries * norm.logcdf(thresholds))
    return Finding(
        "selection",
        f"delta at epsilon = {epsilon:g} of the best of {tries} fits, each ({epsilon:g}, {delta:g})-DP (App. K)",
        delta,
        float(np.max(reached - math.exp(epsilon) * unreached)),
        gdp_delta(math.sqrt(tries) * mu, epsilon),
    )


def lower_bound_zero(alpha0: float = 1000.0, n: int = 1000, k: int = 3) -> Finding:
    """Figure 2b of the paper: the σ_k of LDA is at most `1/(k(alpha0+1))`, the margin of Procedure 1 far larger."""
    largest = 1.0 / (k * (alpha0 + 1.0))
    margin = 1.0 - noise_scales.procedure_lower_bound(1.0, n_documents=n, epsilon=1.0, delta=DELTA / 2)
    scale = noise_scales.procedure_laplace_scale(n_documents=n, epsilon=1.0)
    return Finding(
        "lower-bound-zero",
        f"probability of finite noise in configuration 2, alpha0 = {alpha0:g}, N = {n}, k = {k} (Procedure 1)",
        1.0,
        0.5 * math.exp((largest - margin) / scale),
        None,
    )


def statistic_entry(n_words: int = 10, length: int = 1000) -> Finding:
    """App. K bounds an entry of the expected word counts per topic by `d/N`: a long document is beyond it.

    With one topic, or a word that one topic alone uses, all tokens of the document fall into one entry.
    """
    document = np.zeros(n_words)
    document[0] = length
    other = np.roll(document, 1)
    return Finding(
        "statistic-entry",
        f"N times the change of an entry of the statistic, d = {n_words}, a document of {length} words (App. K)",
        float(n_words),
        float(np.abs(document - other).max()),
        float(length),
    )


def tensor_norm_bound(sigma: float = 100.0, delta: float = 1e-20) -> Finding:
    """App. M bounds the norm of a Gaussian tensor by `√(8σ² Σd ln(2K/K0) + ln(2/δ))`: `ln(2/δ)` lacks its `8σ²`."""
    first = 8.0 * sigma**2 * 3.0 * math.log(6.0 / math.log(1.5))  # a tensor with one entry: K = 3, d = 1 each
    printed = math.sqrt(first + math.log(2.0 / delta))
    right = math.sqrt(first + 8.0 * sigma**2 * math.log(2.0 / delta))
    return Finding(
        "tensor-norm-bound",
        f"probability that N(0, {sigma:g}²) leaves the bound on the norm of a Gaussian tensor (App. M)",
        delta,
        float(2.0 * norm.sf(printed / sigma)),
        float(2.0 * norm.sf(right / sigma)),
    )


def findings() -> list[Finding]:
    scales = [printed_variance(), dropped_constants(), lower_bound_zero(), unreleased_scale()]
    return [*scales, selection(), statistic_entry(), tensor_norm_bound()]

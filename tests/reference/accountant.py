"""The price of a run (docs/proofs/composition.md), to thirty digits: curves, their inverses, composition.

GDP    delta = Φ(-ε/μ + μ/2) - e^ε Φ(-ε/μ - μ/2),   μ² = Σ (Δ_j/σ_j)²
zCDP   log delta = min over α > 1 of (α-1)(αρ - ε + log(1 - 1/α)) - log α,   ρ = Σ (Δ_j/σ_j)²/2
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import mpmath
from mpmath import mpf

DIGITS = 30


def gaussian_delta(mu: float | mpf, epsilon: float | mpf) -> mpf:
    with mpmath.workdps(DIGITS):
        mu, epsilon = mpf(mu), mpf(epsilon)
        return mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)


def concentrated_delta(rho: float | mpf, epsilon: float | mpf) -> mpf:
    """The exponent is convex in α with the derivative (2α-1)ρ - ε + log(1 - 1/α), which grows from -∞ to ∞."""
    with mpmath.workdps(DIGITS):
        rho, epsilon = mpf(rho), mpf(epsilon)
        alpha = 1 + inverse(lambda x: (2 * x + 1) * rho - epsilon + mpmath.log(x / (1 + x)), mpf(0))
        exponent = (alpha - 1) * (alpha * rho - epsilon + mpmath.log(1 - 1 / alpha)) - mpmath.log(alpha)
        return mpmath.exp(exponent)


def inverse(rising: Callable[[mpf], mpf], value: mpf) -> mpf:
    """Where a rising function of positive numbers has a value."""
    low = high = mpf(1)
    while rising(low) > value:
        low /= 2
    while rising(high) < value:
        high *= 2
    for _ in range(4 * DIGITS):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < value else (low, middle)
    return low


@cache
def mu_of(epsilon: float, delta: float, *, exact_sampler: bool = False, threshold_delta: float = 0.0) -> mpf:
    """What the releases of a run share: μ, or the root of 2ρ; a threshold has its part of both."""
    with mpmath.workdps(DIGITS):
        left, shifted = mpf(delta) - mpf(threshold_delta), mpf(epsilon) + mpmath.log(1 - mpf(threshold_delta))
        if exact_sampler:
            return mpmath.sqrt(2 * inverse(lambda rho: concentrated_delta(rho, shifted), left))
        return inverse(lambda mu: gaussian_delta(mu, shifted), left)


def sigma_of(sensitivity: float | mpf, share: float | mpf, mu: mpf) -> mpf:
    """The noise with which a release spends its share of μ²."""
    with mpmath.workdps(DIGITS):
        return mpf(sensitivity) / (mu * mpmath.sqrt(mpf(share)))


def delta_of(
    releases: Sequence[tuple[float, float]],
    epsilon: float,
    *,
    exact_sampler: bool = False,
    thresholds: Sequence[float] = (),
) -> mpf:
    """The delta of a run, from the sensitivity and the noise of each of its releases."""
    with mpmath.workdps(DIGITS):
        squares = mpmath.fsum((mpf(sensitivity) / mpf(sigma)) ** 2 for sensitivity, sigma in releases)
        kept = mpmath.fprod(1 - mpf(threshold) for threshold in thresholds)
        shifted = mpf(epsilon) + mpmath.log(kept)
        if exact_sampler:
            return concentrated_delta(squares / 2, shifted) + 1 - kept
        return gaussian_delta(mpmath.sqrt(squares), shifted) + 1 - kept

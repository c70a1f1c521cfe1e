"""Privacy curves: delta as a function of epsilon for one number, mu (Gaussian DP) or rho (zCDP), and back.

Every result errs on the safe side in floating point: a delta or an epsilon is rounded up, a mu or a rho down.
Proof: docs/proofs/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import erfcx, log_ndtr

from private_topics.bisection import last_that_holds
from private_topics.errors import PrivacyError

# Bound on the relative error of the closed form below, by which its result is rounded up (composition.md).
RELATIVE_ERROR = 1e-9
SMALLEST = 1e-300  # the lower limit of the bisection
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def gdp_delta(mu: float, epsilon: float) -> float:
    """The smallest delta of a mu-GDP mechanism at ``epsilon`` (Balle and Wang 2018, theorem 8), rounded up.

    delta = Phi(-t1) - e^epsilon Phi(-t2) with t1 = epsilon/mu - mu/2 and t2 = t1 + mu. Since e^epsilon
    phi(t2) = phi(t1), delta = phi(t1) (m(t1) - m(t2)) with the Mills ratio m: neither the difference nor
    e^epsilon is formed where it would cancel or overflow. A negative epsilon is allowed.
    """
    _require(mu >= 0 and math.isfinite(mu), "mu", "finite and at least 0", mu)
    _require(math.isfinite(epsilon), "epsilon", "finite", epsilon)
    if epsilon < 0:  # H_{e^-a}(P, Q) = 1 - e^-a + e^-a H_{e^a}(Q, P), and a Gaussian pair is symmetric
        return min(1.0, -math.expm1(epsilon) + math.exp(epsilon) * gdp_delta(mu, -epsilon))
    if mu == 0:
        return 0.0
    lower = epsilon / mu - mu / 2
    upper = epsilon / mu + mu / 2
    if lower < -5:  # Phi(-t1) is near one: no cancellation, but the Mills ratio would overflow
        delta = math.exp(log_ndtr(-lower)) - math.exp(epsilon + log_ndtr(-upper))
    elif lower > 60:  # phi(60) < 1e-780: delta is positive but below the smallest float
        return math.ulp(0.0)
    else:
        density = math.exp(-0.5 * lower * lower) / math.sqrt(2 * math.pi)
        delta = density * _mills_drop(lower, upper, mu)
    return min(1.0, delta * (1 + RELATIVE_ERROR) + math.ulp(0.0))


def _mills_drop(lower: float, upper: float, width: float) -> float:
    """m(lower) - m(upper) for the Mills ratio m(t) = (1 - Phi(t)) / phi(t), without cancellation."""
    if width > 0.25:
        return _mills(lower) - _mills(upper)
    # m'(t) = t m(t) - 1, so the drop is the integral of 1 - t m(t); Gauss-Legendre is exact to rounding here.
    points = lower + width * (_NODES + 1) / 2
    return float(width / 2 * np.sum(_WEIGHTS * (1 - points * np.array([_mills(t) for t in points]))))


def _mills(t: float) -> float:
    return math.sqrt(math.pi / 2) * float(erfcx(t / math.sqrt(2)))


def gdp_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon at which a mu-GDP mechanism has this delta, rounded up."""
    return smallest_epsilon(lambda epsilon: gdp_delta(mu, epsilon), delta)


def mu_of_budget(epsilon: float, delta: float) -> float:
    """The largest mu such that mu-GDP implies (epsilon, delta)-DP: gdp_delta(mu, epsilon) <= delta holds."""
    _require(epsilon > 0 and math.isfinite(epsilon), "epsilon", "finite and positive", epsilon)
    _require_delta(delta)
    return _largest(lambda mu: gdp_delta(mu, epsilon) <= delta, start=math.sqrt(epsilon))


def zcdp_delta(rho: float, epsilon: float) -> float:
    """A delta at which rho-zCDP implies (epsilon, delta)-DP.

    Canonne, Kamath and Steinke 2020: for every alpha > 1,
    log delta = (alpha - 1)(alpha rho - epsilon + log(1 - 1/alpha)) - log(alpha). Any alpha gives a valid
    delta, so the numerical search for the best one cannot err on the unsafe side.
    """
    _require(rho >= 0 and math.isfinite(rho), "rho", "finite and at least 0", rho)
    _require(epsilon >= 0 and math.isfinite(epsilon), "epsilon", "finite and at least 0", epsilon)
    if rho == 0:
        return 0.0

    def log_delta(log_excess: float) -> float:
        excess = math.exp(log_excess)  # alpha - 1
        alpha = 1.0 + excess
        return excess * (alpha * rho - epsilon + log_excess - math.log(alpha)) - math.log(alpha)

    # The best alpha is of the order of 1 + epsilon/rho or closer to 1: a coarse grid, then a search next to
    # it.
    grid = np.linspace(-35.0, math.log1p(epsilon / rho) + 3, 80)
    nearest = grid[int(np.argmin([log_delta(point) for point in grid]))]
    beside = (nearest - (grid[1] - grid[0]), nearest + (grid[1] - grid[0]))
    best = minimize_scalar(log_delta, bounds=beside, method="bounded", options={"xatol": 1e-9})
    return min(1.0, math.exp(min(0.0, float(best.fun))) * (1 + RELATIVE_ERROR) + math.ulp(0.0))


def rho_of_budget(epsilon: float, delta: float) -> float:
    """The largest rho found such that rho-zCDP implies (epsilon, delta)-DP, rounded down."""
    _require(epsilon > 0 and math.isfinite(epsilon), "epsilon", "finite and positive", epsilon)
    _require_delta(delta)
    return _largest(lambda rho: zcdp_delta(rho, epsilon) <= delta, start=epsilon)


def smallest_epsilon(curve: Callable[[float], float], delta: float) -> float:
    """The smallest epsilon >= 0 with curve(epsilon) <= delta, to one part in 1e12 and rounded up."""
    _require_delta(delta)
    if curve(0.0) <= delta:
        return 0.0
    high = 1.0
    while curve(high) > delta:
        if high > 1e12:
            raise PrivacyError("No finite epsilon has this delta. Choose a larger delta or release less.")
        high *= 2
    return last_that_holds(
        lambda epsilon: curve(epsilon) <= delta, high, 0.0, lambda low, high: high - low > 1e-12 * high
    )


def _largest(affordable: Callable[[float], bool], start: float) -> float:
    """The largest affordable number of a monotone predicate: doubling, halving, then bisection from below."""
    low, high = start, start
    while not affordable(low):
        low /= 2
        if low < SMALLEST:
            raise PrivacyError("This budget is too small for floating point. Choose a larger epsilon or delta.")
    while affordable(high):
        high *= 2
    return last_that_holds(affordable, low, high, lambda low, high: high - low > 1e-12 * low)


def _require(holds: bool, name: str, what: str, value: float) -> None:
    if not holds:
        raise PrivacyError(f"The {name!r} parameter must be {what}. Got {value!r} instead.")


def _require_delta(delta: float) -> None:
    _require(0 < delta < 1, "delta", "strictly between 0 and 1", delta)

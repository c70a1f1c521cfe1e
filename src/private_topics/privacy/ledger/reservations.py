"""What a fit reserves of a corpus's budget, and whether it still fits in addition to the earlier reservations.

Those who plan a fit have seen the results of earlier fits, so what remains may not be chosen afterwards: the
caps below depend on the total and on the first reservation alone. Each family of caps bounds one sum of costs
(mu²/2 of Gaussian DP, rho of zCDP, or epsilon itself) and one sum of deltas, and has its own part of the total
delta. Proof: docs/proofs/ledger.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from numbers import Real
from typing import Literal, get_args

from scipy.special import expit, ndtri

from private_topics.bisection import last_that_holds
from private_topics.errors import PrivacyError
from private_topics.privacy.budget import LARGEST_EPSILON, SMALLEST_EPSILON, PrivacyBudget
from private_topics.privacy.curves import (
    RELATIVE_ERROR,
    gdp_delta,
    mu_of_budget,
    rho_of_budget,
    smallest_epsilon,
    zcdp_delta,
)

Guarantee = Literal["gaussian", "concentrated", "approximate", "pure"]
GUARANTEES: tuple[str, ...] = get_args(Guarantee)
FAMILIES = {"gaussian": "gaussian", "concentrated": "concentrated", "approximate": "simple", "pure": "simple"}
SET_ASIDE = 0.01
MOST_REPEATS = 10_000


@dataclass(frozen=True)
class Reservation:
    """What one fit may spend.

    ``guarantee`` is what is known about it beyond its budget: "gaussian", its releases compose in Gaussian DP;
    "concentrated", in zCDP only; "approximate", nothing; "pure", its delta is zero whatever the budget says.
    ``threshold_delta`` is the part of its delta that thresholds use (a private vocabulary).
    ``spent`` is the fraction of its cost that it released before it was given up, and before any threshold; 1 for a
    fit that was not given up.
    """

    budget: PrivacyBudget
    guarantee: Guarantee = "gaussian"
    threshold_delta: float = 0.0
    spent: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.guarantee, str) or self.guarantee not in GUARANTEES:
            raise PrivacyError(f"The 'guarantee' of a reservation must be one of {GUARANTEES}.")
        if not isinstance(self.threshold_delta, Real) or not 0.0 <= self.threshold_delta < self.budget.delta:
            raise PrivacyError("The 'threshold_delta' of a reservation must be at least 0 and below its delta.")
        object.__setattr__(self, "threshold_delta", float(self.threshold_delta))
        if not isinstance(self.spent, float) or not 0.0 < self.spent <= 1.0:
            raise PrivacyError("The 'spent' fraction of a reservation must be a float above 0 and at most 1.")
        if self.spent < 1.0 and FAMILIES[self.guarantee] == "simple":
            raise PrivacyError("A reservation of which only epsilon and delta are known cannot be given up in part.")

    @property
    def whole(self) -> Reservation:
        """The reservation as it was made."""
        return self if self.spent == 1.0 else replace(self, spent=1.0)

    @property
    def epsilon(self) -> float:
        return self.budget.epsilon

    @property
    def delta(self) -> float:
        """The delta at the reservation's epsilon."""
        return 0.0 if self.guarantee == "pure" else self.budget.delta

    @property
    def other_delta(self) -> float:
        """The probability, from the thresholds or anything else, with which the costs below may fail to hold."""
        if FAMILIES[self.guarantee] == "simple":
            return self.delta
        return self.threshold_delta if self.spent == 1.0 else 0.0

    @property
    def rho(self) -> float:
        """The cost in the family of the guarantee: mu²/2 for "gaussian", the zCDP parameter for the others."""
        return self.gaussian_rho if self.guarantee == "gaussian" else self.concentrated_rho

    @property
    def gaussian_rho(self) -> float:
        """mu²/2 in Gaussian DP; infinite where only zCDP is known."""
        return self.spent * _gaussian_rho(self.whole)

    @property
    def concentrated_rho(self) -> float:
        """The zCDP parameter."""
        return self.spent * _concentrated_rho(self.whole)


def reservation_of(
    budget: PrivacyBudget, *, exact: bool = False, guarantee: Guarantee | None = None, threshold_delta: float = 0.0
) -> Reservation:
    """A reservation as a run asks for it: `exact` stands for the guarantee "concentrated"."""
    if not isinstance(budget, PrivacyBudget):
        raise PrivacyError(f"The 'budget' of a reservation must be a PrivacyBudget. Got {type(budget).__name__}.")
    if guarantee is None:
        guarantee = "concentrated" if exact else "gaussian"
    return Reservation(budget, guarantee, threshold_delta)


@lru_cache(maxsize=4096)
def _gaussian_rho(reservation: Reservation) -> float:
    if reservation.guarantee == "concentrated":
        return math.inf
    if reservation.guarantee == "gaussian":
        return mu_of_budget(*_without_thresholds(reservation)) ** 2 / 2.0
    # A pure epsilon-DP mechanism is mu-GDP with Phi(mu/2) = e^epsilon / (1 + e^epsilon).
    return 2.0 * float(ndtri(expit(-reservation.epsilon))) ** 2 * (1.0 + RELATIVE_ERROR)


@lru_cache(maxsize=4096)
def _concentrated_rho(reservation: Reservation) -> float:
    if reservation.guarantee == "concentrated":
        return rho_of_budget(*_without_thresholds(reservation))
    if reservation.guarantee == "gaussian":
        return _gaussian_rho(reservation)
    return reservation.epsilon**2 / 2.0


def _without_thresholds(reservation: Reservation) -> tuple[float, float]:
    """(epsilon, delta) of the releases when the thresholds' delta is taken out, as `PrivateRun` calibrates them."""
    epsilon = reservation.epsilon + math.log1p(-reservation.threshold_delta)
    if epsilon <= 0:
        raise PrivacyError("The 'threshold_delta' of a reservation must be below its epsilon.")
    return epsilon, reservation.budget.delta - reservation.threshold_delta


def admits(total: PrivacyBudget, reservations: Sequence[Reservation], set_aside: float = SET_ASIDE) -> bool:
    """Whether all `reservations`, in order, may be made on one corpus with this total."""
    if not reservations:
        return True
    first = reservations[0].whole
    if len(reservations) == 1 and _composed_delta([first], total.epsilon) <= total.delta:
        return True
    if reservations[0].spent < 1.0 and not _in_a_family(total, [first], set_aside):
        return _within_the_first(reservations)
    return _in_a_family(total, reservations, set_aside)


def _within_the_first(reservations: Sequence[Reservation]) -> bool:
    """Whether all costs stay within those of the first reservation, which took the whole total and was given up."""
    first = reservations[0].whole
    gaussian = first.guarantee == "gaussian"
    costs = [one.gaussian_rho if gaussian else one.concentrated_rho for one in reservations]
    thresholds = math.fsum(one.other_delta for one in reservations)
    return math.fsum(costs) <= first.rho and thresholds <= first.other_delta


def _in_a_family(total: PrivacyBudget, reservations: Sequence[Reservation], set_aside: float) -> bool:
    """Whether all reservations lie within one family of caps; the first one, as it was made, decides about them."""
    first = reservations[0].whole
    main = FAMILIES[first.guarantee]
    for family in ("gaussian", "concentrated", "simple"):
        part = total.delta * (1.0 - set_aside if family == main else set_aside / 2.0)
        plain = family == main and first.other_delta == 0.0
        if _within(family, reservations, total.epsilon, part, part * (set_aside if plain else 0.5)):
            return True
    return False


def _within(family: str, reservations: Sequence[Reservation], epsilon: float, part: float, aside: float) -> bool:
    """Whether both sums of one family of caps stay below them; `part` is its delta, `aside` the thresholds' cap."""
    if family == "simple":
        within_epsilon = math.fsum(reservation.epsilon for reservation in reservations) <= epsilon
        return within_epsilon and math.fsum(reservation.delta for reservation in reservations) <= part
    if math.fsum(reservation.other_delta for reservation in reservations) > aside:
        return False
    base = _gaussian_delta if family == "gaussian" else _concentrated_delta
    return _with_thresholds(base(reservations, epsilon), aside) <= part


def composed_epsilon(reservations: Sequence[Reservation], delta: float) -> float:
    """The smallest epsilon of all reservations at `delta`, had they been fixed beforehand; may be infinite."""
    try:
        return smallest_epsilon(lambda epsilon: _composed_delta(reservations, epsilon), delta)
    except PrivacyError:
        return math.inf


def _composed_delta(reservations: Sequence[Reservation], epsilon: float) -> float:
    """Delta of reservations fixed beforehand: the smallest of bounds each of which is valid by itself."""
    other = math.fsum(reservation.other_delta for reservation in reservations)
    stated = [reservation for reservation in reservations if FAMILIES[reservation.guarantee] == "simple"]
    noisy = [reservation for reservation in reservations if FAMILIES[reservation.guarantee] != "simple"]
    rest = epsilon - math.fsum(reservation.epsilon for reservation in stated)
    bounds = [1.0]
    for base in (_gaussian_delta, _concentrated_delta):
        bounds.append(_with_thresholds(base(reservations, epsilon), other))
        if rest >= 0:
            bounds.append(_with_thresholds(base(noisy, rest), other))
    if math.fsum(reservation.epsilon for reservation in reservations) <= epsilon:
        bounds.append(math.fsum(reservation.delta for reservation in reservations))
    return min(bounds)


def _gaussian_delta(reservations: Sequence[Reservation], epsilon: float) -> float:
    rho = math.fsum(reservation.gaussian_rho for reservation in reservations)
    return gdp_delta(math.sqrt(2.0 * rho), epsilon) if rho < math.inf else 1.0


def _concentrated_delta(reservations: Sequence[Reservation], epsilon: float) -> float:
    return zcdp_delta(math.fsum(reservation.concentrated_rho for reservation in reservations), epsilon)


def _with_thresholds(delta: float, other: float) -> float:
    """(1 - other) delta + other, rounded up."""
    return min(1.0, (delta + other * (1.0 - delta)) * (1.0 + 2.0**-50)) if other else delta


def remaining_epsilon(
    total: PrivacyBudget,
    reservations: Sequence[Reservation],
    set_aside: float,
    *,
    delta: float,
    exact: bool = False,
    guarantee: Guarantee | None = None,
    threshold_delta: float = 0.0,
) -> float:
    """The largest epsilon, to one part in a million and rounded down, of a further reservation; 0 where none fits."""

    def fits(epsilon: float) -> bool:
        if epsilon + math.log1p(-threshold_delta) <= 0 or not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
            return False
        budget = PrivacyBudget(epsilon, delta)
        more = reservation_of(budget, exact=exact, guarantee=guarantee, threshold_delta=threshold_delta)
        return admits(total, [*reservations, more], set_aside)

    if fits(total.epsilon):
        low = total.epsilon
        high = 2.0 * low
        while fits(high):
            low, high = high, 2.0 * high
    else:
        high = total.epsilon
        low = high / 2.0
        while not fits(low):
            low, high = low / 2.0, low
            if low < 1e-9 * total.epsilon:
                return 0.0
    return last_that_holds(fits, low, high, lambda low, high: high - low > 1e-6 * low)


def repeats_left(total: PrivacyBudget, reservations: Sequence[Reservation], set_aside: float) -> int:
    """How many further reservations like the last one are admitted; no more than `MOST_REPEATS` are tried."""

    def fits(count: int) -> bool:
        return admits(total, [*reservations, *[reservations[-1]] * count], set_aside)

    return bisect_left(range(1, MOST_REPEATS + 1), True, key=lambda count: not fits(count))


def refusal(total: PrivacyBudget, reservation: Reservation) -> PrivacyError:
    """The error of a reservation that does not fit."""
    return PrivacyError(
        f"This fit at epsilon={reservation.epsilon:g}, delta={reservation.delta:g} would exceed the corpus's total "
        f"budget of epsilon={total.epsilon:g}, delta={total.delta:g}. Nothing was released. Ask for a smaller "
        "epsilon or delta: remaining() of the ledger, or `private-topics budget show`, says what is left. The total "
        "of a corpus is fixed once it is registered."
    )

"""What somebody who sees the model could do with it, in numbers, for this epsilon and for others."""

from __future__ import annotations

import math
from dataclasses import dataclass

from private_topics.privacy.curves import mu_of_budget
from private_topics.privacy.events import GaussianEvent
from private_topics.privacy.neighbours import ADD_REMOVE, REPLACE
from private_topics.privacy.statement import PrivacyStatement
from private_topics.privacy.strength import HARDLY_MORE, gaussian_true_alarms, true_alarms

FALSE_ALARMS = (0.001, 0.01, 0.05)
OTHER_EPSILON = (0.1, 1.0, 3.0, 10.0)
LARGEST_ODDS = 1e6
GAUSSIAN = "Gaussian differential privacy"


@dataclass(frozen=True)
class AttackRow:
    """One epsilon: the most true alarms for each rate of false ones, and the most that odds grow."""

    epsilon: float
    alarms: tuple[float, ...]
    odds: str
    current: bool


@dataclass(frozen=True)
class Attacker:
    """The table, what an alarm says, and how the numbers follow from the guarantee."""

    false_alarms: tuple[float, ...]
    rows: list[AttackRow]
    alarm: str
    basis: str


def attacker_of(statement: PrivacyStatement) -> Attacker:
    gaussian = is_gaussian(statement)
    values = sorted({*OTHER_EPSILON, statement.epsilon})
    rows = [
        AttackRow(
            epsilon,
            tuple(_alarms(epsilon, statement.delta, rate, gaussian) for rate in FALSE_ALARMS),
            odds_text(epsilon),
            epsilon == statement.epsilon,
        )
        for epsilon in values
    ]
    basis = (
        "From Gaussian differential privacy, by which this fit is accounted"
        if gaussian
        else "From (ε, δ) alone: at most e^ε times the false alarms, plus δ"
    )
    return Attacker(FALSE_ALARMS, rows, _alarm(statement), basis)


def is_gaussian(statement: PrivacyStatement) -> bool:
    """Whether the fit is mu-GDP, with the mu of its budget: all its noise is Gaussian and nothing has a threshold."""
    kinds = {release.kind for release in statement.releases}
    return statement.accounting == GAUSSIAN and kinds == {GaussianEvent.__name__} and statement.delta > 0.0


def _alarms(epsilon: float, delta: float, false_alarms: float, gaussian: bool) -> float:
    bound = true_alarms(epsilon, delta, false_alarms)
    return min(bound, gaussian_true_alarms(mu_of_budget(epsilon, delta), false_alarms)) if gaussian else bound


def odds_text(epsilon: float) -> str:
    """By how much the model can at most change what somebody would bet."""
    odds = math.exp(min(epsilon, 700.0))
    if odds > LARGEST_ODDS:
        return "more than a million"
    return f"{odds:,.0f}" if odds >= 100 else f"{odds:.3g}"


def _alarm(statement: PrivacyStatement) -> str:
    unit = statement.unit
    if statement.relation == REPLACE:
        return f"it was this {unit}, and not a certain other one, that was in the corpus"
    if statement.relation == ADD_REMOVE:
        return f"this {unit} was in the corpus"
    return f"this {unit} was in the corpus, and not an empty one in its place"


def plain_words(statement: PrivacyStatement) -> list[str]:
    """The guarantee before any term of the trade; weak ones are not called hardly anything."""
    unit, change = statement.unit, statement.neighbours.removeprefix("if ")
    much = (
        "hardly differ from it"
        if statement.epsilon <= HARDLY_MORE
        else f"be up to {odds_text(statement.epsilon)} times as likely, or as unlikely"
    )
    if statement.delta:
        much += f", apart from a chance of 1 in {1.0 / statement.delta:,.0f}"
    return [
        f"The topics were learnt from {statement.units}. Everything that the model keeps of them was mixed with random "
        f"noise, in an amount that follows from a proof and not from a look at the text.",
        f"Imagine the same corpus, except that {change}. What anybody sees of the model would {much}. So nobody "
        f"has to trust those who look at the model; what it says of a single {unit} is limited, whatever else they know.",
        f"It is a promise about each single {unit}, not about facts: what the text says of people in general can be "
        f"read from the topics, and is meant to be.",
    ]

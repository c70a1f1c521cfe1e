"""What somebody who sees the model could do with it, in numbers, for this epsilon and for others."""

from __future__ import annotations

import math
from dataclasses import dataclass

from private_topics.privacy.curves import mu_of_budget
from private_topics.privacy.events import GaussianEvent
from private_topics.privacy.neighbours import ADD_REMOVE, REPLACE
from private_topics.privacy.statement import PrivacyStatement
from private_topics.privacy.strength import HARDLY_MORE, USUAL, gaussian_true_alarms, true_alarms

FALSE_ALARMS = (0.001, 0.01, 0.05)
OTHER_EPSILON = (0.1, 1.0, 3.0, 10.0)
LARGEST_ODDS = 1e6
GAUSSIAN = "Gaussian differential privacy"


@dataclass(frozen=True)
class AttackRow:
    """One epsilon: the most true alarms for each rate of false ones, and the most that odds grow."""

    name: str
    alarms: tuple[float, ...]
    odds: str
    current: bool = False


@dataclass(frozen=True)
class Attacker:
    """The table, and what an alarm says; `gaussian`: the fit's own accounting says more than (epsilon, delta)."""

    false_alarms: tuple[float, ...]
    rows: list[AttackRow]
    alarm: str
    gaussian: bool


def attacker_of(statement: PrivacyStatement) -> Attacker:
    """Rows for some epsilon, by (epsilon, delta) alone: the worst of all fits with that guarantee."""
    gaussian, delta, rows = is_gaussian(statement), statement.delta, []
    for epsilon in sorted({*OTHER_EPSILON, statement.epsilon}):
        current, odds = epsilon == statement.epsilon, odds_text(epsilon)
        alarms = tuple(true_alarms(epsilon, delta, rate) for rate in FALSE_ALARMS)
        rows.append(AttackRow(f"{epsilon:g}{', this model' if current else ''}", alarms, odds, current))
        if current and gaussian:
            mu = mu_of_budget(epsilon, delta)
            tighter = tuple(gaussian_true_alarms(mu, rate) for rate in FALSE_ALARMS)
            rows.append(AttackRow("this model, by its Gaussian noise", tighter, odds, current))
    return Attacker(FALSE_ALARMS, rows, _alarm(statement), gaussian)


def is_gaussian(statement: PrivacyStatement) -> bool:
    """Whether the fit is mu-GDP, with the mu of its budget: all its noise is Gaussian and nothing has a threshold."""
    kinds = {release.kind for release in statement.releases}
    return statement.accounting == GAUSSIAN and kinds == {GaussianEvent.__name__} and statement.delta > 0.0


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
    nearly = (
        "nearly the same probability"
        if statement.epsilon <= HARDLY_MORE
        else f"a probability at most {odds_text(statement.epsilon)} times as large or as small"
    )
    apart = f", apart from a chance of 1 in {1.0 / statement.delta:,.0f}" if statement.delta else ""
    known = f" What a reader can learn about a single {unit} is limited by that, whatever else they know."
    return [
        f"The topics were learnt from {statement.units}. All that the model keeps of them was mixed with random "
        f"noise first; how much noise is needed was proved beforehand.",
        f"Imagine the same corpus, except that {change}. Whatever the model shows, it would then have shown with "
        f"{nearly}{apart}.{known if statement.strength.level == USUAL else ''}",
        f"This protects each single {unit}. It does not hide facts: what the text says of people in general can be "
        f"read from the topics, and is meant to be.",
    ]

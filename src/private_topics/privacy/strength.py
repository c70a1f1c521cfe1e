"""What an (epsilon, delta) guarantee is worth, in plain words: what somebody who sees the model could do, and advice.

A proof of a weak guarantee is still a proof, and nobody is protected by it. So wording, colour and advice follow
epsilon, and delta against one over the number of units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtr, ndtri

from private_topics.privacy.neighbours import REPLACE, Neighbours, question

USUAL, WEAK, VERY_WEAK = "usual", "weak", "very weak"
HARDLY_MORE = 1.0
"""Up to this epsilon somebody learns hardly more; beyond, the numbers have to speak."""
WEAK_EPSILON, VERY_WEAK_EPSILON = 5.0, 10.0
WEAK_UNITS, VERY_WEAK_UNITS = 0.1, 1.0
"""Of delta times the number of units: how many of them delta alone would allow to expose."""
MOST_COUNTED = 1e9
HANDLING = {
    USUAL: "",
    WEAK: "Show the model only to people who may know something of single units.",
    VERY_WEAK: "Do not publish the model: keep it as confidential as the corpus.",
}


@dataclass(frozen=True)
class Strength:
    """`level` is "usual", "weak" or "very weak"; the sentences are for those who have to decide, not for experts.

    risk : what the proof does not rule out; empty where the guarantee is a usual one.
    guess : how often somebody would be right who sees the model.
    handling, again : how to treat the model, and how to get a better one; empty like `risk`.
    """

    level: str
    risk: str
    guess: str
    handling: str
    again: str

    @property
    def attacker(self) -> str:
        return f"{self.risk} {self.guess}".strip()

    @property
    def advice(self) -> str:
        return f"{self.handling} {self.again}".strip()

    @property
    def warning(self) -> str:
        """What to print next to a guarantee that is not a usual one."""
        return "" if self.level == USUAL else f"{self.level.upper()} GUARANTEE. {self.attacker} {self.advice}"


def strength_of(epsilon: float, delta: float, n_units: int, unit: str, neighbours: Neighbours = REPLACE) -> Strength:
    """What the guarantee for so many units ("document" or "user") is worth."""
    exposed = delta * n_units
    weak = WEAK if epsilon >= WEAK_EPSILON or exposed >= WEAK_UNITS else USUAL
    level = VERY_WEAK if epsilon >= VERY_WEAK_EPSILON or exposed >= VERY_WEAK_UNITS else weak
    risks, wanted = [], []
    if epsilon >= WEAK_EPSILON:
        given_away = f"the model gives single {unit}s away: whether one was in the corpus, and what it says"
        recognised = f"single {unit}s are recognised in the model"
        allowed = given_away if epsilon >= VERY_WEAK_EPSILON else recognised
        risks.append(f"The proof does not rule out that {allowed}.")
        wanted.append("an epsilon of 1 to 3")
    if exposed >= WEAK_UNITS:
        risks.append(
            f"Its delta of {delta:g} would allow a fit to publish each {unit} as it is with that probability: "
            f"{exposed:.2g} of {n_units:,} on average."
        )
        wanted.append(f"a delta of at most {0.1 / n_units:.0e}")
    guess = (
        f"Somebody who knows all other {unit}s, and has to say from the model {question(neighbours, unit)}, "
        f"{guess_text(epsilon, delta)}; without the model, half of the time."
    )
    again = f"Fit again with {' and '.join(wanted)}: more documents or fewer topics make up for the noise."
    return Strength(level, " ".join(risks), guess, HANDLING[level], again if wanted else "")


def best_guess(epsilon: float, delta: float) -> float:
    """How often, at most, one can tell from the model which of two equally likely neighbours the corpus is.

    By (epsilon, delta) for an event and its complement, P(A) - Q(A) is at most t with (1 + e^epsilon) t =
    e^epsilon - 1 + 2 delta; the best test between equally likely P and Q is right with probability (1 + t)/2.
    """
    odds = math.exp(-epsilon)
    return (1.0 + delta * odds) / (1.0 + odds)


def true_alarms(epsilon: float, delta: float, false_alarms: float) -> float:
    """How often, at most, a test alarms rightly that alarms wrongly with probability ``false_alarms``.

    By (epsilon, delta) for the event of an alarm, P(A) <= e^epsilon Q(A) + delta, and for its complement.
    """
    odds = math.exp(-epsilon)
    direct = 1.0 if false_alarms >= odds else false_alarms / odds + delta
    return max(0.0, min(1.0, direct, 1.0 - odds * (1.0 - delta - false_alarms)))


def gaussian_true_alarms(mu: float, false_alarms: float) -> float:
    """The same for a mu-GDP mechanism: no test tells neighbours apart better than N(0, 1) from N(mu, 1)."""
    return float(ndtr(ndtri(false_alarms) + mu))


def guess_text(epsilon: float, delta: float) -> str:
    """`best_guess` in words that do not round a weak guarantee to a percentage."""
    odds = math.exp(-epsilon)
    wrong = odds * (1.0 - delta) / (1.0 + odds)
    if wrong >= 0.01:
        return f"is right at most {100.0 * best_guess(epsilon, delta):.1f}% of the time"
    if wrong * MOST_COUNTED < 1.0:
        return "may be right every time"
    times = float(f"{1.0 / wrong:.2g}")
    return f"may be right all but one time in {times:,.0f}"

"""Fits of which the plan expects nothing, refused before they are charged, from public numbers alone.

A ledger is told of a fit what is public before its first release: settings, the budget, the number of words of a
list, and the number of units where that is public. `PlannedLedger` sees the same and no more, so whether it refuses
cannot depend on what a unit says, nor, where the number of units is private, on that number. The forecast is right
to a factor of `PRECISION`: refused is what stays hopeless with so many times the units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from private_topics.errors import PrivacyError
from private_topics.planning.constants import COMMON_WEIGHT, PRECISION
from private_topics.planning.plan import ENGLISH, Plan, plan
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.ledger import unledgered
from private_topics.privacy.ledger.binding import Binding
from private_topics.privacy.ledger.in_memory import Ledger, keeps_rows, told_to
from private_topics.privacy.ledger.reservations import Reservation
from private_topics.privacy.neighbours import REPLACE, Neighbours
from private_topics.privacy.shares import NoiseShares
from private_topics.releases.candidates import CHOSEN_WORDS, FEWEST_LIKELY, FEWEST_WORDS, usual_units_to_stand_out
from private_topics.releases.vocabulary import WORDS_PER_UNIT, usual_units_needed

PRIVATE, CANDIDATES = "private", "candidates"
"""Vocabularies that are released, as a row of a ledger names them."""


class Wording(NamedTuple):
    """What the caller's means are called where it asked."""

    word_list: str
    vocabulary: str
    knowledge: str
    anyway: str


COMMAND = Wording(
    "--vocabulary FILE or list:LANGUAGE", "--vocabulary", "--knowledge", "With --anyway it is fitted all the same."
)
PYTHON = Wording(
    "vocabulary=[…] or 'list:english'", "vocabulary", "knowledge", "With anyway=True it is fitted all the same."
)


def hopeless(
    budget: PrivacyBudget,
    settings: Mapping[str, Any],
    *,
    neighbours: Neighbours = REPLACE,
    most_units: int | None = None,
    wording: Wording = COMMAND,
    shares: NoiseShares | None = None,
) -> str | None:
    """Why nothing is to be expected of a fit with these settings, and what would help; None where something is.

    `settings`: what a ledger notes of a fit, all of it public. `most_units`: where the number of units is not public,
    a public number that it does not exceed; without one nothing is hopeless. `shares`: the sites that draw the noise.
    """
    n_units = settings.get("n_units", most_units)
    if n_units is None:
        return None
    informed = "knowledge" in settings
    needed = _units_for_words(budget, settings, neighbours, informed)
    if PRECISION * n_units < needed:
        return (
            f"Hardly any word would be found: with {_units(n_units, settings)} and epsilon {budget.epsilon:g} fewer "
            f"than {FEWEST_WORDS} words of ordinary text reach the threshold of the vocabulary; from about "
            f"{_about(needed)} on they do. What helps: more documents, a larger epsilon, or public knowledge: a "
            f"public list of words ({wording.word_list}), or candidates with public word vectors "
            f"({wording.knowledge})."
        )
    plans = [
        _plan(budget, settings, n_units, n_words, neighbours, informed, shares)
        for n_words in _sizes(settings, informed)
    ]
    if plans[0].n_components > 1 and all(_carries_one(forecast) for forecast in plans):
        best = min(plans, key=lambda forecast: forecast.documents_needed)
        return (
            f"One topic is all that the plan expects of {_units(n_units, settings)} at epsilon {budget.epsilon:g}, "
            f"of {best.n_components} asked for: the word frequencies. {_what_helps(best, informed, wording)}"
        )
    return None


class PlannedLedger(Ledger):
    """A ledger, or None where there is none, that refuses what the plan calls hopeless before it is charged."""

    def __init__(
        self,
        ledger: Any,
        *,
        most_units: int | None = None,
        wording: Wording = COMMAND,
        shares: NoiseShares | None = None,
    ) -> None:
        self._ledger, self._most_units, self._wording, self._shares = ledger, most_units, wording, shares
        self.request = getattr(ledger, "request", None)

    def reserve(self, budget: PrivacyBudget, **kind: Any) -> Any:
        settings, neighbours = kind.get("settings") or {}, kind.get("neighbours") or REPLACE
        wording = self._wording
        found = hopeless(
            budget,
            settings,
            neighbours=neighbours,
            most_units=self._most_units,
            wording=wording,
            shares=self._shares,
        )
        if found is not None:
            raise PrivacyError(f"Refused before anything was charged. {found} {wording.anyway}")
        if self._ledger is None:
            return unledgered.count(budget, settings)
        return self._ledger.reserve(budget, **told_to(self._ledger, kind))

    def finish(self, entry: Any, **noted: Any) -> None:
        if keeps_rows(self._ledger):
            self._ledger.finish(entry, **noted)

    def give_up(self, entry: Any, spent: float) -> None:
        if entry is not None and hasattr(self._ledger, "give_up"):
            self._ledger.give_up(entry, spent)

    def require(self, unit: str | None = None, neighbours: str | None = None) -> None:
        if isinstance(self._ledger, Ledger):
            self._ledger.require(unit, neighbours)

    def _books(self) -> tuple[PrivacyBudget, Sequence[Reservation], float]:
        return self._one_with_books()._books()

    def _bound(self) -> tuple[Binding, Sequence[str]]:
        return self._one_with_books()._bound()

    def _one_with_books(self) -> Ledger:
        if not isinstance(self._ledger, Ledger):
            raise PrivacyError("No ledger that keeps a total was given: pass a BudgetLedger or a DurableLedger.")
        return self._ledger


def _units_for_words(
    budget: PrivacyBudget, settings: Mapping[str, Any], neighbours: Neighbours, informed: bool
) -> float:
    """Units of ordinary text that name `FEWEST_WORDS` words; none are needed where the words are public."""
    if "n_words" in settings:
        return 0.0
    weight = 0.0
    if settings.get("vocabulary") == PRIVATE:
        weight = usual_units_needed(budget, neighbours)[1]  # a unit with one word gives it the weight one
    elif settings.get("vocabulary") == CANDIDATES and not informed:
        weight = usual_units_to_stand_out(budget)[1] / math.sqrt(WORDS_PER_UNIT)
    return weight / COMMON_WEIGHT


def _sizes(settings: Mapping[str, Any], informed: bool) -> tuple[int, ...]:
    """How many words there may be: as listed, or the fewest and the most that are released."""
    if "n_words" in settings:
        return (int(settings["n_words"]),)
    fewest = FEWEST_LIKELY if informed and settings.get("vocabulary") == CANDIDATES else FEWEST_WORDS
    most = settings.get("vocabulary_size") or CHOSEN_WORDS
    return min(fewest, int(most)), int(most)


def _plan(
    budget: PrivacyBudget,
    settings: Mapping[str, Any],
    n_units: int,
    n_words: int,
    neighbours: Neighbours,
    informed: bool,
    shares: NoiseShares | None,
) -> Plan:
    forecast = plan(
        int(n_units),
        n_words,
        int(settings.get("n_components", 1)),
        epsilon=budget.epsilon,
        delta=budget.delta,
        alpha0=float(settings.get("alpha0", 1.0)),
        neighbours=neighbours,
        knowledge=ENGLISH if informed else None,
        sites=None if shares is None else shares.sites,
        honest=None if shares is None else shares.honest,
    )
    return replace(forecast, refine_steps=max(1, int(settings.get("refine_steps", forecast.refine_steps))))


def _carries_one(forecast: Plan) -> bool:
    """Whether one topic is expected, even of as many units more as the forecast may be wrong."""
    return replace(forecast, n_documents=math.ceil(PRECISION * forecast.n_documents)).expected_topics <= 1


def _what_helps(forecast: Plan, informed: bool, wording: Wording) -> str:
    def two(**other: Any) -> bool:
        return replace(forecast, **other).expected_topics > 1

    epsilons = [value for value in (0.5, 1.0, 2.0, 3.0, 5.0) if value > forecast.epsilon and two(epsilon=value)]
    more = next((n for n in _grown(forecast.n_documents) if two(n_documents=n)), None)
    helps = [] if more is None else [f"about {_about(more)} documents or users"]
    helps += [f"epsilon {epsilons[0]:g}"] if epsilons else []
    helps += [] if informed else [f"public knowledge of the words ({wording.knowledge})"]
    helps += [f"fewer words ({wording.vocabulary})"] if not helps else []
    return f"What helps: {', or '.join(helps)}."


def _grown(number: int) -> list[int]:
    """Up to a thousand times as many, in steps of a quarter."""
    return [math.ceil(number * 1.25**step) for step in range(1, 32)]


def _units(number: int, settings: Mapping[str, Any]) -> str:
    most = "" if "n_units" in settings else "at most "
    return f"{most}{number:,} documents or users"


def _about(number: float) -> str:
    """Two digits: a forecast has no more."""
    return f"{float(f'{number:.2g}'):,.0f}"

"""What was released, under which assumptions: for machines (`to_dict`) and for a privacy officer (`text`)."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, fields
from typing import Any

from private_topics.errors import PrivacyError
from private_topics.privacy.budget import LARGEST_EPSILON, SMALLEST_EPSILON
from private_topics.privacy.events import DiscreteThresholdEvent, ThresholdEvent
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.privacy.neighbours import ADD_REMOVE, NEIGHBOURS, REPLACE, Neighbours, change_of, otherwise
from private_topics.privacy.strength import HARDLY_MORE, USUAL, Strength, strength_of

LARGEST_SHARE, LARGEST_WHOLE = 1.0 + 1e-6, 2**53
WORD_EVENTS = (ThresholdEvent.__name__, DiscreteThresholdEvent.__name__)
NOT_COVERED = (
    "how long the fit took and how much memory it used",
    "documents given to transform or perplexity afterwards: their topic proportions are not private",
    "what the text says about people other than the unit it belongs to",
    "other computations on the same corpus: their budgets add up by composition",
)


@dataclass(frozen=True)
class ReleaseLine:
    """One line of the budget: a named noisy value, its sensitivity, its noise, its share of the budget.

    The sensitivity is in the L2 norm for a Gaussian event, in the L1 norm for a Laplace event; `sigma` is the
    standard deviation of the noise. `coordinates` are the numbers that are released; of a vocabulary, the maximum
    number of words counted per unit.
    """

    name: str
    kind: str
    coordinates: int
    sensitivity: float
    sigma: float
    share: float
    proof: str

    @property
    def names_words(self) -> bool:
        """Whether the release is a list of words, those above a threshold; how many is not known beforehand."""
        return self.kind in WORD_EVENTS

    @property
    def numbers(self) -> str:
        """How many numbers are released, for display; of a vocabulary, how many words are counted per unit."""
        return f"≤ {self.coordinates:,} per unit" if self.names_words else f"{self.coordinates:,}"


@dataclass(frozen=True)
class PrivacyStatement:
    """The guarantee of one fit."""

    epsilon: float
    delta: float
    epsilon_spent: float
    unit: str
    neighbours: str
    n_units: int
    configuration: str
    sampler: str
    accounting: str
    proved: bool
    reasons: tuple[str, ...]
    private: bool
    public: tuple[str, ...]
    not_covered: tuple[str, ...]
    releases: tuple[ReleaseLine, ...]
    components: str
    relation: Neighbours = REPLACE
    """What `neighbours` says in words: "replace", "zero-out" or "add-remove"."""

    @property
    def units(self) -> str:
        """How many units there are, for display; where their number is not public, it is a released one."""
        return f"{'about ' if self.relation == ADD_REMOVE else ''}{self.n_units:,} {self.unit}s"

    @property
    def _kind(self) -> str:
        return {"class shares": "table", "evidence": "table", "log-likelihood": "number"}.get(
            self.configuration, "model"
        )

    @property
    def strength(self) -> Strength:
        """What the guarantee is worth, if it holds."""
        return strength_of(self.epsilon, self.delta, self.n_units, self.unit, self.relation)

    @property
    def text(self) -> str:
        """A paragraph to read aloud."""
        if not self.private:
            return (
                f"NOT PRIVATE. The noise of this {self._kind} was drawn from a known seed, for a test: anyone who "
                "knows the seed can remove it. Fit again without noise_seed before anything is published."
            )
        names = ", ".join(release.name for release in self.releases)
        if not self.proved:
            return (
                f"NOT PROVED. This model aims at ({self.epsilon:g}, {self.delta:g})-differential privacy by a "
                f"published calibration that does not give it: {'; '.join(self.reasons)}. The names are those of "
                f"docs/errata.md. Treat the model as not private. Released with noise: {names}. {self.components}"
            )
        exception = f", up to a probability of {self.delta:g}" if self.delta else ", without exception"
        strength = self.strength
        worth = f"{strength.attacker} "
        if strength.level != USUAL:
            worth = f"{strength.warning} "
        elif self.epsilon <= HARDLY_MORE:
            worth = (
                f"Anyone who sees the {self._kind}, whatever else they know, learns hardly more about a {self.unit} "
                f"than if it {otherwise(self.relation)}. {worth}"
            )
        return (
            f"This {self._kind} satisfies ({self.epsilon:g}, {self.delta:g})-differential privacy. The protected "
            f"unit is one {self.unit}: {self.neighbours}, the probability of any outcome changes by at most a factor "
            f"exp({self.epsilon:g}){exception}. {worth}"
            f"The guarantee is proved; the noise comes from the {self.sampler} sampler and is accounted by "
            f"{self.accounting}. "
            f"Computed from the corpus and released with noise: {names}. Everything in the {self._kind} is derived "
            f"from these values and from what is taken as public: {'; '.join(self.public)}. {self.components} "
            f"Not covered: {'; '.join(self.not_covered)}."
        )

    def table(self) -> str:
        """The releases, one line each, with their shares of the budget."""
        lines = [f"{'release':<24}{'numbers':>16}{'sensitivity':>14}{'sigma':>12}{'share':>9}"]
        lines += [
            f"{r.name:<24}{r.numbers:>16}{r.sensitivity:>14.4g}{r.sigma:>12.4g}{r.share:>9.2%}" for r in self.releases
        ]
        lines.append(f"{'total':<24}{'':>16}{'':>14}{'':>12}{sum(r.share for r in self.releases):>9.2%}")
        if any(r.names_words for r in self.releases):
            lines.append(
                "per unit: at most this many words are counted; words above the threshold are named, no numbers."
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PrivacyStatement:
        """Rebuild a statement; refuses a dictionary with other keys, and values of other types or out of range."""
        if not isinstance(data, dict) or set(data) | {"relation"} != {field.name for field in fields(cls)}:
            raise PrivacyError("The privacy statement is incomplete or has unknown entries.")
        values: dict[str, Any] = {"relation": REPLACE, **data}  # statements of old are for replaced units
        try:
            values["releases"] = tuple(ReleaseLine(**release) for release in data["releases"])
            for name in ("reasons", "public", "not_covered"):
                values[name] = tuple(data[name])
            found = cls(**values)
        except TypeError:
            raise PrivacyError("The privacy statement's list of releases is damaged.") from None
        if not found._is_sound() or not all(map(_is_sound_release, found.releases)):
            raise PrivacyError("The privacy statement holds a value of another type, or an impossible one.")
        return found

    def _is_sound(self) -> bool:
        texts = self.unit, self.neighbours, self.configuration, self.sampler, self.accounting, self.components
        return (
            all(map(_is_positive, (self.epsilon, self.epsilon_spent)))
            and SMALLEST_EPSILON <= self.epsilon <= LARGEST_EPSILON
            and _is_number(self.delta)
            and 0 <= self.delta < 1
            and _is_whole(self.n_units)
            and self.relation in NEIGHBOURS
            and all(isinstance(flag, bool) for flag in (self.proved, self.private))
            and all(isinstance(text, str) for text in (*texts, *self.reasons, *self.public, *self.not_covered))
            and self.proved == (not self.reasons)
        )


def _is_sound_release(release: ReleaseLine) -> bool:
    return (
        all(isinstance(text, str) for text in (release.name, release.kind, release.proof))
        and bool(release.name.strip())
        and _is_whole(release.coordinates)
        and all(map(_is_positive, (release.sensitivity, release.sigma)))
        and _is_number(release.share)
        and 0 <= release.share <= LARGEST_SHARE
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _is_positive(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST_WHOLE


def statement_of(
    run: PrivateRun,
    *,
    grouped: bool,
    n_units: int,
    configuration: str,
    public: tuple[str, ...],
    components: str,
    reasons: tuple[str, ...] = (),
    not_covered: tuple[str, ...] = (),
) -> PrivacyStatement:
    """The statement of a finished run.

    ``reasons``: why its guarantee is not proved, empty if it is; ``not_covered``: what is not, beside the usual.
    """
    releases = tuple(
        ReleaseLine(
            name=event.name,
            kind=type(event).__name__,
            coordinates=event.coordinates,
            sensitivity=event.sensitivity,
            sigma=event.sigma,
            share=share,
            proof=event.proof,
        )
        for event, share in zip(run.released_events, run.shares_spent, strict=True)
    )
    return PrivacyStatement(
        epsilon=run.budget.epsilon,
        delta=run.budget.delta,
        epsilon_spent=run.epsilon_spent,
        unit="user" if grouped else "document",
        neighbours=change_of(run.neighbours, grouped=grouped),
        n_units=n_units,
        configuration=configuration,
        sampler=run.sampler,
        accounting=run.accounting,
        proved=not reasons,
        reasons=reasons,
        private=run.private,
        public=public,
        not_covered=NOT_COVERED + not_covered,
        releases=releases,
        components=components,
        relation=run.neighbours,
    )

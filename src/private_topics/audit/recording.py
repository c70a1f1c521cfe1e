"""Runs that are watched: one records what enters each release, one replays what came out of it.

Adaptive composition holds every released value fixed while one unit of the corpus is replaced. A `ReplayingRun` does
so in the real fit: it answers each release with the `Released` value of the recorded run and draws nothing. Whatever
the neighbour changes must then be inside the aggregates: queries, shares and the model itself may not move at all.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from private_topics.audit.words import NamedColumns
from private_topics.corpus.counts.blocks import as_blocks
from private_topics.errors import InputError, PrivacyError
from private_topics.estimators.private import PrivateSpectralLDA, settings_of
from private_topics.fits.fit import PrivateModel
from private_topics.fits.private import FitSettings, PrivateFit
from private_topics.knowledge.public import PublicKnowledge
from private_topics.knowledge.sources import KnowledgeSource
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.ledger.in_memory import FitAccount
from private_topics.privacy.mechanisms import NoiseEvent, PrivateRun, Query, Released, ReleasedWords
from private_topics.privacy.statement import PrivacyStatement

Integers = npt.NDArray[np.int64]


class CorpusDependenceError(PrivacyError):
    """A query, a share or the order of the releases depends on the corpus and not on released values alone."""


@dataclass(frozen=True, eq=False)
class Entering:
    """What enters a release: the query as declared, the exact aggregate, the share of the budget."""

    query: Query
    aggregate: Integers
    share: float

    def like(self, other: Entering) -> bool:
        """Whether everything except the aggregate's entries is the same."""
        same_shape = self.aggregate.shape == other.aggregate.shape
        return same_shape and self.query == other.query and self.share == other.share


@dataclass(frozen=True, eq=False)
class EnteringWords(Entering):
    """What enters a release of words: weights of the words that occur, in the order of their names."""

    words: tuple[str, ...]
    threshold_delta: float
    most_words: int

    @classmethod
    def of(cls, query: Query, weights: Mapping[str, int], share: float, limits: dict[str, Any]) -> EnteringWords:
        words = tuple(sorted(weights))
        return cls(query, np.array([weights[word] for word in words], np.int64), share, words, **limits)

    @property
    def weights(self) -> dict[str, int]:
        return dict(zip(self.words, self.aggregate.tolist(), strict=True))

    @property
    def limits(self) -> dict[str, Any]:
        return {"threshold_delta": self.threshold_delta, "most_words": self.most_words}

    def like(self, other: Entering) -> bool:
        """Which words occur is part of the aggregate."""
        same = isinstance(other, EnteringWords) and self.limits == other.limits
        return same and self.query == other.query and self.share == other.share

    def over(self, words: tuple[str, ...]) -> EnteringWords:
        """The same with a weight, perhaps zero, for each of `words`."""
        weights = self.weights
        return replace(self, words=words, aggregate=np.array([weights.get(word, 0) for word in words], np.int64))


def aligned(entering: Sequence[Entering]) -> list[Entering]:
    """One release for several neighbours; of words, a weight for each word that occurs in any of them."""
    if not isinstance(entering[0], EnteringWords):
        return list(entering)
    of_words = [one for one in entering if isinstance(one, EnteringWords)]
    words = tuple(sorted(set().union(*(one.words for one in of_words))))
    return [one.over(words) for one in of_words]


class RecordingRun(PrivateRun):
    """A run with its real noise that remembers the exact aggregates. They must not leave the audit."""

    def __init__(self, budget: PrivacyBudget, **kind: Any) -> None:
        super().__init__(budget, **kind)
        self.seen: list[tuple[Entering, Released]] = []

    def release(self, query: Query, aggregate: npt.ArrayLike, share: float, *, consume: bool = False) -> Released:
        entering = Entering(query, np.array(aggregate), share)
        released = super().release(query, aggregate, share, consume=consume)
        self.seen.append((entering, released))
        return released

    def release_words(self, query: Query, weights: Mapping[str, int], share: float, **limits: Any) -> ReleasedWords:
        entering = EnteringWords.of(query, weights, share, limits)
        released = super().release_words(query, weights, share, **limits)
        self.seen.append((entering, released))
        return released


class ReplayingRun(PrivateRun):
    """A run that answers with recorded values: nothing is drawn, and nothing new comes out."""

    def __init__(self, budget: PrivacyBudget, recorded: list[tuple[Entering, Released]], **kind: Any) -> None:
        super().__init__(budget, **kind)
        self.recorded = recorded
        self.entering: list[Entering] = []

    def release(
        self,
        query: Query,
        aggregate: npt.ArrayLike,
        share: float,
        *,
        consume: bool = False,  # noqa: ARG002 (nothing is written)
    ) -> Released:
        entering = Entering(query, np.array(aggregate), share)
        return self._answered(entering, self._event(query, share, entering.aggregate))

    def release_words(self, query: Query, weights: Mapping[str, int], share: float, **limits: Any) -> ReleasedWords:
        entering = EnteringWords.of(query, weights, share, limits)
        released = self._answered(entering, self._threshold_event(query, share, **limits))
        assert isinstance(released, ReleasedWords)
        return released

    def _answered(self, entering: Entering, event: NoiseEvent) -> Released:
        if len(self.entering) == len(self.recorded):
            raise CorpusDependenceError("A neighbouring corpus has more releases than the recorded one.")
        before, released = self.recorded[len(self.entering)]
        if not entering.like(before) or event != released.event:
            raise CorpusDependenceError(f"The query of release {before.query.name!r} depends on the corpus.")
        self.entering.append(entering)
        self.accountant.record(released.event)
        return released


@dataclass(frozen=True)
class Audited:
    """What is attacked: a fit with these settings, after the release of its vocabulary if it has one."""

    settings: FitSettings
    words: NamedColumns | None = None

    @property
    def threshold_delta(self) -> float:
        """The part of delta for the threshold of a private vocabulary."""
        return 0.0 if self.words is None else self.words.vocabulary.threshold_share * self.settings.budget.delta

    def kind(self) -> dict[str, Any]:
        """How a run of it is made, beside its budget."""
        settings = self.settings
        kind = {"sampler": settings.sampler, "noise_seed": settings.noise_seed, "neighbours": settings.neighbours}
        return kind | ({"threshold_delta": self.threshold_delta} if self.threshold_delta else {})

    def seeded(self, noise_seed: int | None) -> Audited:
        return replace(self, settings=replace(self.settings, noise_seed=noise_seed))


@dataclass(frozen=True)
class Fitted:
    """What a fit left behind: all that a reader of the model could see. `columns`: those of its words."""

    model: PrivateModel
    statement: PrivacyStatement
    columns: np.ndarray
    knowledge: PublicKnowledge | None
    said: tuple[str, ...]
    """Its warnings."""

    def on_all(self, n_words: int) -> np.ndarray:
        """The topics on all columns of the corpus, zero on words that are not the model's."""
        topics = np.zeros((len(self.model.topics), n_words))
        topics[:, self.columns] = self.model.topics
        return topics

    def like(self, other: Fitted) -> bool:
        """Whether a reader could tell the two apart."""
        ours, theirs = self.model, other.model
        return (
            (ours.topics.shape, ours.topics.tobytes()) == (theirs.topics.shape, theirs.topics.tobytes())
            and ours.alpha.tobytes() == theirs.alpha.tobytes()
            and (ours.supported, ours.spectrum, ours.evidence) == (theirs.supported, theirs.spectrum, theirs.evidence)
            and self.columns.tolist() == other.columns.tolist()
            and (self.statement, self.said) == (other.statement, other.said)
        )


def fitted_in(run: PrivateRun, audited: Audited, counts: Any, groups: Any) -> Fitted:
    """Fit in a run of the audit; keep its warnings (such as too few documents for all topics) from the screen."""
    fit = PrivateFit(audited.settings, FitAccount(None, {}), run)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        columns = None
        if audited.words is not None:
            columns, fit = audited.words.released(fit, counts, groups)
            counts = counts[:, columns]
        with fit.over(as_blocks(counts), groups) as context:
            public: str | None = f"the vocabulary of {context.n_words:,} words"
            if audited.words is not None:
                public = audited.words.vocabulary.public
            columns = np.arange(context.n_words) if columns is None else columns
            model, statement = fit.model(context, public)
    return Fitted(model, statement, columns, fit.settings.knowledge, tuple(str(warning.message) for warning in said))


def fit_afresh(audited: Audited, counts: Any, groups: Any) -> Fitted:
    """A fit with noise of its own that nobody watches."""
    return fitted_in(PrivateRun(audited.settings.budget, **audited.kind()), audited, counts, groups)


def record(audited: Audited, counts: Any, groups: Any) -> tuple[Fitted, RecordingRun]:
    """A real fit, and what entered and left each of its releases."""
    run = RecordingRun(audited.settings.budget, **audited.kind())
    return fitted_in(run, audited, counts, groups), run


def replay(
    audited: Audited, recorded: list[tuple[Entering, Released]], counts: Any, groups: Any
) -> tuple[Fitted, list[Entering]]:
    """The same fit on a neighbour, with every released value held fixed."""
    run = ReplayingRun(audited.settings.budget, recorded, **audited.kind())
    fitted = fitted_in(run, audited, counts, groups)
    if len(run.entering) != len(recorded):
        raise CorpusDependenceError("A neighbouring corpus has fewer releases than the recorded one.")
    return fitted, run.entering


def audited_parameters(model: PrivateSpectralLDA, source: KnowledgeSource | None = None) -> dict[str, Any]:
    """The user's parameters without ledger and screen; only what is proved in Gaussian differential privacy."""
    if not isinstance(model, PrivateSpectralLDA):
        raise InputError(f"audit_privacy takes a PrivateSpectralLDA. Got {type(model).__name__} instead.")
    if settings_of(model, source).fit.adds_up or model.sampler != "fast":
        raise InputError(
            "audit takes calibration='proved', a delta above 0 and sampler='fast': the games are played against "
            "Gaussian differential privacy, which the other settings do not claim."
        )
    parameters: dict[str, Any] = model.get_params(deep=False)
    if not isinstance(parameters["random_state"], int | np.integer | None):
        raise InputError("audit fits many times: the 'random_state' of its model must be None or an int.")
    return parameters | {"ledger": None, "verbose": False}

"""Runs that are watched: one records what enters each release, one replays what came out of it.

Adaptive composition holds every released value fixed while one unit of the corpus is replaced. A `ReplayingRun` does
so in the real fit: it answers each release with the `Released` value of the recorded run and draws nothing. Whatever
the neighbour changes must then be inside the aggregates: queries, shares and the model itself may not move at all.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from private_topics.errors import InputError, PrivacyError, PrivacyWarning
from private_topics.estimators.private import PrivateSpectralLDA
from private_topics.fits.choice import Choice
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.mechanisms import PrivateRun, Query, Released

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
        """Whether everything but the aggregate's entries is the same."""
        same_shape = self.aggregate.shape == other.aggregate.shape
        return same_shape and self.query == other.query and self.share == other.share


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


class ReplayingRun(PrivateRun):
    """A run that answers with recorded values: nothing is drawn, and nothing new comes out."""

    def __init__(self, budget: PrivacyBudget, recorded: list[tuple[Entering, Released]], **kind: Any) -> None:
        super().__init__(budget, **kind)
        self.recorded = recorded
        self.entering: list[Entering] = []

    def release(self, query: Query, aggregate: npt.ArrayLike, share: float, *, consume: bool = False) -> Released:
        entering = Entering(query, np.array(aggregate), share)
        if len(self.entering) == len(self.recorded):
            raise CorpusDependenceError("A neighbouring corpus has more releases than the recorded one.")
        before, released = self.recorded[len(self.entering)]
        if not entering.like(before) or self._event(query, share, entering.aggregate) != released.event:
            raise CorpusDependenceError(f"The query of release {before.query.name!r} depends on the corpus.")
        self.entering.append(entering)
        self.accountant.record(released.event)
        return released


class WatchedLDA(PrivateSpectralLDA):
    """The estimator as the user set it, whose fit happens in a run that the audit provides."""

    open_run: Callable[..., PrivateRun]

    def _run(self, choice: Choice, reserve: Callable[..., None] | None, **kind: Any) -> PrivateRun:
        budget = choice.budget(self.epsilon, self.delta)
        return self.open_run(budget, sampler=self.sampler, noise_seed=self.noise_seed, **kind)

    def left_behind(self) -> dict[str, Any]:
        """All that a reader of the fitted model could see."""
        return {
            "components": self.components_.tobytes(),
            "shape": self.components_.shape,
            "prior": self.doc_topic_prior_.tobytes(),
            "supported": self.supported_components_,
            "spectrum": self.spectrum_,
            "privacy": self.privacy_,
        }


def watched(settings: dict[str, Any], open_run: Callable[..., PrivateRun]) -> WatchedLDA:
    model = WatchedLDA(**settings)
    model.open_run = open_run
    return model


def fit_quietly(model: PrivateSpectralLDA, counts: Any, groups: Any) -> None:
    """A fit whose warnings (too few documents for all topics, say) are not for the reader of an audit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        model.fit(counts, groups=groups)


def record(settings: dict[str, Any], counts: Any, groups: Any) -> tuple[WatchedLDA, RecordingRun]:
    """A real fit, and what entered and left each of its releases."""
    runs: list[RecordingRun] = []

    def open_run(budget: PrivacyBudget, **kind: Any) -> PrivateRun:
        runs.append(RecordingRun(budget, **kind))
        return runs[-1]

    model = watched(settings, open_run)
    fit_quietly(model, counts, groups)
    return model, runs[0]


def replay(
    settings: dict[str, Any], recorded: list[tuple[Entering, Released]], counts: Any, groups: Any
) -> tuple[WatchedLDA, list[Entering]]:
    """The same fit on a neighbour, with every released value held fixed."""
    runs: list[ReplayingRun] = []

    def open_run(budget: PrivacyBudget, **kind: Any) -> PrivateRun:
        runs.append(ReplayingRun(budget, recorded, **kind))
        return runs[-1]

    model = watched(settings, open_run)
    fit_quietly(model, counts, groups)
    if len(runs[0].entering) != len(recorded):
        raise CorpusDependenceError("A neighbouring corpus has fewer releases than the recorded one.")
    return model, runs[0].entering


def audited_settings(model: PrivateSpectralLDA) -> dict[str, Any]:
    """The user's settings without ledger and screen; only what is proved in Gaussian differential privacy."""
    choice = model._check_privacy_parameters()
    if choice.reasons or choice.pure or model.sampler != "fast":
        raise InputError(
            "audit takes calibration='proved', a delta above 0 and sampler='fast': the games are played against "
            "Gaussian differential privacy, which the other settings do not claim."
        )
    settings: dict[str, Any] = model.get_params(deep=False)
    if not isinstance(settings["random_state"], int | np.integer | None):
        raise InputError("audit fits many times: the 'random_state' of its model must be None or an int.")
    return settings | {"ledger": None, "verbose": False}

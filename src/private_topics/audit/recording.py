"""Runs that are watched: one records what enters each release, one replays what came out of it.

Adaptive composition holds every released value fixed while one unit of the corpus is replaced. A `ReplayingRun` does
so in the real fit: it answers each release with the `Released` value of the recorded run and draws nothing. Whatever
the neighbour changes must then be inside the aggregates: queries, shares and the model itself may not move at all.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from private_topics.corpus.counts.blocks import as_blocks
from private_topics.errors import InputError, PrivacyError, PrivacyWarning
from private_topics.estimators.private import PrivateSpectralLDA, settings_of
from private_topics.fits.fit import PrivateModel
from private_topics.fits.private import FitSettings, PrivateFit
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.ledger.in_memory import FitAccount
from private_topics.privacy.mechanisms import PrivateRun, Query, Released
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


@dataclass(frozen=True)
class Fitted:
    """What a fit left behind: all that a reader of the model could see."""

    model: PrivateModel
    statement: PrivacyStatement

    def like(self, other: Fitted) -> bool:
        """Whether a reader could tell the two apart."""
        ours, theirs = self.model, other.model
        return (
            (ours.topics.shape, ours.topics.tobytes()) == (theirs.topics.shape, theirs.topics.tobytes())
            and ours.alpha.tobytes() == theirs.alpha.tobytes()
            and (ours.supported, ours.spectrum) == (theirs.supported, theirs.spectrum)
            and self.statement == other.statement
        )


def fit_quietly(model: PrivateSpectralLDA, counts: Any, groups: Any) -> None:
    """A fit whose warnings (such as too few documents for all topics) are not for the reader of an audit."""
    with _no_warnings():
        model.fit(counts, groups=groups)


def _no_warnings() -> warnings.catch_warnings[None]:
    return warnings.catch_warnings(action="ignore", category=PrivacyWarning)


def fitted_in(run: PrivateRun, settings: FitSettings, counts: Any, groups: Any) -> Fitted:
    """A fit in a run of the audit."""
    fit = PrivateFit(settings, FitAccount(None, {}), run)
    with _no_warnings(), fit.over(as_blocks(counts), groups) as context:
        return Fitted(*fit.model(context, f"the vocabulary of {context.n_words:,} words"))


def _noise_of(settings: FitSettings) -> dict[str, Any]:
    noise = {"sampler": settings.sampler, "noise_seed": settings.noise_seed}
    return noise | {"neighbours": settings.neighbours}


def record(settings: FitSettings, counts: Any, groups: Any) -> tuple[Fitted, RecordingRun]:
    """A real fit, and what entered and left each of its releases."""
    run = RecordingRun(settings.budget, **_noise_of(settings))
    return fitted_in(run, settings, counts, groups), run


def replay(
    settings: FitSettings, recorded: list[tuple[Entering, Released]], counts: Any, groups: Any
) -> tuple[Fitted, list[Entering]]:
    """The same fit on a neighbour, with every released value held fixed."""
    run = ReplayingRun(settings.budget, recorded, **_noise_of(settings))
    fitted = fitted_in(run, settings, counts, groups)
    if len(run.entering) != len(recorded):
        raise CorpusDependenceError("A neighbouring corpus has fewer releases than the recorded one.")
    return fitted, run.entering


def audited_parameters(model: PrivateSpectralLDA) -> dict[str, Any]:
    """The user's parameters without ledger and screen; only what is proved in Gaussian differential privacy."""
    if settings_of(model).fit.adds_up or model.sampler != "fast":
        raise InputError(
            "audit takes calibration='proved', a delta above 0 and sampler='fast': the games are played against "
            "Gaussian differential privacy, which the other settings do not claim."
        )
    parameters: dict[str, Any] = model.get_params(deep=False)
    if not isinstance(parameters["random_state"], int | np.integer | None):
        raise InputError("audit fits many times: the 'random_state' of its model must be None or an int.")
    return parameters | {"ledger": None, "verbose": False}

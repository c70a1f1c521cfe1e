"""PrivateRun: it alone draws noise. It checks a query, charges it, and only then draws.

A `PrivateRun` owns a budget, an accountant and a noise stream; `PrivateRun.release` turns an exact integer
aggregate into a `Released` value, and nothing else can make one. `PrivateRun.release_sums` is where the sums of an
engine meet it: no fit sees them. Symmetric arrays get isometric noise: one Gaussian of variance sigma^2 in every
direction of the space of symmetric arrays with the Frobenius norm.
Queries whose sensitivity is in the L1 norm get Laplace noise (`simple_composition.SimpleRun` only).
`PrivateRun.release_words` names the words whose noisy weight reaches a threshold (docs/proofs/vocabulary.md).
Proofs: docs/proofs/lattice.md for one release, docs/proofs/composition.md for the run.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

import numpy as np
import numpy.typing as npt

from private_topics.errors import PrivacyError
from private_topics.privacy.accountant import Accountant
from private_topics.privacy.adding import add_noise, in_real_units, with_noise
from private_topics.privacy.budget import PrivacyBudget, sigma_for
from private_topics.privacy.curves import mu_of_budget, rho_of_budget
from private_topics.privacy.events import (
    DiscreteGaussianEvent,
    DiscreteThresholdEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
)
from private_topics.privacy.neighbours import NEIGHBOURS, REPLACE, Neighbours
from private_topics.privacy.queries import KINDS, Integers, Kind, Query
from private_topics.privacy.queries import checked_aggregate as _checked
from private_topics.privacy.queries import independent_coordinates as _coordinates
from private_topics.privacy.randomness import (
    LARGEST_RATIO,
    NoiseStream,
    discrete_gaussian,
    discrete_laplace,
    require_opendp,
)
from private_topics.privacy.set_union import RADIUS, SENSITIVITY, threshold_steps
from private_topics.privacy.symmetric import Draw, symmetric_std

__all__ = ["KINDS", "Asked", "Kind", "PrivateRun", "Query", "Released", "ReleasedWords"]

NoiseEvent = GaussianEvent | LaplaceEvent

# mu_total stays this far below what the budget allows, so that shares which sum to one up to rounding fit.
HEADROOM = 1e-9
_RELEASE_TOKEN = object()


@dataclass(frozen=True, eq=False)
class Released:
    """A noisy value that may be published. Only `PrivateRun.release` makes one."""

    value: npt.NDArray[np.float64]
    query: Query
    event: NoiseEvent
    token: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.token is not _RELEASE_TOKEN:
            raise PrivacyError("A Released value comes only from PrivateRun.release, which charges for it.")
        object.__setattr__(self, "token", None)
        self.value.flags.writeable = False

    @property
    def name(self) -> str:
        return self.event.name

    @property
    def sigma(self) -> float:
        """The noise's standard deviation in every isometric coordinate."""
        return self.event.sigma

    def std(self) -> npt.NDArray[np.float64]:
        """The noise's standard deviation entry by entry (an array as large as the value)."""
        if self.query.kind in ("symmetric_matrix", "symmetric_tensor"):
            return symmetric_std(self.value.shape, self.sigma)
        return np.full(self.value.shape, self.sigma)


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleasedWords(Released):
    """Words that may be published, sorted; the value holds their noisy weights, none below the threshold."""

    words: tuple[str, ...]
    threshold: float


@dataclass(frozen=True)
class Asked:
    """A query and the share of the budget that it may spend."""

    query: Query
    share: float

    @property
    def step(self) -> float:
        return self.query.step


class Source(Protocol):
    """Where the documents are: an engine, which adds up what one pass over them should give."""

    def total(self, unit_sum: Any) -> tuple[Integers, ...]: ...


class PrivateRun:
    """One computation under one budget: calibrates, charges, draws.

    ``sampler`` is "fast" (rounded Gaussian, accounted in GDP) or "exact" (OpenDP's discrete Gaussian,
    accounted in zCDP, slow). A ``noise_seed`` makes the run reproducible and therefore not private.
    ``reserve`` is called once with the budget before the first draw (with ``exact=True`` for that sampler);
    when it raises, nothing has been charged or drawn. ``threshold_delta`` is the part of delta set aside for
    the thresholds of `release_words`. ``neighbours`` says which corpora the guarantee compares: the sensitivity of
    every query of the run must be for them.
    """

    neighbours: Neighbours = REPLACE

    def __init__(
        self,
        budget: PrivacyBudget,
        *,
        sampler: str = "fast",
        noise_seed: int | None = None,
        reserve: Callable[..., None] | None = None,
        threshold_delta: float = 0.0,
        neighbours: Neighbours = REPLACE,
    ) -> None:
        if neighbours not in NEIGHBOURS:
            raise PrivacyError(f"The 'neighbours' of a run must be one of {NEIGHBOURS}. Got {neighbours!r} instead.")
        if not isinstance(sampler, str) or sampler not in ("fast", "exact"):
            raise PrivacyError(
                f"The 'sampler' parameter of PrivateRun must be 'fast' or 'exact'. Got {sampler!r} instead."
            )
        if sampler == "exact" and noise_seed is not None:
            raise PrivacyError("The exact sampler takes no 'noise_seed'. Use sampler='fast' for reproducible tests.")
        if sampler == "exact":
            require_opendp()
        self.budget = budget
        self.sampler = sampler
        self.neighbours = neighbours
        self._stream = NoiseStream() if noise_seed is None else NoiseStream.seeded(noise_seed)
        self._reserve = reserve
        self._lock = threading.Lock()
        self._process = os.getpid()
        self.threshold_delta = threshold_delta
        self.accountant = Accountant()
        self._calibrate()

    @property
    def private(self) -> bool:
        """False when the noise was drawn from a known seed."""
        return self._stream.secure

    @property
    def released_events(self) -> tuple[NoiseEvent, ...]:
        """What was charged so far, in order."""
        return tuple(event for event in self.accountant.events if isinstance(event, GaussianEvent | LaplaceEvent))

    @property
    def accounting(self) -> str:
        """How the releases are added up, in words."""
        return f"{'Gaussian' if self.sampler == 'fast' else 'zero-concentrated'} differential privacy"

    @property
    def epsilon_spent(self) -> float:
        """What was charged so far costs this epsilon at the budget's delta."""
        return float(self.accountant.epsilon(self.budget.delta))

    @property
    def shares_spent(self) -> tuple[float, ...]:
        """The fraction of the budget of each release so far."""
        return tuple((event.sensitivity / event.sigma / self.mu_total) ** 2 for event in self.released_events)

    def sigma(self, query: Query, share: float) -> float:
        """The noise with which the query spends the fraction ``share`` of the budget (of mu^2, or of rho)."""
        return sigma_for(share, query.sensitivity, self.mu_total)

    def laplace_scale(self, query: Query, _share: float) -> float:
        """The Laplace noise with which the query spends the fraction ``share`` of the budget."""
        raise PrivacyError(f"Query {query.name!r} asks for Laplace noise, which this run does not add up.")

    def release(self, query: Query, aggregate: npt.ArrayLike, share: float, *, consume: bool = False) -> Released:
        """The aggregate (int64, in lattice steps) plus noise, in real units, charged ``share`` of the budget.

        Order: check everything, reserve, record, draw. With ``consume`` the aggregate's buffer is
        overwritten and becomes the value, which saves its size in memory.
        """
        self._require_own_process()
        value, event = self._noisy(query, self._integers(query, aggregate, consume), share, consume)
        return Released(value, query, event, _RELEASE_TOKEN)

    def _integers(self, query: Query, aggregate: Any, consume: bool) -> Any:
        """The aggregate as the run adds noise to it, checked."""
        return _checked(query, aggregate, consume)

    def _noisy(
        self, query: Query, integers: Integers, share: float, consume: bool
    ) -> tuple[npt.NDArray[np.float64], NoiseEvent]:
        event = self._event(query, share, integers)
        with self._lock:
            self._charge(event, share)
            noisy = with_noise(query, integers, _width(event), self._draw(event), consume)
        return in_real_units(query, noisy), event

    def release_sums(
        self,
        source: Source,
        unit_sum: Any,
        asked: Sequence[Asked],
        aggregates: Callable[[tuple[Integers, ...]], Sequence[Integers]],
    ) -> tuple[Released, ...]:
        """The sums of one pass over the corpus, each with its noise. Only here do sums and noise meet."""
        self._require_own_process()
        exact = [_own(aggregate) for aggregate in aggregates(source.total(unit_sum))]
        return tuple(
            self.release(one.query, aggregate, one.share, consume=True)
            for one, aggregate in zip(asked, exact, strict=True)
        )

    def release_words(
        self, query: Query, weights: Mapping[str, int], share: float, *, threshold_delta: float, most_words: int
    ) -> ReleasedWords:
        """The words whose weight plus noise reaches the threshold; nothing is said about the others or their number.

        A unit adds `set_union.word_weight` to each of at most ``most_words`` words. Order as in `release`. Words
        are noised in sorted order, so that nothing depends on the order of the units.
        """
        self._require_own_process()
        event = self._threshold_event(query, share, threshold_delta, most_words)
        ratio = event.sigma / query.step * (1 + 2.0**-50)
        limit = threshold_steps(most_words, query.step, ratio, threshold_delta)
        names = sorted(weights)
        totals = np.fromiter((weights[name] for name in names), np.int64, len(names))
        if names:
            _checked(query, totals, True)
        with self._lock:
            self._require_set_aside(event)
            self._charge(event, share)
            add_noise(totals, ratio, self._draw(event))
        kept = np.flatnonzero(totals >= limit)
        words = tuple(names[index] for index in kept)
        value, threshold = totals[kept].astype(np.float64) * query.step, limit * query.step
        return ReleasedWords(value, query, event, _RELEASE_TOKEN, words=words, threshold=threshold)

    def _threshold_event(self, query: Query, share: float, threshold_delta: float, most_words: int) -> ThresholdEvent:
        least = SENSITIVITY if self.neighbours == REPLACE else RADIUS
        if query.norm != "l2" or query.kind != "vector" or query.sensitivity < least:
            named = "√2" if least > 1.0 else "1"
            raise PrivacyError(f"Query {query.name!r} must be a vector of L2 sensitivity {named} to release words.")
        kind = ThresholdEvent if self.sampler == "fast" else DiscreteThresholdEvent
        event = kind(
            name=query.name,
            sensitivity=query.sensitivity,
            sigma=self.sigma(query, share),
            coordinates=most_words,
            proof=query.proof,
            threshold_delta=threshold_delta,
        )
        require_coarse(query, event)
        return event

    def _require_set_aside(self, event: ThresholdEvent) -> None:
        """Refuse thresholds beyond what the run sets aside: only that much was reserved."""
        events = (*self.accountant.events, event)
        if math.fsum(e.threshold_delta for e in events if isinstance(e, ThresholdEvent)) > self.threshold_delta:
            raise PrivacyError(
                f"The 'threshold_delta' of query {event.name!r} must be within what the run sets aside: make it with "
                "PrivateRun(..., threshold_delta=...)."
            )

    def _calibrate(self) -> None:
        """Turn the budget into the mu (or the root of 2 rho) that the releases share."""
        if not 0.0 <= self.threshold_delta < min(self.budget.delta, self.budget.epsilon / 2):
            raise PrivacyError("The 'threshold_delta' of a run must be at least 0, and below its delta and epsilon.")
        epsilon = self.budget.epsilon + math.log1p(-self.threshold_delta)
        usable = self.budget.delta - self.threshold_delta
        if self.sampler == "fast":
            limit = mu_of_budget(epsilon, usable)
        else:
            limit = math.sqrt(2 * rho_of_budget(epsilon, usable))
        self.mu_total = limit * (1 - HEADROOM)

    def _charge(self, event: NoiseEvent, share: float) -> None:
        """Refuse, or reserve and record: whatever is drawn for this event is drawn afterwards."""
        self._afford(event, share)
        if self._reserve is not None:
            self._ask(self._reserve)
            self._reserve = None
        self.accountant.record(event)

    def _ask(self, reserve: Callable[..., None]) -> None:
        """Reserve the whole budget of the run, as the kind of guarantee that it has."""
        kind: dict[str, Any] = {"exact": True} if self.sampler == "exact" else {}
        reserve(self.budget, **kind, **({"threshold_delta": self.threshold_delta} if self.threshold_delta else {}))

    def _draw(self, event: NoiseEvent) -> Draw:
        if isinstance(event, LaplaceEvent):
            return self._stream.rounded_laplace if self.sampler == "fast" else discrete_laplace
        return self._stream.rounded_gaussian if self.sampler == "fast" else discrete_gaussian

    def _event(self, query: Query, share: float, integers: Integers) -> NoiseEvent:
        """The release as it will be recorded."""
        fields: dict[str, Any] = {"name": query.name, "sensitivity": query.sensitivity, "proof": query.proof}
        fields["coordinates"] = _coordinates(query.kind, integers.shape)
        event: NoiseEvent
        if query.norm == "l1":
            event = LaplaceEvent(**fields, scale=self.laplace_scale(query, share))
        else:
            kind = GaussianEvent if self.sampler == "fast" else DiscreteGaussianEvent
            event = kind(**fields, sigma=self.sigma(query, share))
        require_coarse(query, event)
        return event

    def _afford(self, event: NoiseEvent, _share: float) -> None:
        """Refuse a release beyond the budget."""
        after = Accountant((*self.accountant.events, event))
        if after.delta(self.budget.epsilon) > self.budget.delta:
            raise PrivacyError(
                f"Release {event.name!r} would exceed the privacy budget of this run. "
                "Give it a smaller share: the shares of a run must sum to at most 1."
            )

    def _require_own_process(self) -> None:
        if os.getpid() != self._process:  # a forked copy: its charges would go unnoticed
            raise PrivacyError("A PrivateRun works only in the process that made it. Release there.")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise PrivacyError("A PrivateRun cannot be copied or pickled: each copy would spend the same budget.")


def _own(aggregate: Any) -> Any:
    """An array with memory of its own: a released part of a larger array would carry the rest of it, un-noised."""
    return aggregate.copy() if isinstance(aggregate, np.ndarray) and aggregate.base is not None else aggregate


def require_coarse(query: Query, event: NoiseEvent) -> None:
    if _width(event) / query.step > LARGEST_RATIO / 2:
        raise PrivacyError(f"The step of query {query.name!r} is too fine for its noise. Use lattice.step_for.")


def _width(event: NoiseEvent) -> float:
    """The parameter of the noise: sigma of a Gaussian, the scale of a Laplace variable."""
    return event.scale if isinstance(event, LaplaceEvent) else event.sigma

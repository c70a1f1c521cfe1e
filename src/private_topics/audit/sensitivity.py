"""How far neighbours move what enters each release, compared with the sensitivity declared for it.

Aggregates are integers, so where a distance comes close to the sensitivity the two are compared in rational
arithmetic: there is no tolerance. Any two members of a family differ in one unit alone, so every pair is tried; where
neighbours are emptied or removed units, every pair of which one member is that.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from private_topics.audit.recording import Entering, Integers, aligned
from private_topics.privacy.events import GaussianEvent
from private_topics.privacy.mechanisms import Query

CLOSE = 1e-6


@dataclass(frozen=True, eq=False)
class Farthest:
    """The two neighbours that move a release most, how far over its sensitivity, and whether all stay within."""

    event: GaussianEvent
    entering: Entering
    difference: Integers
    pair: tuple[str, str]
    ratio: float
    within: bool

    @property
    def name(self) -> str:
        return self.event.name


@dataclass(frozen=True, eq=False)
class Family:
    """What enters the releases of a fit for each of several neighbours, earlier released values held fixed."""

    events: tuple[GaussianEvent, ...]
    members: dict[str, list[Entering]]
    centre: str | None = None
    """The member that every pair of neighbours has; None where any two are neighbours."""

    @classmethod
    def of(
        cls, events: tuple[GaussianEvent, ...], members: dict[str, list[Entering]], centre: str | None = None
    ) -> Family:
        """Words that occur in one member only have the weight zero in the others."""
        releases = [aligned(one) for one in zip(*members.values(), strict=True)]
        return cls(events, {name: [one[index] for one in releases] for index, name in enumerate(members)}, centre)

    def squared_distances(self, release: int) -> np.ndarray:
        """Distances in units of the declared sensitivity, for each pair of members."""
        entering = [member[release] for member in self.members.values()]
        first = entering[0].aggregate
        moved = np.array([(one.aggregate - first).ravel() for one in entering], dtype=np.float64)
        moved *= entering[0].query.step / entering[0].query.sensitivity
        gram = moved @ moved.T
        square = np.diag(gram)
        distances = np.maximum(square[:, None] + square[None, :] - 2.0 * gram, 0.0)
        return np.asarray(distances * self._are_neighbours)

    @property
    def _are_neighbours(self) -> np.ndarray:
        is_centre = np.array([self.centre in (None, name) for name in self.members])
        return is_centre[:, None] | is_centre[None, :]

    def farthest(self, release: int) -> Farthest:
        squares = self.squared_distances(release)
        first, second = np.unravel_index(int(np.argmax(squares)), squares.shape)
        within = not any(
            self._exceeds(release, int(i), int(j)) for i, j in np.argwhere(np.triu(squares, 1) > 1.0 - CLOSE)
        )
        return self._farthest(release, int(first), int(second), within)

    def farthest_together(self) -> list[Farthest]:
        """For all releases the same two neighbours: those that all releases together tell apart best."""
        total = sum(event.mu**2 * self.squared_distances(index) for index, event in enumerate(self.events))
        first, second = np.unravel_index(int(np.argmax(total)), np.shape(total))
        return [self._farthest(index, int(first), int(second), True) for index in range(len(self.events))]

    def _farthest(self, release: int, first: int, second: int, within: bool) -> Farthest:
        names = list(self.members)
        one, other = (self.members[names[index]][release] for index in (first, second))
        difference = other.aggregate - one.aggregate
        ratio = distance(one.query, difference) / one.query.sensitivity
        return Farthest(self.events[release], one, difference, (names[first], names[second]), ratio, within)

    def _exceeds(self, release: int, first: int, second: int) -> bool:
        members = list(self.members.values())
        return exceeds(members[first][release], members[second][release])


def distance(query: Query, difference: Integers) -> float:
    """In real units; the Frobenius norm is isometric for symmetric arrays."""
    return float(np.linalg.norm(difference.astype(np.float64).ravel())) * query.step


def exceeds(one: Entering, other: Entering, units: int = 1) -> bool:
    """Whether two aggregates are further apart than `units` replaced units may move them, exactly."""
    difference = other.aggregate - one.aggregate
    query = one.query
    ratio = distance(query, difference) / (units * query.sensitivity)
    if abs(ratio - 1.0) > CLOSE:
        return ratio > 1.0
    squares = sum(int(entry) ** 2 for entry in difference.ravel() if entry)
    return squares * Fraction(query.step) ** 2 > (units * Fraction(query.sensitivity)) ** 2


def copies_for(mu: float, target: float, most: int) -> int:
    """How many equal units make a game against a mu-GDP release as easy as `target`; from 1 to `most`."""
    return max(1, min(most, round(target / mu)))

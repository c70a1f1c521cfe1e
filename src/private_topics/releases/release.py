"""A release: one value that leaves a private fit with noise on it, described once.

A fit is an ordered list of releases. The check of a budget split, the small shares, what an early stop leaves
unspent, the noisy edges of the graph, the stages of a report, what an audit must attack, the tests of all releases
and the table of proofs read these descriptions; none of them knows a release by name.

A fit asks for one by `FitContext.release`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from private_topics.engines.protocol import Corpus
from private_topics.errors import PrivacyError
from private_topics.privacy.budget import sigma_for
from private_topics.privacy.lattice import coarse_enough, step_for, widened
from private_topics.privacy.mechanisms import Asked, PrivateRun, Released
from private_topics.privacy.neighbours import REPLACE, Neighbours, gain
from private_topics.privacy.queries import Kind, Query
from private_topics.privacy.shares import SharedRun
from private_topics.progress import SILENT, Progress
from private_topics.sums.evidence import Learnt
from private_topics.sums.fine import in_fine_steps
from private_topics.sums.unit_sums import Totals, UnitSum

if TYPE_CHECKING:
    from private_topics.knowledge.public import PublicKnowledge

NON_NEGATIVE = 2.0**0.5
"""How far apart two non-negative arrays of norm at most one can be; signed ones can be 2 apart."""


@dataclass(frozen=True)
class Release:
    """What is known about a release before the corpus is.

    name : in the statement; a release that is made several times is numbered there.
    stage : what it is for, as a report words it.
    edge : the edge of the graph that its noise is on; None for one that the graph does not show.
    kind : the kind of array.
    proof : the page under docs/proofs that bounds its sensitivity.
    sensitivity : of the sum to a replaced unit, where a unit's contribution has norm at most one; None where released
        values set it.
    share : the fraction of the budget split that pays for it, divided among all releases of the list that name it;
        None where it is paid from what others leave.
    unit_sum : what a unit contributes, as an engine adds it up; None where the fit does the adding itself.
    repeated : whether it is made once for each refinement step or minibatch.
    norm : the norm of the sensitivity, "l1" for Laplace noise.
    in_place_of : the name of the release whose fraction it takes, where released values choose between the two.
    radius : of the sum to a unit that is emptied, added or removed, likewise; None where its page does not prove one.
    """

    name: str
    stage: str
    edge: str | None
    kind: Kind
    proof: str
    sensitivity: float | None
    share: str | None
    unit_sum: type[UnitSum] | None = None
    repeated: bool = False
    norm: Literal["l2", "l1"] = "l2"
    in_place_of: str | None = None
    radius: float | None = None

    def sensitivity_to(self, neighbours: Neighbours) -> float:
        """How far neighbours are apart, where a unit's contribution has norm at most one."""
        found = self.sensitivity if neighbours == REPLACE else self.radius
        if found is None:
            raise PrivacyError(f"Release {self.name!r} has no proved sensitivity for neighbours={neighbours!r}.")
        return found

    def numbered(self, number: int) -> Release:
        """The same release, made for the `number`-th time."""
        return replace(self, name=f"{self.name} {number}")

    def made(self, name: str) -> bool:
        """Whether a statement's line of this name is this release."""
        return name == self.name or (self.repeated and name.rstrip("0123456789") == f"{self.name} ")


Derived = Callable[[Totals], Sequence[np.ndarray]]


@dataclass(frozen=True)
class FitContext:
    """One private fit under way. All but the documents behind `corpus` is public or released."""

    run: PrivateRun
    corpus: Corpus
    releases: tuple[Release, ...]
    split: Mapping[str, float]
    n_topics: int
    alpha0: float = 1.0
    refine_steps: int = 0
    random_state: np.random.RandomState = field(default_factory=lambda: np.random.RandomState(0))
    progress: Progress = SILENT
    knowledge: PublicKnowledge | None = None
    most_units: int | None = None
    """What the number of units does not exceed, where that number is not public."""
    own_split: bool = False
    """Whether the user chose the split."""
    learns: bool = False
    """True where sums leave out the words that will test the topics."""

    @property
    def n_units(self) -> int:
        """Public, or released."""
        return self.corpus.n_units

    @property
    def unit_bound(self) -> int:
        """A public number that the units do not exceed: integers and rounding errors must allow for as many."""
        return self.n_units if self.most_units is None else self.most_units

    @property
    def mu(self) -> float:
        """The mu at which replaced units would have the same noise: choices by public numbers look at it."""
        return self.run.mu_total * gain(self.run.neighbours)

    @property
    def n_words(self) -> int:
        return self.corpus.n_words

    def release(
        self, asked: Sequence[Asked], unit_sum: UnitSum, derived: Derived | None = None
    ) -> tuple[Released, ...]:
        """What one pass over the corpus adds up, with noise, one value for each that is asked for.

        `derived` computes the values from the exact sums; by default the sum object does.
        """
        derived = derived or unit_sum.aggregates
        if isinstance(self.run, SharedRun):  # what it is made of must add up
            derived = in_fine_steps(derived)
        return self.run.release_sums(self.corpus, Learnt(unit_sum) if self.learns else unit_sum, asked, derived)

    def share(self, release: Release) -> float:
        """The part of the budget of a release: its fraction, divided among those that name the same one."""
        share = self._listed(release).share
        assert share is not None
        return self._fraction(share)

    def unspent(self) -> float:
        """The part of the budget that belongs to releases of the list not made yet."""
        made = [event.name for event in self.run.released_events]
        taken = {release.in_place_of or release.name for release in self.releases if any(map(release.made, made))}
        left = [release for release in self.releases if (release.in_place_of or release.name) not in taken]
        named = {release.share for release in self.releases if release.share is not None}
        return math.fsum(self._sharing(name, left) * self._fraction(name) for name in named)

    def _fraction(self, name: str) -> float:
        """Of one of the releases that divide the fraction of this name."""
        return self.split[name] / self._sharing(name, self.releases)

    def _sharing(self, name: str, releases: Sequence[Release]) -> int:
        return sum(release.share == name and release.in_place_of is None for release in releases)

    def _listed(self, release: Release) -> Release:
        """Refuse a release that the list of the fit does not have: nothing that reads the list would know of it."""
        if not any(listed.made(release.name) for listed in self.releases):
            raise PrivacyError(f"Release {release.name!r} is not in the list of the fit.")
        return release

    def noise(self, release: Release, share: float | None = None) -> float:
        """Its noise where the norm of a unit's contribution is at most one."""
        share = self.share(release) if share is None else share
        return sigma_for(share, self.sensitivity(release), self.run.mu_total)

    def sensitivity(self, release: Release) -> float:
        """To what the run calls neighbours, where the norm of a unit's contribution is at most one."""
        return release.sensitivity_to(self.run.neighbours)

    def ask(self, release: Release, share: float | None = None, *, clip: float = 1.0) -> Asked:
        """A release on the lattice that suits its noise; `clip` bounds the norm of one unit's contribution."""
        share = self.share(release) if share is None else share
        sensitivity = float(self.sensitivity(release) * clip)
        draft = Query(self._listed(release).name, release.kind, sensitivity, 1.0, release.proof)
        step = step_for(self.run.sigma(draft, share), self.n_units, self.unit_bound * clip)
        return Asked(replace(draft, step=step), share)

    def ask_assembled(
        self, release: Release, share: float | None = None, *, clip: float, error: float, entries: int
    ) -> Asked:
        """A release put together in float64 from exact sums: its sensitivity carries `error` and the rounding."""
        sensitivity = self.sensitivity(release) * clip
        largest = 2.0 * self.unit_bound * clip
        share = self.share(release) if share is None else share
        return self._ask(release, share, sensitivity, sensitivity, error=error, largest=largest, entries=entries)

    def ask_certified(
        self, release: Release, sensitivity: float, *, margin: float, error: float, largest: float, entries: int
    ) -> Asked:
        """Numbers of at most `largest`, whose sensitivity, but for a `margin`, and numerical error are certified."""
        wide, share = sensitivity * margin, self.share(release)
        return self._ask(release, share, sensitivity, wide, error=error, largest=largest, entries=entries)

    def _ask(
        self,
        release: Release,
        share: float,
        sensitivity: float,
        wide: float,
        *,
        error: float,
        largest: float,
        entries: int,
    ) -> Asked:
        step = step_for(sensitivity / self.run.mu_total, self.n_units, largest)
        step = max(step, coarse_enough(sigma_for(share, wide, self.run.mu_total)))
        wide = widened(wide, float_error=error, step=step, entries=entries)
        return Asked(Query(self._listed(release).name, release.kind, wide, step, release.proof), share)

"""A release: one value that leaves a private fit with noise on it, described once.

A fit is an ordered list of releases. The check of a budget split, the small shares, what an early stop leaves
unspent, the noisy edges of the graph, the stages of a report, what an audit must attack, the tests of all releases
and the table of proofs read these descriptions; none of them knows a release by name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from private_topics.privacy.queries import Kind
from private_topics.sums.unit_sums import UnitSum

NON_NEGATIVE = 2.0**0.5
"""How far apart two non-negative arrays of norm at most one can be; signed ones can be 2 apart."""


@dataclass(frozen=True)
class Release:
    """What is known of a release before any corpus is.

    name : in the statement; a release that is made several times is numbered there.
    stage : what it is for, in the words of a report.
    edge : of the graph, on which it puts its noise; None for one that the graph does not show.
    kind : of the array.
    proof : the page under docs/proofs that bounds its sensitivity.
    sensitivity : of the sum, where a unit's contribution has norm at most one; None where released values set it.
    share : the fraction of the budget split that pays for it, divided among all releases of the list that name it;
        None where it is paid from what others leave.
    unit_sum : what a unit contributes, as an engine adds it up; None where the fit adds up itself.
    repeated : made once for each refinement step or minibatch.
    norm : of the sensitivity, "l1" where the noise is Laplace noise.
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

    def numbered(self, number: int) -> Release:
        """The same release, made for the `number`-th time."""
        return replace(self, name=f"{self.name} {number}")

    def made(self, name: str) -> bool:
        """Whether a statement's line of this name is this release."""
        return name == self.name or (self.repeated and name.rstrip("0123456789") == f"{self.name} ")

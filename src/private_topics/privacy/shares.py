"""A run at one of several sites: it draws its share of the noise, and what is released is the sum over all sites.

Nobody holds the un-noised sum. Each site adds discrete Gaussian noise to its own integers and hands them to an
`Exchange`, which returns the sum over the sites that took part and shows no part of it to anybody. The shares are so
wide that those of the honest sites alone are the noise that is charged; the others may be known to the adversary.
A round that was abandoned may still be completed by a late message, so its repeat draws fresh noise and is charged
again, from a part of the budget that every site sets aside at the beginning. Proof: docs/proofs/sites.md.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from private_topics.errors import PrivacyError
from private_topics.privacy.addends import Addend, Fine, Whole, joined
from private_topics.privacy.adding import in_real_units
from private_topics.privacy.budget import PrivacyBudget, sigma_for
from private_topics.privacy.curves import rho_of_budget
from private_topics.privacy.events import SharedGaussianEvent
from private_topics.privacy.mechanisms import HEADROOM, NoiseEvent, PrivateRun, ReleasedWords, require_coarse
from private_topics.privacy.neighbours import REPLACE, Neighbours
from private_topics.privacy.queries import Integers, Query
from private_topics.privacy.queries import independent_coordinates as _coordinates

SET_ASIDE = 0.08
"""The part of the budget for rounds that must be repeated: it makes all noise 4.3 % wider."""
NARROWEST = 4.0
"""Lattice steps: a narrower share is refused, since sums of such shares are not close to a discrete Gaussian."""
_MOST_PERMUTATIONS = {"symmetric_matrix": 2, "symmetric_tensor": 6}

Exchange = Callable[[Callable[[], bytes], int, Callable[[int], Integers]], Integers]
"""Called with what the sites of the next round must agree on, how many integers are added up, and a function that
gives this site's own integers, noise included, for a round of so many sites. Returns the sum over the sites of the
round that was completed, the last one for which it called the function."""


@dataclass(frozen=True)
class NoiseShares:
    """How many sites there are, and how many of them are honest: the others may work for the coordinator."""

    sites: int
    honest: int

    def __post_init__(self) -> None:
        if not 1 <= self.honest <= self.sites:
            raise PrivacyError(
                f"The 'honest' parameter of NoiseShares must be from 1 to the number of sites. Got {self.honest!r}."
            )

    @property
    def colluding(self) -> int:
        """So many sites may show the coordinator all they know."""
        return self.sites - self.honest

    @property
    def fewest(self) -> int:
        """With fewer sites no round is made: as many as are honest, and one more than may be colluding."""
        return max(self.honest, self.colluding + 1)

    def mu(self, charged: float) -> float:
        """Sensitivity over the noise of all shares, where that over the noise of the honest ones is charged."""
        return charged * math.sqrt(self.honest / self.sites)

    def counting(self, taking_part: int) -> int:
        """Of the shares of a round, how many are honest for certain."""
        if not self.fewest <= taking_part <= self.sites:
            raise PrivacyError(f"A round needs {self.fewest} to {self.sites} sites. Got {taking_part} instead.")
        return taking_part - self.colluding


def mu_of_sites(epsilon: float, delta: float, shares: NoiseShares) -> float:
    """For a forecast: sensitivity over noise of a run over these sites, as `mu_of_budget` is for one alone."""
    return shares.mu(math.sqrt(2 * rho_of_budget(epsilon, delta) * (1.0 - SET_ASIDE)))


def mu_of_shares(releases: Iterable[Any]) -> float | None:
    """That of a run over sites, from the lines of its statement: where sites had left, of its noisiest release.

    None where noise was not drawn in shares.
    """
    shared = [line for line in releases if line.kind == SharedGaussianEvent.__name__]
    found = [line.sensitivity / line.sigma / math.sqrt(line.share) for line in shared]
    return min(found) * math.sqrt(1.0 - SET_ASIDE) if found else None


class SharedRun(PrivateRun):
    """A `PrivateRun` whose values are sums over sites. ``sigma`` is the noise of such a sum while all take part."""

    def __init__(
        self,
        budget: PrivacyBudget,
        *,
        shares: NoiseShares,
        exchange: Exchange,
        sampler: str = "exact",
        noise_seed: int | None = None,
        reserve: Callable[..., None] | None = None,
        threshold_delta: float = 0.0,
        neighbours: Neighbours = REPLACE,
    ) -> None:
        if sampler != ("exact" if noise_seed is None else "fast") or threshold_delta:
            raise PrivacyError(
                "Noise in shares is discrete Gaussian noise on a public vocabulary: use sampler='exact', or a "
                "'noise_seed' with sampler='fast' for tests."
            )
        self._shares, self._exchange = shares, exchange
        self._aside = SET_ASIDE / (1.0 - SET_ASIDE)
        super().__init__(budget, sampler=sampler, noise_seed=noise_seed, reserve=reserve, neighbours=neighbours)

    @property
    def accounting(self) -> str:
        honest, sites = self._shares.honest, self._shares.sites
        for event in self.released_events:
            if isinstance(event, SharedGaussianEvent):
                honest, sites = min((honest, sites), (event.honest, event.shares))
        counted = f"counting the noise of {honest} of {sites} sites"
        return f"zero-concentrated differential privacy against whoever cannot break the masks, {counted}"

    @property
    def shares_spent(self) -> tuple[float, ...]:
        return tuple(
            (event.mu / self._priced) ** 2 for event in self.released_events if isinstance(event, SharedGaussianEvent)
        )

    def release_words(self, *_: Any, **__: Any) -> ReleasedWords:
        raise PrivacyError("Sites agree on a public vocabulary: words cannot be added up under masks.")

    def _calibrate(self) -> None:
        self._priced = math.sqrt(2 * rho_of_budget(self.budget.epsilon, self.budget.delta)) * (1 - HEADROOM)
        self._for_releases = self._priced * math.sqrt(1.0 - SET_ASIDE)
        self.mu_total = self._shares.mu(self._for_releases)

    def _integers(self, query: Query, aggregate: Any, consume: bool) -> Addend:
        """Of whole steps, or of a tuple in fine steps: what `Fine` is made of."""
        if isinstance(aggregate, tuple):
            return Fine(query, *aggregate)
        return Whole(query, super()._integers(query, aggregate, consume))

    def _noisy(
        self, query: Query, addend: Any, share: float, _consume: bool
    ) -> tuple[npt.NDArray[np.float64], NoiseEvent]:
        events: list[SharedGaussianEvent] = []

        def asked() -> bytes:
            return _digest(query, self._paid(share, again=bool(events)), addend)

        def own(taking_part: int) -> Integers:
            """This site's integers with its share of the noise, charged before it is drawn, at every call anew."""
            paid = self._paid(share, again=bool(events))
            event = self._shared_event(query, paid, addend.integers, taking_part)
            with self._lock:
                self._charge(event, paid)
                self._aside -= paid if events else 0.0
                events.append(event)
                return addend.noisy(query, _width(event), self._draw(event), self._dither)

        total = addend.total(self._exchange(asked, addend.size, own), events[-1].shares)
        return in_real_units(query, total), events[-1]

    def _dither(self, count: int, bits: int) -> npt.NDArray[np.object_]:
        """Uniform whole numbers of so many bits."""
        words = self._stream.words(count * -(-bits // 64)).reshape(-1, count)
        return joined(words, 64) & ((1 << bits) - 1)

    def _paid(self, share: float, *, again: bool) -> float:
        """What a round may spend; a repeated one as much as the first, or what is left of the part set aside."""
        if again and self._aside <= 0:
            raise PrivacyError(
                "What was set aside for repeated rounds is spent: this round is not repeated and the fit ends here. "
                "What was charged stays charged."
            )
        return min(share, self._aside) if again else share

    def _shared_event(self, query: Query, share: float, integers: Integers, taking_part: int) -> SharedGaussianEvent:
        if query.norm != "l2":
            raise PrivacyError(f"Query {query.name!r} asks for Laplace noise, which is not drawn in shares.")
        honest = self._shares.counting(taking_part)
        event = SharedGaussianEvent(
            name=query.name,
            sensitivity=query.sensitivity,
            sigma=sigma_for(share, query.sensitivity, self._for_releases) * math.sqrt(taking_part / honest),
            coordinates=_coordinates(query.kind, integers.shape),
            proof=query.proof,
            shares=taking_part,
            honest=honest,
        )
        require_coarse(query, event)
        narrowest = _width(event) / query.step / math.sqrt(_MOST_PERMUTATIONS.get(query.kind, 1))
        if narrowest < NARROWEST:
            raise PrivacyError(f"The step of query {query.name!r} is too coarse for noise in shares.")
        return event


def _width(event: SharedGaussianEvent) -> float:
    """The deviation of one share, not below the exact value."""
    return event.sigma / math.sqrt(event.shares) * (1 + 2.0**-50)


def _digest(query: Query, share: float, addend: Addend) -> bytes:
    """Of all that the sites must agree on before they add up."""
    return hashlib.sha256(repr((query, float(share), addend.integers.shape, addend.bits)).encode()).digest()

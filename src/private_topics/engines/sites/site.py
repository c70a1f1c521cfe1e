"""A site, as the engine of a fit: its documents stay here, and what comes back are sums over all sites.

Every site runs the same fit over its own documents. It asks for the same sums in the same order, since each of them
follows from public settings and from what was released before, and all sites continue from the same totals. The fit
runs in one thread; a transport, in another, hands over the coordinator's messages and takes the answers.
"""

from __future__ import annotations

import dataclasses
import hashlib
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from private_topics.corpus.counts.block_source import CountBlocks
from private_topics.engines.local import LocalCorpus
from private_topics.engines.protocol import Corpus
from private_topics.engines.sites.identities import SiteDirectory, SiteIdentity
from private_topics.engines.sites.messages import Message, greeted
from private_topics.engines.sites.rounds import Integers, SiteRound, StoppedError
from private_topics.errors import EngineError, InputError
from private_topics.sums.unit_sums import Totals, UnitSum

LOST = "The connection to the coordinator is lost."
PATIENCE = 3600.0
"""Seconds: a site that hears nothing for so long gives up."""


class Site:
    """The `engine` of a private fit at one of several sites, for one fit.

    identity : the site's name and private key.
    directory : the public keys of all sites, and how many are honest.
    words : the public vocabulary, the names of the columns of the counts.
    patience : how many seconds the site waits for the coordinator.
    """

    def __init__(
        self, identity: SiteIdentity, directory: SiteDirectory, words: Sequence[str], *, patience: float = PATIENCE
    ) -> None:
        if directory.keys.get(identity.name) != identity.public_key:
            raise InputError(f"The directory of sites has another key for {identity.name!r}, or none.")
        self.identity, self.directory, self.patience = identity, directory, patience
        self.words = tuple(words)
        self._agreed = hashlib.sha256()
        self._inbox: queue.Queue[tuple[bytes, queue.Queue[bytes]] | None] = queue.Queue()
        self._ended: bytes | None = None
        self._begun = False
        self._lock = threading.Lock()
        self._counting = self._charged = False
        self._sizes: set[int] = set()
        self.rounds = 0
        self.present = directory.names
        """The sites of the last sum."""

    @property
    def public(self) -> str:
        """What a statement says of the sites."""
        sites, fewest = len(self.directory.names), min(self._sizes, default=len(self.directory.names))
        honest = fewest - (sites - self.directory.honest)
        added = str(sites)
        if fewest < sites:
            added = f"{' to '.join(map(str, sorted({fewest, max(self._sizes)})))} of {sites}"
        return (
            f"that the units of {added} sites were added up, of which at least {honest} neither show nor use what "
            "they know of their own noise"
        )

    @property
    def missing(self) -> str:
        """Who has not taken part to the end, in words; nothing where all have."""
        left = [name for name in self.directory.names if name not in self.present]
        took_part = f"{len(self.present)} of {len(self.directory.names)} sites have taken part to the end"
        return f"{took_part}, without {', '.join(left)}." if left else ""

    # -- for the fit -------------------------------------------------------------------------------------------------

    def begin(self, settings: str) -> None:
        """Before anything is read: the settings on which all sites must agree."""
        with self._lock:
            if self._begun:
                raise InputError("A Site serves one fit: make a new one for another.")
            self._begun = True
        self.agree("settings", settings.encode())
        self.agree("words", "\n".join(self.words).encode())

    def open(self, blocks: CountBlocks, groups: Any = None) -> Corpus:
        corpus = LocalCorpus.of(blocks, groups)
        if corpus.n_words != len(self.words):
            raise InputError("The counts of a site must have one column for each word of the agreed vocabulary.")
        self.agree("grouped", repr(corpus.grouped).encode())
        return SiteCorpus(self, corpus)

    def agree(self, name: str, value: bytes) -> None:
        """Something that must be the same at all sites from here on."""
        self._agreed.update(hashlib.sha256(name.encode()).digest() + hashlib.sha256(value).digest())

    def exchange(self, asked: Callable[[], bytes], size: int, own: Callable[[int], Integers]) -> Integers:
        """The sum over all sites: see `privacy.shares.Exchange`."""
        so_far = self._agreed.digest()

        def noted(taking_part: int) -> Integers:
            self._charged |= not self._counting
            return own(taking_part)

        machine = SiteRound(self.identity, self.directory, self.rounds, size, lambda: so_far + asked(), noted)
        while machine.total is None:
            data, answer = self._next()
            try:
                answer.put(machine.receive(data))
            except BaseException as error:
                self.end(failed=True)
                answer.put(self._say_ended(""))
                if isinstance(error, StoppedError):
                    raise EngineError(f"{error} {self._said_of_charges}") from None
                raise
        self.rounds, self.present = self.rounds + 1, tuple(machine.present)
        self._sizes.add(len(self.present))
        self.agree("total", machine.context + machine.total.tobytes())
        return machine.total

    def added_up(self, number: int) -> int:
        """The sum over all sites of a number that is public as a sum, such as that of units.

        It has no noise, so it is sent once: two sums, with and without a site, would tell that site's number.
        """
        sent: list[int] = []

        def own(taking_part: int) -> Integers:
            if sent:
                raise EngineError(
                    "A site has dropped out while the number of units was added up. This is not done again, since "
                    "the two sums would tell its number: begin a new fit. Nothing was charged."
                )
            sent.append(taking_part)
            return np.array([number], np.int64)

        self._counting = True
        total = int(self.exchange(lambda: b"public number", 1, own)[0])
        self._counting = False
        if total < number:
            raise EngineError("The sum over the sites is below this site's own number: it is not one.")
        return total

    def end(self, *, failed: bool = False) -> None:
        """The fit is over. What the coordinator is told of it is a digest of what was heard, if it did not fail."""
        with self._lock:
            if self._ended is None:
                self._ended = self._say_ended("" if failed else self._agreed.hexdigest())
        while not self._inbox.empty():
            waiting = self._inbox.get()
            if waiting is not None:
                waiting[1].put(self._ended)

    def _next(self) -> tuple[bytes, queue.Queue[bytes]]:
        try:
            found = self._inbox.get(timeout=self.patience)
        except queue.Empty:
            raise EngineError(
                f"Nothing was heard of the coordinator for {self.patience:g} seconds. {self._said_of_charges}"
            ) from None
        if found is None:
            raise EngineError(f"{self._lost} {self._said_of_charges}")
        return found

    @property
    def _said_of_charges(self) -> str:
        return "What was charged stays charged." if self._charged else "Nothing was charged."

    def _say_ended(self, heard: str) -> bytes:
        return Message("ended", {"site": self.identity.name, "heard": heard}).signed(self.identity)

    # -- for a transport ---------------------------------------------------------------------------------------------

    def answer(self, data: bytes, timeout: float | None = None) -> bytes:
        """The answer to a message of the coordinator, as soon as the fit has come so far."""
        hello = greeted(data, self.identity)
        if hello is not None:
            return hello
        reply: queue.Queue[bytes] = queue.Queue()
        with self._lock:
            if self._ended is not None:
                return self._ended
            self._inbox.put((data, reply))
        try:
            return reply.get(timeout=self.patience if timeout is None else timeout)
        except queue.Empty:
            raise EngineError("The fit of this site has not come so far in time.") from None

    def is_end(self, answer: bytes) -> bool:
        """Whether an answer says that the fit is over."""
        return self._ended is not None and answer == self._ended

    def hang_up(self, why: str = LOST) -> None:
        """No further message will come: a fit that waits for one ends."""
        self._lost = why
        self._inbox.put(None)

    # -- a parameter of an estimator ---------------------------------------------------------------------------------

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __repr__(self) -> str:
        return f"Site({self.identity.name!r}, {len(self.directory.names)} sites)"


class SiteCorpus(Corpus):
    """The documents of this site. Their sums are this site's own: they leave it with noise and under masks only."""

    def __init__(self, site: Site, corpus: LocalCorpus) -> None:
        self._site, self._corpus = site, corpus
        self.n_words, self.grouped, self.n_units = corpus.n_words, corpus.grouped, corpus.n_units

    def total(self, unit_sum: UnitSum) -> Totals:
        require_finite(unit_sum)
        self._site.agree(type(unit_sum).__name__, described(unit_sum))
        return self._corpus.total(unit_sum)

    def close(self) -> None:
        self._site.end()


def require_finite(unit_sum: Any) -> None:
    """Totals are what the coordinator says they are: what follows from them may be anything, but no data shows it."""
    for one in dataclasses.fields(unit_sum):
        value = getattr(unit_sum, one.name)
        if isinstance(value, float | np.ndarray) and not np.isfinite(value).all():
            raise EngineError("A sum over the sites was not one: what follows from it is no number.")


def described(unit_sum: Any) -> bytes:
    """The public fields of a sum, to the last bit."""
    parts = []
    for one in dataclasses.fields(unit_sum):
        value = getattr(unit_sum, one.name)
        if isinstance(value, np.ndarray):
            parts.append(repr((one.name, value.dtype.str, value.shape)).encode() + value.tobytes())
        else:
            parts.append(repr((one.name, value)).encode())
    return b"".join(hashlib.sha256(part).digest() for part in parts)

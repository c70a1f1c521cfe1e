"""Several sites in one process: a fit in a thread each, of which one computes at a time, and a coordinator."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TookTooLong
from contextlib import contextmanager
from typing import Any

import numpy as np

from hang_support import HANG
from private_topics.engines.sites.coordinator import SiteCoordinator
from private_topics.engines.sites.identities import SiteDirectory, SiteIdentity
from private_topics.engines.sites.site import Site
from private_topics.errors import EngineError


def names_of(count: int) -> list[str]:
    return [f"clinic-{number:02d}" for number in range(count)]


def identities(count: int) -> dict[str, SiteIdentity]:
    return {name: SiteIdentity.new(name) for name in names_of(count)}


def directory_of(known: Mapping[str, SiteIdentity], honest: int) -> SiteDirectory:
    return SiteDirectory({name: identity.public_key for name, identity in known.items()}, honest)


class Quiet(Site):
    """A site that computes only while it holds the baton: compiled kernels of one process do not mix."""

    baton = threading.RLock()

    def _next(self):
        self.baton.release()
        try:
            return super()._next()
        finally:
            self.baton.acquire()


def make_sites(count: int, honest: int, words: Sequence[str], patience: float = HANG) -> dict[str, Site]:
    known = identities(count)
    directory = directory_of(known, honest)
    return {name: Quiet(known[name], directory, words, patience=patience) for name in known}


class Loopback:
    """A transport within the process. `heard` is all that the coordinator sends and gets, in order."""

    def __init__(self, sites: Mapping[str, Site], timeout: float = HANG) -> None:
        self.sites, self.timeout = sites, timeout
        self.heard: list[tuple[str, bytes, bytes]] = []
        self.meddle: Callable[[str, bytes, bytes], bytes | None] = lambda site, message, answer: answer

    def __call__(self, messages: Mapping[str, bytes]) -> dict[str, bytes]:
        answers = {}
        with ThreadPoolExecutor(len(messages) or 1) as pool:
            asked = {name: pool.submit(self._one, name, message) for name, message in messages.items()}
            for name, future in asked.items():
                try:
                    answer = future.result(self.timeout)
                except (EngineError, TookTooLong):
                    continue
                if answer is not None:
                    answers[name] = answer
                    self.heard.append((name, messages[name], answer))
        return answers

    def _one(self, name: str, message: bytes) -> bytes | None:
        return self.meddle(name, message, self.sites[name].answer(message, self.timeout))


@contextmanager
def _holding(baton):
    baton.acquire()
    try:
        yield
    finally:
        baton.release()


def together(
    sites: Mapping[str, Site],
    work: Callable[[str, Site], Any],
    transport: Loopback | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[dict[str, Any], SiteCoordinator, Exception | None]:
    """`work` of every site in a thread, the coordinator here: results or errors by site, and how it ended."""
    transport = transport or Loopback(sites)
    coordinator = SiteCoordinator(next(iter(sites.values())).directory, transport, say=say)

    def one(name: str) -> Any:
        site = sites[name]
        try:
            with _holding(Quiet.baton):
                return work(name, site)
        except Exception as error:
            return error
        finally:
            site.end(failed=True)

    with ThreadPoolExecutor(len(sites)) as pool:
        futures = {name: pool.submit(one, name) for name in sites}
        problem: Exception | None = None
        try:
            coordinator.run()
        except Exception as error:
            problem = error
            for site in sites.values():
                site.end(failed=True)
        return {name: future.result() for name, future in futures.items()}, coordinator, problem


def split_rows(X: Any, count: int, seed: int = 5) -> list[Any]:
    """The documents over so many sites, in any order, uneven."""
    generator = np.random.default_rng(seed)
    site = generator.choice(count, X.shape[0], p=generator.dirichlet(np.full(count, 5.0)))
    site[: 2 * count] = np.arange(2 * count) % count  # at least two each
    return [X[site == number] for number in range(count)]

"""How many threads a fit may use: one setting for the compiled kernels and for BLAS."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import numba
from threadpoolctl import ThreadpoolController, threadpool_limits

Item = TypeVar("Item")
Result = TypeVar("Result")


def resolve_threads(n_jobs: int | None) -> int:
    """scikit-learn's convention, with None meaning all cores: the kernels hold no per-thread copies."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    available = min(affinity, int(getattr(numba.config, "NUMBA_NUM_THREADS", affinity)))
    if n_jobs is None:
        return available
    if n_jobs < 0:
        return int(max(1, available + 1 + n_jobs))
    return int(min(n_jobs, available))


@contextmanager
def limited_threads(n_jobs: int | None) -> Iterator[int]:
    threads = resolve_threads(n_jobs)
    before = numba.get_num_threads()
    numba.set_num_threads(threads)
    try:
        with threadpool_limits(limits=threads):
            yield threads
    finally:
        numba.set_num_threads(before)


@contextmanager
def one_order() -> Iterator[None]:
    """Linear algebra on one thread: one order of rounding, whatever the machine's number of threads."""
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    """The loaded libraries for linear algebra, numpy's and scipy's; to look for them takes milliseconds."""
    import scipy.linalg  # noqa: F401  loads its own

    return ThreadpoolController()


def allowed_threads() -> int:
    """What `limited_threads` allows here."""
    return int(numba.get_num_threads())


def in_order(function: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> Iterator[Result]:
    """`map` in threads: results in order, a few items ahead of the consumer; any error ends it."""
    if n_threads == 1:
        yield from map(function, items)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_threads) as pool:
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

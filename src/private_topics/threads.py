"""How many threads a fit may use: one setting for the compiled kernels and for BLAS."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import numba
from threadpoolctl import threadpool_limits

FEW = 8
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
    with threadpool_limits(limits=1, user_api="blas"):
        yield


def in_parallel(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """`function` of each item, in their order: for array operations, which let other threads run."""
    threads = min(numba.get_num_threads(), len(items))
    if threads < 2 or len(items) < FEW:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))

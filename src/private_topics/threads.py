"""How many threads a fit may use: one setting for the compiled kernels and for BLAS."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numba
from threadpoolctl import threadpool_limits


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

"""How long tests wait: until something happens. No test says how long a machine may take for it.

Give up after HANG, which only what never comes takes. Where the code under test has a patience, those who answer get
FOREVER, and whoever is to be found silent is killed or holds its answer back. `test_markers.py` looks for clocks.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

HANG = 1800.0
"""Seconds. Nothing that a test waits for takes a tenth of them on two busy cores."""
FOREVER = 10 * HANG
"""Seconds: the patience of code that must not use it up, since the test gives up before."""

SOON = 0.05
"""Seconds between two looks, where a test looks again as often as it takes."""


def until(true: Callable[[], Any]) -> None:
    """Wait until something is true."""
    end = time.monotonic() + HANG
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)


def ended(work: Callable[[], Any]) -> Any:
    """What `work` returns or raises; it must end by itself, also where it was given FOREVER."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.extend([work(), None])
        except BaseException as error:
            found.extend([None, error])

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(HANG)
    assert found, "it does not end"
    if found[1] is not None:
        raise found[1]
    return found[0]


@contextlib.contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Interrupt what computes for longer, at its next step in Python: other processes do not count."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"longer than {seconds:g} s of computing")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)

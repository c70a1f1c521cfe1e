"""Control-C, remembered: compiled code may swallow the exception that it raises, or turn it into another error."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from private_topics.progress import Progress

_seen = [False]


@contextmanager
def remembered() -> Iterator[None]:
    """Inside, control-C raises as usual, and is raised again where it was swallowed or became another error."""
    usual = signal.getsignal(signal.SIGINT)
    if not callable(usual) or threading.current_thread() is not threading.main_thread():
        yield
        return
    _seen[0] = False
    signal.signal(signal.SIGINT, _remembering(usual))
    try:
        yield
        stop_if_interrupted()
    except Exception:
        stop_if_interrupted()
        raise
    finally:
        signal.signal(signal.SIGINT, usual)
        _seen[0] = False


def stop_if_interrupted() -> None:
    if _seen[0]:
        raise KeyboardInterrupt


class Stopping(Progress):
    """The same progress, but an interrupted run stops at its next stage."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def stage(self, name: str) -> None:
        stop_if_interrupted()
        self.progress.stage(name)


def _remembering(usual: Callable[[int, Any], Any]) -> Callable[[int, Any], NoReturn]:
    """What usually follows (Spark's handler cancels its jobs), and then the interrupt, whatever the outcome."""

    def remember(number: int, frame: Any) -> NoReturn:
        _seen[0] = True
        with suppress(Exception):
            usual(number, frame)
        raise KeyboardInterrupt

    return remember

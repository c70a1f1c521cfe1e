"""What a run shows of its progress: nothing, one line per stage on standard error, or bars on a screen."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")


class Progress:
    """Callbacks for a run's stages and for the texts it reads. This class ignores them all."""

    def stage(self, name: str) -> None:
        """A stage begins."""

    def documents(self, texts: Iterable[Item], what: str) -> Iterable[Item]:  # noqa: ARG002 (who shows them)
        """The same texts, watched while they are read."""
        return texts


class PrintedProgress(Progress):
    """One line per stage on standard error, with the seconds since the start."""

    def __init__(self, name: str) -> None:
        self.name, self.started = name, time.perf_counter()

    def stage(self, name: str) -> None:
        print(f"[{self.name}] {time.perf_counter() - self.started:7.2f} s  {name}", file=sys.stderr, flush=True)


SILENT = Progress()


def progress_of(verbose: object, name: str) -> Progress:
    """For the `verbose` parameter of an estimator: silent, printed, or the object itself."""
    if isinstance(verbose, Progress):
        return verbose
    return PrintedProgress(name) if verbose else SILENT

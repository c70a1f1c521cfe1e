"""Progress on request: one line per stage on standard error, with the seconds the stage took; or a `Watch` of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Progress = Callable[[str], None]
"""Is told the name of each stage as it begins."""


class Watch:
    """What a run tells whoever waits for it. This one tells nobody."""

    def documents(self, texts: Iterable[Item], what: str) -> Iterable[Item]:
        """The same texts, watched while they are read."""
        return texts

    def stage(self, name: str) -> None:
        """A stage of the fit begins."""

    def finished(self) -> None:
        """The last stage has ended."""


def stage_printer(verbose: bool | int | Callable[[str], None], name: str) -> Callable[[str], None]:
    """A function to call at the start of each stage; silent unless `verbose`, which may be that function itself."""
    if callable(verbose):
        return verbose
    if not verbose:
        return lambda stage: None
    started = time.perf_counter()

    def report(stage: str) -> None:
        print(f"[{name}] {time.perf_counter() - started:7.2f} s  {stage}", file=sys.stderr, flush=True)

    return report

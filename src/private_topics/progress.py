"""Progress on request: one line per stage on standard error, with the seconds the stage took."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable


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

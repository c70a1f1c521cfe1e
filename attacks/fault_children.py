"""Forked children that run the command line, each prepared to meet a fault at a given moment."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg

from private_topics.cli import main
from private_topics.privacy.ledger.durable import DurableLedger
from private_topics.privacy.mechanisms import PrivateRun

Prepare = Callable[[int], None]


def started(folder: Path, name: str, command: list[str], prepare: Prepare) -> tuple[int, int]:
    """A forked child that runs the command, and a pipe in which it says that it has come to the moment wanted."""
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    status = 99
    try:
        for stream in ("stdout", "stderr"):
            opened = os.open(folder / f"{name}.{stream}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(opened, getattr(sys, stream).fileno())
        prepare(writing)
        sys.argv = ["private-topics", *command]
        main()
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def waited(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def stop_at_draw(number: int) -> Prepare:
    """The child says so and stands still when it is about to draw noise for this release."""

    def prepare(pipe: int) -> None:
        release, releases = PrivateRun._draw, iter(range(1, 10**6))

        def watched(run: PrivateRun, event: Any) -> Any:
            if next(releases) == number:
                os.write(pipe, b"x")
                time.sleep(1e5)
            return release(run, event)

        PrivateRun._draw = watched  # type: ignore[method-assign]

    return prepare


def stop_before_reserving(pipe: int) -> None:
    def reserve(*_: Any, **__: Any) -> int:
        os.write(pipe, b"x")
        time.sleep(1e5)
        raise AssertionError

    DurableLedger.reserve = reserve  # type: ignore[method-assign]


def no_memory_after_reserving(_pipe: int) -> None:
    """BLAS takes its buffers first, as it does at the start of a process; after that some 4 MiB are all there is."""
    some = np.ones((200, 200))
    np.linalg.eigh(some @ some)
    scipy.linalg.eigh(some)
    reserve, held = DurableLedger.reserve, []

    def poor(ledger: DurableLedger, *arguments: Any, **kind: Any) -> int:
        number = reserve(ledger, *arguments, **kind)
        used = re.search(r"VmSize:\s+(\d+)", Path("/proc/self/status").read_text())
        assert used is not None
        resource.setrlimit(resource.RLIMIT_AS, (int(used[1]) * 1024,) * 2)
        with contextlib.suppress(MemoryError):
            while True:
                held.append(bytearray(2**20))  # what had been freed would serve again
        del held[-4:]
        return number

    DurableLedger.reserve = poor  # type: ignore[method-assign]


def full_disk_after_fitting(largest_file: int) -> Prepare:
    """Once the fit has ended, no file may grow beyond so many bytes."""

    def prepare(_pipe: int) -> None:
        finish = DurableLedger.finish

        def filled(ledger: DurableLedger, entry: int, **results: Any) -> None:
            finish(ledger, entry, **results)
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))

        DurableLedger.finish = filled  # type: ignore[method-assign]

    return prepare


def fill(disk: Path) -> Prepare:
    """Once the fit has ended, the disk is full."""

    def prepare(_pipe: int) -> None:
        finish = DurableLedger.finish

        def filled(ledger: DurableLedger, entry: int, **results: Any) -> None:
            finish(ledger, entry, **results)
            with contextlib.suppress(OSError), open(disk / "filler", "wb", buffering=0) as file:
                while file.write(bytes(1000)):
                    pass

        DurableLedger.finish = filled  # type: ignore[method-assign]

    return prepare

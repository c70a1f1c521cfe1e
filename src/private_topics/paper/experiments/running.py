"""How measurements are made: their independent parts in one process or in several, and where and when."""

from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from private_topics._version import __version__
from private_topics.paper.experiments.rows import Row
from private_topics.threads import one_order

PACKAGES = ("numpy", "scipy", "numba")
SOURCE = Path(__file__).resolve().parents[2]


def rows_of_parts(function: Callable[..., list[Row]], parts: Iterable[tuple[Any, ...]], jobs: int) -> list[Row]:
    """The rows that `function` measures for each part, in their order; `jobs` parts at a time, each in a process."""
    if jobs == 1:
        return [row for part in parts for row in function(*part)]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(_in_one_order, function, part) for part in parts]
        return [row for future in futures for row in future.result()]


def _in_one_order(function: Callable[..., list[Row]], part: tuple[Any, ...]) -> list[Row]:
    """As `reproduce` does: in a tensor of noise the order of a sum decides which eigenvectors are found."""
    with one_order():
        return function(*part)


def provenance() -> str:
    """Version, commit, day, machine and packages, in one line."""
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return (
        f"private-topics {__version__}, commit {commit_of(SOURCE, '.')}, {datetime.date.today().isoformat()}, "
        f"{os.cpu_count()} cores, {processor()}; Python {platform.python_version()}, {versions}"
    )


def commit_of(folder: Path, *paths: str) -> str:
    """The commit of a folder, and whether these paths differ from it. $COMMIT names it where there is no git."""

    def git(*arguments: str) -> str:
        try:
            return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True).stdout.strip()
        except FileNotFoundError:
            return ""

    found = git("rev-parse", "--short=12", "HEAD") or os.environ.get("COMMIT", "unknown")
    return f"{found} with changes" if git("status", "--porcelain", "--", *paths) else found


def processor() -> str:
    try:
        found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()

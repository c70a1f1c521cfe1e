"""What the scripts of benchmarks/, attacks/ and research/ share: options, and results that say where they come from.

Every stored result has one line of `about()`: below the title of a page, as the field "about" of JSON, as a comment
at the head of CSV. Scripts of the other two folders add this one to `sys.path`; so do the tests (pyproject.toml).
"""

from __future__ import annotations

import argparse
import csv
import datetime
import io
import json
import os
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CODE = ("src", "tests", "benchmarks", "attacks", "research", ":!*/results")  # where a change may change a result
UNRECORDED = (
    "Measured before results carried a line of provenance: commit not recorded, machine and date only where stated."
)
"""Stands in results that are older than this module."""
PACKAGES = ("numpy", "scipy", "numba")
BEGIN, END = "<!-- printed by {}: begin -->", "<!-- end -->"


def options_of(docstring: str) -> argparse.ArgumentParser:
    """A parser of a script's options, its help the script's docstring."""
    about()  # asked for now: another commit may be checked out before a long run has ended
    return argparse.ArgumentParser(description=docstring, formatter_class=argparse.RawDescriptionHelpFormatter)


@cache
def about() -> str:
    """Commit, date, machine and versions, in one line."""
    from private_topics import __version__
    from private_topics.paper.experiments.running import commit_of, processor

    day, cores = datetime.date.today().isoformat(), os.cpu_count()
    versions = {"Python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
    told = ", ".join(f"{name} {number}" for name, number in (versions | {"private-topics": __version__}).items())
    return f"Measured at commit {commit_of(ROOT, *CODE)}, {day}, {cores} cores, {processor()}; {told}."


def page_of(text: str) -> str:
    """A page of Markdown with the line of `about()` below its title, or first where it has none."""
    title, _, rest = text.partition("\n\n") if text.startswith("# ") else ("", "", text)
    return "\n\n".join(part for part in (title, about(), rest.strip()) if part) + "\n"


def tell(text: str, out: Path | None = None) -> None:
    """Print a page and, where a path is given, store it."""
    print(page_of(text), end="")
    if out is not None:
        store(out, text)


def store(path: Path, text: str) -> None:
    """Write a page of Markdown."""
    _write(path, page_of(text))


def store_json(path: Path, record: Mapping[str, Any]) -> None:
    _write(path, json.dumps({"about": about(), **record}, indent=1) + "\n")


def store_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Columns are in the order in which the rows name them first."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(dict.fromkeys(column for row in rows for column in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    _write(path, f"# {about()}\n{text.getvalue()}")


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def store_between(page: Path, script: str, text: str) -> None:
    """Put what a script prints between its two markers on a page."""
    before, after = page.read_text(encoding="utf-8").split(BEGIN.format(script))
    _write(page, f"{before}{BEGIN.format(script)}\n{about()}\n\n{text}\n{END}{after.split(END, 1)[1]}")


def between(page: str, script: str) -> str:
    """What a script has put on a page, without the line of `about()`."""
    return page.split(BEGIN.format(script))[1].split(END)[0].partition("\n\n")[2].strip()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")

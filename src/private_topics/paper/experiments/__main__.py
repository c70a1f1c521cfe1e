"""`python -m private_topics.paper.experiments NAME [--quick] [--out DIR] [--seed S]`, or `--list`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from private_topics.errors import InputError
from private_topics.paper.experiments import ALL, names, reproduce


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m private_topics.paper.experiments", description=__doc__)
    parser.add_argument("name", nargs="?", help=f"a figure or table, or {ALL!r}")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--quick", action="store_true", help="small corpora, seconds instead of minutes")
    parser.add_argument("--out", type=Path, default=Path("reproduction"))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    if given.list:
        for name, title in names().items():
            print(f"{name:16} {title}")
        return 0
    if given.name is None:
        parser.error("name a figure or table, or use --list")
    try:
        for folder in reproduce(given.name, quick=given.quick, out=given.out, seed=given.seed):
            print(folder)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What the library needs at run time: every package, its version, the pinned one, its licence, and who asks for it.

    python benchmarks/dependencies.py [--extra parquet] [--extra spark]

Read off what is installed; nothing is fetched. Exit status 1 when a package is missing, is not pinned in
constraints.txt, is installed in another version than the pinned one, or states no licence.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from stored import options_of

ROOT = "private-topics"
FOLDER = Path(__file__).resolve().parents[1]
CONSTRAINTS, PROJECT = FOLDER / "constraints.txt", FOLDER / "pyproject.toml"


@dataclass(frozen=True)
class Package:
    name: str
    installed: str
    pinned: str
    licence: str
    asked_by: tuple[str, ...]

    @property
    def faults(self) -> list[str]:
        found = [] if self.installed else ["not installed"]
        if not self.pinned:
            found.append("not pinned")
        elif self.installed and self.installed != self.pinned:
            found.append("another version than the pinned one")
        return found + (["no licence stated"] if self.installed and not self.licence else [])


def pins(path: Path = CONSTRAINTS) -> dict[str, str]:
    lines = [line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines if line)}


def licence_of(package: Distribution) -> str:
    """The stated expression, else the classifiers, else the first line of the field that often holds a whole text."""
    stated = package.metadata
    if stated["License-Expression"]:
        return str(stated["License-Expression"])
    classified = [text.split(" :: ")[-1] for text in stated.get_all("Classifier") or [] if text.startswith("License")]
    classified = [text for text in classified if text != "OSI Approved"]
    free = next((line.strip() for line in (stated["License"] or "").splitlines() if line.strip()), "")
    return " or ".join(classified) or re.sub(r"\s+", " ", free)[:60]


def asked_for(name: str, extras: frozenset[str]) -> list[Requirement]:
    """What a package asks for on this machine; of the library, what pyproject.toml says today."""
    if name == ROOT:
        project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
        texts = [
            *project["dependencies"],
            *(text for one in extras for text in project["optional-dependencies"][one]),
        ]
        return [Requirement(text) for text in texts]
    found = [Requirement(text) for text in distribution(name).requires or []]
    chosen = [{"extra": one} for one in extras or {""}]
    return [one for one in found if one.marker is None or any(map(one.marker.evaluate, chosen))]


def closure(extras: frozenset[str] = frozenset()) -> list[Package]:
    """Everything reached from the library by what its packages ask for on this machine."""
    asked: dict[str, set[str]] = defaultdict(set)
    waiting, seen = [(ROOT, extras)], set()
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        try:
            requirements = asked_for(name, wanted)
        except PackageNotFoundError:
            continue
        for requirement in requirements:
            inner = canonicalize_name(requirement.name)
            if inner != ROOT:
                asked[inner].add(name)
            waiting.append((inner, frozenset(requirement.extras)))
    pinned = pins()
    return [_package(name, pinned.get(name, ""), tuple(sorted(asked[name]))) for name in sorted(asked)]


def _package(name: str, pinned: str, asked_by: tuple[str, ...]) -> Package:
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return Package(name, "", pinned, "", asked_by)
    return Package(name, found.version, pinned, licence_of(found), asked_by)


def table(packages: list[Package]) -> str:
    lines = ["| package | installed | pinned | licence | asked for by |", "| --- | --- | --- | --- | --- |"]
    for one in packages:
        cells = one.name, one.installed or "-", one.pinned or "-", one.licence or "-", ", ".join(one.asked_by)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--extra", action="append", default=[], help="with this extra of the library; repeatable")
    packages = closure(frozenset(parser.parse_args().extra))
    print(table(packages))
    faults = [f"{one.name}: {fault}" for one in packages for fault in one.faults]
    print(f"\n{len(packages)} packages, {len(faults)} to look at.")
    print("\n".join(faults), file=sys.stderr)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())

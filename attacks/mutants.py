"""Planted bugs against the ordinary tests: every one must be caught.

    python attacks/mutants.py [--only TEXT] [--out attacks/results/mutants.md]

Each mutant (`planted_bugs.toml`) is an edit of a copy of src/ and tests/ in a temporary folder; the tree itself is
not touched. The test it names must pass on the plain copy, which is checked first, and fail on the mutant: a mutant
that cannot be imported does not count as caught. Every run states which library it imported. Compiled
kernels travel with the copy; those of a mutated file, and of files that import it, are compiled anew.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from stored import ROOT, options_of, tell

PLUGIN = """
def pytest_terminal_summary(terminalreporter):
    import private_topics
    terminalreporter.write_line(f"library: {private_topics.__file__}")
"""
PASSED, FAILED = 0, 1  # exit codes of pytest
LIMIT_SECONDS = 6 * 3600  # only a hang takes that
LIBRARY = Path("src", "private_topics")
SUMMARY = re.compile(r"^FAILED (.*?)(?: - .*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    """A bug: the diff of one file of the library, and the test that must notice it."""

    name: str
    file: str
    test: str
    edit: str

    def planted(self, text: str) -> str:
        """The text of the file with the bug, place by place."""
        for place in self.edit.split("@@\n"):
            lines = place.splitlines(keepends=True)
            old, new = ("".join(line[1:] for line in lines if line[0] in signs) for signs in (" -", " +"))
            if text.count(old) != 1:
                raise ValueError(f"{self.name}: {self.file} must hold this once, not {text.count(old)} times:\n{old}")
            text = text.replace(old, new)
        return text


BUGS = Path(__file__).with_name("planted_bugs.toml")
MUTANTS = [Mutant(**bug) for bug in tomllib.loads(BUGS.read_text(encoding="utf-8"))["bug"]]


@dataclass(frozen=True)
class Outcome:
    """What the tests said: how pytest ended, which test failed first, how long it took."""

    code: int
    caught_by: str
    seconds: float
    output: str


def copy_of_the_tree(folder: Path) -> Path:
    """Sources with their compiled kernels, whose cache goes by the files' times; tests and their settings."""
    for name in ("src", "tests"):
        left_out = shutil.ignore_patterns(".mypy_cache", "*.egg-info", "*.pyc")
        shutil.copytree(ROOT / name, folder / name, ignore=left_out)
    shutil.copy2(ROOT / "pyproject.toml", folder)
    (folder / "stated_library.py").write_text(PLUGIN)
    return folder


def run_tests(tree: Path, tests: list[str], *options: str) -> Outcome:
    """The tests in a process of their own that imports the library of `tree`."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {"PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p"]
    start = time.perf_counter()
    done = subprocess.run(
        [*command, "stated_library", *options, *tests],
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_SECONDS,
    )
    failed = SUMMARY.findall(done.stdout)
    outcome = Outcome(done.returncode, failed[0] if failed else "", time.perf_counter() - start, done.stdout)
    imported = re.search(r"^library: (.*)$", done.stdout, re.MULTILINE)
    if imported is None or not Path(imported[1]).is_relative_to(tree / "src"):
        raise SystemExit(f"Another library than the copy's was imported:\n{done.stdout}")
    return outcome


def plant(mutant: Mutant, tree: Path) -> None:
    """Edit the file, and forget the compiled kernels that hold its code."""
    library = tree / LIBRARY
    path = library / mutant.file
    path.write_text(mutant.planted(path.read_text(encoding="utf-8")), encoding="utf-8")
    stale, grown = {path}, True
    while grown:
        names = tuple(
            f"private_topics.{'.'.join(file.relative_to(library).with_suffix('').parts)} " for file in stale
        )
        users = {file for file in library.rglob("*.py") if any(name in file.read_text("utf-8") for name in names)}
        grown = not users <= stale
        stale |= users
    for file in stale:
        for kernel in (file.parent / "__pycache__").glob(f"{file.stem}.*.nb?"):
            kernel.unlink()


def verdict(outcome: Outcome) -> str:
    if outcome.code == FAILED and outcome.caught_by:
        return "caught"
    return "survived" if outcome.code == PASSED else "broken"


def table(rows: list[tuple[Mutant, Outcome]], plain: Outcome) -> str:
    lines = ["| planted bug | in | verdict | caught by | s |", "|---|---|---|---|---|"]
    for mutant, outcome in rows:
        found = f"`{outcome.caught_by}`" if outcome.caught_by else "—"
        lines.append(f"| {mutant.name} | `{mutant.file}` | {verdict(outcome)} | {found} | {outcome.seconds:.1f} |")
    caught = sum(verdict(outcome) == "caught" for _, outcome in rows)
    seconds = plain.seconds + sum(outcome.seconds for _, outcome in rows)
    lines += ["", f"{caught} of {len(rows)} caught. Without a bug the same tests pass, in {plain.seconds:.1f} s; all "
              f"runs together took {seconds:.0f} s."]  # fmt: skip
    return "\n".join(lines)


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--only", default="", help="plant only bugs whose name holds this text")
    parser.add_argument("--out", type=Path, help="write the page there too")
    arguments = parser.parse_args()
    mutants = [mutant for mutant in MUTANTS if arguments.only in mutant.name]
    tests = list(dict.fromkeys(mutant.test for mutant in mutants))
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        folder = Path(name).resolve()
        pristine = copy_of_the_tree(folder / "plain")
        plain = run_tests(pristine, tests)
        if plain.code != PASSED:
            raise SystemExit(f"The tests fail without a bug:\n{plain.output}")
        print(f"{len(tests)} tests pass without a bug, {plain.seconds:.1f} s", file=sys.stderr)
        rows = []
        for mutant in mutants:
            tree = Path(shutil.copytree(pristine, folder / "mutant"))
            plant(mutant, tree)
            outcome = run_tests(tree, [mutant.test], "-x")
            rows.append((mutant, outcome))
            print(f"{verdict(outcome):8} {outcome.seconds:6.1f} s  {mutant.name}", file=sys.stderr, flush=True)
            if verdict(outcome) == "broken":
                print(outcome.output, file=sys.stderr)
            shutil.rmtree(tree)
    tell(f"# Planted bugs\n\n`python attacks/mutants.py`\n\n{table(rows, plain)}", arguments.out)
    return 0 if all(verdict(outcome) == "caught" for _, outcome in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

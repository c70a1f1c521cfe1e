"""Coverage-guided fuzzing of every parser of strangers' bytes, with atheris.

    pip install -c constraints.txt -e '.[fuzz]'
    python attacks/fuzz_coverage.py [--seconds 600] [--only NAME] [--out FILE]

Each target of fuzz_targets.py has a process of its own and an equal part of the seconds. Branches and comparisons of
the library's functions (and of zipfile, gzip and numpy's reader, where they stand in front) tell the fuzzer which
inputs are new. Compiled functions (numba) cannot be watched: there the plain readings of fuzz_references.py, which
are, lead the way and must agree. A finding is any other error than the documented ones, content or several lines in a
message, a disagreement, ten seconds, or two gigabytes; it ends its target's run and its input is left where the table
says. Exit status 1 if there was one, 2 without atheris.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from fuzz_seeds import GRAMMARS, UNCHANGEABLE, seeds_of
from fuzz_targets import TARGETS, judged

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from stored import options_of, tell

OUTCOMES = ("read", "refused", "no case")
LIMITS = ("-timeout=10", "-rss_limit_mb=2048", "-max_len=16384", "-len_control=0", "-print_final_stats=1")
WATCHED = ("private_topics.", "fuzz_references")
GRAMMAR_SHARE, MOST_READABLE = 0.9, 1_000
STATUS = re.compile(r"^#(\d+)\s+(\w+)\s+cov: (\d+) ft: (\d+) corp: (\d+)", re.MULTILINE)
ENDS = re.compile(r"=== Uncaught Python exception: ===\n(.*)|ERROR: libFuzzer: (.*)|^(\w+Error.*)", re.MULTILINE)
INPUT = re.compile(r"Test unit written to (\S+)")
COLUMNS = ("target", "inputs", "per second", *("read", "refused", "no file"), "branches of the seeds", "reached")
HEAD = f"| {' | '.join((*COLUMNS, 'features', 'finding'))} |\n|{'---|' * (len(COLUMNS) + 2)}"


@dataclass(frozen=True)
class Outcome:
    """What one target came to.

    `seeds` and `reached` are the branches that the seeds and all inputs went through; `features` also tell apart how
    often, and what was compared there.
    """

    name: str
    inputs: int
    seconds: float
    counts: tuple[int, ...]
    seeds: int
    reached: int
    features: int
    finding: str

    @property
    def row(self) -> str:
        rate = round(self.inputs / max(self.seconds, 1.0))
        numbers = self.inputs, rate, *self.counts, self.seeds, self.reached, self.features
        cells = self.name, *(f"{number:,}" for number in numbers), self.finding.replace("|", "/") or "none"
        return f"| {' | '.join(cells)} |"


def outcome_of(name: str, log: str, status: int, seconds: float, counts: tuple[int, ...]) -> Outcome:
    """Read off what libFuzzer printed."""
    lines = STATUS.findall(log)
    started = [line for line in lines if line[1] == "INITED"]
    finding = ""
    if status or not started:
        said = next((" ".join(filter(None, found.groups())) for found in ENDS.finditer(log)), f"exit status {status}")
        left = INPUT.search(log)
        finding = f"{said.strip()[:160]}" + (f" ({left.group(1)})" if left else "")
    inputs, _, reached, features, _ = lines[-1] if lines else (0, "", 0, 0, 0)
    seeds = started[0][2] if started else 0
    inputs = max(int(inputs), sum(counts))
    return Outcome(name, inputs, seconds, counts, int(seeds), int(reached), int(features), finding)


def fuzzed(name: str, seconds: float, folder: Path) -> Outcome:
    """Fuzz one target in a child process."""
    corpus = folder / "corpus"
    corpus.mkdir(parents=True)
    for number, seed in enumerate(seeds_of(name, folder)):
        (corpus / f"seed-{number}").write_bytes(seed)
    tally(folder)[:] = 0
    command = [sys.executable, __file__, "--child", name, "--folder", str(folder), "--seconds", f"{seconds:g}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, check=False)
    log = done.stdout.decode(errors="replace")
    (folder / "log").write_text(log, encoding="utf-8")
    return outcome_of(name, log, done.returncode, seconds, tuple(tally(folder).tolist()))


def tally(folder: Path) -> Any:
    """The outcomes of a child's inputs, in a file: the fuzzer ends its process without a word to Python."""
    path = folder / "tally"
    return np.memmap(path, np.int64, "r+" if path.exists() else "w+", shape=len(OUTCOMES))


def fuzz_here(name: str, folder: Path, seconds: float) -> None:
    """The child: never returns."""
    import atheris

    warnings.simplefilter("ignore")
    target, counts, scratch = TARGETS[name], tally(folder), folder / "scratch"
    scratch.mkdir()
    readable = [seed.read_bytes() for seed in sorted((folder / "corpus").iterdir())]
    for seed in readable:  # compiles, and imports what is imported late
        judged(name, seed, scratch)
    functions = functions_of((*WATCHED, *target.watched))
    for function in functions:
        atheris.instrument_func(function)
    print(f"{len(functions)} functions are watched.", flush=True)

    def one_input(data: bytes) -> None:
        outcome = judged(name, data, scratch)
        counts[OUTCOMES.index(outcome)] += 1
        if outcome == "read" and len(readable) < MOST_READABLE:
            readable.append(data)

    def changed(data: bytes, largest: int, seed: int) -> bytes:
        """Keep the grammar, of what the fuzzer found new or of what was read: most of the new is refused."""
        rng = random.Random(seed)
        if rng.random() < GRAMMAR_SHARE:
            try:
                return GRAMMARS[target.grammar](rng.choice((data, rng.choice(readable))), rng)[:largest]
            except UNCHANGEABLE:
                pass
        return bytes(atheris.Mutate(data, largest))

    own = {"custom_mutator": changed} if target.grammar in GRAMMARS else {}
    options = [f"-max_total_time={max(1, round(seconds))}", f"-artifact_prefix={folder}/", *LIMITS]
    atheris.Setup([sys.argv[0], *options, str(folder / "corpus")], one_input, **own)
    atheris.Fuzz()


def functions_of(prefixes: tuple[str, ...]) -> list[FunctionType]:
    """The functions of modules by the beginnings of their names, without those that numba compiles."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("private_topics.")]
    compiled = {
        id(value.py_func) for module in modules for value in vars(module).values() if hasattr(value, "py_func")
    }
    functions = (value for value in gc.get_objects() if isinstance(value, FunctionType) and id(value) not in compiled)
    return [function for function in functions if (function.__module__ or "").startswith(prefixes)]


def fuzz_all(names: list[str], seconds: float) -> list[Outcome]:
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="fuzz-coverage-", dir=memory if os.access(memory, os.W_OK) else None))
    outcomes = []
    print(HEAD, flush=True)
    for name in names:
        outcomes.append(fuzzed(name, seconds / len(names), folder / name))
        print(outcomes[-1].row, flush=True)
        if not outcomes[-1].finding:
            shutil.rmtree(folder / name)
    if not any(outcome.finding for outcome in outcomes):
        shutil.rmtree(folder)
    return outcomes


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="for all targets together")
    parser.add_argument("--only", default="", help="only targets whose name holds this text")
    parser.add_argument("--out", type=Path, help="write the page there too")
    parser.add_argument("--child", choices=TARGETS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed: pip install -c constraints.txt -e '.[fuzz]'", file=sys.stderr)
        return 2
    if arguments.child:
        fuzz_here(arguments.child, arguments.folder, arguments.seconds)
    names = [name for name in TARGETS if arguments.only in name]
    if not names:
        parser.error(f"no target has a name with {arguments.only!r}: they are {', '.join(TARGETS)}")
    outcomes = fuzz_all(names, arguments.seconds)
    findings = sum(bool(outcome.finding) for outcome in outcomes)
    total = f"{sum(outcome.inputs for outcome in outcomes):,} inputs to {len(names)} parsers: "
    total += f"{findings} findings." if findings else "no finding."
    rows = "\n".join([HEAD, *(outcome.row for outcome in outcomes)])
    head = "# Coverage-guided fuzzing of the parsers of strangers' bytes\n\n"
    head += f"`python attacks/fuzz_coverage.py --seconds {arguments.seconds:g}`"
    tell(f"{head}\n\n{rows}\n\n{total}", arguments.out)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

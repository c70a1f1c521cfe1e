"""Mutation testing: small changes of the code that can break the guarantee, each of which a test must notice.

    python attacks/mutation.py --record --processes 16                       # which tests run which functions
    python attacks/mutation.py --sample 1500 --seed 1 --processes 16 --out   # the sample, or what is left of it
    python attacks/mutation.py --sample 1500 --seed 1 --part 1/4             # a quarter of it
    python attacks/mutation.py --sample 1500 --seed 1 --anew --out           # all of it, also what is stored
    python attacks/mutation.py --again 20                                    # of the killed, by the commit's hash
    python attacks/mutation.py --only privacy/curves.py                      # all mutants of one file

A mutant (`mutation_sites.py`) is tried against the tests that run what it changes (`mutation_tests.py`), those of its
folder first, the fast ones first, until one fails; a test that fails where nothing is changed says nothing. Records
and results are kept in build/mutation, so that a run can be interrupted and continued; after a change of the code,
remove that folder. `--out` stores the table (results/mutation.md) and the mutants with the tests that kill them and
the commit at which they did (results/mutation.csv); what is stored there is not tried again while its code stands, so
that a large sample can be tried in parts. `--anew` tries those again too, each first against the test that
killed it. A survivor gets a test, or a line in `survivors.toml` that says why no test can notice it. A mutant that
breaks the import counts as nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import tomllib
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from mutation_sites import Mutant, Uses, all_mutants
from mutation_tests import THREADS, WITHIN, Coverage, Slot, Trial, preload, tree_at
from stored import ROOT, options_of, read_csv, store_csv, tell

WORK = ROOT / "build" / "mutation"
RESULTS = Path(__file__).with_name("results")
ARGUED = Path(__file__).with_name("survivors.toml")
LEFT_OUT = "spark or fault or browser or data"
NOTICED = ("killed", "timeout", "crash")
MOST_TESTS, MOST_SECONDS, SLOW = 300, 60.0, 20.0
Key = tuple[str, str, str, str, int]


# -- which mutants ---------------------------------------------------------------------------------------------------


def argued() -> dict[Key, str]:
    """Survivors with the reason why they are none."""
    listed = tomllib.loads(ARGUED.read_text(encoding="utf-8"))["survivor"]
    return {_key(entry): entry["reason"] for entry in listed}


def _key(row: dict[str, object]) -> Key:
    name = (str(row[column]) for column in ("file", "function", "before", "after"))
    return (*name, int(row.get("number") or 1))  # type: ignore[return-value, call-overload]


def sampled(mutants: Sequence[Mutant], count: int, seed: int, tried: Container[Key] = ()) -> list[Mutant]:
    """A stratified sample: of each file in proportion to its mutants, and at least three.

    Those that were `tried` come first: a change of a file leaves what was drawn and still stands in the sample.
    """
    by_file: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in mutants:
        by_file[mutant.file].append(mutant)
    chosen = []
    for file, members in sorted(by_file.items()):
        share = max(3, round(count * len(members) / len(mutants)))
        drawn = random.Random(f"{seed} {file}").sample(members, len(members))
        chosen += sorted(drawn, key=lambda mutant: mutant.key not in tried)[:share]
    mixed = random.Random(seed).sample(chosen, len(chosen))
    return sorted(mixed, key=lambda mutant: mutant.key not in tried)[:count]


def by_commit(count: int) -> list[tuple[Mutant, str]]:
    """Mutants that were killed when the table was made and are still there, chosen by the commit's hash."""
    present = {mutant.key: mutant for mutant in all_mutants()}
    killed = [row for row in read_csv(RESULTS / "mutation.csv") if row["verdict"] == "killed"]
    rows = [row for row in killed if _key(row) in present and float(row["seconds"]) <= SLOW]
    chosen_by = commit()
    rows.sort(key=lambda row: hashlib.sha256(f"{chosen_by} {_key(row)}".encode()).digest())
    return [(present[_key(row)], row["test"]) for row in rows[:count]]


# -- trying them -----------------------------------------------------------------------------------------------------


def tried(
    jobs: Sequence[tuple[Mutant, list[str], float]], plain: Path, folder: Path, processes: int
) -> Iterator[tuple[Mutant, str, str, float]]:
    """Every mutant with its verdict, the test that decided it and the seconds it took, as they come."""
    uses, waiting = Uses(), list(reversed(jobs))
    free = [Slot(folder / f"slot{number}", plain) for number in range(min(processes, len(jobs)))]
    running: list[tuple[Mutant, list[str], Trial]] = []
    while waiting or running:
        while waiting and free:
            mutant, tests, limit = waiting.pop()
            if not tests:
                yield mutant, "survived", "", 0.0
                continue
            slot, kernels = free.pop(), sorted(uses.kernels(mutant.node))
            slot.plant(mutant, kernels)
            running.append((mutant, kernels, Trial(slot, tests, limit)))
        for job in list(running):
            mutant, kernels, trial = job
            verdict = trial.verdict()
            if verdict is not None:
                running.remove(job)
                trial.slot.clear(mutant, kernels)
                free.append(trial.slot)
                yield mutant, *verdict, trial.seconds
        time.sleep(0.02)


def control(tests: Sequence[str], plain: Path, folder: Path, processes: int) -> set[str]:
    """The tests that fail where nothing is changed: what they say of a mutant means nothing."""
    parts = [tests[start::processes] for start in range(min(processes, len(tests)))]
    slots = (Slot(folder / f"control{number}", plain) for number in range(len(parts)))
    trials = [Trial(slot, part, 900.0, "--maxfail=0") for slot, part in zip(slots, parts, strict=True)]
    return {test for trial in trials for test in trial.failures()}


def check_collection(tests: Iterable[str], plain: Path, folder: Path) -> None:
    """Every file of recorded tests can be imported where nothing is changed: else mutants would seem to break it."""
    trial = Trial(Slot(folder / "collection", plain), sorted({test.split("::")[0] for test in tests}), 900.0, "--co")
    while (verdict := trial.verdict()) is None:
        time.sleep(0.05)
    if verdict[0] != "survived":
        raise SystemExit((folder / "collection" / "log.txt").read_text(encoding="utf-8"))


def record(plain: Path, paths: Sequence[str], markers: str, processes: int) -> None:
    """Run the tests in the plain tree; what they call is added to the records."""
    folder = WORK / "records"
    folder.mkdir(exist_ok=True)
    environment = os.environ | THREADS | {"MUTATION_RECORD": str(folder), "MUTATION_LIBRARY": str(plain / WITHIN)}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (plain / "src", ROOT / "attacks", ROOT / "benchmarks")))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "mutation_tests", "-m", markers]
    command += ["-n", str(processes), "--dist", "loadgroup"] if processes > 1 else []
    subprocess.run([*command, *paths], cwd=plain, env=environment)


# -- what came out ---------------------------------------------------------------------------------------------------


def found_since() -> list[dict[str, str]]:
    """Read the results of runs that have not been stored yet."""
    path = WORK / "results.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def results() -> list[dict[str, str]]:
    """What was stored, and what was found since."""
    void = (WORK / "void.txt").read_text(encoding="utf-8").splitlines() if (WORK / "void.txt").exists() else []
    rows = {_key(row): row for row in [*read_csv(RESULTS / "mutation.csv"), *found_since()]}
    return [row for row in rows.values() if row["test"] not in void and row["verdict"] != "unknown"]


def row_of(mutant: Mutant, verdict: str, test: str, seconds: float) -> dict[str, object]:
    names = ("file", "function", "kind", "before", "after", "number")
    return {name: getattr(mutant, name) for name in names} | {
        "verdict": verdict, "test": test, "seconds": round(seconds, 1), "commit": commit()[:12]
    }  # fmt: skip


def commit() -> str:
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()


def table(rows: Sequence[dict[str, str]], reasons: dict[Key, str]) -> str:
    """Counts by folder, and every survivor."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        folder = row["file"].rpartition("/")[0] or row["file"]
        verdict = "argued" if row["verdict"] == "survived" and _key(row) in reasons else row["verdict"]
        counts[folder][verdict] += 1
        counts["all"][verdict] += 1
    heads = (
        "folder",
        "tried",
        "killed",
        "timeout or crash",
        "survived, argued",
        "survived",
        "broken at import",
        "noticed",
    )
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for folder, found in sorted(counts.items(), key=lambda item: (item[0] == "all", item[0])):
        noticed, valid = sum(found[name] for name in NOTICED), sum(found.values()) - found["broken"]
        lines.append(
            f"| {folder} | {sum(found.values())} | {found['killed']} | {found['timeout'] + found['crash']} "
            f"| {found['argued']} | {found['survived']} | {found['broken']} | {noticed / max(valid, 1):.1%} |"
        )
    left = [row for row in rows if row["verdict"] == "survived" and _key(row) not in reasons]
    lines += ["", "Survivors without a reason:" if left else "Every survivor is argued in `attacks/survivors.toml`."]
    lines += [f"- `{row['file']}`, `{row['function']}`: `{row['before']}` → `{row['after']}`" for row in left]
    return "\n".join(lines)


def again(count: int, processes: int) -> int:
    """Mutants of the stored list, against the test that killed them and, where that is gone, those of its file."""
    chosen, reasons = by_commit(count), argued()
    with tempfile.TemporaryDirectory(prefix="mutation-") as name:
        folder = Path(name).resolve()
        plain = tree_at(folder / "plain")
        jobs = [(mutant, [test], 120.0) for mutant, test in chosen]
        later = []
        for mutant, verdict, test, seconds in tried(jobs, plain, folder / "first", processes):
            print(f"{verdict:8} {seconds:5.1f} s  {mutant.node}  {mutant.after}  {test}", file=sys.stderr, flush=True)
            if verdict not in NOTICED:
                later.append(mutant)
        tests = {mutant: test.split("::")[0] for mutant, test in chosen}
        wider = [(mutant, [tests[mutant]], 300.0) for mutant in later if (plain / tests[mutant]).exists()]
        found = dict.fromkeys(later, "survived")
        for mutant, verdict, _, _ in tried(wider, plain, folder / "second", processes):
            found[mutant] = verdict
    left = [mutant for mutant, verdict in found.items() if verdict not in NOTICED and mutant.key not in reasons]
    print(f"{len(chosen) - len(left)} of {len(chosen)} mutants are noticed")
    for mutant in left:
        print(f"No test notices: {mutant.node}\n  - {mutant.before}\n  + {mutant.after}")
    return 1 if left or not chosen else 0


def run(arguments: Namespace) -> int:
    plain, reasons = tree_at(WORK / "plain"), argued()
    if arguments.record is not None:
        record(plain, arguments.record, arguments.markers, arguments.processes)
        return 0
    coverage, uses, void = Coverage.read(WORK / "records"), Uses(), WORK / "void.txt"
    coverage.leave_out(void.read_text(encoding="utf-8").splitlines() if void.exists() else [])
    if not coverage.seconds:
        raise SystemExit("Nothing is recorded of these sources and tests: run with --record first.")
    mutants = [mutant for mutant in all_mutants() if arguments.only in mutant.node]
    if arguments.sample:
        mutants = sampled(mutants, arguments.sample, arguments.seed, {_key(row) for row in results()})
    part, parts = map(int, arguments.part.split("/"))
    before = found_since() if arguments.anew else results()
    known = {_key(row) for row in before if row["verdict"] != "survived" or not arguments.survivors}
    left = [mutant for mutant in mutants[part - 1 :: parts] if mutant.key not in known]
    with tempfile.TemporaryDirectory(prefix="mutation-") as name, (WORK / "results.jsonl").open("a") as file:
        folder = Path(name).resolve()

        def note(mutant: Mutant, verdict: str, test: str, seconds: float) -> None:
            file.write(json.dumps(row_of(mutant, verdict, test, seconds)) + "\n")
            file.flush()
            shown = f"\n    - {mutant.before}\n    + {mutant.after}" if verdict not in NOTICED else f"  {test}"
            told = "argued" if verdict == "survived" and mutant.key in reasons else verdict
            print(f"{told:8} {seconds:5.1f} s  {mutant.node}{shown}", file=sys.stderr, flush=True)

        if arguments.anew:
            killers = {_key(row): row["test"] for row in results() if row["verdict"] == "killed"}
            again = [(mutant, [killers[mutant.key]], 120.0) for mutant in left if mutant.key in killers]
            again = [job for job in again if (plain / job[1][0].split("::")[0]).exists()]
            noticed = set()
            for found in tried(again, plain, folder / "again", arguments.processes):
                if found[1] in NOTICED:
                    noticed.add(found[0].key)
                    note(*found)
            left = [mutant for mutant in left if mutant.key not in noticed]
        jobs = []
        for mutant in left:
            tests = coverage.tests_of(mutant, uses, arguments.seconds, MOST_TESTS)
            jobs.append((mutant, tests, 60.0 + 3.0 * sum(coverage.seconds[test] for test in tests)))
        print(f"{len(jobs)} mutants to try against all tests that run them", file=sys.stderr, flush=True)
        if jobs:
            check_collection(coverage.seconds, plain, folder)
        for found in tried(jobs, plain, folder, arguments.processes):
            note(*found)
        killing = sorted({row["test"] for row in results() if row["verdict"] in NOTICED})
        useless = control(killing, plain, folder, arguments.processes) if left or arguments.anew else set()
    if useless:
        void.open("a", encoding="utf-8").writelines(f"{test}\n" for test in sorted(useless))
        print(f"Fail without a bug, and are left out: {', '.join(sorted(useless))}. Run again.", file=sys.stderr)
    wanted, present = ({mutant.key for mutant in some} for some in (mutants, all_mutants()))
    stored = sorted((row for row in results() if _key(row) in present), key=_key)
    rows = [row for row in stored if _key(row) in wanted]
    command = f"python attacks/mutation.py --sample {arguments.sample} --seed {arguments.seed}"
    page = (
        f"# Mutants\n\n`{command}`, of {len(present):,} mutants, against those of {len(coverage.seconds):,} "
        "recorded tests that run the changed code. Survivors are tried again when tests are written for them; the "
        f"counts are those of the last try.\n\n{table(rows, reasons)}"
    )
    tell(page, RESULTS / "mutation.md" if arguments.out else None)
    if arguments.out:
        store_csv(RESULTS / "mutation.csv", stored)
    return int(any(row["verdict"] == "survived" and _key(row) not in reasons for row in rows))


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--record", nargs="*", metavar="PATH", help="run these tests (all) and note what they call")
    parser.add_argument("--markers", default=f"not ({LEFT_OUT})", help="which tests to record, as in pytest -m")
    parser.add_argument("--sample", type=int, default=0, help="try so many, stratified by file; 0 for all")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--part", default="1/1", help="the i-th of n parts, as i/n")
    parser.add_argument("--only", default="", help="mutants whose file::function holds this text")
    parser.add_argument("--survivors", action="store_true", help="try again those that survived")
    parser.add_argument("--anew", action="store_true", help="try again all, those that are stored too")
    parser.add_argument("--seconds", type=float, default=MOST_SECONDS, help="tests of a mutant, as recorded")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--again", type=int, metavar="N", help="try N of the stored, killed mutants again")
    parser.add_argument("--out", action="store_true", help="store the table and the mutants")
    arguments = parser.parse_args()
    if arguments.record is None:
        preload()
    return again(arguments.again, arguments.processes) if arguments.again else run(arguments)


if __name__ == "__main__":
    sys.exit(main())

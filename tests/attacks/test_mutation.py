"""The mutants: what is changed, which tests a change is tried against, and lists that hold for the present code."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from hang_support import HANG
from mutation import RESULTS, argued, by_commit, sampled, table
from mutation_sites import LIBRARY, Mutant, Uses, all_mutants, files, mutants_of
from mutation_tests import Coverage
from stored import read_csv

ROOT = Path(__file__).resolve().parents[2]
SOURCE = '''"""A text."""
LIMIT, OTHER = 3, 0.5  # why
@njit(cache=True)
def kernel(x):
    return x + LIMIT
def spent(parts: list[float], *, strict: bool = True) -> float:
    """Not changed: 1 + 1."""
    if not parts and strict:
        raise ValueError(f"not changed: {1 + 1}")
    check(parts, LIMIT, strict=strict)
    total = 0.0
    for part in parts:
        total += min(part, kernel(part))
    return total if total <= 1 else (
        1.0
    )
'''
CHANGED = {
    ("LIMIT", "constant", "LIMIT, OTHER = 4, 0.5"),
    ("OTHER", "constant", "LIMIT, OTHER = 3, 1.0"),
    ("kernel", "operator", "return x - LIMIT"),
    ("spent", "constant", "def spent(parts: list[float], *, strict: bool = False) -> float:"),
    ("spent", "condition", "if (not (not parts and strict)):"),
    ("spent", "condition", "if not parts or strict:"),
    ("spent", "removed not", "if (parts) and strict:"),
    ("spent", "dropped refusal", "pass"),
    ("spent", "dropped call", "pass"),
    ("spent", "swapped arguments", "check(LIMIT, parts, strict=strict)"),
    ("spent", "dropped argument", "check(parts, LIMIT, )"),
    ("spent", "constant", "total = 1.0"),
    ("spent", "dropped update", "pass"),
    ("spent", "operator", "total -= min(part, kernel(part))"),
    ("spent", "function", "total += max(part, kernel(part))"),
    ("spent", "returned default", "return 0.0"),
    ("spent", "condition", "return total if (not (total <= 1)) else ("),
    ("spent", "comparison", "return total if total < 1 else ("),
    ("spent", "comparison", "return total if total > 1 else ("),
    ("spent", "constant", "return total if total <= 2 else ("),
    ("spent", "constant", "2.0"),
}


def test_every_kind_of_change_is_made_and_texts_are_left_alone():
    made = mutants_of("file.py", SOURCE.encode())
    assert {(mutant.function, mutant.kind, mutant.after) for mutant in made} == CHANGED
    assert len(made) == len(CHANGED)


def test_every_mutant_is_a_program_of_as_many_lines_and_has_a_name_of_its_own():
    mutants = all_mutants()
    assert len({mutant.key for mutant in mutants}) == len(mutants) > 5_000
    assert set(files()) == {mutant.file for mutant in mutants}
    for mutant in random.Random(0).sample(mutants, 150):
        source = (LIBRARY / mutant.file).read_bytes()
        planted = mutant.planted(source)
        assert planted != source
        assert planted.count(b"\n") == source.count(b"\n"), mutant
        compile(planted, mutant.file, "exec")


def test_a_sample_has_something_of_every_file():
    mutants = all_mutants()
    chosen = sampled(mutants, 1500, 1)
    assert len(chosen) == len({mutant.key for mutant in chosen}) == 1500
    assert chosen == sampled(mutants, 1500, 1) != sampled(mutants, 1500, 2)
    counts = Counter(mutant.file for mutant in chosen)
    assert set(counts) == set(files())
    assert counts["privacy/subsampling.py"] > 50


def test_what_was_tried_stays_in_the_sample():
    mutants = list(all_mutants())
    earlier = {mutant.key for mutant in sampled(mutants, 1000, 2)}
    assert earlier <= {mutant.key for mutant in sampled(mutants, 1500, 1, earlier)}


def test_kernels_are_forgotten_where_they_hold_what_is_changed():
    uses = Uses()
    assert uses.kernels("sums/quantised.py::add_statistic") == set()  # calls a kernel, and is none
    assert uses.kernels("sums/quantised.py::_add_statistic") == {"sums/quantised.py::_add_statistic"}
    assert uses.kernels("corpus/counts/matrix.py::BUCKET_BITS") >= {
        "corpus/counts/matrix.py::_into_buckets",  # holds the constant
        "corpus/counts/matrix.py::_sort_rows",  # calls that
    }


@pytest.mark.slow
def test_a_mutant_is_tried_against_the_tests_that_run_it():
    near, other = "tests/sums/test_a.py::near", "tests/fits/test_c.py::other"
    fast, slow = "tests/fits/test_b.py::fast", "tests/fits/test_b.py::slow"
    called = {"sums/quantised.py::add_statistic": {near, fast, slow}, "privacy/curves.py::gdp_delta": {other}}
    coverage = Coverage({near: 9.0, fast: 1.0, slow: 30.0, other: 0.1}, called)

    def tests_of(function, most_seconds=60.0):
        mutant = Mutant("sums/quantised.py", function, "constant", "", "")
        return coverage.tests_of(mutant, Uses(), most_seconds, 10)

    assert tests_of("add_statistic") == tests_of("_add_statistic") == [near, fast, slow]
    assert tests_of("add_statistic", 20.0) == [near, fast]
    assert tests_of("rounded") == []


RECORDED = """
import threading
import counted
def test_one():
    assert counted.one() == 1
def test_method():
    assert counted.Counter().next() == 1
def test_thread():
    thread = threading.Thread(target=counted.one)
    thread.start()
    thread.join()
def test_nothing():
    pass
def test_that_fails():
    assert counted.one() == 2
"""
COUNTED = """
def one():
    return 1
class Counter:
    def next(self):
        return [one() for _ in range(1)][0]
"""


@pytest.mark.process
def test_the_recorder_notes_what_each_test_calls(tmp_path):
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "counted.py").write_text(COUNTED)
    (tmp_path / "test_counted.py").write_text(RECORDED)
    paths = (tmp_path / "library", ROOT / "attacks", ROOT / "benchmarks")
    told = {"MUTATION_RECORD": str(tmp_path), "MUTATION_LIBRARY": str(tmp_path / "library")}
    environment = os.environ | told | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "mutation_tests"]
    subprocess.run([*command, str(tmp_path)], cwd=tmp_path, env=environment, capture_output=True)
    (records,) = tmp_path.glob("*.jsonl")
    found = {line["test"].split("::")[1]: line for line in map(json.loads, records.read_text().splitlines())}
    assert {name: line["called"] for name, line in found.items()} == {
        "test_one": ["counted.py::one"],
        "test_method": ["counted.py::Counter.next", "counted.py::one"],
        "test_thread": ["counted.py::one"],
        "test_nothing": [],
        "test_that_fails": ["counted.py::one"],
    }
    assert [name for name, line in found.items() if not line["passed"]] == ["test_that_fails"]


def test_survivors_are_argued_and_still_there():
    present = {mutant.key for mutant in all_mutants()}
    for key, reason in argued().items():
        assert key in present, f"survivors.toml names what the code does not hold any more: {key}"
        assert len(reason.split()) > 4, key
        assert "\n" not in reason


def test_the_stored_mutants_are_mostly_still_there():
    """Continuous integration tries some of them again: where most are gone, the table must be made anew."""
    rows = read_csv(RESULTS / "mutation.csv")
    present = {mutant.key for mutant in all_mutants()}
    keys = [(row["file"], row["function"], row["before"], row["after"], int(row["number"])) for row in rows]
    assert sum(key in present for key in keys) > 0.5 * len(keys) > 25
    left = [key for key, row in zip(keys, rows, strict=True) if row["verdict"] == "survived" and key in present]
    assert set(left) <= set(argued())
    assert len({mutant.key for mutant, _ in by_commit(20)}) == 20
    assert "| all |" in table(rows, argued())


@pytest.mark.process
@pytest.mark.slow
def test_a_trial_tells_a_bug_from_none(tmp_path):
    """In a process of its own, since trials fork: a bug, the same code, and code that cannot be imported.

    Then code that waits for longer than its limit, as on a busy machine, and code that computes for longer.
    """
    script = f"""
import sys
sys.path[:0] = [{str(ROOT / "attacks")!r}, {str(ROOT / "benchmarks")!r}]
import time
from pathlib import Path
from mutation_sites import Mutant
from mutation_tests import Slot, Trial, preload, tree_at
preload()
slot = Slot(Path({str(tmp_path)!r}, "slot"), tree_at(Path({str(tmp_path)!r}, "plain")))
head = "def last_that_holds"
at = (slot.plain / "src/private_topics/bisection.py").read_bytes().index(head.encode())
endless = head + "(*_):\\n    while True: pass\\ndef gone"
waits = "import time; time.sleep(16)\\n" + head
for text in (head + "(*_):\\n    return 0.0\\ndef gone", head, "1 / 0\\n" + head, waits, endless):
    mutant = Mutant("bisection.py", "last_that_holds", "", "", "", 1, at, at + len(head), text)
    slot.plant(mutant, [])
    trial = Trial(slot, ["tests/test_bisection.py"], 15.0)
    while (verdict := trial.verdict()) is None:
        time.sleep(0.05)
    slot.clear(mutant, [])
    print(verdict[0], bool(verdict[1]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=HANG)
    expected = ["killed True", "survived False", "broken False", "survived False", "timeout True"]
    assert done.stdout.split("\n")[:5] == expected, done.stderr

"""Which tests run which functions of the library, and one change of it tried against the tests that run it.

`Recorder` is a plug-in of pytest that notes the functions below the library that each test calls, and how long it
computes. `Trial` is a run of tests in a fork of this process, which has the packages that take long to import.
Limits are in seconds of computing, so that a verdict does not depend on what else the machine does.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import resource
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutation_sites import LIBRARY, Mutant, Uses
from stored import ROOT

PACKAGES = ("numpy", "scipy.special", "scipy.sparse", "scipy.stats", "scipy.optimize", "numba", "sklearn.base",
            "sklearn.utils.estimator_checks", "hypothesis", "mpmath", "opendp.prelude", "randomgen", "pytest",
            "dp_accounting.pld.privacy_loss_distribution")  # fmt: skip
THREADS = {
    "NUMBA_NUM_THREADS": "2",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "2",
    "OMP_WAIT_POLICY": "PASSIVE",
}
WITHIN = Path("src", "private_topics")
NO_TESTS = 5  # exit code of pytest
STANDSTILL, STILL = 120.0, 3.0  # seconds on the clock in which a trial computes no longer: it waits for ever


def computing() -> float:
    """Seconds that this process and the children it has waited for have computed."""
    return sum(os.times()[:4])


def computed_by(session: int) -> float:
    """Seconds that the processes of a session have computed so far."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended since
            fields = path.read_text(encoding="utf-8").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12]) if int(fields[3]) == session else 0
    return ticks / os.sysconf("SC_CLK_TCK")


class Recorder:
    """One line of JSON for each test: its name, its seconds, whether it passed, and which functions it called."""

    def __init__(self, library: str, folder: str) -> None:
        self.library, self.out = library, Path(folder, f"{os.getpid()}.jsonl")
        self.names: dict[Any, str | None] = {}
        self.called: set[str] = set()
        self.passed = True

    def watch(self, on: bool) -> None:
        """Notice calls of Python functions: each once a test where the interpreter can do that (3.12), else all."""
        if sys.version_info >= (3, 12):
            tool, events = sys.monitoring.COVERAGE_ID, sys.monitoring.events
            if sys.monitoring.get_tool(tool) is None:
                sys.monitoring.use_tool_id(tool, "mutation")
                sys.monitoring.register_callback(tool, events.PY_START, lambda code, _: self.note(code))
            sys.monitoring.restart_events()
            sys.monitoring.set_events(tool, events.PY_START if on else events.NO_EVENTS)
        else:
            trace = (lambda frame, _event, _: self.note(frame.f_code) and None) if on else None
            threading.settrace(trace)
            sys.settrace(trace)

    def note(self, code: Any) -> Any:
        if code not in self.names:
            self.names[code] = self._name(code)
        name = self.names[code]
        if name is not None:
            self.called.add(name)
        return sys.monitoring.DISABLE if sys.version_info >= (3, 12) else None

    def _name(self, code: Any) -> str | None:
        if not code.co_filename.startswith(self.library):
            return None
        return f"{code.co_filename[len(self.library) + 1 :]}::{code.co_qualname.split('.<locals>')[0]}"

    def pytest_runtest_protocol(self) -> None:
        self.called, self.passed, self.begun = set(), False, computing()
        self.watch(True)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call":
            self.passed = report.outcome == "passed"

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.watch(False)
        line = {"test": nodeid, "seconds": round(computing() - self.begun, 3), "passed": self.passed}
        with self.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line | {"called": sorted(self.called)}) + "\n")


def pytest_configure(config: Any) -> None:
    """As a plug-in (`-p mutation_tests`) this module records where $MUTATION_RECORD says, in workers alone."""
    folder = os.environ.get("MUTATION_RECORD")
    if folder and (hasattr(config, "workerinput") or not config.getoption("numprocesses", None)):
        library = os.environ["MUTATION_LIBRARY"]
        config.pluginmanager.register(Recorder(library, folder), "recorder")


@dataclass
class Coverage:
    """What a recorder has seen."""

    seconds: dict[str, float] = field(default_factory=dict)
    callers: dict[str, set[str]] = field(default_factory=dict)  # of each function: tests

    @classmethod
    def read(cls, folder: Path) -> Coverage:
        found = cls()
        for path in sorted(folder.glob("*.jsonl")):
            for record in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
                test = record["test"]
                if record["passed"] and Path(ROOT, test.split("::")[0]).exists():
                    found.seconds[test] = min(record["seconds"], found.seconds.get(test, math.inf))
                    for name in record["called"]:
                        found.callers.setdefault(name, set()).add(test)
        return found

    def leave_out(self, tests: Iterable[str]) -> None:
        for test in tests:
            self.seconds.pop(test, None)
            for callers in self.callers.values():
                callers.discard(test)

    def tests_of(self, mutant: Mutant, uses: Uses, most_seconds: float, most_tests: int) -> list[str]:
        """The tests that run what a mutant changes: those beside it first, the fast ones first."""
        nodes = uses.python_users(mutant.node, self.callers)
        tests = set().union(*(self.callers[node] for node in nodes)) if nodes else set()
        beside = f"tests/{Path(mutant.file).parent.as_posix()}/".replace("/./", "/")
        if mutant.node not in uses.functions:  # tests read constants and call compiled functions, which nobody sees
            tests |= {test for test in self.seconds if test.startswith(beside)}
        ranked = sorted(tests, key=lambda test: (not test.startswith(beside), self.seconds[test], test))
        planned, total = [], 0.0
        for test in ranked[:most_tests]:
            total += self.seconds[test]
            if total > most_seconds and planned:
                break
            planned.append(test)
        return planned


def tree_at(folder: Path) -> Path:
    """A copy of sources and tests, with compiled kernels, beside links to everything else that tests look at.

    A copy that is there already is brought up to date, and keeps the kernels that were compiled in it.
    """
    left_out = shutil.ignore_patterns(".mypy_cache", "*.egg-info", *(["__pycache__"] if folder.exists() else []))
    for path in sorted(folder.glob("*/**/*.py")):
        if not (ROOT / path.relative_to(folder)).exists():
            path.unlink()
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=left_out, dirs_exist_ok=True)
    for path in ROOT.iterdir():
        if not path.name.startswith(".") and path.name not in ("src", "tests", "build"):
            (folder / path.name).unlink(missing_ok=True)
            (folder / path.name).symlink_to(path)
    return folder


class Slot:
    """A tree in which one mutant at a time is planted. Only compiled functions that hold its code are forgotten."""

    def __init__(self, tree: Path, plain: Path) -> None:
        self.tree, self.plain = tree, plain
        shutil.copytree(plain, tree, symlinks=True)

    def plant(self, mutant: Mutant, kernels: Sequence[str]) -> None:
        path = self.tree / WITHIN / mutant.file
        path.write_bytes(mutant.planted(path.read_bytes()))
        for kernel in self._kernels(self.tree, kernels):
            kernel.unlink()

    def clear(self, mutant: Mutant, kernels: Sequence[str]) -> None:
        shutil.copy2(self.plain / WITHIN / mutant.file, self.tree / WITHIN / mutant.file)
        for kernel in self._kernels(self.tree, kernels):
            kernel.unlink()
        for kernel in self._kernels(self.plain, kernels):
            shutil.copy2(kernel, self.tree / kernel.relative_to(self.plain))

    def _kernels(self, tree: Path, nodes: Sequence[str]) -> Iterator[Path]:
        for node in nodes:
            file, name = node.split("::")
            path = tree / WITHIN / file
            yield from list((path.parent / "__pycache__").glob(f"{path.stem}.{name}-*.nb?"))


class Watch:
    """Runs the tests asked for, in that order, and notes in a file which one: the process may not live to tell."""

    def __init__(self, path: Path, tests: Sequence[str]) -> None:
        self.path, self.broken = path, False
        self.order = {test: rank for rank, test in enumerate(tests)}
        self.failed: list[str] = []

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Whole files are collected: a test that is gone since it was recorded is passed over."""
        asked = {item: self.order.get(item.nodeid, self.order.get(item.nodeid.split("::")[0])) for item in items}
        items[:] = sorted((item for item in items if asked[item] is not None), key=asked.__getitem__)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.path.write_text(nodeid, encoding="utf-8")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        self.broken |= report.failed


class Trial:
    """Tests in a fork, in the tree of a slot, for `limit` seconds of computing. `verdict` is None while it runs."""

    def __init__(self, slot: Slot, tests: Sequence[str], limit: float, *options: str) -> None:
        self.slot, self.limit, self.begun = slot, limit, time.perf_counter()
        self.options = options or ("-x",)
        self.moved, self.computed = self.begun, 0.0
        self.current, self.report = slot.tree / "current.txt", slot.tree / "report.json"
        for path in (self.current, self.report):
            path.unlink(missing_ok=True)
        sys.stdout.flush()
        sys.stderr.flush()
        self.child = os.fork()
        if self.child == 0:
            try:
                self._run(tests)
            finally:
                os._exit(3)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.begun

    def verdict(self) -> tuple[str, str] | None:
        """What became of the mutant, and the test that decided it."""
        done, status = os.waitpid(self.child, os.WNOHANG)
        if done == 0 and not self._waits_for_ever():
            return None
        if done == 0:
            os.killpg(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
        at = self.current.read_text(encoding="utf-8") if self.current.exists() else ""
        if done == 0 or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
            return "timeout", at
        if not self.report.exists():
            return ("crash", at) if at else ("broken", "")
        told = json.loads(self.report.read_text(encoding="utf-8"))
        if told["failed"]:
            return "killed", told["failed"][0]
        if told["code"] == NO_TESTS and not told["broken"]:
            return "unknown", ""  # the recorded tests are gone: record again
        if told["broken"] or told["code"] != 0:
            return "broken", ""
        return "survived", ""

    def _waits_for_ever(self) -> bool:
        now = time.perf_counter()
        if now - self.moved < STANDSTILL:
            return False
        before, self.computed, self.moved = self.computed, computed_by(self.child), now
        return self.computed - before < STILL

    def failures(self) -> list[str]:
        """Wait for the end: the tests that failed, and the one that did not end."""
        while (verdict := self.verdict()) is None:
            time.sleep(0.05)
        told = json.loads(self.report.read_text(encoding="utf-8"))["failed"] if self.report.exists() else []
        return [*told, *([verdict[1]] if verdict[0] in ("timeout", "crash") else [])]

    def _run(self, tests: Sequence[str]) -> None:
        """In the child: forget the library that this process knows, and test the one of the tree."""
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(self.limit), resource.RLIM_INFINITY))
        log = os.open(self.slot.tree / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(self.slot.tree)
        for name in [name for name in sys.modules if name.split(".")[0] == "private_topics"]:
            del sys.modules[name]
        source = str(self.slot.tree / "src")
        sys.path.insert(0, source)
        sys.dont_write_bytecode = True
        os.environ |= {"PYTHONPATH": source, "PYTHONDONTWRITEBYTECODE": "1"}
        self._keep_kernels()
        import pytest

        watch = Watch(self.current, tests)
        options = [*self.options, "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header"]
        code = pytest.main(
            [*options, "--tb=short", *dict.fromkeys(test.split("::")[0] for test in tests)], plugins=[watch]
        )
        import private_topics

        if not Path(private_topics.__file__).is_relative_to(source):
            os._exit(4)
        told = {"code": int(code), "failed": watch.failed, "broken": watch.broken}
        self.report.write_text(json.dumps(told), encoding="utf-8")
        sys.stdout.flush()
        os._exit(0)

    def _keep_kernels(self) -> None:
        """A kernel is as old as the file of the plain tree: those that hold other code were removed by name."""
        from numba.core import caching

        tree, plain = self.slot.tree, self.slot.plain
        mixin = caching._SourceFileBackedLocatorMixin
        honest = mixin.get_source_stamp

        def stamp(locator: Any) -> Any:
            own = locator._py_file
            if Path(own).is_relative_to(tree):
                locator._py_file = str(plain / Path(own).relative_to(tree))
            try:
                return honest(locator)
            finally:
                locator._py_file = own

        mixin.get_source_stamp = stamp


def preload() -> None:
    """Import what every trial needs, once. No compiled loop may run here: its threads do not survive a fork."""
    os.environ |= THREADS
    for name in PACKAGES:
        __import__(name)


assert LIBRARY == ROOT / WITHIN

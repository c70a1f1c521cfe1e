"""Markers are honest: whatever starts a cluster, a browser or a process says so, and `make quick` leaves it out.

And no test depends on how fast the machine is: it looks at no clock, and what it waits for has until `HANG`.
"""

import ast
import math
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from hang_support import HANG

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "tests").rglob("test_*.py"))
PACKAGES = sorted(path.parent.name for path in (ROOT / "src" / "private_topics").glob("*/__init__.py"))
TELLTALES = {
    "process": {"subprocess", "multiprocessing", "os.fork", "Clinics"},
    "spark": {"pyspark", "standalone_cluster", "spark", "spark_is_there", "executor_logs"},
    "browser": {"browser_support"},
    "data": {"real_counts"},
}
WAITING = [path for path in sorted((ROOT / "tests").rglob("*.py")) if path.name != "hang_support.py"]
WAITING += sorted((ROOT / "attacks").glob("fault*.py"))
WAITS = {"wait", "wait_for", "join", "result", "communicate", "settimeout"}
PATIENCE, USED_UP = {"wait", "patience"}, 5.0
"""Of the code under test; up to so many seconds a test means it to be used up."""
CLOCKS = {"time", "monotonic", "perf_counter", "process_time", "thread_time"}
CLOCKS |= {f"{clock}_ns" for clock in CLOCKS}
IMPLIED = {"spark": "process", "browser": "process"}
PROMISES = [
    *("sensitivity_holds", "every_number_is_noised", "nothing_but_released_values"),
    *("refused_before_it_is_charged", "keeps_the_rules", "planted_bug_fits"),
]


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def registered() -> set[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {line.split(":")[0] for line in settings["tool"]["pytest"]["ini_options"]["markers"]}


def mentioned(node: ast.AST) -> set[str]:
    """The names that code uses: variables, fixtures, imported modules, and what it takes from `os`."""
    found = set()
    for part in ast.walk(node):
        match part:
            case ast.Name(id=name) | ast.arg(arg=name):
                found.add(name)
            case ast.Attribute(value=ast.Name(id="os"), attr=name):
                found.add(f"os.{name}")
            case ast.Import(names=modules):
                found |= {module.name.split(".")[0] for module in modules}
            case ast.ImportFrom(module=str(module)):
                found.add(module.split(".")[0])
    return found


def reached(function: ast.FunctionDef, defined: dict[str, ast.AST]) -> set[str]:
    """What a test mentions, and what the functions of its file that it uses mention."""
    found, waiting = {function.name}, {function.name}
    while waiting:
        new = mentioned(defined[waiting.pop()]) - found
        found |= new
        waiting |= new & defined.keys()
    return found


@cache
def marked_tests(text: str) -> dict[str, tuple[set[str], set[str]]]:
    """By name: the markers of a test, its file's included, and what it reaches."""
    tree = ast.parse(text)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    defined = {node.name: node for node in functions}
    of_file = [ast.unparse(node) for node in tree.body if ast.unparse(node).startswith("pytestmark = ")]
    found = {}
    for function in functions:
        if function.name.startswith("test_"):
            marks = " ".join([*of_file, *map(ast.unparse, function.decorator_list)])
            found[function.name] = set(re.findall(r"mark\.(\w+)", marks)) & registered(), reached(function, defined)
    return found


def dishonest(text: str) -> list[str]:
    return [
        f"{name} needs the marker {marker}"
        for name, (markers, uses) in marked_tests(text).items()
        for marker, telltales in TELLTALES.items()
        if telltales & uses and marker not in markers | {IMPLIED.get(one) for one in markers}
    ]


@pytest.mark.parametrize("path", FILES, ids=named)
def test_every_test_says_what_it_needs(path):
    assert dishonest(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("text", "markers"),
    [
        ("import subprocess\ndef start(): subprocess.run([])\ndef test_it(): start()", {"process"}),
        ("def test_it():\n    from multiprocessing import Pool\n    Pool()", {"process"}),
        ("def test_it():\n    os.fork()", {"process"}),
        ("def test_it(spark): pass", {"spark"}),
        ("import pytest\n@pytest.mark.process\ndef test_it(spark):\n    os.fork()", {"spark"}),
        ("import subprocess, pytest\npytestmark = [pytest.mark.process]\ndef test_it(): subprocess.run([])", set()),
        ("import subprocess\ndef test_it(): assert hasattr(os, 'fork')", set()),
    ],
)
def test_a_missing_marker_would_be_seen(text, markers):
    assert {line.split()[-1] for line in dishonest(text)} == markers


def test_quick_leaves_out_what_has_a_marker_and_nothing_else():
    (left_out,) = re.findall(r"^LEFT_OUT := (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(left_out.split(" or ")) == registered()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_keeps_quick_tests(package):
    tests = [marked_tests(path.read_text(encoding="utf-8")) for path in (ROOT / "tests" / package).rglob("test_*.py")]
    assert sum(not markers for found in tests for markers, _ in found.values()) >= 5


@pytest.mark.parametrize("promise", PROMISES)
def test_every_promise_of_privacy_keeps_a_quick_test(promise):
    tests = [marked_tests(path.read_text(encoding="utf-8")) for path in FILES]
    assert any(promise in name and not markers for found in tests for name, (markers, _) in found.items())


# -- clocks ----------------------------------------------------------------------------------------------------------


def seconds(node: ast.AST | None, constants: dict[str, ast.expr]) -> float:
    """A number, a constant of the file or a product of these; else nan."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name) if name in constants:
            return seconds(constants[name], {})
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return seconds(left, constants) * seconds(right, constants)
    return math.nan


def hasty(text: str) -> list[str]:
    """What gives up on a slow machine: limits below HANG, also by the name of a constant, and looks at a clock."""
    tree, found = ast.parse(text), []
    assigned = [(node.targets[0], node.value) for node in tree.body if isinstance(node, ast.Assign)]
    constants = {target.id: value for target, value in assigned if isinstance(target, ast.Name)}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=given, keywords=more):
                limits = [one.value for one in more if one.arg == "timeout"] + (given if name in WAITS else [])
                patience = [one.value for one in more if one.arg in PATIENCE]
                found_limits = [(one, 0.0) for one in limits] + [(one, USED_UP) for one in patience]
                if any(least < seconds(one, constants) < HANG for one, least in found_limits):
                    found.append(f"line {node.lineno}: {name} has a limit below HANG")
            case ast.Attribute(value=ast.Name(id="time"), attr=name) if name in CLOCKS:
                found.append(f"line {node.lineno}: time.{name}")
            case ast.ImportFrom(module="time", names=names) if CLOCKS & {one.name for one in names}:
                found.append(f"line {node.lineno}: a clock is imported")
            case ast.Attribute(value=ast.Name(id="signal"), attr="alarm" | "ITIMER_REAL" as name):
                found.append(f"line {node.lineno}: signal.{name}")
    return found


@pytest.mark.parametrize("path", WAITING, ids=named)
def test_no_test_depends_on_how_fast_the_machine_is(path):
    assert hasty(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "subprocess.run(command, timeout=600)",
        "TIME = 120.0\nprocess.communicate(timeout=TIME)",
        "thread.join(10.0)",
        "assert changed.wait_for(lambda: answers, 20)",
        "Barrier(2, timeout=10)",
        "assert time.monotonic() - began < 8.0",
        "began = time.perf_counter_ns()",
        "SiteListener(known, patience=60.0)",
        "SiteCall(site, place, wait=30)",
        "connection.settimeout(2.0)",
        "thread.join(2 * 30)",
        "HALF = 30\nprocess.wait(timeout=2 * HALF)",
        "from time import process_time",
        "signal.setitimer(signal.ITIMER_REAL, 30.0)",
    ],
)
def test_a_hasty_test_would_be_seen(text):
    assert len(hasty(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "run(command, timeout=HANG)",
        "Site(directory, patience=FOREVER)",
        "join(10 * HANG)",
        "join(2 * 900)",
        "listener.wait(0.0)",
        "', '.join(names)",
        "time.sleep(0.1)",
        "thread.join(1801)",
    ],
)
def test_patience_is_allowed(text):
    assert hasty(text) == []

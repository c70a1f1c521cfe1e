"""Markers are honest: whatever starts a cluster, a browser or a process says so, and `make quick` leaves it out."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "tests").rglob("test_*.py"))
PACKAGES = sorted(path.parent.name for path in (ROOT / "src" / "private_topics").glob("*/__init__.py"))
TELLTALES = {
    "process": {"subprocess", "multiprocessing", "os.fork"},
    "spark": {"pyspark", "standalone_cluster", "spark", "spark_is_there", "executor_logs"},
    "browser": {"browser_support"},
    "data": {"real_counts"},
}
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

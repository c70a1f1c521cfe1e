"""The reference shares no code with what it is compared with."""

import ast
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BOTH = {"watched.py", "made_fits.py"}
MODULES = [path for path in sorted(HERE.glob("*.py")) if path.name not in BOTH and not path.name.startswith("test_")]
STANDARD = {"__future__", "collections", "dataclasses", "fractions", "functools", "itertools", "math", "typing"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_the_reference_imports_neither_the_library_nor_its_tools(path):
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names |= {node.module.split(".")[0]} - {"reference"}
            assert node.module not in ("reference.watched", "reference.made_fits")
    assert names <= STANDARD | {"mpmath"}

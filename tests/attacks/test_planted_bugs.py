"""The planted bugs fit the library of today; `attacks/mutants.py` shows that each is caught."""

import ast
import subprocess
import sys

import pytest

from mutants import LIBRARY, MUTANTS, Mutant
from stored import ROOT


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_bug_fits_its_file(mutant):
    """A bug that no longer applies tests nothing: when the code changes, so does its line in planted_bugs.toml."""
    text = (ROOT / LIBRARY / mutant.file).read_text(encoding="utf-8")
    planted = mutant.planted(text)
    assert ast.dump(ast.parse(planted)) != ast.dump(ast.parse(text))


@pytest.mark.process
def test_the_tests_that_must_notice_exist():
    tests = sorted({mutant.test for mutant in MUTANTS})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_two_bugs_are_the_same():
    names, edits = {mutant.name for mutant in MUTANTS}, {(mutant.file, mutant.edit) for mutant in MUTANTS}
    assert len(names) == len(edits) == len(MUTANTS)


def test_a_bug_is_planted_place_by_place():
    mutant = Mutant("bug", "file.py", "test", " a\n-b\n+c\n@@\n+e\n d\n")
    assert mutant.planted("a\nb\nx\nd\n") == "a\nc\nx\ne\nd\n"
    for changed in ("a\nx\nd\n", "a\nb\na\nb\nd\n"):
        with pytest.raises(ValueError, match="must hold this once"):
            mutant.planted(changed)

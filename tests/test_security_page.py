"""SECURITY.md names tests and commands that exist, and the README leads to it."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def test_every_row_names_tests_that_exist():
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and "test_" in line]
    assert len(rows) >= 19
    for row in rows:
        folder = ROOT / "tests"
        for name in re.findall(r"`([\w/]*test_\w+\.py)`", row):
            path = ROOT / name if "/" in name else folder / name
            folder = path.parent
            assert path.exists(), name


def test_what_it_points_to_is_there():
    for name in re.findall(r"\]\(([^)]+)\)|python ((?:attacks|benchmarks|research)/\w+\.py)", PAGE):
        assert (ROOT / (name[0] or name[1])).exists()
    assert "](SECURITY.md)" in (ROOT / "README.md").read_text(encoding="utf-8")

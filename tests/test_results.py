"""Stored results say where they come from, and the scripts that wrote them still fit the library."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import stored
from private_topics.engines.gpu.sums import ON_HOST
from stored import ROOT, UNRECORDED

FOLDERS = tuple(ROOT / name for name in ("attacks", "benchmarks", "research"))
SCRIPTS = sorted(path for folder in FOLDERS for path in folder.glob("*.py"))
RESULTS = sorted(
    path
    for folder in (*(folder / "results" for folder in FOLDERS), ROOT / "docs" / "utility")
    for path in folder.rglob("*")
    if path.is_file()
)
PAGES = {
    "docs/certified.md": "research/certified.py",
    "docs/errata.md": "research/errata.py",
    "docs/limits.md": "research/limits.py",
    "docs/reproduction/rivals.md": "research/rivals.py",
}
LINE = re.compile(r"Measured at commit [0-9a-f]{7,}( with changes)?, \d{4}-\d\d-\d\d, \d+ cores, .*; Python .*\.")
WRITING = {"about", "tell", "store", "store_json", "store_csv", "store_between"}


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def provenance(path: Path) -> str:
    """The line of a stored result; a picture is drawn from the CSV beside it."""
    if path.suffix == ".png":
        (path,) = (other for other in path.parent.glob("*.csv") if other.stem == path.stem)
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return str(json.loads(text)["about"])
    lines = text.splitlines()
    if path.suffix == ".csv":
        return lines[0].removeprefix("# ")
    return lines[2] if lines[0].startswith("# ") else lines[0]


def gpu_seconds() -> set[str]:
    """The times of the stored run on a GPU, to a tenth of a second."""
    text = (ROOT / "benchmarks" / "results" / "gpu.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?:with|without|counts)[^|]*\| ([\d., ]+) \|$", text, re.MULTILINE)
    return {f"{float(value):.1f} s" for row in rows for value in row.split(", ")}


def gpu_times_told(text: str) -> list[str]:
    """The times that a page tells in sentences, list items or cells that name an H200."""
    parts = [part for part in re.split(r"\n\n|\n(?=- |\|)", text) if "H200" in part]
    return [time for part in parts for time in re.findall(r"[\d.]+ s\b", re.sub(r"\d+ s and [\d.]+ GB", "", part))]


@pytest.mark.parametrize("page", ["README.md", "docs/guide/gpu.md", "docs/scaling.md"])
def test_what_pages_say_of_the_gpu_is_what_was_stored(page):
    told = gpu_times_told((ROOT / page).read_text(encoding="utf-8"))
    assert told
    assert set(told) <= gpu_seconds()


def test_the_guide_to_the_gpu_names_the_sums_that_stay_on_the_host_and_files_that_exist():
    text = (ROOT / "docs" / "guide" / "gpu.md").read_text(encoding="utf-8")
    assert [kind.__name__ for kind in ON_HOST] == ["FeatureStatistic", "WithWords", "Agreement"]
    assert "are added up on the host: how many texts have words, the features of a fit with" in text
    assert "and the [evidence](evidence.md) for topics." in text
    files = re.findall(r"`((?:inference|engines)/[\w/.]+)`", text)
    assert len(files) == 2
    assert all((ROOT / "src" / "private_topics" / file).is_file() for file in files)


def script_of(path: Path) -> Path:
    """results/name.md, results/name_variant.json and results/name/anything come from name.py of the same folder."""
    if path.parent == ROOT / "docs" / "utility":
        return ROOT / "benchmarks" / "utility.py"
    folder, _, name, *_ = path.relative_to(ROOT).parts
    scripts = [script for script in (ROOT / folder).glob("*.py") if name.startswith(script.stem)]
    return max(scripts, key=lambda script: len(script.stem))


def writes(script: Path) -> set[str]:
    """What a script calls of `stored` to say where its results come from."""
    calls = (node.func for node in ast.walk(ast.parse(script.read_text("utf-8"))) if isinstance(node, ast.Call))
    return WRITING & {called.id for called in calls if isinstance(called, ast.Name)}


@pytest.mark.parametrize("path", RESULTS, ids=named)
def test_a_stored_result_names_commit_machine_date_and_versions(path):
    line = provenance(path)
    assert line == UNRECORDED or LINE.fullmatch(line), line


@pytest.mark.parametrize("page", PAGES)
def test_a_table_on_a_page_does_too(page):
    begin = stored.BEGIN.format(PAGES[page])
    line = (ROOT / page).read_text(encoding="utf-8").split(begin)[1].splitlines()[1]
    assert line == UNRECORDED or LINE.fullmatch(line), line


WRITERS = {*map(script_of, RESULTS), *(ROOT / script for script in PAGES.values())}
WRITERS |= {path for path in SCRIPTS if '"--out"' in path.read_text(encoding="utf-8")}


@pytest.mark.parametrize("script", sorted(WRITERS), ids=named)
def test_a_script_that_stores_results_writes_the_line(script):
    assert writes(script)


@pytest.mark.process
def test_every_script_can_be_imported():
    """In one process of its own: some of them set up the process that they run in."""
    code = f"import sys; sys.path += {[str(folder) for folder in FOLDERS]}\n"
    code += "\n".join(f"import {path.stem}" for path in SCRIPTS)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_scripts_and_results_that_are_named_exist():
    pages = [*ROOT.glob("*.md"), ROOT / "Makefile", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    texts = "\n".join(path.read_text(encoding="utf-8") for path in pages if path.name != "CHANGELOG.md")
    named_there = set(re.findall(r"(?<![\w/])(?:attacks|benchmarks|research)/[\w/]+(?:\.\w+)?", texts))
    assert len(named_there) > 30
    assert sorted(name for name in named_there if not (ROOT / name).exists()) == []


def test_about_says_all_of_it():
    line = stored.about()
    assert LINE.fullmatch(line) or "commit unknown" in line, line
    assert all(f"{name} " in line for name in ("numpy", "scipy", "numba", "private-topics"))
    assert not LINE.fullmatch(UNRECORDED)
    assert not LINE.fullmatch(line.replace("commit ", ""))


def test_a_page_has_the_line_below_its_title(tmp_path, capsys):
    stored.tell("# Title\n\nText.\n", tmp_path / "a" / "page.md")
    page = (tmp_path / "a" / "page.md").read_text(encoding="utf-8")
    assert page == capsys.readouterr().out == f"# Title\n\n{stored.about()}\n\nText.\n"
    assert stored.page_of("Text.") == f"{stored.about()}\n\nText.\n"
    assert provenance(tmp_path / "a" / "page.md") == stored.about()


def test_tables_and_records_have_it_and_are_read_back(tmp_path):
    rows = [{"a": 1, "b": "x,y"}, {"a": 2, "b": "", "c": 3.5}]
    stored.store_csv(tmp_path / "rows.csv", rows)
    stored.store_json(tmp_path / "record.json", {"runs": 3})
    assert provenance(tmp_path / "rows.csv") == provenance(tmp_path / "record.json") == stored.about()
    assert stored.read_csv(tmp_path / "rows.csv") == [
        {"a": "1", "b": "x,y", "c": ""},
        {"a": "2", "b": "", "c": "3.5"},
    ]


def test_a_table_is_put_between_its_markers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"Before\n{stored.BEGIN.format('a.py')}\nold\n{stored.END}\nAfter\n", encoding="utf-8")
    for table in ("| a |", "| b |"):
        stored.store_between(page, "a.py", table)
        text = page.read_text(encoding="utf-8")
        assert stored.between(text, "a.py") == table
        assert text.startswith("Before\n")
        assert text.endswith("\nAfter\n")
        assert text.count(stored.about()) == 1

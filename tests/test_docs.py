"""The guide and the README say what is so: their Python runs, their links lead somewhere, their commands parse.

The Python blocks of a page run in order, in one namespace, in a folder of their own. What a block takes from its
reader (texts, counts, a file) is named in a comment before it, `<!-- stand-in: texts, X -->`, and made up here.
"""

import contextlib
import importlib
import io
import os
import re
import shlex
import warnings
from pathlib import Path
from typing import Any

import pytest
import typer

import private_topics
from private_topics import PrivacyWarning
from private_topics.cli import app
from private_topics.corpus.made_up.letters import make_letters, write_letters

ROOT = Path(__file__).resolve().parents[1]
GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
UNMARKED = {"README.md": ("letters.jsonl.gz", "X")}
"""Stand-ins of pages whose blocks have no comment."""
LETTERS_IN_MEMORY, LETTERS_IN_FILE = 2_000, 8_000

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARKED_PYTHON = re.compile(r"^(?:<!-- stand-in: ([^>]*) -->\n)?```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^    .*\n)+", re.MULTILINE)
LINK = re.compile(r"\]\(([^()\s]+)\)")
USAGE_ERROR: Any = typer.BadParameter.__mro__[1]


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def python_blocks(text: str) -> list[tuple[tuple[str, ...], str]]:
    """The Python of a page, in order, each block with the stand-ins it asks for."""
    found = MARKED_PYTHON.findall(text)
    assert len(found) == text.count("```python"), "a Python block is not closed, or not at the start of a line"
    return [(tuple(name.strip() for name in marks.split(",") if name.strip()), code) for marks, code in found]


def commands(text: str, program: str) -> list[list[str]]:
    """The arguments of every line of a code block that calls `program`; a backslash continues a line."""
    blocks = [code for language, code in FENCE.findall(text) if language != "python"]
    blocks += INDENTED.findall(FENCE.sub("", text))
    lines = [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith(f"{program} ")]


def broken_links(page: Path, text: str) -> list[str]:
    """Relative links of a page that lead to no file."""
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))
    targets = [target.split("#")[0] for target in LINK.findall(prose) if "://" not in target]
    return [target for target in targets if target and not (page.parent / target).exists()]


def parse(arguments: list[str]) -> None:
    """Parse a command line of ours as the program does, without running it."""
    command: Any = typer.main.get_command(app)
    arguments = list(arguments)
    while hasattr(command, "commands"):
        command = command.commands[arguments.pop(0)]
    command.make_context(command.name, arguments)


@pytest.fixture(scope="session")
def stand_ins(tmp_path_factory):
    """`stand_ins(names)`: variables for the block; files are put into the current folder."""
    from sklearn.feature_extraction.text import CountVectorizer

    letters = list(make_letters(LETTERS_IN_MEMORY, seed=1))
    texts = [letter.text for letter in letters]
    public_words = CountVectorizer(stop_words="english", token_pattern="[a-z]{3,}", min_df=20).fit(texts)
    variables = {
        "texts": texts,
        "patients": [letter.patient for letter in letters],
        "public_words": public_words.get_feature_names_out().tolist(),
        "X": public_words.transform(texts),
    }
    file = tmp_path_factory.mktemp("letters") / "letters.jsonl.gz"
    write_letters(file, LETTERS_IN_FILE, seed=1)
    contents = {
        "letters.jsonl.gz": file.read_bytes(),
        "words.txt": "".join(f"{word}\n" for word in variables["public_words"]).encode(),
    }

    def provide(names):
        for name in names:
            if name in contents:
                Path(name).write_bytes(contents[name])
        return {name: variables[name] for name in names if name not in contents}

    return provide


@pytest.mark.slow
@pytest.mark.parametrize("page", [ROOT / "README.md", *GUIDE], ids=named)
def test_the_python_of_a_page_runs(page, stand_ins, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = python_blocks(page.read_text(encoding="utf-8"))
    namespace: dict[str, Any] = {"__name__": "page"}
    if page.name in UNMARKED:
        namespace |= stand_ins(UNMARKED[page.name])
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore", PrivacyWarning)  # the stand-ins are small
        for number, (names, code) in enumerate(blocks, start=1):
            namespace |= stand_ins(names)
            exec(compile(code, f"{named(page)}, block {number}", "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_relative_links_lead_to_files(page):
    assert broken_links(page, page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", [ROOT / "README.md", *GUIDE], ids=named)
def test_command_lines_parse(page):
    for arguments in commands(page.read_text(encoding="utf-8"), "private-topics"):
        parse(arguments)


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *GUIDE], ids=named)
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    shown = {arguments[0] for arguments in commands(text, "make")} | set(
        re.findall(r"`make ([a-z-]+)", " ".join(text.split()))
    )
    assert shown <= targets


def test_every_page_of_the_guide_is_in_the_contents():
    site, home = ((ROOT / name).read_text(encoding="utf-8") for name in ("mkdocs.yml", "docs/index.md"))
    for page in GUIDE:
        assert f": guide/{page.name}\n" in site
        assert f"(guide/{page.name})" in home


def test_continuous_integration_builds_the_site_strictly():
    """`--quiet` would hide the warnings that `--strict` counts: broken links would pass."""
    (recipe,) = re.findall(r"mkdocs build.*", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert "--strict" in recipe
    assert "-q" not in recipe
    assert "make docs" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    validation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("validation:")[1].split("plugins:")[0]
    assert {"not_found: warn", "anchors: warn"} <= {line.strip() for line in validation.splitlines()}


def test_the_reference_names_what_exists_and_all_that_is_public():
    names = re.findall(r"^::: (\S+)$", (ROOT / "docs/guide/api.md").read_text(encoding="utf-8"), re.MULTILINE)
    described = {private_topics.errors}
    for name in names:
        try:
            described.add(importlib.import_module(name))
        except ModuleNotFoundError:
            module, _, attribute = name.rpartition(".")
            described.add(getattr(importlib.import_module(module), attribute))
    public = {getattr(private_topics, name) for name in private_topics.__all__ if name != "__version__"}
    errors = {thing for thing in public if getattr(thing, "__module__", "") == "private_topics.errors"}
    assert "private_topics.errors" in names
    assert public - errors <= described


@pytest.mark.parametrize(
    "line",
    [
        "private-topics fit a.jsonl -o b.model --epsilom 1",
        "private-topics fit a.jsonl",  # no --output
        "private-topics plan --documents many --words 10",
        "private-topics topics a.model b.model",
    ],
)
def test_a_wrong_command_line_is_caught(line):
    (arguments,) = commands(f"```sh\n{line}\n```\n", "private-topics")
    with pytest.raises(USAGE_ERROR):
        parse(arguments)


def test_commands_are_found_in_fenced_and_indented_blocks():
    text = "Text.\n\n    private-topics topics a \\\n        -n 3  # note\n\n```sh\nprivate-topics plan\n```\n"
    assert sorted(commands(text, "private-topics")) == [["plan"], ["topics", "a", "-n", "3"]]


def test_a_broken_link_is_caught(tmp_path):
    (tmp_path / "there.md").touch()
    text = "[a](there.md) [b](missing.md#part) [c](https://example.org/x) [d](#here) `[e](code.md)`\n"
    assert broken_links(tmp_path / "page.md", text) == ["missing.md"]


def test_an_unknown_stand_in_is_an_error(stand_ins, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KeyError):
        stand_ins(("nothing",))
    assert os.listdir() == []


def test_docstring_sections_become_lists():
    pytest.importorskip("griffe", reason="needs the extra docs (make docs)")
    import sys

    sys.path.insert(0, str(ROOT / "docs"))
    try:
        from docstrings import listed
    finally:
        sys.path.remove(str(ROOT / "docs"))
    text = "Head.\n\nParameters\n----------\na, b : two\n    lines.\nc : three.\n\nTail."
    assert listed(text) == "Head.\n\n**Parameters**\n\n- `a`, `b`: two\n    lines.\n- `c`: three.\n\nTail."
    assert listed("Head alone: no sections.") == "Head alone: no sections."

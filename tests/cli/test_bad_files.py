"""Files that cannot be used end in one line that quotes nothing of them, and in exit status 1; nothing is charged."""

from __future__ import annotations

import errno
import gzip
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from private_topics.cli import app
from private_topics.privacy.ledger.durable import DurableLedger

SECRET = "quixotically"
NOBODY = 65534


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def lines(count: int = 50, field: str = "text") -> bytes:
    return "".join(
        json.dumps({field: f"{SECRET} patient {number}", "user": "u"}) + "\n" for number in range(count)
    ).encode()


def truncated(path: Path) -> None:
    noise = random.Random(0)
    text = b"".join(json.dumps({"text": f"{SECRET} {noise.random()}"}).encode() + b"\n" for _ in range(2_000))
    whole = gzip.compress(text)
    path.write_bytes(whole[: len(whole) // 2])


BAD = {
    "truncated.jsonl.gz": truncated,
    "not_gzip.jsonl.gz": lambda path: path.write_bytes(lines()),
    "empty.jsonl": lambda path: path.write_bytes(b""),
    "empty.jsonl.gz": lambda path: path.write_bytes(gzip.compress(b"")),
    "one.jsonl": lambda path: path.write_bytes(lines(1)),
    "quote.csv": lambda path: path.write_bytes(f'text\n"{SECRET} never closed\n'.encode() * 3),
    "header.csv": lambda path: path.write_bytes(f"{SECRET}\nwords words\n".encode()),
    "wide.csv": lambda path: path.write_bytes(f"{SECRET},".encode() * 300_000 + b"\nwords\n"),
    "bomb.jsonl": lambda path: path.write_bytes(b"[" * 2_000_000 + SECRET.encode()),
    "table.parquet": lambda path: path.write_bytes(SECRET.encode() * 50),
    "counts.npz": lambda path: path.write_bytes(SECRET.encode() * 50),
    "counts.mtx": lambda path: path.write_bytes(SECRET.encode() * 50),
    "docword.txt": lambda path: path.write_bytes(SECRET.encode() * 50),
    "unknown.docx": lambda path: path.write_bytes(SECRET.encode() * 50),
    "folder": lambda path: path.mkdir(),
    "missing.jsonl": lambda path: None,
}


def assert_one_line(result: Any) -> None:
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1].startswith("error: ")
    assert "internal error" not in result.stderr
    assert "Traceback" not in result.output
    assert SECRET not in result.output.lower()


@pytest.mark.parametrize("name", BAD)
def test_bad_sources(name: str, tmp_path: Path) -> None:
    BAD[name](tmp_path / name)
    ledger = DurableLedger.register(tmp_path / "budget.db", "c", 10.0, 1e-3)
    charged = ["--ledger", tmp_path / "budget.db", "--corpus", "c"]
    assert_one_line(run("fit", tmp_path / name, *charged, "-o", tmp_path / "x"))
    assert_one_line(run("vocabulary", "private", tmp_path / name, *charged, "-o", tmp_path / "x"))
    assert ledger.entries() == ()
    assert not (tmp_path / "x").exists()


UNREADABLE = {
    "binary.jsonl": bytes(range(256)) * 500 + SECRET.encode(),
    "long_line.jsonl": lines() + b'{"text": "' + f"{SECRET} ".encode() * 2_000_000,
    "latin.jsonl": (f'{{"text": "{SECRET} é"}}\n' * 50).encode("latin-1"),
    "utf16.jsonl": lines().decode().encode("utf-16"),
    "field.jsonl": lines(field=f"{SECRET}"),
    "bomb.csv.gz": gzip.compress(f"text\n{SECRET}\n".encode()) + gzip.compress(bytes(2**22), 9) * 64,
}


def fit_with_list(source: Path, *more: Any) -> Any:
    words = source.with_name("words.txt")
    words.write_text("".join(f"{word}\n" for word in ("patient", "fever", SECRET)))
    known = ["--vocabulary", words, "--knowledge", "none"]
    return run(
        "fit", source, *known, "--topics", 2, "--anyway", "--force", *more, "-o", source.with_name("made.model")
    )


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_empty_and_stops_nothing(name: str, tmp_path: Path) -> None:
    """That a run stops says something about records; a model of empty documents says nothing."""
    (tmp_path / name).write_bytes(UNREADABLE[name])
    result = fit_with_list(tmp_path / name)
    assert result.exit_code == 0 or re.search(r"About \d+ ± \d+ of", result.output), result.output
    assert SECRET not in result.output


@pytest.mark.parametrize("unit", [False, True], ids=["documents", "users"])
def test_the_exit_status_does_not_depend_on_the_number_of_broken_records(unit: bool, tmp_path: Path) -> None:
    """No number of them is a limit; one without a label stopped the run of users."""
    source, broken = tmp_path / "some.jsonl", f'{{"text": "{SECRET}"\n'.encode()
    codes = set()
    for count in (0, 1, 600, 601):  # of those left the number is far above its noise
        good = [json.dumps({"text": "patient fever", "user": f"u{number}"}) for number in range(1000 - count)]
        source.write_bytes("\n".join([*good, ""]).encode() + count * broken)
        result = fit_with_list(source, *(["--unit", "user"] if unit else []))
        codes.add(result.exit_code)
        assert "error" not in result.stderr
    assert codes == {0}


@pytest.mark.parametrize("command", [["fit"], ["vocabulary", "private"]])
def test_a_private_run_refuses_strict_whatever_the_records_are(command: list[str], tmp_path: Path) -> None:
    said = set()
    for name, content in {"whole": lines(), "mixed": lines() + f'{{"text": {SECRET}'.encode()}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.jsonl").write_bytes(content)
        result = run(*command, tmp_path / name / "a.jsonl", "--strict", "-o", tmp_path / "x")
        assert_one_line(result)
        said.add(result.stderr.splitlines()[-1])
    assert len(said) == 1
    assert "private-topics check" in said.pop()


def test_check_counts_what_cannot_be_read(tmp_path: Path) -> None:
    source = tmp_path / "mixed.jsonl"
    source.write_bytes(lines(3) + f'{{"text": {SECRET}\n{{"text": 5, "user": "v"}}\n'.encode() + lines(2))
    result = run("check", source, "--unit", "user")
    assert result.exit_code == 0
    lines_of = dict(line.split("\t") for line in result.stdout.splitlines() if "\t" in line)
    assert (lines_of["records"], lines_of["unreadable"]) == ("7", "2 (28.6%), first: record 4")
    assert (lines_of["units"], lines_of["without a unit"]) == ("2", "1 (14.3%)")
    assert "confidential" in result.stderr
    facts = json.loads(run("check", source, "--json").stdout)
    assert [facts[name] for name in ("records", "unreadable", "first")] == [7, 2, 4]
    assert_one_line(run("check", source, "--strict"))


@pytest.mark.parametrize(
    ("command", "fewest"), [(["fit", "--vocabulary", "private"], 114), (["vocabulary", "private"], 37)]
)
def test_too_few_documents_for_a_vocabulary_cost_nothing(command: list[str], fewest: int, tmp_path: Path) -> None:
    (tmp_path / "few.jsonl").write_bytes(lines(5))
    ledger = DurableLedger.register(tmp_path / "budget.db", "c", 10.0, 1e-3)
    charged = ["--ledger", tmp_path / "budget.db", "--corpus", "c"]
    result = run(*command, tmp_path / "few.jsonl", *charged, "-o", tmp_path / "x")
    assert_one_line(result)
    assert f"at least {fewest} documents" in result.stderr
    assert ledger.entries() == ()


@pytest.mark.parametrize("command", ["topics", "report", "evaluate", "transform"])
def test_foreign_model_files(command: str, tmp_path: Path) -> None:
    (tmp_path / "foreign.model").write_bytes(SECRET.encode() * 100)
    (tmp_path / "texts.jsonl").write_bytes(lines())
    extra = [tmp_path / "texts.jsonl"] if command in ("evaluate", "transform") else []
    assert_one_line(run(command, tmp_path / "foreign.model", *extra))
    assert_one_line(run(command, tmp_path / "missing.model", *extra))


def test_bad_word_lists(tmp_path: Path) -> None:
    (tmp_path / "texts.jsonl").write_bytes(lines())
    (tmp_path / "binary.txt").write_bytes(bytes(range(256)))
    (tmp_path / "twice.txt").write_text(f"{SECRET}\n{SECRET}\n")
    (tmp_path / "useless.txt").write_text("the\nof\n")
    for name in ("binary.txt", "twice.txt", "useless.txt", "missing.txt"):
        assert_one_line(run("fit", tmp_path / "texts.jsonl", "--vocabulary", tmp_path / name, "-o", tmp_path / "x"))
    for name in ("binary.txt", "twice.txt", "missing.txt"):
        assert_one_line(run("vocabulary", "check", tmp_path / name))


def test_ledgers_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "texts.jsonl").write_bytes(lines())
    (tmp_path / "foreign.db").write_bytes(SECRET.encode() * 100)
    DurableLedger.register(tmp_path / "budget.db", "c", 10.0, 1e-3)
    for ledger, corpus in (("missing.db", "c"), ("foreign.db", "c"), ("budget.db", "another")):
        charged = ["--ledger", tmp_path / ledger, "--corpus", corpus]
        assert_one_line(run("fit", tmp_path / "texts.jsonl", *charged, "-o", tmp_path / "x"))
        assert_one_line(run("budget", "show", tmp_path / ledger, "--corpus", corpus))


@pytest.fixture
def folder_of_everybody() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="private-topics-test-"))
    folder.chmod(0o777)
    yield folder
    (folder / "closed").chmod(0o700)
    shutil.rmtree(folder)


@contextmanager
def without_rights() -> Iterator[None]:
    """Root may write everywhere: be nobody for a while. Anybody else has to obey the file's mode anyway."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_a_read_only_ledger_refuses(folder_of_everybody: Path) -> None:
    folder = folder_of_everybody
    (folder / "texts.jsonl").write_bytes(lines(150))
    (folder / "closed").mkdir()
    ledger = DurableLedger.register(folder / "closed" / "budget.db", "c", 10.0, 1e-3)
    run("vocabulary", "private", folder / "texts.jsonl", "-o", folder / "warm")  # compiles what nobody may not store
    (folder / "closed" / "budget.db").chmod(0o444)
    (folder / "closed").chmod(0o555)
    with without_rights():
        charged = ["--ledger", folder / "closed" / "budget.db", "--corpus", "c"]
        result = run("fit", folder / "texts.jsonl", *charged, "-o", folder / "x")
    assert_one_line(result)
    assert "ledger" in result.stderr
    assert ledger.entries() == ()
    assert not (folder / "x").exists()


def test_an_unwritable_place_is_refused_before_the_budget_is_spent(tmp_path: Path) -> None:
    (tmp_path / "texts.jsonl").write_bytes(lines())
    ledger = DurableLedger.register(tmp_path / "budget.db", "c", 10.0, 1e-3)
    charged = ["--ledger", tmp_path / "budget.db", "--corpus", "c"]
    for place in (["-o", tmp_path / "none" / "x"], ["-o", tmp_path], ["-o", tmp_path / "x", "--report", tmp_path]):
        assert_one_line(run("fit", tmp_path / "texts.jsonl", *charged, *place))
    assert ledger.entries() == ()


def test_an_unexpected_error_is_not_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from private_topics.cli import fit_run

    def broken(*arguments: Any, **options: Any) -> None:
        raise KeyError(SECRET)

    (tmp_path / "texts.jsonl").write_bytes(lines())
    monkeypatch.setattr(fit_run, "fit_texts", broken)
    result = run("fit", tmp_path / "texts.jsonl", "-o", tmp_path / "x")
    assert result.exit_code == 1
    assert "internal error (KeyError)" in result.stderr
    assert SECRET not in result.output
    assert "Traceback" not in result.output


@pytest.mark.process
@pytest.mark.fault
def test_a_full_disk_is_found_before_the_budget_is_spent(tmp_path: Path) -> None:
    """The file size limit of a process of its own stands in for a disk that takes some bytes and no more."""
    (tmp_path / "texts.jsonl").write_bytes(lines())
    ledger = DurableLedger.register(tmp_path / "budget.db", "c", 10.0, 1e-3)
    program = (
        "import resource, signal, sys\n"
        "from private_topics.cli import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "main()\n"
    )
    command = [sys.executable, "-c", program, "fit", tmp_path / "texts.jsonl", "-o", tmp_path / "x"]
    command += ["--ledger", tmp_path / "budget.db", "--corpus", "c"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.fullmatch(r"error: '.*/x' cannot be written: File too large\.\n", done.stderr)
    assert ledger.entries() == ()


def test_a_disk_that_fills_up_meanwhile_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from private_topics.estimators.base import TopicEstimator

    def full(model: Any, path: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(TopicEstimator, "save", full)
    (tmp_path / "texts.jsonl").write_bytes(lines(3_000))
    result = run("fit", tmp_path / "texts.jsonl", "--epsilon", 50, "-k", 1, "-o", tmp_path / "x")
    assert result.exit_code == 1
    assert "No space left on device. The model is lost; what it cost stays spent." in result.stderr


@pytest.mark.parametrize(("epsilon", "said"), [(1, None), (6, "WEAK GUARANTEE"), (20, "VERY WEAK GUARANTEE")])
def test_a_weak_guarantee_is_called_weak(epsilon: int, said: str | None, tmp_path: Path) -> None:
    (tmp_path / "some.jsonl").write_bytes(lines())
    result = fit_with_list(tmp_path / "some.jsonl", "--epsilon", epsilon, "--json")
    assert (f"warning: {said}. The proof does not rule out" in result.stderr) == (said is not None)
    assert json.loads(result.stdout)["strength"] == (
        "usual" if said is None else said.removesuffix(" GUARANTEE").lower()
    )

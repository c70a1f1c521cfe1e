"""Every command that reads private text, on neighbouring files: exit status, both streams and all files are the same.

The noise and everything that enters a release are held fixed (`replay_support`), so whatever still differs was told
by one record. `test_end_to_end_privacy.py` does this for whole fits, and compares what enters with the sensitivities.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from command_support import ran, run
from typer.main import get_command

from private_topics.cli import app
from private_topics.corpus.made_up.letters import make_letters
from private_topics.errors import warn_user
from private_topics.estimators import vocabularies
from private_topics.privacy.neighbours import ADD_REMOVE, REPLACE, ZERO_OUT
from private_topics.releases.evidence import EVIDENCE
from replay_support import Replay, watched

LETTERS = 400
RECORDS = [
    {"text": letter.text, "patient": letter.patient, "ward": ("north", "south")[number % 2]}
    for number, letter in enumerate(make_letters(LETTERS, seed=3))
]
RECORDS[-1]["patient"] = "nobody"  # with one letter: neighbours have as many patients
LAST: dict[str, Any] = {
    "a letter": RECORDS[-1],
    "empty": {"text": "", "patient": "nobody", "ward": "north"},
    "no text": {"patient": "nobody", "ward": "north"},
    "a text that is none": {"text": ["quixotic"], "patient": "nobody", "ward": "north"},
    "no patient": {"text": "a letter without one", "ward": "north"},
    "a patient that is none": {"text": "letter", "patient": {"name": "quixotic"}, "ward": "north"},
    "no ward": {"text": RECORDS[-1]["text"], "patient": "nobody"},
    "a ward of nobody": {"text": RECORDS[-1]["text"], "patient": "nobody", "ward": "quixotic"},
    "a ward that is none": {"text": RECORDS[-1]["text"], "patient": "nobody", "ward": [1.5]},
    "one word": {"text": "quixotic " * 500, "patient": "nobody", "ward": "south"},
    "no JSON": b'{"text": "quixotic',
    "no UTF-8": b'{"text": "\xff\xfe quixotic"}',
    "no record": b"[1, 2]",
    "a blank line": b" ",
}
SHOWN = ("exit status", "stdout", "stderr", "exception", "files")
FEW = ("a letter", "no text", "one word", "no UTF-8")
COUNTED = ("a letter", "empty", "one word")  # a file of counts has no broken records
LABELLED = ("a letter", "empty", "a text that is none", "no ward", "one word")
WHOLE = ("fit with candidates", "shares", "shares of nobody")  # commands that see all of these
OPTIONS = ("--epsilon", 3, "--delta", 1e-5)
FIT = (
    "fit",
    "letters.jsonl",
    "-o",
    "model",
    "-k",
    3,
    "--refine-steps",
    1,
    "--report",
    "report.html",
    "--anyway",
    *OPTIONS,
)
LISTED = ("--vocabulary", "words.txt", "--knowledge", "none")
CHARGED = ("--ledger", "budget.db", "--corpus", "letters")
COMMANDS: dict[str, tuple[Any, ...]] = {
    "fit with a list": (*FIT, *LISTED, *CHARGED),
    "fit of users": (*FIT, *LISTED, "--unit", "patient"),
    "fit with candidates": (*FIT, "--vocabulary", "candidates:words.txt", "--knowledge", "none"),
    "fit with a private vocabulary": (*FIT, "--vocabulary", "private", "--knowledge", "none", "--epsilon", 20),
    "fit with knowledge": (*FIT, "--vocabulary", "words.txt"),
    "fit of another field": (*FIT, *LISTED, "--field", "ward"),
    "fit of a field that is not there": (*FIT, *LISTED, "--field", "letter"),
    "fit that tests its topics": (*FIT, *LISTED, "--keep", "seen", "--epsilon", 100),
    "fit with a bound": (*FIT, *LISTED, "--most-units", 1000),
    "fit of counts": (FIT[0], "counts.npz", *FIT[2:], *LISTED),
    "vocabulary": ("vocabulary", "private", "letters.jsonl", "-o", "found.txt", *OPTIONS),
    "vocabulary of candidates": ("vocabulary", "private", "letters.jsonl", "-o", "found.txt", "--candidates",
                                 "words.txt", *OPTIONS),
    "shares": ("shares", "old", "letters.jsonl", "--by", "ward", "--classes", "north,south,nobody",
               "-o", "shares.json", "--report", "shares.html", *OPTIONS),
    "evidence": ("evidence", "old", "letters.jsonl", "-o", "evidence.json", *OPTIONS),
    "shares of nobody": ("shares", "old", "letters.jsonl", "--by", "ward", "--classes", "quixotic", *OPTIONS),
}  # fmt: skip
CASES = [
    (command, relation)
    for command, arguments in COMMANDS.items()
    for relation in (REPLACE, ZERO_OUT, ADD_REMOVE)
    if relation == ADD_REMOVE or "--most-units" not in arguments
]
NO_WORDS = ("fit of another field", "fit of a field that is not there")
"""Commands that end, by a released number, with exit status 1."""
NOT_COMPARED = {
    "demo": "makes its letters up",
    "check": "looks at a file for its curator, who is told that what it prints is confidential",
    "topics": "reads a model",
    "edit": "reads a model",
    "transform": "gives proportions of single documents, and says that no guarantee covers them",
    "evaluate": "scores documents that no guarantee covers, and says so",
    "report": "reads a model",
    "export": "reads a model",
    "plan": "takes public numbers",
    "verify": "reads a model and its report",
    "vocabulary check": "reads a public list",
    "budget register": "reads no text; of the ids of users it keeps a keyed digest",
    "budget show": "reads a ledger",
    "sites identity": "makes a key",
    "sites directory": "reads public keys",
    "sites certificate": "makes a key",
    "sites coordinate": "sees masked sums",
    "sites fit": "needs other sites, and reads its texts with the functions of fit",
    "sites demo": "makes its letters up",
    "audit": "takes a corpus that is made up or declared public",
    "reproduce": "makes its corpora up",
}
"""Commands without neighbours, and why."""


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A public list of words and a private model."""
    folder = tmp_path_factory.mktemp("ready")
    words = sorted({word for record in RECORDS[:50] for word in record["text"].lower().split() if word.isalpha()})
    (folder / "words.txt").write_text("".join(f"{word}\n" for word in words if len(word) > 3))
    assert "quixotic" not in words
    write(folder / "letters.jsonl", LAST["a letter"])
    ran("fit", folder / "letters.jsonl", "-o", folder / "old", "-k", 2, "--epsilon", 50, "--delta", 1e-5, "-q",
        "--vocabulary", folder / "words.txt", "--knowledge", "none")  # fmt: skip
    (folder / "letters.jsonl").unlink()
    return folder


def write(path: Path, last: Any) -> None:
    """All records but the last one as they are."""
    lines = [json.dumps(record).encode() for record in RECORDS[:-1]]
    lines += [] if last is None else [last if isinstance(last, bytes) else json.dumps(last).encode()]
    path.write_bytes(b"\n".join(lines) + b"\n")


def write_counts(path: Path, words: list[str], last: Any) -> None:
    """The same as counts; a word that is none of the list stands for its first one."""
    texts = [record["text"] for record in (*RECORDS[:-1], *([] if last is None else [last]))]
    column = {word: number for number, word in enumerate(words)} | {"quixotic": 0}
    rows = np.zeros((len(texts), len(words)), np.int64)
    for row, text in zip(rows, texts, strict=True):
        np.add.at(row, [column[word] for word in text.lower().split() if word in column], 1)
    sp.save_npz(path, sp.csr_array(rows))


def outcome(folder: Path, ready: Path, arguments: tuple[Any, ...], last: Any, first: Replay | None) -> Replay:
    """All that a command leaves behind, in a folder of its own that is called the same each time.

    The last two arguments name the relation of its neighbours.
    """
    folder.mkdir()
    for path in ready.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    source = "counts.npz" if "counts.npz" in arguments else "letters.jsonl"
    if source == "counts.npz":
        write_counts(folder / source, (folder / "words.txt").read_text().split(), last)
    else:
        write(folder / source, last)
    before, total = os.getcwd(), ("--epsilon", 50, "--delta", 1e-3)
    os.chdir(folder)
    try:
        ran("budget", "register", "budget.db", "--corpus", "letters", *total, *arguments[-2:])  # with its neighbours
        with watched(first) as found:
            result = run(*arguments)
    finally:
        os.chdir(before)
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name != source}
    found.shown = result.exit_code, result.stdout, result.stderr, repr(result.exception), files
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    return found


def differing(command: str, relation: str, ready: Path, tmp_path: Path) -> list[str]:
    arguments = *COMMANDS[command], "--neighbours", relation
    neighbours = LAST if relation == REPLACE and command in WHOLE else {name: LAST[name] for name in FEW}
    if "--unit" in arguments:  # neighbours have as many users: a record without a label belongs to none
        neighbours = {name: last for name, last in LAST.items() if name in LABELLED}
    if "counts.npz" in arguments:
        neighbours = {name: LAST[name] for name in COUNTED}
    neighbours = neighbours | ({"no line": None} if relation == ADD_REMOVE else {})
    first: Replay | None = None
    found = []
    for name, last in neighbours.items():
        seen = outcome(tmp_path / "run", ready, arguments, last, first)
        first = seen if first is None else first
        if seen.shown != first.shown:
            found += [
                f"{name}: {one}"
                for one, *pair in zip(SHOWN, seen.shown, first.shown, strict=True)
                if pair[0] != pair[1]
            ]
    assert first is not None
    assert not isinstance(first.shown[2], BaseException)
    assert "Traceback" not in first.shown[2]
    assert first.shown[0] == (command in NO_WORDS), first.shown
    assert first.entering
    if "--keep" in arguments:
        assert EVIDENCE.name in [entering.query.name for entering in first.entering]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("command", "relation"), CASES)
def test_one_record_changes_nothing_but_what_is_released(
    command: str, relation: str, ready: Path, tmp_path: Path
) -> None:
    assert differing(command, relation, ready, tmp_path) == []


def test_every_command_that_reads_private_texts_is_compared() -> None:
    """A new command gets neighbours above, or a reason why it needs none."""
    compared = {" ".join(words) for words in commands_of(get_command(app)) if has_neighbours(words)}
    assert compared == {"fit", "shares", "evidence", "vocabulary private"}
    assert {" ".join(words) for words in commands_of(get_command(app))} - compared == NOT_COMPARED.keys()


def commands_of(group: Any, *before: str) -> list[tuple[str, ...]]:
    """The words of every command of the app, those of its groups included."""
    found = []
    for name, command in group.commands.items():
        found += commands_of(command, *before, name) if hasattr(command, "commands") else [(*before, name)]
    return found


def has_neighbours(words: tuple[str, ...]) -> bool:
    return any(arguments[: len(words)] == words for arguments in COMMANDS.values())


@pytest.mark.slow
def test_a_message_that_one_record_decides_is_noticed(
    ready: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The comparison is not blind: a command that tells of broken records is found."""
    honest = vocabularies._unlabelled

    def talking(words: Any, label: Any) -> Any:
        if not words:
            warn_user("A text has no words.")
        return honest(words, label)

    monkeypatch.setattr(vocabularies, "_unlabelled", talking)
    found = differing("fit with candidates", ADD_REMOVE, ready, tmp_path)
    assert found == ["no text: stderr", "one word: stderr", "no UTF-8: stderr"]

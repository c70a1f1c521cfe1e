"""The ledger under many processes: nothing is drawn unpaid, whatever is killed, races or cannot write.

The tests run this very file as a script (`nursery`): it imports once and forks light children.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ledger_support import SMALL, places_in

from private_topics.errors import PrivacyError
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.ledger import file as ledger_file
from private_topics.privacy.ledger.durable import DurableLedger

pytestmark = [
    pytest.mark.process,
    pytest.mark.fault,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]

PLACES = {"one": 1, "three": 3, "twelve": 12}
"""Corpora, and how many more fits each can pay for when the race begins."""
UNWRITABLE = [  # modes of the folder and of the file, and what the error says; the last meets a limit on file sizes
    (0o555, 0o444, "read-only"),
    (0o555, 0o666, "read-only|cannot be opened or written"),
    (0o755, 0o600, "cannot be opened or written"),
    (0o755, 0o644, "full"),
]

# -- children --------------------------------------------------------------------------------------------------------


def announce_draws(descriptor: int) -> list[str]:
    """From here on every draw of noise first writes the current label into a pipe."""
    from private_topics.privacy.randomness import NoiseStream

    honest, current = NoiseStream.rounded_gaussian, [""]

    def watched(stream: NoiseStream, count: int, ratio: float) -> np.ndarray:
        os.write(descriptor, f"{current[0]}\n".encode())
        return honest(stream, count, ratio)

    NoiseStream.rounded_gaussian = watched  # type: ignore[method-assign]
    return current


def release_once(reserve: Callable[..., Any], budget: PrivacyBudget = SMALL) -> None:
    from private_topics.privacy.mechanisms import PrivateRun, Query

    run = PrivateRun(budget, reserve=reserve)
    run.release(Query("one", "scalar", 1.0, 2.0**-10, "unigram"), np.int64(0), 1.0)


def draw_until_killed(path: str, child: int, descriptor: int, late: bool) -> None:
    """Run after run on the ledger; `late` would reserve after the draw, as a careless library does."""
    current = announce_draws(descriptor)
    for number in range(1000):
        current[0] = f"{child}-{number}"
        ledger = DurableLedger(path, "notes", label=current[0])
        if late:
            release_once(lambda budget: None)
            signal.pause()
            ledger.reserve(SMALL)
        else:
            release_once(ledger.reserve)


def killed_at_random(path: str, kills: int, late: bool) -> list[str]:
    """The labels that children reached a draw with before they were killed: a random while after a few draws."""
    moments, drawn = random.Random(5), []
    for child in range(kills):
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reading)
            draw_until_killed(path, child, writing, late)
            os._exit(0)
        os.close(writing)
        with open(reading, "rb", buffering=0) as pipe:
            seen = b""
            wanted = 1 if late else moments.randrange(4)
            while seen.count(b"\n") < wanted:
                seen += pipe.read(1)
            time.sleep(moments.uniform(0.0, 0.03))
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            drawn += (seen + pipe.read()).decode().split()
    return drawn


def raced(path: str, corpus: str, processes: int) -> list[int]:
    """How many reservations each child got when all start at once and go on until they are refused."""
    start_reading, start_writing = os.pipe()
    children = []
    for _ in range(processes):
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(start_writing)
            os.read(start_reading, 1)  # returns when the parent closes its end
            got = 0
            try:
                while True:
                    DurableLedger(path, corpus).reserve(SMALL)
                    got += 1
            except PrivacyError as error:
                os.write(writing, f"{got if 'total budget' in str(error) else -1000}".encode())
            os._exit(0)
        os.close(writing)
        children.append((process, reading))
    os.close(start_writing)
    counts = []
    for process, reading in children:
        with open(reading, "rb") as pipe:
            counts.append(int(pipe.read()))
        os.waitpid(process, 0)
    os.close(start_reading)
    return counts


def refused_without_drawing(path: str, hinder: Callable[[], None]) -> dict[str, Any]:
    """What a run says in a child that `hinder` keeps from writing, and whether it drew noise all the same."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        announce_draws(writing)[0] = "drawn"
        report: dict[str, Any] = {"readable": 0}
        try:
            hinder()
            ledger = DurableLedger(path, "notes")
            report["readable"] = len(ledger.entries())
            release_once(ledger.reserve)
        except PrivacyError as error:
            report |= {"error": type(error).__name__, "text": str(error)}
        os.write(writing, (json.dumps(report) + "\n").encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        lines = pipe.read().decode().split("\n")
    os.waitpid(process, 0)
    return {**json.loads(lines[-2]), "drawn": "drawn" in lines}


def no_longer_root() -> None:
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)


def tiny_files() -> None:
    """Every file this process writes must end before its first kilobyte: the journal does not fit."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def nursery(folder: Path, patience: float) -> dict[str, Any]:
    """Everything that needs children, on ledgers that the tests prepared."""
    ledger_file.WAIT_SECONDS = patience  # children wait for one another, however long each is kept from computing
    unwritable = [str(folder / str(number) / "budget.db") for number in range(len(UNWRITABLE))]
    return {
        "killed": killed_at_random(str(folder / "killed.db"), 50, late=False),
        "killed late": killed_at_random(str(folder / "late.db"), 20, late=True),
        "raced": {corpus: raced(str(folder / "raced.db"), corpus, 8) for corpus in PLACES},
        "unwritable": [
            *(refused_without_drawing(file, no_longer_root) for file in unwritable[:-1]),
            refused_without_drawing(unwritable[-1], tiny_files),
        ],
    }


# -- tests -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def reports(folder: Path) -> dict[str, Any]:
    """What the children did. One process imports the package for all of them."""
    from hang_support import FOREVER, HANG

    for name in ("killed", "late"):
        DurableLedger.register(folder / f"{name}.db", "notes", 3.0, 1e-6)
    for corpus, places in PLACES.items():
        ledger = DurableLedger.register(folder / "raced.db", corpus, 0.05, 1e-6)
        for _ in range(places_in(0.05, 1e-6, SMALL) - places):
            ledger.reserve(SMALL)
    for number, (folder_mode, file_mode, _) in enumerate(UNWRITABLE):
        file = folder / str(number) / "budget.db"
        file.parent.mkdir()
        DurableLedger.register(file, "notes", 3.0, 1e-6).reserve(SMALL)
        file.chmod(file_mode)
        file.parent.chmod(folder_mode)
    quiet = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, str(folder), str(FOREVER)]
    return json.loads(subprocess.run(command, capture_output=True, check=True, timeout=HANG, env=quiet).stdout)


def test_a_killed_run_never_loses_a_spend(folder: Path, reports: dict[str, Any]) -> None:
    drawn, entries = reports["killed"], DurableLedger(folder / "killed.db", "notes").entries()
    noted = [entry.label for entry in entries]
    assert len(drawn) >= 60, "the children were killed before they did anything"
    assert len(set(drawn)) == len(drawn)
    assert set(drawn) <= set(noted), "a run drew noise that the ledger does not know"
    assert len(set(noted)) == len(noted)
    assert {entry.state for entry in entries} == {"reserved"}


def test_the_killings_would_catch_a_late_reservation(folder: Path, reports: dict[str, Any]) -> None:
    noted = {entry.label for entry in DurableLedger(folder / "late.db", "notes").entries()}
    assert set(reports["killed late"]) - noted


def test_eight_processes_race_for_the_last_budget(folder: Path, reports: dict[str, Any]) -> None:
    for corpus, places in PLACES.items():
        assert sum(reports["raced"][corpus]) == places
        assert len(DurableLedger(folder / "raced.db", corpus).entries()) == places_in(0.05, 1e-6, SMALL)


def test_what_cannot_be_written_draws_nothing(folder: Path, reports: dict[str, Any]) -> None:
    for number, ((_, file_mode, reason), report) in enumerate(zip(UNWRITABLE, reports["unwritable"], strict=True)):
        assert report["error"] == "LedgerError"
        assert re.search(reason, report["text"])
        assert not report["drawn"]
        assert report["readable"] == (0 if file_mode == 0o600 else 1)
        file = folder / str(number) / "budget.db"
        file.parent.chmod(0o755)
        file.chmod(0o644)
        ledger = DurableLedger(file, "notes")
        assert len(ledger.entries()) == 1
        ledger.reserve(SMALL)


if __name__ == "__main__":
    print(json.dumps(nursery(Path(sys.argv[1]), float(sys.argv[2]))))

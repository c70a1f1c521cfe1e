"""Fits that run out of memory or disk, are killed or interrupted, or come by the hundred on one ledger.

    python attacks/faults.py [--fits 200] [--places 50] [--interrupts 12] [--out FILE]

What must hold in every case: no file is there in part, the ledger knows every fit that drew noise, the last line on
standard error says what happened, nothing of the texts is printed, no traceback. The command imports once and forks
its children, which run the command line itself; the interrupts are of a command of their own.
"""

from __future__ import annotations

import os

os.environ["NUMBA_THREADING_LAYER"] = "workqueue"  # the one that survives a fork

import contextlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from fault_children import (
    Prepare,
    fill,
    full_disk_after_fitting,
    no_memory_after_reserving,
    started,
    stop_at_draw,
    stop_before_reserving,
    waited,
)
from private_topics import PrivateSpectralLDA, make_lda_corpus
from private_topics.cli import app
from private_topics.errors import PrivacyError
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.ledger.durable import DurableLedger
from private_topics.privacy.ledger.in_memory import BudgetLedger

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from stored import options_of, tell

SECRET = "quixotically"
WORDS = [f"{first}{second}" for first in ("heart", "lung", "skin", "bone") for second in ("one", "two", "six", "ten")]
SMALL = PrivacyBudget(0.01, 1e-9)

# -- corpora ---------------------------------------------------------------------------------------------------------


def lay_out(folder: Path) -> None:
    """A text corpus with a public list of words, and counts over 4,000 words, whose second moment is large."""
    draw = random.Random(3)
    halves = WORDS[:8], WORDS[8:]
    texts = [" ".join([SECRET, *draw.choices(halves[number % 2], k=20)]) for number in range(3000)]
    (folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (folder / "words.txt").write_text("\n".join(WORDS) + "\n")
    generator = np.random.default_rng(3)
    places = np.arange(0, 3000 * 100 + 1, 100)
    wide = scipy.sparse.csr_matrix((np.ones(places[-1], int), generator.integers(4000, size=places[-1]), places))
    wide.sum_duplicates()
    scipy.sparse.save_npz(folder / "wide.npz", wide)


def fit_command(folder: Path, name: str, *options: str, wide: bool = False) -> list[str]:
    DurableLedger.register(folder / f"{name}.db", "notes", 1e5, 1e-3)
    command = ["fit", str(folder / ("wide.npz" if wide else "texts.jsonl")), "-o", str(folder / f"{name}.model")]
    command += [] if wide else ["--vocabulary", str(folder / "words.txt")]
    command += ["--ledger", str(folder / f"{name}.db"), "--corpus", "notes", "-k", "2", "--epsilon", "200"]
    return [*command, "--jobs", "1", *options]


def outcome(folder: Path, name: str, status: int) -> dict[str, Any]:
    """What is left of a run: its exit status, its words, its files, the rows of its ledger."""
    printed = {stream: (folder / f"{name}.{stream}").read_text() for stream in ("stdout", "stderr")}
    files = sorted(file.name for file in folder.iterdir() if file.name.lstrip(".").startswith(f"{name}."))
    files = [file for file in files if not file.endswith((".db", ".stdout", ".stderr"))]
    states = [entry.state for entry in DurableLedger(folder / f"{name}.db", "notes").entries()]
    return {"status": status, **printed, "files": files, "ledger": states}


# -- faults ----------------------------------------------------------------------------------------------------------


def signalled(folder: Path, name: str, prepare: Prepare, number: int) -> dict[str, Any]:
    process, pipe = started(folder, name, fit_command(folder, name), prepare)
    with open(pipe, "rb") as announced:
        assert announced.read(1) == b"x", (folder / f"{name}.stderr").read_text()
    os.kill(process, number)
    return outcome(folder, name, waited(process))


def out_of_memory(folder: Path) -> dict[str, Any]:
    command = fit_command(folder, "memory", wide=True)
    process, _ = started(folder, "memory", command, no_memory_after_reserving)
    return outcome(folder, "memory", waited(process))


def full_disk(folder: Path, name: str, largest_file: int) -> dict[str, Any]:
    """An older model and an older report are there already; 20,000 bytes hold a model but not a report."""
    for kind in ("model", "html"):
        (folder / f"{name}.{kind}").write_text("older")
    command = fit_command(folder, name, "--force", "--report", str(folder / f"{name}.html"))
    process, _ = started(folder, name, command, full_disk_after_fitting(largest_file))
    kept = {"status": waited(process)}
    for kind in ("model", "html"):
        kept[f"{kind} kept"] = (folder / f"{name}.{kind}").read_bytes() == b"older"
    return {**outcome(folder, name, kept["status"]), **kept}


def really_full_disk(folder: Path) -> dict[str, Any]:
    """The same on a file system of three megabytes, where this process may mount one."""
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        return {"skipped": "no right to mount"}
    try:
        (disk / "full.model").write_text("older")
        command = fit_command(folder, "full", "--force")
        command[command.index("-o") + 1] = str(disk / "full.model")
        process, _ = started(folder, "full", command, fill(disk))
        found = outcome(folder, "full", waited(process))
        kept = (disk / "full.model").read_text() == "older"
        left = sorted(file.name for file in disk.iterdir() if file.name != "filler")
        return {**found, "files": left, "model kept": kept}
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def interrupted_command(folder: Path, name: str, delay: float) -> dict[str, Any]:
    """Control-C `delay` seconds after the row is in the ledger of a command of its own; the fit would take long."""
    program = [sys.executable, "-c", "from private_topics.cli import main; main()"]
    command = program + fit_command(folder, name, "--refine-steps", "5000")
    ledger = DurableLedger(folder / f"{name}.db", "notes")
    with open(folder / f"{name}.stdout", "w") as stdout, open(folder / f"{name}.stderr", "w") as stderr:
        run = subprocess.Popen(command, stdout=stdout, stderr=stderr)
        while not ledger.entries() and run.poll() is None:
            time.sleep(0.05)
        time.sleep(delay)
        run.send_signal(signal.SIGINT)
        status = run.wait()
    return outcome(folder, name, status)


def many_fits(folder: Path, fits: int, places: int, at_once: int) -> dict[str, Any]:
    """So many fits on a ledger that has room for `places`, in processes of their own, some at a time."""
    counts = make_lda_corpus(300, 20, 2, random_state=0)[0]
    path, total = folder / "many.db", PrivacyBudget(0.05 if places < 20 else 0.1, 1e-6)
    ledger = DurableLedger.register(path, "notes", total.epsilon, total.delta, unit="document")
    filled = room(total) - places
    for _ in range(filled):
        ledger.reserve(SMALL)
    running: set[int] = set()
    ends: list[int] = []
    for _ in range(fits):
        if len(running) == at_once:
            process, status = os.wait()
            running.remove(process)
            ends.append(os.waitstatus_to_exitcode(status))
        process = os.fork()
        if process == 0:
            os._exit(_one_fit(path, counts))
        running.add(process)
    ends += [waited(process) for process in running]
    rows = ledger.entries()[filled:]
    return {
        "fits": fits,
        "places": places,
        "succeeded": ends.count(0),
        "refused": ends.count(3),
        "rows": len(rows),
        "finished": sum(row.state == "finished" for row in rows),
    }


def room(total: PrivacyBudget) -> int:
    """How many small fits a total holds, one after the other."""
    ledger = BudgetLedger(total.epsilon, total.delta)
    with contextlib.suppress(PrivacyError):
        while True:
            ledger.reserve(SMALL)
    return len(ledger.spent)


def _one_fit(path: Path, counts: Any) -> int:
    try:
        ledger = DurableLedger(path, "notes")
        PrivateSpectralLDA(2, epsilon=0.01, delta=1e-9, n_jobs=1, ledger=ledger).fit(counts)
    except PrivacyError as error:
        return 3 if "total budget" in str(error) else 4
    except BaseException:
        traceback.print_exc()
        return 5
    return 0


def everything(folder: Path, fits: int, places: int, at_once: int, interrupts: int) -> dict[str, Any]:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is started without
    lay_out(folder)
    warnings.simplefilter("ignore")
    with contextlib.redirect_stderr(None):  # children inherit the compiled kernels
        app([*fit_command(folder, "warm"), "--quiet", "--report", str(folder / "warm.html")], standalone_mode=False)
    moments = random.Random(7)
    report = {
        "killed while drawing": signalled(folder, "killed", stop_at_draw(2), signal.SIGKILL),
        "interrupted while drawing": signalled(folder, "drawing", stop_at_draw(3), signal.SIGINT),
        "interrupted before reserving": signalled(folder, "early", stop_before_reserving, signal.SIGINT),
        "out of memory": out_of_memory(folder),
        "no room for the model": full_disk(folder, "unsaved", 2000),
        "no room for the report": full_disk(folder, "unreported", 20_000),
        "many fits": many_fits(folder, fits, places, at_once),
    }
    if interrupts > 1:
        report["a disk that is really full"] = really_full_disk(folder)
    for number in range(interrupts):
        delay = 0.0 if number == 0 else moments.uniform(0.0, 2.0)
        report[f"command interrupted {delay:.4f} s after the row"] = interrupted_command(
            folder, f"command{number}", delay
        )
    return report


def table(report: dict[str, Any]) -> str:
    lines = ["| fault | exit status | files left | ledger | last line |", "| --- | ---: | --- | --- | --- |"]
    for name, found in report.items():
        if "ledger" in found:
            last = (found["stderr"].strip().splitlines() or [""])[-1]
            left, rows = ", ".join(found["files"]) or "none", ", ".join(found["ledger"]) or "no row"
            cells = [name, str(found["status"]), left, rows, last if last.startswith("error") else ""]
            lines.append(f"| {' | '.join(cells)} |")
    many = report["many fits"]
    lines += ["", f"{many['fits']} fits on a ledger with room for {many['places']}: {many['succeeded']} succeeded, "]
    lines[-1] += f"{many['refused']} were refused, {many['rows']} rows were added, {many['finished']} finished."
    return "\n".join(lines)


if __name__ == "__main__":
    parser = options_of(__doc__)
    parser.add_argument("--fits", type=int, default=200)
    parser.add_argument("--places", type=int, default=50)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--interrupts", type=int, default=12)
    parser.add_argument("--json", action="store_true", help="print everything, for the tests")
    parser.add_argument("--out", type=Path, help="write the page there too")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = everything(Path(name), chosen.fits, chosen.places, chosen.at_once, chosen.interrupts)
    if chosen.json:
        print(json.dumps(found))
    else:
        tell(f"# Faults and load\n\n`python attacks/faults.py`\n\n{table(found)}", chosen.out)

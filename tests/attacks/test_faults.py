"""Fits that are killed, interrupted, or out of memory or disk leave whole files, a true ledger and one plain line.

attacks/faults.py, run here in small, forks the children; each runs the command line itself.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hang_support import HANG
from private_topics.cli import interrupts
from private_topics.progress import Progress
from private_topics.whole_files import whole_file, write_whole_text

pytestmark = [pytest.mark.process, pytest.mark.fault]

FAULTS = Path(__file__).resolve().parents[2] / "attacks" / "faults.py"
SECRET = "quixotically"

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs fork and /proc")


@pytest.fixture(scope="module")
def faults():
    options = ["--fits", "16", "--places", "5", "--at-once", "4", "--interrupts", "1", "--json"]
    quiet = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, FAULTS, *options], capture_output=True, text=True, timeout=HANG, env=quiet)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@on_linux
def test_nothing_of_the_texts_and_no_traceback_is_printed(faults):
    printed = [found for found in faults.values() if "stderr" in found]
    assert len(printed) == 7
    for found in printed:
        for stream in (found["stdout"], found["stderr"]):
            assert "Traceback" not in stream
            assert SECRET not in stream
        assert found["stdout"] == ""


@on_linux
def test_a_killed_fit_stays_in_the_ledger_and_leaves_no_file(faults):
    found = faults["killed while drawing"]
    assert (found["status"], found["files"], found["ledger"]) == (-9, [], ["reserved"])


@on_linux
def test_an_interrupted_fit_stays_in_the_ledger_once_it_could_draw(faults):
    found = faults["interrupted while drawing"]
    assert (found["status"], found["files"], found["ledger"]) == (130, [], ["reserved"])
    found = faults["interrupted before reserving"]
    assert (found["status"], found["files"], found["ledger"]) == (130, [], [])


@on_linux
def test_control_c_ends_the_command(faults):
    (found,) = (found for name, found in faults.items() if name.startswith("command interrupted"))
    assert (found["status"], found["files"], found["ledger"]) == (130, [], ["reserved"])


@on_linux
def test_out_of_memory_is_said(faults):
    found = faults["out of memory"]
    assert found["stderr"].splitlines()[-1].startswith("error: out of memory.")
    assert (found["status"], found["files"], found["ledger"]) == (1, [], ["reserved"])


@on_linux
def test_a_full_disk_leaves_the_older_files(faults):
    found = faults["no room for the model"]
    assert "could not be written: File too large. The model is lost" in found["stderr"]
    assert found["model kept"]
    assert found["html kept"]
    assert (found["status"], found["files"]) == (1, ["unsaved.html", "unsaved.model"])
    found = faults["no room for the report"]
    assert found["stderr"].splitlines()[-1].startswith("error: File too large: ")
    assert not found["model kept"]
    assert found["html kept"]
    assert (found["status"], found["files"]) == (1, ["unreported.html", "unreported.model"])


@on_linux
def test_as_many_fits_succeed_as_the_ledger_has_room_for(faults):
    expected = {"fits": 16, "places": 5, "succeeded": 5, "refused": 11, "rows": 5, "finished": 5}
    assert faults["many fits"] == expected


class Listening(Progress):
    def __init__(self, seen):
        self.seen = seen

    def stage(self, name):
        self.seen.append(name)


# -- interrupts that compiled code swallows or changes ---------------------------------------------------------------


@pytest.mark.parametrize("becomes", ["nothing", "another error"])
def test_an_interrupt_is_not_lost(becomes):
    seen = []

    def swallowing():
        with interrupts.remembered():
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                if becomes == "another error":
                    raise SystemError("returned a result with an exception set") from None
            seen.append("went on")
            interrupts.Stopping(Listening(seen)).stage("next stage")

    before = signal.getsignal(signal.SIGINT)  # a Spark session of another test may have set its own
    with pytest.raises(KeyboardInterrupt):
        swallowing()
    assert seen == (["went on"] if becomes == "nothing" else [])
    assert signal.getsignal(signal.SIGINT) is before
    interrupts.stop_if_interrupted()  # forgotten


def test_another_handler_is_called_and_put_back():
    """Spark's handler cancels its jobs, and fails where there is no session any more."""
    called = []

    def failing(number, frame):
        called.append(number)
        raise RuntimeError

    before = signal.signal(signal.SIGINT, failing)
    try:
        with pytest.raises(KeyboardInterrupt), interrupts.remembered():
            signal.raise_signal(signal.SIGINT)
        assert called == [signal.SIGINT]
        assert signal.getsignal(signal.SIGINT) is failing
    finally:
        signal.signal(signal.SIGINT, before)


DYING = """
import signal, sys, threading, typer
from private_topics.cli import app, main

class Dying:
    def __init__(self, error):
        self.error = error
    def __del__(self):
        if self.error is KeyboardInterrupt:
            signal.raise_signal(signal.SIGINT)
        raise ValueError("quixotically")

kept = []

def failing():
    raise ValueError("quixotically")

@app.command()
def dies(late: bool = False, interrupt: bool = False):
    thread = threading.Thread(target=failing)
    thread.start()
    thread.join()
    dying = Dying(KeyboardInterrupt if interrupt else None)
    if late:
        kept.append(dying)

main()
"""


@pytest.mark.parametrize("options", [[], ["--late"], ["--interrupt"]])
@pytest.mark.parametrize("debug", [False, True])
def test_what_objects_and_threads_raise_is_not_printed(options, debug):
    """Python prints what `__del__` or a thread raises, and goes on; an interrupt there still stops the command."""
    environment = {name: value for name, value in os.environ.items() if name != "PRIVATE_TOPICS_DEBUG"}
    environment |= {"PRIVATE_TOPICS_DEBUG": "1"} if debug else {}
    command = [sys.executable, "-c", DYING, "dies", *options]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=HANG)
    assert done.returncode == (130 if "--interrupt" in options else 0)
    assert (SECRET in done.stderr) == debug
    assert ("Traceback" in done.stderr) == debug


def test_other_errors_stay_what_they_are():
    with pytest.raises(SystemError), interrupts.remembered():
        raise SystemError


# -- whole files -----------------------------------------------------------------------------------------------------


class Stop(BaseException):
    pass


def write_and_fail(path, error):
    with whole_file(path) as file:
        file.write(b"new" * 10_000)
        raise error


@pytest.mark.parametrize("older", [None, b"older"])
def test_a_block_that_fails_leaves_what_was_there(tmp_path, older):
    path = tmp_path / "file"
    if older is not None:
        path.write_bytes(older)
    for error in (Stop, OSError):
        with pytest.raises(error):
            write_and_fail(path, error)
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == ([("file", older)] if older else [])


def test_a_failed_write_names_the_file_that_was_wanted(tmp_path):
    with pytest.raises(OSError, match="No space") as caught, whole_file(tmp_path / "file"):
        raise OSError(28, "No space left on device")
    assert caught.value.filename == str(tmp_path / "file")


def test_modes_follow_the_umask_unless_the_file_is_ones_own(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole_text(tmp_path / "report", "ä\n")
        with whole_file(tmp_path / "model", mode=0o600) as file:
            file.write(b"x")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert (tmp_path / "report").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "report").read_bytes() == b"\xc3\xa4\n"


def test_links_are_followed_and_devices_are_not_replaced(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole_text(tmp_path / "link", "through")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "through"
    os.mkfifo(tmp_path / "pipe")
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_whole_text(tmp_path / "pipe", "down")
    assert os.read(reading, 100) == b"down"
    os.close(reading)
    assert (tmp_path / "pipe").is_fifo()
    with pytest.raises(IsADirectoryError):
        write_whole_text(tmp_path, "no")

"""Clinics as processes: letters, keys, ledgers and the command of each, in one folder."""

from __future__ import annotations

import signal
import subprocess
import sys

from hang_support import FOREVER, HANG
from private_topics import DurableLedger
from private_topics.corpus.made_up.letters import write_letters
from private_topics.engines.sites.identities import SiteDirectory, SiteIdentity
from private_topics.engines.sites.transport import self_signed

COMMAND = [sys.executable, "-c", "from private_topics.cli import main; main()"]
HOST = "127.0.0.1"
WORDS = ["appointment", "bill", "car", "clean", "cold", "doctor", "food", "kind", "night", "nurse", "pain", "park"]


class Clinics:
    """Some clinics in a folder, of which so many are honest."""

    def __init__(self, folder, count=3, honest=2):
        self.folder, self.names = folder, [f"clinic-{number}" for number in range(1, count + 1)]
        (folder / "words.txt").write_text("".join(f"{word}\n" for word in WORDS))
        known = {name: SiteIdentity.new(name) for name in self.names}
        for number, (name, identity) in enumerate(known.items()):
            write_letters(folder / f"{name}.jsonl", 60, seed=number)
            identity.write(folder / f"{name}.key")
            DurableLedger.register(folder / f"{name}.db", name, 2.0, 1e-5)
        self.directory = SiteDirectory({name: one.public_key for name, one in known.items()}, honest)
        self.directory.write(folder / "sites.json")
        self.certificate, self.key = self_signed(HOST)
        (folder / "root.pem").write_bytes(self.certificate)
        (folder / "root.key").write_bytes(self.key)
        self.processes, self.command = {}, COMMAND

    def start(self, name, port, **changed):
        """With a coordinator at this port."""
        self.begin(name, **{"coordinator": f"{HOST}:{port}", "root": self.folder / "root.pem"} | changed)

    def begin(self, name, **changed):
        anyway = ["--anyway"] if changed.pop("anyway", True) else []
        given = {
            "--output": self.model(name), "--sites": self.folder / "sites.json", "--topics": 1,
            "--identity": self.folder / f"{name}.key", "--vocabulary": self.folder / "words.txt",
            "--knowledge": "none", "--ledger": self.folder / f"{name}.db", "--corpus": name,
            "--wait": FOREVER, "--patience": FOREVER,
        } | {f"--{option}": value for option, value in changed.items()}  # fmt: skip
        options = [str(part) for pair in given.items() for part in pair]
        command = [*self.command, "sites", "fit", str(self.folder / f"{name}.jsonl"), *options, *anyway]
        self.processes[name] = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def model(self, name):
        return self.folder / f"{name}.model"

    def charged(self, name):
        return len(DurableLedger(self.folder / f"{name}.db", name).spent)

    def statuses(self):
        """What every process ended with, and its messages."""
        messages = {name: process.communicate(timeout=HANG)[1] for name, process in self.processes.items()}
        return {name: process.returncode for name, process in self.processes.items()}, messages

    def kill(self, name):
        self.processes[name].send_signal(signal.SIGKILL)

    def close(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.communicate()

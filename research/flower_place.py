"""Five sites and a coordinator as processes, for `flower.py`: keys, certificates, who is started how, and its end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from private_topics import SiteDirectory, SiteIdentity
from private_topics.engines.sites.transport import self_signed

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
HOST, SITES = "127.0.0.1", 5
PATIENCE = 240.0
QUESTIONS = 8


class Place:
    """A folder with keys and certificates, and the processes that were started from it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        known = {f"site-{number}": SiteIdentity.new(f"site-{number}") for number in range(SITES)}
        self.directory = SiteDirectory({name: one.public_key for name, one in known.items()}, SITES - 1)
        self.directory.write(folder / "sites.json")
        self.certificate, self.key = self_signed(HOST)
        (folder / "root.pem").write_bytes(self.certificate)
        (folder / "root.key").write_bytes(self.key)
        for name, identity in known.items():
            identity.write(folder / f"{name}.key")
            node = ec.generate_private_key(ec.SECP384R1())  # Flower takes keys of this kind only
            (folder / f"{name}.node").write_bytes(
                node.private_bytes(
                    serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
                )
            )
            (folder / f"{name}.pub").write_bytes(ssh_public(node))
            (folder / name).mkdir()
            (folder / name / "letters.txt").write_text(f"a letter of {name}", encoding="utf-8")
        home = folder / "home"
        home.mkdir()
        connection = f'address = "{HOST}:{self.port}"\nroot-certificates = "{folder / "root.pem"}"\n'
        (home / "config.toml").write_text(f'[superlink]\ndefault = "here"\n[superlink.here]\n{connection}')
        self.environment = os.environ | {
            "FLWR_HOME": str(home), "FLWR_TELEMETRY_ENABLED": "0", "PATH": f"{BIN}:{os.environ['PATH']}",
            "PYTHONPATH": f"{HERE / 'flower_app'}:{HERE.parent / 'src'}", "NUMBA_NUM_THREADS": "1",
        }  # fmt: skip
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, *command: Any, inside: str = "") -> None:
        with (self.folder / f"{len(self.processes)}.log").open("wb") as log:
            self.processes.append(
                subprocess.Popen(
                    [str(part) for part in command], cwd=self.folder / inside, env=self.environment, stdout=log,
                    stderr=log, start_new_session=True,
                )
            )  # fmt: skip

    def flwr(self, *command: Any) -> None:
        """Somebody who knows the SuperLink's certificate, and has no key and no account."""
        subprocess.run(
            ["flwr", *map(str, command)], cwd=self.folder, env=self.environment, check=True, capture_output=True
        )

    def superlink(self) -> None:
        root, key = self.folder / "root.pem", self.folder / "root.key"
        self.start(
            "flower-superlink", "--ssl-certfile", root, "--ssl-keyfile", key, "--ssl-ca-certfile", root,
            "--enable-supernode-auth", "--disable-runtime-dependency-installation", "--port", self.port,
        )  # fmt: skip
        until(lambda: is_open(self.port))
        for name in self.directory.names:
            self.flwr("supernode", "register", self.folder / f"{name}.pub", "here")

    def supernodes(self, *options: Any) -> None:
        for name in self.directory.names:
            self.start(
                "flower-supernode", "--superlink", f"{HOST}:{self.port}", "--root-certificates",
                self.folder / "root.pem", "--auth-supernode-private-key", self.folder / f"{name}.node",
                "--port", free_port(), *options, inside=name,
            )  # fmt: skip

    def sites(self, transport: str, what: str, port: int) -> None:
        for name in self.directory.names:
            address = f"{HOST}:{port}"
            self.start(sys.executable, HERE / "flower_site.py", self.folder, name, address, transport, what)

    def asked(self, **settings: Any) -> dict[str, Any]:
        """What a run of `flower_app` has found."""
        out = self.folder / f"found-{time.monotonic_ns()}.json"
        given = {"out": str(out), "questions": QUESTIONS, **settings}
        chosen = " ".join(f"{name}={json.dumps(value)}" for name, value in given.items())
        self.flwr("run", HERE / "flower_app", "here", "-c", chosen)
        until(out.exists)
        return json.loads(out.read_text())

    def kill_one(self) -> None:
        """The last process, a site."""
        os.killpg(self.processes[-1].pid, signal.SIGKILL)
        self.processes.pop().wait()


@contextmanager
def place() -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp())
    made = Place(folder)
    try:
        yield made
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in made.processes:
                try:
                    os.killpg(process.pid, number)
                except ProcessLookupError:
                    continue
            time.sleep(3.0 if number == signal.SIGTERM else 0.0)
        for process in made.processes:
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def ssh_public(key: Any) -> bytes:
    return key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)


def free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


def is_open(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex((HOST, port)) == 0


def until(true: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise TimeoutError("Flower did not answer in time.")
        time.sleep(0.1)

"""A Flower federation as processes with TLS and node authentication: a SuperLink and a SuperNode for each clinic."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from clinic_support import HOST, TIME
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from private_topics.engines.sites.transport import self_signed

BIN = Path(sys.executable).parent


class Federation:
    """The processes of one federation, all started from a folder that holds keys and the SuperLink's certificate."""

    def __init__(self, folder, names):
        self.folder, self.port, self.kills = folder, free_port(), folder / "kills.json"
        for file, content in zip(("root.pem", "root.key"), self_signed(HOST), strict=True):
            (folder / file).write_bytes(content)
        home = folder / "flower"
        home.mkdir()
        connection = f'address = "{HOST}:{self.port}"\nroot-certificates = "{self.folder / "root.pem"}"\n'
        (home / "config.toml").write_text(f'[superlink]\ndefault = "here"\n[superlink.here]\n{connection}')
        self.environment = os.environ | {
            "FLWR_HOME": str(home), "FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1",
            "PATH": f"{BIN}:{os.environ['PATH']}", "PYTHONPATH": str(Path(__file__).parent),
            "KILLS": str(self.kills),
        }  # fmt: skip
        self.processes = {}
        self.at = {name: free_port() for name in names}

    def start(self, name, *command):
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                [str(part) for part in command], cwd=self.folder, env=self.environment, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    def flwr(self, *command):
        arguments = ["flwr", *map(str, command)]
        done = subprocess.run(arguments, cwd=self.folder, env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def superlink(self):
        root, key = self.folder / "root.pem", self.folder / "root.key"
        self.start(
            "superlink", "flower-superlink", "--ssl-certfile", root, "--ssl-keyfile", key, "--ssl-ca-certfile", root,
            "--enable-supernode-auth", "--disable-runtime-dependency-installation", "--port", self.port,
        )  # fmt: skip
        until(lambda: is_open(self.port))
        for name in self.at:
            key = ec.generate_private_key(ec.SECP384R1())  # Flower takes keys of this kind only
            private, openssh = serialization.PrivateFormat.OpenSSH, serialization.Encoding.OpenSSH
            plain = serialization.NoEncryption()
            (self.folder / f"{name}.node").write_bytes(key.private_bytes(serialization.Encoding.PEM, private, plain))
            public = key.public_key().public_bytes(openssh, serialization.PublicFormat.OpenSSH)
            (self.folder / f"{name}.pub").write_bytes(public)
            self.flwr("supernode", "register", self.folder / f"{name}.pub", "here")

    def supernode(self, name, root="root.pem"):
        self.start(
            f"supernode-{name}", "flower-supernode", "--superlink", f"{HOST}:{self.port}", "--root-certificates",
            self.folder / root, "--auth-supernode-private-key", self.folder / f"{name}.node",
            "--isolation", "process", "--host", HOST, "--port", self.at[name],
        )  # fmt: skip

    def run(self, bundle):
        """A coordinator; what it says can be read from the process."""
        command = ["flwr", "run", str(bundle), "here", "--stream"]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def kill(self, name, number=signal.SIGKILL):
        process = self.processes.pop(name)
        os.killpg(process.pid, number)
        process.wait()

    def close(self):
        for name in list(self.processes):
            try:
                self.kill(name)
            except ProcessLookupError:
                continue


def free_port():
    with socket.socket() as found:
        found.bind((HOST, 0))
        return found.getsockname()[1]


def is_open(port):
    with socket.socket() as found:
        return found.connect_ex((HOST, port)) == 0


def until(true, seconds=TIME):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.1)

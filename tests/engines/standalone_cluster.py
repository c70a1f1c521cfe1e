"""A standalone Spark cluster of two workers at different addresses: there Spark makes speculative copies of tasks.

It never puts a copy on the host where the task already runs, and local-cluster has one host for all.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hang_support import HANG, until

HOSTS = ("127.0.0.2", "127.0.0.3")
JAVA_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"  # they live for seconds: compile fast
MASTER_LINE = re.compile(r"Starting Spark master at (spark://\S+)")


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[str]:
    """The master's address; its processes end with the block."""
    with ExitStack() as stack:
        log = folder / "master.log"
        stack.enter_context(
            _daemon("master.Master", ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"], log)
        )
        master = _found(MASTER_LINE, log)
        for host in HOSTS:
            options = ["--host", host, "--cores", "1", "--memory", "1g", "--webui-port", "0"]
            options += ["--work-dir", str(folder / host), master]
            stack.enter_context(_daemon("worker.Worker", options, folder / f"{host}.log"))
        yield master


@contextmanager
def _daemon(name: str, options: list[str], log: Path) -> Iterator[None]:
    from pyspark.find_spark_home import _find_spark_home

    home = _find_spark_home()
    command = [str(Path(home, "bin", "spark-class")), f"org.apache.spark.deploy.{name}", *options]
    settings = {
        "SPARK_HOME": home,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": JAVA_OPTIONS,
        "SPARK_LOCAL_DIRS": tempfile.mkdtemp(dir=log.parent),
    }
    with log.open("wb") as written:
        process = subprocess.Popen(command, stdout=written, stderr=written, env=os.environ | settings)
    try:
        yield
    finally:
        process.terminate()
        process.wait(HANG)


def _found(pattern: re.Pattern[str], log: Path) -> str:
    until(lambda: pattern.search(log.read_text(encoding="utf-8", errors="replace")))
    return pattern.findall(log.read_text(encoding="utf-8", errors="replace"))[0]

"""The Spark session that an engine works in, and errors of Spark in words of ours.

Spark's own messages carry the tracebacks of its tasks. They are dropped here; its logs on standard error keep what
`spark_tasks.task` let through. Log lines that Spark writes before our code sees a row (a reader of files, an
expression of the caller's) are Spark's, and may quote a value: `LOG_LEVEL` keeps them off the screen where the
session is ours.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from private_topics.errors import EngineError, InputError, PrivacyError

MASTER = "PRIVATE_TOPICS_SPARK_MASTER"
"""The environment variable that names the master where no session is active and none is given."""
LOG_LEVEL = "OFF"

Result = TypeVar("Result")


def session(master: str | None = None) -> Any:
    """The session that is there, else a new one at `master`, at $PRIVATE_TOPICS_SPARK_MASTER or where Spark says."""
    SparkSession = _spark_session()
    found = SparkSession.getActiveSession()
    if found is None:
        found = translated("started", lambda: _new_session(SparkSession, master or os.environ.get(MASTER)))
    classic(found)
    if master is not None and found.sparkContext.master != master:
        raise InputError("A Spark session with another master is active: stop it, or work in it and name no master.")
    return found


def classic(found: Any) -> Any:
    """The session, if it has the operations on partitions that exact sums are made of."""
    if not hasattr(found, "_jsparkSession"):
        raise InputError(
            "engine='spark' needs a classic Spark session: Spark Connect has no operations on partitions."
        )
    return found


def _new_session(SparkSession: Any, master: str | None) -> Any:
    builder = SparkSession.builder.appName("private-topics")
    if master is not None:
        builder = builder.master(master)
    if master is None or master.startswith("local"):  # executors on this machine run this interpreter
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": LOG_LEVEL,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _spark_session() -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise InputError(
            "engine='spark' needs PySpark: pip install 'private-topics[spark]', and Java 17 or later."
        ) from None
    return SparkSession


def translated(doing: str, work: Callable[[], Result]) -> Result:
    """What `work` gives. Errors of Spark become one of ours that quotes nothing and is chained to nothing."""
    try:
        return work()
    except (InputError, PrivacyError, EngineError):
        raise
    except Exception as error:
        kind = _kind(error)
    raise EngineError(
        f"Spark could not be {doing}: {kind}. Nothing of this step was released. Spark's logs say more; treat them "
        "like the corpus."
    )


def _kind(error: Exception) -> str:
    """What went wrong, told by fixed words in Spark's message; never the message."""
    text = str(error)
    if "TaskError" in text or "aborted due to stage failure" in text:
        return "a task failed in every attempt"
    if "JAVA_GATEWAY_EXITED" in text:
        return "Java did not start (Spark needs Java 17 or later)"
    if isinstance(error, OSError | EOFError) or "SparkContext was shut down" in text:
        return "the connection to Spark was lost"
    return f"it answered with {type(error).__name__}"

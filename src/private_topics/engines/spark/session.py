"""The driver's side of Spark: a session, what is sent to the executors in it, and Spark's errors in our words.

Spark's own messages carry the tracebacks of its tasks. They are dropped here; its logs on standard error keep what
`tasks.task` lets through. Log lines that Spark writes before our code sees a row (a reader of files, an expression of
the caller's) are Spark's, and may quote a value: `LOG_LEVEL` keeps them off the screen where the session is ours.

Documents are sent in broadcasts; the driver holds one at a time. Spark keeps a broadcast, in memory or on
disk, until it is destroyed, so losing an executor loses no documents. The sender destroys it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from private_topics.errors import EngineError, InputError, PrivacyError

MASTER = "PRIVATE_TOPICS_SPARK_MASTER"
"""The environment variable that names the master where no session is active and none is given."""
LOG_LEVEL = "OFF"
SHIPMENT_BYTES = 2**25
"""Pieces go out in broadcasts of about this size; each piece of one is a partition."""

Result = TypeVar("Result")


def session(master: str | None = None) -> Any:
    """The active session, or a new one at `master`, at $PRIVATE_TOPICS_SPARK_MASTER or at Spark's default."""
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
    """The result of `work`. An error of Spark becomes an `EngineError`, quoting nothing and chained to nothing."""
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
    """What went wrong, recognised by fixed words in Spark's message; never the message itself."""
    text = str(error)
    if "TaskError" in text or "aborted due to stage failure" in text:
        return "a task failed in every attempt"
    if "JAVA_GATEWAY_EXITED" in text:
        return "Java did not start (Spark needs Java 17 or later)"
    if isinstance(error, OSError | EOFError) or "SparkContext was shut down" in text:
        return "the connection to Spark was lost"
    return f"it answered with {type(error).__name__}"


@dataclass(frozen=True)
class Shipment:
    """Broadcasts: a tuple of pieces and, where it was sent, what belongs to each of them."""

    pieces: Any
    n_pieces: int
    beside: Any = None


class Broadcasts:
    """The broadcasts of one corpus, until `destroy`."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.sent: list[Any] = []

    def send(self, value: Any) -> Any:
        broadcast = translated("sent the documents", lambda: self.context.broadcast(value))
        self.sent.append(broadcast)
        return broadcast

    def ship(self, pieces: Iterable[tuple[Any, int]]) -> Iterator[Shipment]:
        """Send pieces, given with their size in bytes, as they come. Errors in making them are passed on."""
        waiting: list[Any] = []
        held = 0
        for piece, size in pieces:
            waiting.append(piece)
            held += size
            if held >= SHIPMENT_BYTES:
                yield self._shipment(waiting)
                waiting, held = [], 0
        if waiting:
            yield self._shipment(waiting)

    def _shipment(self, pieces: list[Any]) -> Shipment:
        return Shipment(self.send(tuple(pieces)), len(pieces))

    def unpacked(self, shipments: Iterable[Shipment], unpack: Callable[..., Iterator[Any]], **others: Any) -> Any:
        """An RDD with a partition for each piece: `unpack` gets its number, its shipment as `sent`, and `others`."""
        return self.context.union([self._slice(shipment, partial(unpack, **others)) for shipment in shipments])

    def _slice(self, shipment: Shipment, unpack: Callable[..., Iterator[Any]]) -> Any:
        numbers = self.context.parallelize(range(shipment.n_pieces), shipment.n_pieces)
        return numbers.mapPartitions(partial(unpack, sent=shipment))

    @contextmanager
    def destroyed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            with suppress(EngineError):  # the first error says more
                self.destroy()
            raise

    def destroy(self) -> None:
        """Make Spark forget all of them, in memory and on the disks of driver and executors."""
        translated("told to forget the documents", self._destroy)

    def _destroy(self) -> None:
        while self.sent:
            self.sent.pop().destroy()

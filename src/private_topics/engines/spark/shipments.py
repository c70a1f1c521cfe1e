"""What the driver sends to the executors: pieces of the corpus in broadcasts, of which it holds one at a time.

Spark keeps a broadcast, in memory or on disk, until it is destroyed, so that an executor that is lost does not take
documents with it. Who sent them has them destroyed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from private_topics.engines.spark.session import translated
from private_topics.errors import EngineError

SHIPMENT_BYTES = 2**25
"""Pieces go out in broadcasts of about so many bytes; each piece of one is a partition."""


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
        """Pieces, each with its size in bytes, sent while they come. What goes wrong in making them is passed on."""
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
        """Let Spark forget all of them, in memory and on the disks of driver and executors."""
        translated("told to forget the documents", self._destroy)

    def _destroy(self) -> None:
        while self.sent:
            self.sent.pop().destroy()

"""Texts that the driver reads and the executors cut into words and count.

The readers' rules apply (`corpus/texts/source.py`): the driver makes documents of records, numbers their units, and
sends texts out while it reads. No text becomes words here. How many documents a unit has is known at the end, so the
documents' shares of their units follow in a second, small broadcast for each shipment of texts.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Self

import numpy as np

from private_topics.corpus.counts.counting import BLOCK_DOCUMENTS, Groups, in_chunks
from private_topics.corpus.texts.source import Document
from private_topics.corpus.words.tokens import Tokeniser
from private_topics.engines.spark import tasks
from private_topics.engines.spark.counts import ClusterCounts, UnitsOnCluster, columns_of
from private_topics.engines.spark.session import Broadcasts, Shipment, session
from private_topics.errors import InputError

PIECE_DOCUMENTS, PIECE_CHARACTERS = BLOCK_DOCUMENTS, 2**22
"""The maximum number of documents in a piece, and the number of characters at which it ends."""

UnitShares = tuple[np.ndarray, np.ndarray]
"""Each document's share of its unit, and whether the unit is counted with it."""


class SparkTexts(ClusterCounts):
    """Texts as counts on a cluster, to fit with `engine="spark"`: read once and sent to the active session.

    Parameters
    ----------
    texts : what `open_texts` gives, or any iterable of strings or of (text, unit) pairs.
    vocabulary : the words, in the order of the columns.
    tokeniser : how text becomes words.
    """

    def __init__(self, texts: Iterable[str | Document], vocabulary: Sequence[str], tokeniser: Tokeniser) -> None:
        self._sent = Broadcasts(session().sparkContext)
        self.columns, self.tokeniser = columns_of(vocabulary, tokeniser), tokeniser
        self.n_words = len(self.columns)
        self._shipments: list[Shipment] = []
        with self._sent.destroyed_on_error():
            groups = Groups()
            shipments = list(self._sent.ship(_pieces(texts, groups)))
            if not shipments:
                raise InputError("count_texts found no documents.")
            self.n_documents = sum(map(len, groups.parts))
            if None not in groups.numbers:
                self.groups, self.unit_labels = UnitsOnCluster(), groups.labels
                shipments = self._with_shares(shipments, groups)
            self._recipe = self._sent.send((self.columns, self.tokeniser))
            self._shipments = shipments

    def _with_shares(self, shipments: list[Shipment], groups: Groups) -> list[Shipment]:
        """The shipments, each with a broadcast of the `UnitShares` of its pieces."""
        shares = _unit_shares(groups)
        return [replace(one, beside=self._sent.send(tuple(islice(shares, one.n_pieces)))) for one in shipments]

    def parts(self) -> Any:
        if not self._shipments:
            raise InputError("These counts were closed: count the texts again.")
        return self._sent.unpacked(self._shipments, tasks.shipped_texts, recipe=self._recipe)

    def close(self) -> None:
        """Make Spark forget the texts."""
        self._shipments = []
        self._sent.destroy()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _pieces(texts: Iterable[str | Document], groups: Groups) -> Iterator[tuple[bytes, int]]:
    """Pickled lists of encoded texts, with their sizes; the units of the documents are noted on the way."""
    for chunk in in_chunks(texts, PIECE_DOCUMENTS, PIECE_CHARACTERS):
        groups.add(chunk.units)
        encoded = [text.encode("utf-8", "surrogatepass") for text in chunk.texts]
        piece = pickle.dumps(encoded, protocol=pickle.HIGHEST_PROTOCOL)
        yield piece, len(piece)


def _unit_shares(groups: Groups) -> Iterator[UnitShares]:
    """The `UnitShares` of each piece. Units are numbered in the order in which they appear."""
    unit = np.concatenate(groups.parts)
    sizes = np.bincount(unit)
    first = np.diff(np.maximum.accumulate(unit), prepend=-1) > 0
    start = 0
    for numbers in groups.parts:
        stop = start + len(numbers)
        yield 1.0 / sizes[numbers], first[start:stop]
        start = stop

"""What a private fit asks of the machine that holds the documents: exact sums over them, and nothing else."""

from __future__ import annotations

from typing import Protocol

from private_topics.sums.unit_sums import Totals, UnitSum


class Corpus(Protocol):
    """Documents somewhere. The number of units and of words are public; `total` is not, until noise is added."""

    @property
    def n_units(self) -> int: ...

    @property
    def n_words(self) -> int: ...

    @property
    def grouped(self) -> bool:
        """Whether a unit is a user with several documents."""
        ...

    def total(self, unit_sum: UnitSum) -> Totals:
        """The exact sum over all documents, in arrays that the caller may overwrite."""
        ...

    def close(self) -> None:
        """Let go of what the engine holds of the documents."""
        ...

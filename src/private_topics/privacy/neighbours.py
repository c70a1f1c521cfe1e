"""Which corpora are neighbours: what the guarantee compares.

replace      one unit is replaced by any other; the number of units is public
zero-out     one unit is emptied: it is still counted, and says nothing; the number of units is public
add-remove   one unit is added or removed; the number of units is not public, and is released before it is used

What a unit adds to a sum has a norm of at most a bound `C`; an empty unit adds nothing. Two units are up to `2C`
apart (`√2 C` where nothing is negative), a unit and nothing up to `C`: see the tables in docs/proofs.
Replacing a unit is emptying it and filling it again, so a guarantee for zero-out neighbours is one for replaced units
at twice its mu; and so is one for add-remove.
"""

from __future__ import annotations

from typing import Literal

Neighbours = Literal["replace", "zero-out", "add-remove"]
REPLACE: Neighbours = "replace"
ZERO_OUT: Neighbours = "zero-out"
ADD_REMOVE: Neighbours = "add-remove"
NEIGHBOURS: tuple[Neighbours, ...] = (REPLACE, ZERO_OUT, ADD_REMOVE)

_CHANGES = {
    REPLACE: ("one document is replaced by any other", "one user with all their documents is replaced by any other"),
    ZERO_OUT: (
        "one document is emptied (zero-out neighbours)",
        "all documents of one user are emptied (zero-out neighbours)",
    ),
    ADD_REMOVE: (
        "one document is added or removed (add-remove neighbours)",
        "one user with all their documents is added or removed (add-remove neighbours)",
    ),
}
_OTHERWISE = {
    REPLACE: "had been exchanged for another",
    ZERO_OUT: "had been empty",
    ADD_REMOVE: "had not been there",
}
_QUESTIONS = {
    REPLACE: "which of two equally likely {unit}s was in the corpus",
    ZERO_OUT: "whether a {unit} that they know was in the corpus or, as likely, an empty one in its place",
    ADD_REMOVE: "whether a {unit} that they know was in the corpus, which is as likely as not",
}


def change_of(neighbours: Neighbours, *, grouped: bool) -> str:
    """From a corpus to its neighbour, in words."""
    return f"if {_CHANGES[neighbours][grouped]}"


def otherwise(neighbours: Neighbours) -> str:
    """What a reader of the model can hardly tell from what is true of a unit, in words."""
    return _OTHERWISE[neighbours]


def question(neighbours: Neighbours, unit: str) -> str:
    """What the guarantee keeps somebody from answering who knows all other units, in words."""
    return _QUESTIONS[neighbours].format(unit=unit)


def gain(neighbours: Neighbours) -> float:
    """How many times smaller the noise of non-negative sums is than for replaced units."""
    return 1.0 if neighbours == REPLACE else 2.0**0.5

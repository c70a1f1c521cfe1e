"""Small corpora of every awkward kind, documents and users as units."""

from __future__ import annotations

from reference.moments import Document, Unit

N_WORDS = 6
ENORMOUS = 2**31 - 1

ORDINARY: list[Document] = [
    {0: 2, 1: 1}, {0: 1, 1: 1, 2: 1}, {1: 3, 2: 2, 5: 1}, {3: 4, 4: 1}, {3: 2, 4: 2, 5: 2}, {2: 1, 3: 1, 4: 1, 5: 4},
]  # fmt: skip

CORPORA: dict[str, list[list[Document]]] = {
    "ordinary": [[document] for document in ORDINARY],
    "empty and short documents": [[{}], [{0: 1}], [{1: 2}], [{0: 1, 2: 1}], [{0: 3}], [{0: 1, 1: 2}]],
    "one word each": [[{word: 3 + word}] for word in range(N_WORDS)],
    "repeated words": [[{0: 50}], [{0: 49, 1: 1}], [{1: 7, 2: 7}], [{5: 3, 3: 300}], [{4: 12, 0: 1, 5: 1}]],
    "one user": [ORDINARY, [{0: 1}]],
    "users": [ORDINARY[:3], [{}, {2: 5}], [{0: 1}, {}, {5: 9, 4: 1}], [{1: 4}], [{3: 1, 4: 1, 5: 1}] * 7],
    "an enormous document": [*([document] for document in ORDINARY[:4]), [{0: ENORMOUS, 1: 5, 4: ENORMOUS, 5: 1}]],
    "an enormous user": [[{0: 3}], [{0: 2, 1: 2}] * 40, [{1: ENORMOUS, 2: 9}, {2: 1, 3: 2}], [ORDINARY[4]]],
    "enormous words": [[{0: ENORMOUS}], [{3: ENORMOUS}, {2: 1}], [{4: ENORMOUS - 1}], [{1: 3, 2: 3}]],
    "all alike": [[{0: 2, 1: 1, 3: 1}]] * 5,
}


def grouped(units: list[Unit]) -> bool:
    return any(len(unit) != 1 for unit in units)

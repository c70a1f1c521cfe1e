"""phi2 and phi3 of one document, by counting: how many ordered pairs and triples of its tokens are which words.

Full lengths stand in the denominators, so moments on some of the words are blocks of the moments on all. A document
of fewer than three tokens contributes nothing. (algorithm.md, section 2)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

Document = Mapping[int, int]
Unit = Sequence[Document]

SHORTEST = 3
LARGEST_REST = 2**31 - 1


def documents(units: Sequence[Unit]) -> Iterator[tuple[Document, Fraction]]:
    """Every document with its share: one over the number of documents of its unit."""
    for unit in units:
        for document in unit:
            yield document, Fraction(1, len(unit))


def length(document: Document) -> int:
    return sum(document.values())


def counts_on(document: Document, words: Sequence[int], rest: bool) -> list[int]:
    """The counts of some words; with `rest` all others count as one more word, but not more often than 2^31 - 1."""
    counts = [document.get(word, 0) for word in words]
    others = sum(count for word, count in document.items() if word not in words)
    return [*counts, min(others, LARGEST_REST)] if rest else counts


def phi2(document: Document, words: Sequence[int]) -> list[list[Fraction]]:
    """Of the l(l-1) ordered pairs of different tokens, the part that is the words i and j."""
    counts, tokens = counts_on(document, words, False), length(document)
    if tokens < SHORTEST:
        return [[Fraction(0) for _ in words] for _ in words]
    pairs = tokens * (tokens - 1)
    return [[Fraction(first * (second - (i == j)), pairs) for j, second in enumerate(counts)]
            for i, first in enumerate(counts)]  # fmt: skip


def phi3(document: Document, words: Sequence[int]) -> list[list[list[Fraction]]]:
    """Of the l(l-1)(l-2) ordered triples of different tokens, the part that is the words i, j and m."""
    counts, tokens = counts_on(document, words, False), length(document)
    if tokens < SHORTEST:
        return [[[Fraction(0) for _ in words] for _ in words] for _ in words]
    triples = tokens * (tokens - 1) * (tokens - 2)
    return [[[Fraction(first * (second - (i == j)) * (third - (i == m) - (j == m)), triples)
              for m, third in enumerate(counts)]
             for j, second in enumerate(counts)]
            for i, first in enumerate(counts)]  # fmt: skip

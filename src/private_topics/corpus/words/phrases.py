"""Phrases of a public list as words: "heart failure" becomes `heart_failure`, the longest phrase first.

A phrase is found where its words follow each other with spaces, hyphens or underscores between them. Its words may be
stop words, and with a stemmer they match in both numbers. No run of letters has an underscore, so that no word can be
taken for a phrase.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

JOINT = "_"
JOINS = " \t\n\r\v\f-_"
"""What may stand between the words of a phrase."""


class Phrases:
    """Phrases by the first of their words, the longest first; of two that match the same words, the first listed."""

    def __init__(self, listed: Iterable[tuple[tuple[str, ...], str]]) -> None:
        """`listed`: the words as they match, and the name of the phrase."""
        names: dict[tuple[str, ...], str] = {}
        for words, name in listed:
            names.setdefault(words, name)
        self.names = list(names.values())
        self.by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for words in sorted(names, key=len, reverse=True):
            self.by_first.setdefault(words[0], []).append((words, names[words]))

    def longest(
        self, word: Callable[[int], str], joins: Callable[[int], bool], at: int, end: int
    ) -> tuple[str, int] | None:
        """The longest phrase that begins with word number `at`, and its number of words.

        `joins(i)`: whether only `JOINS` stand between the words number i and i + 1.
        """
        for words, name in self.by_first.get(word(at), ()):
            inside = range(1, len(words))
            if at + len(words) <= end and all(word(at + i) == words[i] and joins(at + i - 1) for i in inside):
                return name, len(words)
        return None

    def join(
        self, numbers: np.ndarray, pointers: np.ndarray, stems: list[str], joins: Callable[[int], bool]
    ) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """Numbered words of documents with phrases in place of their words, and the phrases that got new numbers."""
        begins = np.array([stem in self.by_first for stem in stems], dtype=bool)
        starts = np.flatnonzero(begins[numbers]) if len(stems) else np.zeros(0, dtype=np.int64)
        ends = pointers[np.searchsorted(pointers, starts, side="right")]
        joined, kept, found, free = numbers.copy(), np.ones(len(numbers), dtype=bool), dict[str, int](), 0
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            if start < free:
                continue
            match = self.longest(lambda i: stems[numbers[i]], joins, start, end)
            if match is not None:
                name, length = match
                free = start + length
                joined[start] = found.setdefault(name, len(stems) + len(found))
                kept[start + 1 : free] = False
        before = np.concatenate([[0], np.cumsum(kept)])
        return joined[kept], before[pointers], list(found)

"""Folded text as UTF-8 bytes to numbered words to counts: `Tokeniser.words`, compiled.

The words of many documents are found in one buffer and numbered in the order in which they first appear; what a word
means (a column, a stop word, a stem) is then decided once for each *distinct* word. Equal numbers mean equal bytes:
hashes only lead to candidates. All loops run without the interpreter's lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from private_topics.corpus.words.phrases import JOINS
from private_topics.corpus.words.tokens import LETTER, SEPARATOR, Tokeniser, character_classes

PRIME = np.uint64(1_099_511_628_211)  # FNV-1a, 64 bits
SEED = np.uint64(hash("private-topics words") % 2**64)  # differs between processes: no text can aim at collisions
FIRST_SLOTS = 1 << 14


class FoundWords(NamedTuple):
    """The words of a buffer: where each starts and stops in it, and its hash."""

    buffer: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    hashes: np.ndarray


@dataclass(frozen=True)
class NumberedWords:
    """The words of documents: document i has the words numbered `numbers[pointers[i]:pointers[i + 1]]`."""

    numbers: np.ndarray
    pointers: np.ndarray
    different: list[bytes]

    def counts(self, columns: Sequence[int], n_columns: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Row pointers, sorted columns and counts; word `i` is counted in `columns[i]`, or nowhere if negative."""
        return count_columns(self.numbers, self.pointers, np.asarray(columns, dtype=np.int32), n_columns)


def number_words(texts: Sequence[str], tokeniser: Tokeniser) -> NumberedWords:
    """The words and phrases of texts, before stop words, lengths and stems are considered."""
    folded = tokeniser.folded
    encoded = [folded(text).encode("utf-8", "surrogatepass") for text in texts]  # a lone surrogate separates words
    joined = b"".join(encoded)
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    buffer = np.frombuffer(joined, dtype=np.uint8)
    found, pointers = _find_words(buffer, ends, character_classes(tokeniser.digits), SEED)
    numbers, first = _number(found)
    spans = zip(found.starts[first].tolist(), found.stops[first].tolist(), strict=True)
    different = [joined[start:stop] for start, stop in spans]
    if not tokeniser.phrases:
        return NumberedWords(numbers, pointers, different)

    def joins(word: int) -> bool:
        return not joined[found.stops[word] : found.starts[word + 1]].strip(JOINS.encode())

    stems = [tokeniser.stem(word.decode()) for word in different]
    numbers, pointers, phrases = tokeniser.joined_words.join(numbers, pointers, stems, joins)
    return NumberedWords(numbers, pointers, different + [phrase.encode() for phrase in phrases])


@njit(cache=True, nogil=True)
def _code_point(buffer: np.ndarray, at: int) -> tuple[np.int64, int]:
    """The code point at a position of valid UTF-8, and the position after it."""
    byte = np.int64(buffer[at])
    if byte < 0x80:
        return byte, at + 1
    if byte < 0xE0:
        return (byte & 0x1F) << 6 | (buffer[at + 1] & 0x3F), at + 2
    if byte < 0xF0:
        return (byte & 0x0F) << 12 | (buffer[at + 1] & 0x3F) << 6 | (buffer[at + 2] & 0x3F), at + 3
    high = (byte & 0x07) << 18 | (buffer[at + 1] & 0x3F) << 12
    return high | (buffer[at + 2] & 0x3F) << 6 | (buffer[at + 3] & 0x3F), at + 4


@njit(cache=True, nogil=True)
def _find_words(
    buffer: np.ndarray, ends: np.ndarray, classes: np.ndarray, seed: np.uint64
) -> tuple[FoundWords, np.ndarray]:
    """The words, and where those of each document (up to its end) begin."""
    most = (len(buffer) + len(ends)) // 2 + 1
    starts, stops = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    hashes = np.empty(most, dtype=np.uint64)
    pointers = np.zeros(len(ends) + 1, dtype=np.int64)
    n_words, at = 0, 0
    for document in range(len(ends)):
        end = ends[document]
        while at < end:
            point, after = _code_point(buffer, at)
            if classes[point] != LETTER:
                at = after
                continue
            starts[n_words] = at
            word_hash = seed
            while True:
                for byte in range(at, after):
                    word_hash = (word_hash ^ np.uint64(buffer[byte])) * PRIME
                at = after
                if at >= end:
                    break
                point, after = _code_point(buffer, at)
                if classes[point] == SEPARATOR:
                    break
            stops[n_words], hashes[n_words] = at, word_hash
            n_words += 1
        pointers[document + 1] = n_words
    return FoundWords(buffer, starts[:n_words], stops[:n_words], hashes[:n_words]), pointers


@njit(cache=True, nogil=True)
def _number(found: FoundWords) -> tuple[np.ndarray, np.ndarray]:
    """The number of each word, and where each distinct word first occurs; the table of slots grows fourfold."""
    n_words = len(found.starts)
    numbers, first = np.empty(n_words, dtype=np.int32), np.empty(n_words, dtype=np.int32)
    slots = np.full(FIRST_SLOTS, -1, dtype=np.int32)
    word, n_different = 0, 0
    while True:
        word, n_different = _fill(found, slots, first, numbers, word, n_different)
        if word == n_words:
            return numbers, first[:n_different].copy()
        slots = np.full(4 * len(slots), -1, dtype=np.int32)
        for number in range(n_different):
            slots[_slot(found, slots, first, first[number])] = number


@njit(cache=True, nogil=True)
def _fill(
    found: FoundWords, slots: np.ndarray, first: np.ndarray, numbers: np.ndarray, word: int, n_different: int
) -> tuple[int, int]:
    """Number words from `word` on until half of the slots are taken: where it stopped, and how many differ."""
    while word < len(numbers) and 2 * n_different < len(slots):
        slot = _slot(found, slots, first, word)
        if slots[slot] < 0:
            slots[slot], first[n_different] = n_different, word
            n_different += 1
        numbers[word] = slots[slot]
        word += 1
    return word, n_different


@njit(cache=True, nogil=True)
def _slot(found: FoundWords, slots: np.ndarray, first: np.ndarray, word: int) -> np.int64:
    """The slot of a word: where an equal one is, or the free one where it belongs."""
    buffer, starts, stops, hashes = found
    mask = len(slots) - 1
    length = stops[word] - starts[word]
    slot = np.int64(hashes[word] ^ (hashes[word] >> np.uint64(32))) & mask
    while slots[slot] >= 0:
        other = first[slots[slot]]
        if hashes[other] == hashes[word] and stops[other] - starts[other] == length:
            same = 0
            while same < length and buffer[starts[other] + same] == buffer[starts[word] + same]:
                same += 1
            if same == length:
                return slot
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def count_columns(
    numbers: np.ndarray, pointers: np.ndarray, columns: np.ndarray, n_columns: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts of the columns of each document's words, columns ascending."""
    indptr = np.zeros(len(pointers), dtype=np.int64)
    indices, counts = np.empty(len(numbers), dtype=np.int32), np.empty(len(numbers), dtype=np.int32)
    occurrences = np.zeros(n_columns, dtype=np.int32)
    end = 0
    for document in range(len(pointers) - 1):
        begin = end
        for word in range(pointers[document], pointers[document + 1]):
            column = columns[numbers[word]]
            if column >= 0:
                if occurrences[column] == 0:
                    indices[end] = column
                    end += 1
                occurrences[column] += 1
        indices[begin:end].sort()
        for entry in range(begin, end):
            counts[entry] = occurrences[indices[entry]]
            occurrences[indices[entry]] = 0
        indptr[document + 1] = end
    return indptr, indices[:end].copy(), counts[:end].copy()

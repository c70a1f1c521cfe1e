"""What the tests of single sums share: units as dictionaries, extreme ones among them, and their exact sums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache

import numba
import numpy as np

from private_topics.audit.neighbours import LARGEST_COUNT, rows_of
from private_topics.corpus.counts.matrix import document_lengths, validate_counts
from private_topics.sums.parts import Part
from private_topics.sums.unit_sums import Totals, UnitSum

Document = dict[int, int]
Unit = Sequence[Document]  # the documents of one user


def part_of(units: Iterable[Unit], n_words: int) -> Part:
    """Each unit's documents with equal shares."""
    units = list(units)
    counts = validate_counts(rows_of([document for unit in units for document in unit], n_words))
    share = np.concatenate([np.full(len(unit), 1.0 / len(unit)) for unit in units])
    return Part(counts, document_lengths(counts), share)


def slice_of(part: Part, rows: np.ndarray) -> Part:
    """Some documents of a part, in this order."""
    return Part(validate_counts(part.block[rows]), part.lengths[rows], part.share[rows])


def total_of(unit_sum: UnitSum, *parts: Part, threads: int = 1) -> Totals:
    totals, before = unit_sum.zeros(), numba.get_num_threads()
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    try:
        for part in parts:
            unit_sum.add(part, totals)
    finally:
        numba.set_num_threads(before)
    return totals


def random_units(n_documents: int, n_words: int, seed: int = 0) -> list[Unit]:
    """Documents of very different lengths and repetitions, one after the other or by twos."""
    generator = np.random.default_rng(seed)
    documents = []
    for _ in range(n_documents):
        rates = generator.gamma(0.2, 1.0, n_words) * generator.choice([1.0, 5.0, 100.0])
        counts = generator.poisson(rates)
        documents.append({int(word): int(counts[word]) for word in np.flatnonzero(counts)})
    singles = n_documents // 2
    pairs = zip(documents[singles::2], documents[singles + 1 :: 2], strict=True)
    return [*((document,) for document in documents[:singles]), *pairs]


@cache
def extreme_parts(n_words: int) -> list[Part]:
    return [part_of([unit], n_words) for unit in extreme_units(n_words)]


def extreme_units(n_words: int) -> list[Unit]:
    """Any two of them make neighbours. The last third of the words is where a test has its other words."""
    first, others = range(n_words), range(n_words - n_words // 3, n_words)
    documents: list[Document] = [
        {}, {0: 2}, {0: 1, 1: 1, 2: 1}, {0: 3}, {1: 3}, {0: 2, 1: 2}, {0: 3, 1: 2}, {0: 5, 1: 5, 2: 1},
        {0: LARGEST_COUNT}, {1: LARGEST_COUNT}, {0: LARGEST_COUNT, 1: LARGEST_COUNT}, {0: LARGEST_COUNT, 1: 1},
        dict.fromkeys(first, 1), dict.fromkeys(first, 7), dict.fromkeys(first, LARGEST_COUNT),
        dict.fromkeys(others, 1), dict.fromkeys(others, LARGEST_COUNT), {n_words - 1: 3},
        {0: 1, n_words - 1: 2}, {0: 2, n_words - 1: 1}, {0: 1, n_words - 1: LARGEST_COUNT},
        {0: 1000, 1: 20}, {0: 20, 1: 1000},
    ]  # fmt: skip
    users: list[Unit] = [
        tuple({0: 1000} for _ in range(500)),
        tuple({1: 3} for _ in range(77)),
        tuple({n % n_words: 1 + n, (n + 1) % n_words: 2} for n in range(300)),
        ({1: LARGEST_COUNT}, {}, {0: 3}),
        tuple(documents),
    ]
    return [*((document,) for document in documents), *users]


def farther(first: np.ndarray, second: np.ndarray, step: float, bound: float) -> bool:
    """Whether two sums in whole steps are further apart than `bound`: in rational arithmetic where it is close."""
    close = length_of(first - second, step) / bound
    if abs(close - 1.0) > 1e-6:
        return close > 1.0
    squares = sum(int(entry) ** 2 for entry in (first - second).ravel())
    return squares * Fraction(step) ** 2 > Fraction(bound) ** 2


def length_of(total: np.ndarray, step: float) -> float:
    return float(np.linalg.norm(total.astype(np.float64)) * step)

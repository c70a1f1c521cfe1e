"""What a site hands over to be added up: its integers with its share of the noise, and how the sum is read.

Most sums are whole lattice steps already. An array that is assembled from sums is a whole number of far finer steps
only, and must be rounded before it is noised. Rounded at each site it would not add up to what the pooled documents
give. So a site rounds at random: it adds a dither, uniform below one step. What is then below a step is uniform,
whatever it was before, and can be shown without noise; whole steps get noise. Both are added up over the sites, and
the sum is rounded once. Proof: docs/proofs/sites.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from private_topics.errors import InputError
from private_topics.privacy.adding import with_noise
from private_topics.privacy.lattice import LARGEST_INTEGER
from private_topics.privacy.queries import Integers, Query, checked_aggregate
from private_topics.privacy.symmetric import Draw, from_upper_triangle, spread, upper_triangle

WORD_BITS = 48
"""Of a word in which what is below a step is added up: the sum over 1,000 sites has 58."""
Dither = Callable[[int, int], npt.NDArray[np.object_]]
"""So many uniform whole numbers of so many bits."""


class Addend(Protocol):
    """This site's part of a sum; `integers` of the announced shape, `size` how many are handed over."""

    integers: Integers
    size: int
    bits: int

    def noisy(self, query: Query, sigma: float, draw: Draw, dither: Dither) -> Integers: ...

    def total(self, summed: Integers, taking_part: int) -> Integers: ...


class Whole:
    """Whole lattice steps; of a symmetric matrix the upper triangle is handed over."""

    bits = 0

    def __init__(self, query: Query, integers: Integers) -> None:
        self.integers, self._half = integers, query.kind == "symmetric_matrix"
        rows = len(integers)
        self.size = rows * (rows + 1) // 2 if self._half else integers.size

    def noisy(self, query: Query, sigma: float, draw: Draw, _dither: Dither) -> Integers:
        noised = with_noise(query, self.integers, sigma, draw, consume=False)
        return upper_triangle(noised) if self._half else noised

    def total(self, summed: Integers, _taking_part: int) -> Integers:
        return from_upper_triangle(summed, len(self.integers)) if self._half else summed.reshape(self.integers.shape)


class Fine:
    """A symmetric array in steps over 2^bits; `values` are Python ints, at `places`, the sorted indices."""

    def __init__(
        self, query: Query, values: npt.NDArray[np.object_], bits: int, places: tuple[Integers, ...]
    ) -> None:
        self.values, self.bits, self.places = values, bits, places
        self.integers = checked_aggregate(query, spread(self._whole(values), places), False)
        self._words = -(-bits // WORD_BITS)
        self.size = len(values) * (1 + self._words)

    def noisy(self, query: Query, sigma: float, draw: Draw, dither: Dither) -> Integers:
        """Whole steps with noise, and the words of what is below, the lowest first."""
        values = self.values + dither(len(self.values), self.bits)
        below = values & ((1 << self.bits) - 1)
        words = [(below >> (WORD_BITS * place)) & ((1 << WORD_BITS) - 1) for place in range(self._words)]
        whole = with_noise(query, spread(self._whole(values), self.places), sigma, draw, consume=True)
        return np.concatenate([whole[self.places], *words]).astype(np.int64)

    def total(self, summed: Integers, taking_part: int) -> Integers:
        """To the nearest whole step, the mean of so many dithers taken off."""
        whole, *words = summed.reshape(1 + self._words, -1)
        below = joined(words, WORD_BITS)
        carried = (below - ((taking_part - 1) << (self.bits - 1))) >> self.bits
        return spread(whole + carried.astype(np.int64), self.places)

    def _whole(self, values: npt.NDArray[np.object_]) -> Integers:
        whole = values >> self.bits
        if max(map(abs, whole)) > LARGEST_INTEGER:
            raise InputError("An aggregate leaves the lattice. Check its public bounds.")
        return whole.astype(np.int64)


def joined(words: Any, bits: int) -> npt.NDArray[np.object_]:
    """Whole numbers of any size from words of so many bits each, the lowest first."""
    total = np.zeros(len(words[0]), object)
    for place, word in enumerate(words):
        total += word.astype(object) << (bits * place)
    return total

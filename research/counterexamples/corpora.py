"""Small corpora with exact moments, and neighbours of them.

A corpus is a list of distinct documents with multiplicities, so a corpus of 300,000 documents is three rows. The
moments are the estimators the paper means, unbiased over distinct documents (its App. D, with the terms that its
lemma leaves out), formed in full: `d` stays small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from math import factorial

import numpy as np


@dataclass(frozen=True)
class Finding:
    """One counter-example: the paper's number, the number attained, and the corrected one (None: no bound known)."""

    name: str
    claim: str
    published: float
    attained: float
    corrected: float | None


@dataclass(frozen=True)
class Corpus:
    """Distinct documents (rows of counts, each of three words or more) and how often each occurs."""

    counts: np.ndarray
    times: np.ndarray

    @property
    def n_documents(self) -> int:
        return int(self.times.sum())

    def replaced(self, old: int, new: int) -> Corpus:
        """The neighbour in which one document of row `old` became one of row `new`."""
        times = self.times.copy()
        times[old] -= 1
        times[new] += 1
        return replace(self, times=times)


def single_words(times: list[int]) -> Corpus:
    """Documents that repeat one word three times; word `i` has `times[i]` of them."""
    return Corpus(3 * np.eye(len(times), dtype=np.int64), np.array(times))


def triples_of_words(alpha: np.ndarray, n_documents: int) -> Corpus:
    """Documents of three words whose moments are those of LDA with one word per topic, up to rounding.

    The document with words i, j, l occurs in proportion to `E[θ_i θ_j θ_l]` times its number of orders.
    """
    rows, weights = [], []
    for triple in combinations_with_replacement(range(len(alpha)), 3):
        row = np.bincount(triple, minlength=len(alpha))
        rising = np.prod([np.prod([a + step for step in range(count)]) for a, count in zip(alpha, row, strict=True)])
        rows.append(row)
        weights.append(rising * factorial(3) / np.prod([factorial(count) for count in row]))
    shares = np.array(weights) / np.sum(weights)
    return Corpus(np.array(rows), np.rint(n_documents * shares).astype(np.int64))


def features(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`phi1`, `phi2`, `phi3` of each row of counts: probability arrays."""
    c = counts.astype(np.float64)
    eye = np.eye(c.shape[1])
    length = c.sum(axis=1)
    pairs = np.einsum("ni,nj->nij", c, c) - np.einsum("ni,ij->nij", c, eye)
    mixed = np.einsum("ni,nj,il->nilj", c, c, eye)  # e_i⊗e_i⊗e_j
    triples = np.einsum("ni,nj,nl->nijl", c, c, c) - placements(mixed)
    triples += 2.0 * np.einsum("ni,ij,il->nijl", c, eye, eye)
    second = (length * (length - 1.0))[:, None, None]
    return c / length[:, None], pairs / second, triples / (second * (length - 2.0)[:, None, None])[..., None]


def placements(array: np.ndarray) -> np.ndarray:
    """The sum over the three places of the last index of an array symmetric in the two before it."""
    return array + np.swapaxes(array, -1, -2) + np.swapaxes(array, -1, -3)


def lda_moments(corpus: Corpus, alpha0: float) -> tuple[np.ndarray, np.ndarray]:
    """`M2` and `M3` without the prefactor, unbiased: products of means run over distinct documents."""
    n, times = float(corpus.n_documents), corpus.times.astype(np.float64)
    one, two, three = features(corpus.counts)
    first, second, third = (np.tensordot(times, array, axes=1) for array in (one, two, three))
    squares = np.einsum("n,ni,nj->ij", times, one, one)
    cubes = np.einsum("n,ni,nj,nl->ijl", times, one, one, one)
    own = np.einsum("n,nij,nl->ijl", times, two, one)
    pair = (np.multiply.outer(first, first) - squares) / (n * (n - 1.0))
    mixed = (np.multiply.outer(second, first) - own) / (n * (n - 1.0))
    outer = np.multiply.outer(np.multiply.outer(first, first), first)
    cube = (outer - placements(np.multiply.outer(squares, first)) + 2.0 * cubes) / (n * (n - 1.0) * (n - 2.0))
    return combined(second / n, pair, third / n, placements(mixed), cube, alpha0)


def combined(
    second: np.ndarray, pair: np.ndarray, third: np.ndarray, mixed: np.ndarray, cube: np.ndarray, alpha0: float
) -> tuple[np.ndarray, np.ndarray]:
    """`M2 = E2 - a m⊗m` and `M3 = E3 - |b| (E2⊗m, three placements) + c m⊗m⊗m`."""
    m2 = second - alpha0 / (alpha0 + 1.0) * pair
    m3 = third - alpha0 / (alpha0 + 2.0) * mixed + 2.0 * alpha0**2 / ((alpha0 + 1.0) * (alpha0 + 2.0)) * cube
    return m2, m3


def raw_moments(alpha: np.ndarray, topics: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`E[x1]`, `E[x1⊗x2]`, `E[x1⊗x2⊗x3]` of LDA with topics in rows. Paper, App. E."""
    alpha0, eye = alpha.sum(), np.eye(len(alpha))
    first = alpha / alpha0
    pairs = (np.multiply.outer(alpha, alpha) + np.diag(alpha)) / (alpha0 * (alpha0 + 1.0))
    cube = np.multiply.outer(np.multiply.outer(alpha, alpha), alpha)
    mixed = placements(np.multiply.outer(np.diag(alpha), alpha))
    diagonal = np.einsum("i,ij,il->ijl", alpha, eye, eye)
    triples = (cube + mixed + 2.0 * diagonal) / (alpha0 * (alpha0 + 1.0) * (alpha0 + 2.0))
    return (
        first @ topics,
        topics.T @ pairs @ topics,
        np.einsum("abc,ai,bj,cl->ijl", triples, topics, topics, topics, optimize=True),
    )


def multilinear(tensor: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """`T(W, W, W)`."""
    return np.einsum("ijl,ia,jb,lc->abc", tensor, frame, frame, frame, optimize=True)

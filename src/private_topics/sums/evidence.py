"""Whether the topics of one half of a document foretell those of the other: evidence that they are the corpus's own.

The tokens of a document are dealt to two parts by bits that are a function of the document alone. Each part is
folded in by itself; its topic weights, less those expected of any document, give a vector of length at most one. In a
corpus whose words are shuffled over its documents the two vectors have nothing to do with each other, whatever the
topics are: the mean of their products is the product of their means. Where topics are in the documents it is larger.
Topics that were made without the documents are tested on halves. A fit learns from fifteen sixteenths of each
document (`Learnt`), and its topics are tested on the sixteenth that it has not seen.

Also added up: how much better the topics of one half predict the words of the other than the average of all topics
does, in nats per word, and how much of that is lost where one topic's weight goes to that average.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numba import get_num_threads, njit, prange

from private_topics.corpus.counts.block_source import CountBlocks
from private_topics.corpus.counts.matrix import counts_of, document_lengths
from private_topics.inference.fold_in import TINY, fold_in
from private_topics.sums.parts import Part
from private_topics.sums.quantised import SAFETY
from private_topics.sums.unit_sums import AddedUp, Totals, UnitSum

SHORTEST_DEVIATION = 0.3
"""Deviations of topic weights that are shorter count by their length; longer ones count the same."""
LARGEST_GAIN, LARGEST_LOSSES = 0.5, 0.5
"""Nats per word: of a document's gain, and of the norm of what it loses without each topic."""
LOSSES, BESIDE = 0.5, 0.3
"""How much the losses, and squares, means, gain and number, weigh beside the products and the sum of some of them."""
NORM = math.sqrt(2.0 + LOSSES**2 + 5.0 * BESIDE**2)
FEWEST_DEALT = 8
"""Documents with fewer tokens stay whole, and test nothing: equal documents are dealt alike, and short ones recur."""
MOST_DEALT = 1024
"""Tokens of a word in a document that are dealt one by one; of more, each part gets its share."""
HALF, SIXTEENTH = 1, 4
"""Coins a token: the second part has those for which all of them fall alike."""


@dataclass(frozen=True)
class Learnt:
    """Another sum, over what a fit may learn from: all but the sixteenth of each document that tests its topics."""

    of: UnitSum

    def zeros(self) -> Totals:
        return self.of.zeros()

    def add(self, part: Part, totals: Totals) -> None:
        self.of.add(learnt(part), totals)

    def aggregates(self, totals: Totals) -> Totals:
        return self.of.aggregates(totals)


def learnt(part: Part) -> Part:
    """The documents without the tokens that are held out."""
    left = learnt_counts(part.block)
    return Part(left, document_lengths(left), part.share)


def learnt_counts(block: sp.csr_array) -> sp.csr_array:
    held = dealt(block.indptr, block.indices, block.data, SIXTEENTH)
    starts, words, counts = _without(block.indptr, block.indices, block.data, held)
    return counts_of(starts, words, counts, block.shape[1])


class LearntBlocks(CountBlocks):
    """A corpus without the tokens that are held out, for an engine that keeps it."""

    def __init__(self, of: CountBlocks) -> None:
        self.of, self.n_words, self.n_documents = of, of.n_words, of.n_documents

    def _blocks(self) -> Iterator[sp.csr_array]:
        return map(learnt_counts, self.of)


@njit(cache=True, nogil=True)
def _without(indptr, words, counts, held):  # type: ignore[no-untyped-def]
    """The entries of which something is left."""
    starts = np.zeros(len(indptr), indptr.dtype)
    kept_words, kept_counts = np.empty(len(words), words.dtype), np.empty(len(counts), counts.dtype)
    at = 0
    for n in range(len(indptr) - 1):
        for p in range(indptr[n], indptr[n + 1]):
            if counts[p] > held[p]:
                kept_words[at], kept_counts[at] = words[p], counts[p] - held[p]
                at += 1
        starts[n + 1] = at
    return starts, kept_words[:at].copy(), kept_counts[:at].copy()


@dataclass(frozen=True)
class Agreement(AddedUp):
    """Add up products of both parts' deviations and their squares (topics × topics), means, gains in nats per
    word, the sum of the products over all topics, and the number of documents with words in both parts.

    `mean` is the average of all topics, a probability for each word; `held` says how many tokens the second part has.
    """

    word_topics: np.ndarray
    prior: np.ndarray
    mean: np.ndarray
    held: int
    step: float

    def zeros(self) -> Totals:
        return (np.zeros(size_of(len(self.prior)), np.int64),)

    def add(self, part: Part, totals: Totals) -> None:
        block = part.on_all_words()
        second = dealt(block.indptr, block.words, block.counts, self.held)
        first = block.counts - second
        topics = np.ascontiguousarray(self.word_topics)
        weights = [
            fold_in(block.indptr, block.words, half.astype(np.float64), topics, self.prior)[0]
            for half in (first, second)
        ]
        gains = held_out_gains(block.indptr, block.words, second, topics, weights[0], self.mean)
        sums = np.zeros((4 * get_num_threads(), len(totals[0])), np.int64)
        lengths = [np.add.reduceat(np.append(half, 0), block.indptr[:-1]) for half in (first, second)]
        lengths = [np.where(np.diff(block.indptr) > 0, length, 0) for length in lengths]
        usual, scale = self.prior / self.prior.sum(), part.share * SAFETY / (NORM * self.step)
        _add_agreement(weights[0], weights[1], lengths[0], lengths[1], usual, gains, scale, sums)
        totals[0][:] += sums.sum(axis=0)


def size_of(n_topics: int) -> int:
    """How many numbers a contribution has."""
    return 2 * n_topics * n_topics + 3 * n_topics + 3


@njit(cache=True, inline="always")
def _mixed(x):  # type: ignore[no-untyped-def]
    """Mix the bits of a 64-bit number (the finaliser of SplitMix64; Steele, Lea and Flood 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True, parallel=True, nogil=True)
def dealt(indptr, words, counts, coins):  # type: ignore[no-untyped-def]
    """Count the tokens of each entry that go to the second part: those whose `coins` all fall alike.

    Coins are bits of a hash of the document's counts. Of a short document none go there.
    """
    golden = np.uint64(0x9E3779B97F4A7C15)
    out = np.zeros(len(counts), np.int64)
    for n in prange(len(indptr) - 1):
        seed, length = golden, np.int64(0)
        for p in range(indptr[n], indptr[n + 1]):
            length += np.int64(counts[p])
        if length < FEWEST_DEALT:
            continue
        for p in range(indptr[n], indptr[n + 1]):
            seed = _mixed(seed + np.uint64(words[p]) * golden)
            seed = _mixed(seed + np.uint64(counts[p]))
        for p in range(indptr[n], indptr[n + 1]):
            left = np.int64(counts[p])
            if left > MOST_DEALT:
                out[p] = left >> coins
                continue
            bits = _mixed(seed + np.uint64(words[p] + 1) * golden)
            while left > 0:
                taken = ~np.uint64(0) if left >= 64 else (np.uint64(1) << np.uint64(left)) - np.uint64(1)
                for _ in range(coins):
                    taken &= bits
                    bits = _mixed(bits + golden)
                while taken:
                    taken &= taken - np.uint64(1)
                    out[p] += 1
                left -= 64
    return out


@njit(cache=True, inline="always")
def _logarithm(x):  # type: ignore[no-untyped-def]
    """Natural logarithm of a positive float to 1e-13, in operations that IEEE 754 rounds in one way only."""
    fraction, exponent = math.frexp(x)  # in [1/2, 1)
    if fraction < 0.7071067811865476:
        fraction *= 2.0
        exponent -= 1
    s = (fraction - 1.0) / (fraction + 1.0)
    z = s * s
    series = 1.0 / 13.0 + z * (1.0 / 15.0 + z * (1.0 / 17.0 + z * (1.0 / 19.0)))
    series = 1.0 / 7.0 + z * (1.0 / 9.0 + z * (1.0 / 11.0 + z * series))
    return exponent * 0.6931471805599453 + 2.0 * s * (1.0 + z * (1.0 / 3.0 + z * (1.0 / 5.0 + z * series)))


@njit(cache=True, parallel=True, nogil=True)
def held_out_gains(indptr, words, held, word_topics, weights, mean):  # type: ignore[no-untyped-def]
    """Per document `Σ_w h_w ln(q_w/m_w) / Σ h_w`, and the same of `q` over `q` without each topic: (k + 1) columns.

    `q` mixes the topics by the weights of the other half, `m` is their average; without a topic, its weight goes to
    `m`. Not clipped.
    """
    k = word_topics.shape[1]
    out = np.zeros((len(indptr) - 1, k + 1))
    for n in prange(len(indptr) - 1):
        total, length = 0.0, 0.0
        for a in range(k):
            total += weights[n, a]
        for p in range(indptr[n], indptr[n + 1]):
            if held[p] == 0:
                continue
            topic, usual, mixture = word_topics[words[p]], mean[words[p]], 0.0
            for a in range(k):
                mixture += weights[n, a] / total * topic[a]
            own = _logarithm(mixture + TINY)
            out[n, 0] += held[p] * (own - _logarithm(usual + TINY))
            for a in range(k):
                without = mixture - weights[n, a] / total * (topic[a] - usual)
                out[n, a + 1] += held[p] * (own - _logarithm(max(without, 0.0) + TINY))
            length += held[p]
        if length > 0.0:
            for a in range(k + 1):
                out[n, a] /= length
    return out


@njit(cache=True, nogil=True)
def _deviation(weights, usual, out):  # type: ignore[no-untyped-def]
    """Write the direction of a half's topic weights from the usual ones, of length at most one; all zero for NaN."""
    total, squares = 0.0, 0.0
    for a in range(len(usual)):
        total += weights[a]
    for a in range(len(usual)):
        out[a] = weights[a] / total - usual[a]
        squares += out[a] * out[a]
    norm = max(np.sqrt(squares), SHORTEST_DEVIATION)
    usable = norm < np.inf  # False for NaN too
    for a in range(len(usual)):
        out[a] = out[a] / norm if usable else 0.0


@njit(cache=True, parallel=True, nogil=True)
def _add_agreement(first, second, first_lengths, second_lengths, usual, gains, weights, sums):  # type: ignore[no-untyped-def]
    """Add `trunc(weight · contribution)` of every document with words in both halves, to one of several totals."""
    n_documents, n_sums, k = len(weights), len(sums), len(usual)
    for part in prange(n_sums):
        one, other, values = np.empty(k), np.empty(k), np.empty(sums.shape[1])
        for n in range(part * n_documents // n_sums, (part + 1) * n_documents // n_sums):
            if first_lengths[n] == 0 or second_lengths[n] == 0:
                continue
            _deviation(first[n], usual, one)
            _deviation(second[n], usual, other)
            at = 0
            for a in range(k):
                for b in range(k):
                    values[at] = one[a] * other[b]
                    values[at + k * k] = BESIDE * (one[a] * other[b]) ** 2
                    at += 1
            at += k * k
            for a in range(k):
                values[at + a] = BESIDE * one[a]
                values[at + k + a] = BESIDE * other[a]
            at += 2 * k
            squares, agrees = 0.0, 0.0
            for a in range(k):
                squares += gains[n, a + 1] * gains[n, a + 1]
                agrees += one[a] * other[a]
            norm = np.sqrt(squares)
            scale = LOSSES / max(norm, LARGEST_LOSSES) if norm < np.inf else 0.0
            gain = gains[n, 0] if abs(gains[n, 0]) < np.inf else 0.0
            for a in range(k):
                values[at + a] = scale * gains[n, a + 1] if scale > 0.0 else 0.0
            values[at + k] = BESIDE * min(max(gain / LARGEST_GAIN, -1.0), 1.0)
            values[at + k + 1] = agrees
            values[at + k + 2] = BESIDE
            for a in range(len(values)):
                sums[part, a] += np.int64(weights[n] * values[a])

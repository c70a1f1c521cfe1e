"""How large one document's contribution is: the norms that clipping needs, each a function of that document alone.

Every loop below runs over one document in the order of its words, outside BLAS and in operations that IEEE 754 rounds
in one way only, so the result does not change with the batch, the number of threads, the other documents or the
machine. Units are counted by the logarithm of a norm; once released, such a histogram suggests a clip threshold.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from private_topics.inference.lanes import lane_sums
from private_topics.sums.parts import SHORTEST

BINS = 64
SMALLEST_LOG, LARGEST_LOG = -14.0, 14.0  # natural logarithm of a norm: 8e-7 to 1.2e6
# To single precision, so that the last bits of a machine's exponential move no norm to another bin.
EDGES = np.exp(np.linspace(SMALLEST_LOG, LARGEST_LOG, BINS + 1)).astype(np.float32).astype(np.float64)

CLEAR, UNCLEAR_QUANTILE = 3.0, 0.1  # a bin counts from this many times its noise on; where none does, clip low


@njit(cache=True, parallel=True, nogil=True)
def count_norms(indptr, counts, lengths):  # type: ignore[no-untyped-def]
    """`||c||` of each document; zero for a document that contributes nothing."""
    out = np.zeros(len(indptr) - 1)
    for n in prange(len(indptr) - 1):
        if lengths[n] >= SHORTEST:
            squares = 0.0
            for p in range(indptr[n], indptr[n + 1]):
                squares += np.float64(counts[p]) * np.float64(counts[p])
            out[n] = np.sqrt(squares)
    return out


@njit(cache=True, parallel=True, nogil=True)
def pair_norms(indptr, counts, lengths):  # type: ignore[no-untyped-def]
    """`||phi2||_F` on the words present: `sqrt((Σc²)² - 2Σc³ + Σc²) / (l(l-1))`, `l` the full length."""
    out = np.zeros(len(indptr) - 1)
    for n in prange(len(indptr) - 1):
        if lengths[n] >= SHORTEST:
            squares = 0.0
            repeats = 0.0  # Σ of c²(c-1)² - c⁴, so that no large powers cancel
            for p in range(indptr[n], indptr[n + 1]):
                c = np.float64(counts[p])
                squares += c * c
                repeats += c * c * (1.0 - 2.0 * c)
            length = np.float64(lengths[n])
            out[n] = np.sqrt(max(0.0, squares * squares + repeats)) / (length * (length - 1.0))
    return out


@njit(cache=True, parallel=True, nogil=True)
def frame_norms(indptr, words, counts, lengths, frame, projected):  # type: ignore[no-untyped-def]
    """For each document `||y||`, `r2 = Σ c ||w||²` and `r3 = Σ c ||w||³`, as columns."""
    out = np.zeros((len(indptr) - 1, 3))
    square = np.zeros(len(frame))
    for word in range(len(frame)):
        for a in range(frame.shape[1]):
            square[word] += frame[word, a] * frame[word, a]
    cube = square * np.sqrt(square)
    for n in prange(len(indptr) - 1):
        if lengths[n] >= SHORTEST:
            total = 0.0
            for a in range(frame.shape[1]):
                total += projected[n, a] * projected[n, a]
            out[n, 0] = np.sqrt(total)
            for p in range(indptr[n], indptr[n + 1]):
                out[n, 1] += counts[p] * square[words[p]]
                out[n, 2] += counts[p] * cube[words[p]]
    return out


@njit(cache=True, parallel=True, nogil=True)
def statistic_norms(indptr, words, counts, word_topics, word_weights, pull):  # type: ignore[no-untyped-def]
    """Frobenius norm of each document's statistic `g_w c_w r_wi` (words × topics), `g` the weights of the words.

    And `Σ_i pull·topic` of each entry.
    """
    norms = np.zeros(len(indptr) - 1)
    totals = np.empty(len(words))
    for n in prange(len(indptr) - 1):
        norm = 0.0
        for p in range(indptr[n], indptr[n + 1]):
            total, squares = lane_sums(pull[n], word_topics[words[p]])
            totals[p] = total
            if total > 0.0:
                ratio = word_weights[words[p]] * counts[p] / total
                norm += ratio * ratio * squares
        norms[n] = np.sqrt(norm)
    return norms, totals


@njit(cache=True, parallel=True, nogil=True)
def cube_roots(values):  # type: ignore[no-untyped-def]
    """Cube roots of non-negative numbers to an ulp or two, by Newton's steps: the library's differ by machine."""
    out = np.zeros(len(values))
    for n in prange(len(values)):
        if values[n] > 0.0:
            fraction, exponent = math.frexp(values[n])
            third = (exponent + 3072) // 3 - 1024
            x = math.ldexp(fraction, exponent - 3 * third)  # in [1/2, 4)
            y = 0.65 + 0.25 * x
            for _ in range(6):
                y = (2.0 * y + x / (y * y)) / 3.0
            out[n] = math.ldexp(y, third)
    return out


def add_norms(norms: np.ndarray, share: np.ndarray, step: float, counts: np.ndarray) -> None:
    """Add units (in whole steps) to the bin of their norm; outer bins take the rest, zero norms are not counted."""
    positive = norms > 0
    index = np.searchsorted(EDGES, norms[positive], side="right")
    np.add.at(counts, index, np.floor(share[positive] / step).astype(np.int64))


def median_norm(histogram: np.ndarray) -> float:
    """The upper edge of the bin where a noisy histogram reaches half of its total."""
    return _quantile(histogram, 0.5)


def clear_bins(histogram: np.ndarray, sigma: float) -> np.ndarray:
    """The bins, but for the outer ones, that stand out from the noise of a histogram."""
    return np.flatnonzero(histogram[1:-1] > CLEAR * sigma)


def best_clip(histogram: np.ndarray, sigma: float, noise: float, distortion: float) -> float:
    """The clip threshold that distorts a sum least, from a histogram of norms with noise `sigma`.

    `noise` is the relative error that noise for a clip of one causes in the contribution of one unit. What clipping
    itself distorts is `distortion` times the variation of the clip factors: units that are clipped differently count
    differently, and that error does not fall with their number. So the threshold rises as the noise falls.
    """
    clear = clear_bins(histogram, sigma)
    if len(clear) == 0:
        return _quantile(histogram, UNCLEAR_QUANTILE)
    bins = np.arange(clear[0], clear[-1] + 1)
    counts = np.maximum(histogram[bins + 1], 0.0)
    counts /= counts.sum()
    clips = EDGES[bins + 1]
    factors = np.minimum(1.0, clips[:, None] / np.sqrt(EDGES[bins] * EDGES[bins + 1]))
    mean = factors @ counts
    spread = np.sqrt(np.maximum(factors**2 @ counts - mean**2, 0.0)) / mean
    units = max(float(histogram.sum()), sigma)
    losses = np.hypot(noise * clips / (units * mean), distortion * spread)
    return float(clips[np.argmin(losses)])


def _quantile(histogram: np.ndarray, quantile: float) -> float:
    """The upper edge of the bin where a noisy histogram reaches `quantile` of its total."""
    running = np.cumsum(histogram)
    rising = (np.maximum.accumulate(running) + np.minimum.accumulate(running[::-1])[::-1]) / 2.0
    reached = int(np.searchsorted(rising, quantile * max(rising[-1], 0.0)))
    return float(EDGES[np.clip(reached, 1, BINS)])

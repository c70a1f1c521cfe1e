"""The whole sequential fit of a small corpus, from documents and recorded noise to topics.

The refinement is replayed where its noise is small against the statistic, and the fit where it takes no branch for
large vocabularies or contradicted topics; anything else is refused, not guessed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath

from reference import denoising, frame_second, norms, refinement, spectral, third_moment, word_sums
from reference.accountant import sigma_of
from reference.interval import Interval
from reference.lattice import assembly_error, rounded, step_for, widened
from reference.moments import Unit, documents
from reference.noise import noise, places

ROOT_TWO = math.sqrt(2.0)
WORDS_DISTORTION, SECOND_DISTORTION, THIRD_DISTORTION = 0.1, 0.5, 0.2
CLEARLY_LESS = 0.25
NOISY_START, HALF_START_NOISE, REFUTED_START, REFUTED = 0.5, 0.1, 0.65, 0.25
SMALLEST_FREQUENCY, WEIGHT_EXPONENT = 0.2, 0.375
FEWEST_CARRIED, NEARLY_CARRIED = 3, 2.5


@dataclass
class Fit:
    """The corpus, what is public, the recorded noise, and the frame once it is found."""

    units: Sequence[Unit]
    n_words: int
    n_topics: int
    alpha0: float
    steps: int
    mu: mpmath.mpf
    shares: Mapping[str, float]
    drawn: Iterator[Sequence[int]]
    frame: spectral.Frame | None = None

    @property
    def n_units(self) -> int:
        return len(self.units)

    def sigma(self, name: str, sensitivity: float) -> float:
        return float(sigma_of(sensitivity, self.shares[name], self.mu))

    def step(self, name: str, sensitivity: float, largest: float = 1.0) -> Fraction:
        """Of a sum whose contributions have norm at most `largest`."""
        return step_for(Fraction(self.sigma(name, sensitivity)), self.n_units, Fraction(self.n_units * largest))

    def release(self, kind: str, sums: Any, step: Fraction) -> dict[tuple[int, ...], float]:
        """`step · (sum + noise)`, by index."""
        shape = _shape(sums)
        groups = places(kind, shape)
        eta = noise(kind, shape, [next(self.drawn) for _ in groups])
        return {index: float((_entry(sums, index) + eta[index]) * step) for index in eta}


def _shape(sums: Any) -> tuple[int, ...]:
    return (len(sums), *_shape(sums[0])) if isinstance(sums, list) else ()


def _entry(sums: Any, index: tuple[int, ...]) -> int:
    for place in index:
        sums = sums[place]
    return int(sums.low) if isinstance(sums, Interval) else int(sums)


def topics(fit: Fit) -> tuple[list[list[float]], list[float]]:
    """Topics and prior."""
    unigram_sigma = fit.sigma("unigram", ROOT_TWO)
    step = fit.step("unigram", ROOT_TWO)
    noisy = fit.release("vector", word_sums.unigram(fit.units, fit.n_words, step), step)
    weights = [noisy[word,] for word in range(fit.n_words)]
    unigram = denoising.word_frequencies(weights, unigram_sigma)
    noise_per_topic, carried = carried_topics(fit, max(sum(weights), unigram_sigma))
    frame = fit.frame = second_moment(fit, unigram)
    k = min(carried, frame.supported)
    if k <= 1:
        again = fit.sigma("unigram again", ROOT_TWO)
        step = fit.step("unigram again", ROOT_TWO)
        second = fit.release("vector", word_sums.unigram(fit.units, fit.n_words, step), step)
        part = unigram_sigma**2 / (unigram_sigma**2 + again**2)
        joined = [part * second[word,] + (1 - part) * noisy[word,] for word in range(fit.n_words)]
        left = unigram_sigma * again / math.hypot(unigram_sigma, again)
        return [denoising.word_frequencies(joined, left)], [fit.alpha0]
    return refined(fit, inside_frame(fit, spectral.leading(frame, k), unigram), unigram, noise_per_topic)


def carried_topics(fit: Fit, mass: float) -> tuple[float, int]:
    """The noise of an averaged entry of the refinement over the mean entry of one topic, and how many it carries."""
    if not fit.steps:
        return 0.0, fit.n_topics
    weights = range(1, fit.steps + 1)
    entry = fit.sigma("refinement 1", ROOT_TWO) * math.sqrt(sum(w**2 for w in weights)) / sum(weights)
    per_topic = entry / mass * fit.n_words
    carried = 1.0 / max(per_topic, 1e-12)
    return per_topic, min(fit.n_topics, max(int(carried), FEWEST_CARRIED) if carried >= NEARLY_CARRIED else 1)


def second_moment(fit: Fit, unigram: list[float]) -> spectral.Frame:
    """Both histograms, the choice, the moment with its clip factors, the frame."""
    words, alpha0 = list(range(fit.n_words)), fit.alpha0
    centre = [Fraction(p) for p in unigram]
    deviations = [[Fraction(int(i == j)) - centre[j] for j in words] for i in range(fit.n_words + 1)]
    size = math.sqrt(2.0 * fit.n_words) * fit.n_topics
    clips = {}
    for name, norm_of, moment, sensitivity, noise_scale in (
        ("second norms", lambda d: norms.pair_norm(d, words), "second moment", ROOT_TWO, alpha0 + 1.0),
        ("centred second norms", lambda d: norms.frame_bounds(d, words, deviations)[0], "second moment", 2.0, 1.0),
    ):
        step = fit.step(name, ROOT_TWO)
        found = fit.release("histogram", norms.histogram(fit.units, norm_of, step), step)
        histogram, sigma = [found[place,] for place in range(norms.BINS + 2)], fit.sigma(name, ROOT_TWO)
        scale = fit.sigma(moment, sensitivity) * size * noise_scale / denoising.quantile(histogram, 0.5)
        clips[name] = denoising.best_clip(histogram, sigma, scale, WORDS_DISTORTION)
        clear = denoising.clear_bins(histogram, sigma)
    clip, other = min(1.0, clips["second norms"]), clips["centred second norms"]
    less = fit.sigma("second moment", 2.0) * other < CLEARLY_LESS * fit.sigma("second moment", ROOT_TWO) * clip
    factor_step = fit.step("second clip factors", 1.0)
    if less and clear:
        sigma, value = _moment_inside(fit, "second moment", words, deviations, other)
        factors = word_sums.clip_factors(
            fit.units, lambda d: norms.frame_bounds(d, words, deviations)[0], Fraction(other), factor_step
        )
    else:
        sensitivity = ROOT_TWO * clip
        step = fit.step("second moment", sensitivity, clip)
        sums = word_sums.second_moment(fit.units, words, Fraction(clip), step)
        sigma, value = (
            fit.sigma("second moment", sensitivity),
            fit.release("symmetric_matrix", sums, step),
        )
        factors = word_sums.clip_factors(fit.units, lambda d: norms.pair_norm(d, words), Fraction(clip), factor_step)
    released = fit.release("vector", [factors], factor_step)[0,]
    scale = max(released, fit.sigma("second clip factors", 1.0))
    added = 1.0 if less and clear else 0.0
    second = [[value[i, j] / scale + added * unigram[i] * unigram[j] for j in words] for i in words]
    return spectral.frame_of(second, unigram, alpha0, sigma / scale)


def _assembled(fit: Fit, name: str, clip: float, rows: int, entries: int) -> tuple[Fraction, float]:
    """Step and noise of a moment inside a frame."""
    step = step_for(Fraction(float(2.0 * clip / fit.mu)), fit.n_units, Fraction(2.0 * fit.n_units * clip))
    wide = widened(2.0 * clip, assembly_error(rows) * fit.n_units * clip, float(step), entries)
    return step, fit.sigma(name, wide)


def _moment_inside(fit: Fit, name: str, words: Any, frame: Any, clip: float) -> tuple[float, Any]:
    rank = len(frame[0])
    step, sigma = _assembled(fit, name, clip, len(frame), rank**2)
    sums = frame_second.second_moment(fit.units, words, frame, fit.n_units, Fraction(clip))
    whole = [[rounded(entry.low, step) for entry in row] for row in sums]
    return sigma, fit.release("symmetric_matrix", whole, step)


@dataclass
class Found:
    topics: list[list[float]]
    shares: list[float]
    refuted: bool


def inside_frame(fit: Fit, frame: spectral.Frame, unigram: list[float]) -> Found:
    """Both histograms, both moments, topics."""
    words, k = list(range(fit.n_words)), len(frame.values)
    rows = frame.rows(unigram)
    exact = [[Fraction(entry) for entry in row] for row in rows]
    rank = len(rows[0])
    eigenvalue = 2.0 * math.sqrt(rank * (fit.alpha0 + 1.0)) / (fit.alpha0 + 2.0)
    scales = {
        "frame second": (fit.sigma("frame second moment", 2.0) * math.sqrt(2.0 * rank), SECOND_DISTORTION),
        "frame third": (
            fit.sigma("frame third moment", 2.0) * math.sqrt(rank / 3.0) / eigenvalue,
            THIRD_DISTORTION / min(1.0, eigenvalue),
        ),
    }
    clips = {}
    for order, (name, (scale, distortion)) in enumerate(scales.items()):
        step = fit.step(f"{name} norms", ROOT_TWO)
        sums = norms.histogram(fit.units, lambda d, o=order: norms.frame_bounds(d, words, exact)[o], step)
        found = fit.release("histogram", sums, step)
        histogram = [found[place,] for place in range(norms.BINS + 2)]
        clips[name] = denoising.best_clip(histogram, fit.sigma(f"{name} norms", ROOT_TWO), scale, distortion)
    sigma, second = _moment_inside(fit, "frame second moment", words, exact, clips["frame second"])
    step, third_sigma = _assembled(fit, "frame third moment", clips["frame third"], len(rows), rank**3)
    cube = third_moment.third_moment(fit.units, words, exact, fit.n_units, Fraction(clips["frame third"]))
    size = range(rank)
    whole = [[[rounded(cube[a, b, c].low, step) for c in size] for b in size] for a in size]
    third = fit.release("symmetric_tensor", whole, step)
    moments = spectral.central([[second[a, b] for b in size] for a in size], third, sigma, third_sigma)
    deviations, shares = spectral.directions(moments, fit.alpha0, k)
    found_topics = spectral.topics_of(frame, moments, deviations, unigram)
    left = spectral.unexplained(found_topics, shares, frame, moments, unigram, fit.alpha0)
    return Found(found_topics, shares, left > REFUTED)


def refined(fit: Fit, found: Found, unigram: list[float], noise_per_topic: float) -> tuple[Any, list[float]]:
    """Steps of variational EM on released statistics, averaged with weights 1, 2, 3, …"""
    if not fit.steps:
        return found.topics, [fit.alpha0 * share for share in found.shares]
    k, words = len(found.topics), range(fit.n_words)
    noise_ = k * noise_per_topic
    lean = REFUTED_START if found.refuted else NOISY_START * noise_ / (noise_ + HALF_START_NOISE)
    current = [[(1 - lean) * entry + lean * p for entry, p in zip(topic, unigram, strict=True)]
               for topic in found.topics]  # fmt: skip
    frequency = [max(p, SMALLEST_FREQUENCY / fit.n_words) for p in unigram]
    weights = [(max(frequency) / p) ** WEIGHT_EXPONENT for p in frequency]
    summed = [[0.0] * fit.n_words for _ in range(k)]
    counted = squares = 0
    for number in range(1, fit.steps + 1):
        name = f"refinement {number}"
        step, sigma = fit.step(name, ROOT_TWO), fit.sigma(name, ROOT_TWO)
        by_word = [[topic[word] for topic in current] for word in words]
        prior = [fit.alpha0 / k] * k
        pulls = [refinement.pull(document, by_word, prior) for document, _ in documents(fit.units)]
        sums = refinement.statistic(fit.units, by_word, weights, pulls, step)
        released = fit.release("array", sums, step)
        summed = [[summed[i][word] + number * released[word, i] / weights[word] for word in words] for i in range(k)]
        counted, squares = counted + number, squares + number**2
        statistic = [[entry / counted for entry in row] for row in summed]
        spread = [sigma * math.sqrt(squares) / counted / weight for weight in weights]
        current = denoised(statistic, unigram, spread)
    mass = sum(abs(entry) for row in statistic for entry in row)
    shares = denoising.normalised([max(sum(row), 1e-3 * mass / k) for row in statistic])
    return current, [fit.alpha0 * share for share in shares]


def denoised(statistic: list[list[float]], unigram: list[float], spread: list[float]) -> list[list[float]]:
    """Each row on the simplex, and a little of the unigram. Where noise is large the library does more."""
    entries = len(statistic) * len(unigram)
    level = entries / max(sum(entry / s for row in statistic for entry, s in zip(row, spread, strict=True)), 1.0)
    if 0.5 * level**2 / (level**2 + 0.25) > 0.02:
        raise NotImplementedError("a refinement of much noise")
    floor = min(0.1, 0.015 * level)
    found = []
    for row in statistic:
        total = max(sum(row), max(spread))
        topic = denoising.on_simplex([entry / total for entry in row], [s**2 for s in spread])
        found.append([(1 - floor) * entry + floor * p for entry, p in zip(topic, unigram, strict=True)])
    return found

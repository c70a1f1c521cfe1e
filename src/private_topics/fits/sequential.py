"""The sequential release: each quantity is computed from the corpus *and the values released before it*.

    unigram → norms → second moment → frame → norms → moments inside the frame → topics → refined topics

Every arrow into a released value goes through `FitContext.release`; every sensitivity is a public number. What the
functions below return is computed from `Released` values and public settings only.
"""

from __future__ import annotations

import numpy as np

from private_topics.fits.fit import Fit, PrivateModel, Spectrum
from private_topics.inference.carried import (
    TAIL_SHARE,
    RefinedWords,
    averaged_noise,
    carried_topics,
    check_size,
    most_frequent,
    on_all_words,
    spectral_words,
    warn_if_fewer,
)
from private_topics.inference.denoising import denoised_topics, unigram_posterior
from private_topics.privacy.mechanisms import Released
from private_topics.releases.inside_frame import FRAME_SECOND, FRAME_THIRD, release_inside_frame
from private_topics.releases.moments import (
    SECOND_MOMENT,
    UNIGRAM,
    UNIGRAM_AGAIN,
    release_second_moment,
    release_unigram,
    sharpened_unigram,
)
from private_topics.releases.norms import (
    FRAME_FACTORS,
    FRAME_SECOND_NORMS,
    FRAME_THIRD_NORMS,
    SECOND_FACTORS,
    SECOND_NORMS,
    scale_of,
)
from private_topics.releases.release import FitContext
from private_topics.releases.statistic import REFINEMENT, release_statistic
from private_topics.spectral.frame import Frame, frame_of, topics_in_frame
from private_topics.threads import one_order

RELEASES = (
    UNIGRAM,
    SECOND_NORMS,
    SECOND_MOMENT,
    SECOND_FACTORS,
    FRAME_SECOND_NORMS,
    FRAME_THIRD_NORMS,
    FRAME_SECOND,
    FRAME_THIRD,
    FRAME_FACTORS,
    UNIGRAM_AGAIN,
    REFINEMENT,
)
FRACTIONS = {
    "unigram": 0.04,
    "histograms": 0.015,
    "second": 0.2,
    "frame": 0.03,
    "tensor": 0.06,
    "refine": 0.655,
}
STAGES = ("unigram", "second moment", "moments inside the frame")
"""The stages that a fit reports before the refinement, whose steps it reports one by one."""
OVERSAMPLE = 10
LARGEST_START_SHARE, HALF_START_NOISE = 0.5, 0.1


def model(context: FitContext) -> PrivateModel:
    """The whole fit; the functions below are its arrows, in order."""
    check_size(context.n_words, context.n_topics)
    context.progress.stage(STAGES[0])
    noisy_unigram = release_unigram(context)
    unigram = unigram_posterior(noisy_unigram.value, noisy_unigram.sigma)
    words = most_frequent(unigram, spectral_words(context.run.mu_total, context.n_units))
    context.progress.stage(STAGES[1])
    refined = refined_words(context, unigram, max(float(noisy_unigram.value.sum()), noisy_unigram.sigma))
    carried = min(context.n_topics, carried_topics(refined.noise) if context.refine_steps else context.n_topics)
    frame = released_frame(context, words, unigram, carried)
    k = min(carried, frame.supported)
    warn_if_fewer(k, context.n_topics)
    if k <= 1:
        return unigram_model(context, noisy_unigram, frame)
    context.progress.stage(STAGES[2])
    topics, alpha = spectral_topics(context, words, unigram, frame, k)
    if context.refine_steps:
        if refined.words is None:
            topics, alpha = refined_topics(context, None, topics, unigram, refined.noise, context.share(REFINEMENT))
        else:
            topics, alpha = refined_inside(context, refined.words, topics, noisy_unigram, refined.noise)
    return PrivateModel(topics, alpha, frame.supported, Spectrum.of(frame))


def released_frame(context: FitContext, words: np.ndarray, unigram: np.ndarray, n_topics: int) -> Frame:
    """The public frame: top directions of the noisy second moment, floored at the known noise edge."""
    moment, factors = release_second_moment(context, words)
    scale = scale_of(factors)
    rank = min(n_topics + OVERSAMPLE, len(words))
    with one_order():
        return frame_of(moment.value / scale, unigram[words], context.alpha0, rank=rank, noise=moment.sigma / scale)


def spectral_topics(
    context: FitContext, words: np.ndarray, unigram: np.ndarray, frame: Frame, k: int
) -> tuple[np.ndarray, np.ndarray]:
    second, third, factors = release_inside_frame(context, words, frame.matrix)
    scaled = second.value / scale_of(factors, 0), third.value / scale_of(factors, 1)
    with one_order():
        inside, alpha = topics_in_frame(frame, *scaled, unigram[words], context.alpha0, k, context.random_state)
    return on_all_words(inside, words, unigram), alpha


def refined_inside(
    context: FitContext, words: np.ndarray, start: np.ndarray, first: Released, noise_per_topic: float
) -> tuple[np.ndarray, np.ndarray]:
    """Topics refined on some words, and the prior. The others keep their unigram share, which is sharpened."""
    share = context.share(REFINEMENT)
    unigram = unigram_posterior(*sharpened_unigram(context, first, TAIL_SHARE * share))
    inside, part = start[:, words], unigram[words]
    inside, part = inside / inside.sum(axis=1, keepdims=True), part / part.sum()
    topics, alpha = refined_topics(context, words, inside, part, noise_per_topic, (1.0 - TAIL_SHARE) * share)
    return on_all_words(topics, words, unigram), alpha


def refined_topics(
    context: FitContext,
    words: np.ndarray | None,
    start: np.ndarray,
    unigram: np.ndarray,
    noise_per_topic: float,
    share: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Steps of variational EM on released statistics, each estimate a weighted average of all so far.

    The noisier the refinement will be, the more the start relies on the unigram.
    """
    steps = context.refine_steps
    noise = len(start) * noise_per_topic
    lean = LARGEST_START_SHARE * noise / (noise + HALF_START_NOISE)
    topics = (1.0 - lean) * start + lean * unigram
    total = np.zeros_like(topics)
    weight_sum = squares = 0.0
    for step in range(1, steps + 1):
        context.progress.stage(f"refinement {step} of {steps}")
        released = release_statistic(context, topics, REFINEMENT.numbered(step), share / steps, words)
        total += step * released.value.T
        weight_sum += step
        squares += step**2
        topics = denoised_topics(total / weight_sum, unigram, released.sigma * np.sqrt(squares) / weight_sum)
    shares = np.maximum(total.sum(axis=1), 1e-3 * np.abs(total).sum() / len(total))
    return topics, context.alpha0 * shares / shares.sum()


def unigram_model(context: FitContext, first: Released, frame: Frame) -> PrivateModel:
    """No topics to tell apart: one topic, the unigram, sharpened with the budget of the later releases."""
    value, sigma = sharpened_unigram(context, first, context.unspent())
    topics = unigram_posterior(value, sigma)[None, :]
    return PrivateModel(topics, np.array([context.alpha0]), frame.supported, Spectrum.of(frame))


def refined_words(context: FitContext, unigram: np.ndarray, mass: float) -> RefinedWords:
    steps = context.refine_steps
    noise = averaged_noise(context.run.mu_total, context.share(REFINEMENT), steps) if steps else 0.0
    return RefinedWords.of(unigram, noise / mass, context.n_topics)


SEQUENTIAL = Fit("sequential", RELEASES, model, FRACTIONS)

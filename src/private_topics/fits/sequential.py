"""The sequential release: each quantity is computed from the corpus *and the values released before it*.

    unigram → norms → second moment → frame → norms → moments inside the frame → topics → refined topics

Where the first refinement step contradicts spectral topics that explain what was released, the rest of its budget
goes to the second moment between all words and the topics: the fit then ends as the one without privacy does.
Every arrow into a released value goes through `FitContext.release`; every sensitivity is a public number. What the
functions below return is computed from `Released` values and public settings only.
"""

from __future__ import annotations

import numpy as np

from private_topics.fits.fit import Fit, PrivateModel, Spectrum
from private_topics.fits.spectral_topics import SpectralTopics, extended_noise, extended_topics, spectral_topics
from private_topics.inference.carried import (
    TAIL_SHARE,
    Averaged,
    RefinedWords,
    averaged_noise,
    carried_topics,
    check_size,
    most_frequent,
    on_all_words,
    shares_of,
    spectral_words,
    warn_if_fewer,
)
from private_topics.inference.denoising import denoised_topics, unigram_posterior
from private_topics.inference.informed_unigram import informed_unigram
from private_topics.privacy.mechanisms import Released
from private_topics.releases.cross_moment import CROSS_MOMENT
from private_topics.releases.inside_frame import FRAME_SECOND, FRAME_THIRD
from private_topics.releases.moments import (
    CENTRED_SECOND,
    SECOND_MOMENT,
    UNIGRAM,
    UNIGRAM_AGAIN,
    SecondMoment,
    release_either_second_moment,
    release_unigram,
    sharpened_unigram,
)
from private_topics.releases.norms import (
    CENTRED_NORMS,
    FRAME_SECOND_NORMS,
    FRAME_THIRD_NORMS,
    SECOND_FACTORS,
    SECOND_NORMS,
)
from private_topics.releases.release import FitContext
from private_topics.releases.statistic import REFINEMENT, even_weights, release_statistic
from private_topics.spectral.frame import Frame, frame_of, leading
from private_topics.spectral.public_basis import even_features
from private_topics.threads import one_order

RELEASES = (
    UNIGRAM,
    SECOND_NORMS,
    CENTRED_NORMS,
    SECOND_MOMENT,
    CENTRED_SECOND,
    SECOND_FACTORS,
    FRAME_SECOND_NORMS,
    FRAME_THIRD_NORMS,
    FRAME_SECOND,
    FRAME_THIRD,
    UNIGRAM_AGAIN,
    REFINEMENT,
    CROSS_MOMENT,
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
NOISY_START, REFUTED_START, HALF_START_NOISE = 0.5, 0.65, 0.1  # the unigram's part: research/choices.py
SHOWN = 10  # directions beyond the topics, in the spectrum


def model(context: FitContext) -> PrivateModel:
    """The whole fit; the functions below are its arrows, in order."""
    check_size(context.n_words, context.n_topics)
    context.progress.stage(STAGES[0])
    noisy_unigram = release_unigram(context)
    return model_of(context, noisy_unigram, unigram_of(context, noisy_unigram.value, noisy_unigram.sigma))


def model_of(context: FitContext, noisy_unigram: Released, unigram: np.ndarray) -> PrivateModel:
    """The rest of the fit, from the released unigram on."""
    words = most_frequent(unigram, spectral_words(context.mu, context.n_units))
    context.progress.stage(STAGES[1])
    refined, carried = refined_and_carried(context, noisy_unigram, unigram)
    moment = release_either_second_moment(context, words, unigram[words])
    frame = frame_of_moment(context, moment, unigram[words], carried)
    k = min(carried, frame.supported)
    warn_if_fewer(k, context.n_topics)
    if k <= 1:
        return unigram_model(context, noisy_unigram, frame)
    context.progress.stage(STAGES[2])
    spectral = spectral_topics(context, words, unigram, leading(frame, k), moment.clip)
    topics, alpha = spectral.on_all_words, context.alpha0 * spectral.found.shares
    if context.refine_steps:
        if refined.words is None:
            topics, alpha = refined_topics(context, None, spectral, unigram, refined.noise, context.share(REFINEMENT))
        else:
            topics, alpha = refined_inside(context, refined.words, spectral, noisy_unigram, refined.noise)
    return PrivateModel(topics, alpha, frame.supported, Spectrum.of(frame))


def refined_and_carried(
    context: FitContext, noisy_unigram: Released, unigram: np.ndarray
) -> tuple[RefinedWords, int]:
    """The words that the refinement sees, and how many of the topics asked for it carries."""
    refined = refined_words(context, unigram, max(float(noisy_unigram.value.sum()), noisy_unigram.sigma))
    return refined, min(context.n_topics, carried_topics(refined.noise) if context.refine_steps else context.n_topics)


def unigram_of(context: FitContext, noisy: np.ndarray, sigma: float) -> np.ndarray:
    """Word frequencies from noisy ones, and from what is publicly known of the words."""
    knowledge = context.knowledge
    if knowledge is None:
        return unigram_posterior(noisy, sigma)
    with one_order():
        return informed_unigram(noisy, sigma, knowledge.all_log_frequencies, even_features(knowledge.vectors))


def frame_of_moment(context: FitContext, moment: SecondMoment, first: np.ndarray, n_topics: int) -> Frame:
    """The public frame: top directions of the noisy second moment, floored at the known noise edge.

    It has more of them than topics, for the spectrum; none below the edge is used.
    """
    rank = min(n_topics + SHOWN, len(first))
    with one_order():
        return frame_of(moment.value, first, context.alpha0, rank=rank, noise=moment.noise)


def refined_inside(
    context: FitContext, words: np.ndarray, spectral: SpectralTopics, first: Released, noise_per_topic: float
) -> tuple[np.ndarray, np.ndarray]:
    """Topics refined on some words, and the prior. The others keep their unigram share, which is sharpened."""
    share = context.share(REFINEMENT)
    unigram = unigram_of(context, *sharpened_unigram(context, first, TAIL_SHARE * share))
    return refined_topics(context, words, spectral, unigram, noise_per_topic, (1.0 - TAIL_SHARE) * share)


def refined_topics(
    context: FitContext,
    words: np.ndarray | None,
    spectral: SpectralTopics,
    unigram: np.ndarray,
    noise_per_topic: float,
    share: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Steps of variational EM on released statistics, each estimate a weighted average of all so far.

    Where the first step shows that the spectral topics are better, they are measured on all words instead.
    """
    steps = context.refine_steps
    inside, part = on_some_words(spectral.on_all_words, words), on_some_words(unigram[None], words)[0]
    lean = unigram_in_start(len(inside) * noise_per_topic, refuted=spectral.leftover.large)
    topics = (1.0 - lean) * inside + lean * part
    averaged, weights = Averaged(), even_weights(part)
    for step in range(1, steps + 1):
        context.progress.stage(f"refinement {step} of {steps}")
        released = release_statistic(context, topics, REFINEMENT.numbered(step), share / steps, words, weights)
        averaged.add(step, released.value.T / weights)
        noise = released.sigma * averaged.noise / weights
        topics = denoised_topics(averaged.value, part, noise)
        everywhere = topics if words is None else on_all_words(topics, words, unigram)
        if step == 1 < steps:
            left = share * (steps - 1) / steps
            if spectral.contradict(
                everywhere, noise_of(averaged.value, noise), extended_noise(context, spectral, left)
            ):
                return extended_topics(context, spectral, left)
    return everywhere, context.alpha0 * shares_of(averaged.value)


def unigram_in_start(noise: float, *, refuted: bool) -> float:
    """How far the start of the refinement leans on the unigram.

    The noisier the refinement will be, the more. Where what was released refutes the model of the documents, a sharp
    start ends in a poor local optimum, with noise or without.
    """
    return REFUTED_START if refuted else NOISY_START * noise / (noise + HALF_START_NOISE)


def on_some_words(topics: np.ndarray, words: np.ndarray | None) -> np.ndarray:
    """Topics on some words, of which they are distributions; all words if None."""
    if words is None:
        return topics
    inside = topics[:, words]
    result: np.ndarray = inside / inside.sum(axis=1, keepdims=True)
    return result


def noise_of(statistic: np.ndarray, noise: np.ndarray) -> float:
    """Noise over signal of a statistic, both as lengths; `noise` of the entries of each word."""
    return float(np.linalg.norm(noise) * np.sqrt(len(statistic)) / np.linalg.norm(statistic))


def unigram_model(context: FitContext, first: Released, frame: Frame, share: float | None = None) -> PrivateModel:
    """No topics to tell apart: one topic, the unigram, sharpened with the budget of the later releases.

    With that of the test too, which a single topic does not need.
    """
    left = context.unspent() if share is None else share
    value, sigma = sharpened_unigram(context, first, left + context.split.get("evidence", 0.0))
    topics = unigram_of(context, value, sigma)[None, :]
    return PrivateModel(topics, np.array([context.alpha0]), frame.supported, Spectrum.of(frame))


def refined_words(context: FitContext, unigram: np.ndarray, mass: float) -> RefinedWords:
    steps = context.refine_steps
    noise = averaged_noise(context.mu, context.share(REFINEMENT), steps) if steps else 0.0
    return RefinedWords.of(unigram, noise / mass, context.n_topics)


SEQUENTIAL = Fit("sequential", RELEASES, model, FRACTIONS, any_neighbours=True, any_sites=True, tested=True)

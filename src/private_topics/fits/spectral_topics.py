"""Topics from released moments alone: how far they can be trusted, and how they are measured on all words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from private_topics.inference.carried import on_all_words
from private_topics.releases.cross_moment import CROSS_MOMENT, release_cross_moment
from private_topics.releases.inside_frame import FRAME_SECOND, release_inside_frame
from private_topics.releases.release import FitContext
from private_topics.spectral.evidence import Leftover, leftover, noise_of_topics, relative_distance
from private_topics.spectral.frame import (
    CentralMoments,
    Directions,
    Frame,
    centred_rows,
    directions_of,
    topics_on_words,
)
from private_topics.spectral.topics import floored, simplex_rows
from private_topics.threads import one_order


@dataclass(frozen=True)
class SpectralTopics:
    """Topics from released moments, and those moments."""

    words: np.ndarray
    unigram: np.ndarray
    frame: Frame
    moments: CentralMoments
    found: Directions
    alpha0: float
    clip: float
    """For what pairs of words say about all words, in the directions of the topics."""

    @cached_property
    def first(self) -> np.ndarray:
        return self.unigram[self.words]

    @cached_property
    def on_all_words(self) -> np.ndarray:
        with one_order():
            inside = topics_on_words(self.frame, self.moments, self.found, self.first)
            return on_all_words(simplex_rows(inside), self.words, self.unigram)

    @cached_property
    def leftover(self) -> Leftover:
        """What they leave unexplained of what was released: little where documents follow the model."""
        topics = self.on_all_words[:, self.words]
        with one_order():
            return leftover(topics, self.found.shares, self.frame, self.moments, self.first, self.alpha0)

    def contradict(self, refined: np.ndarray, noise: float, extended_noise: float) -> bool:
        """Whether they explain what was released, and refined topics, of this `noise`, have a larger error.

        That error is at least what the noise of both does not explain of their distance. It is weighed against the
        error that the spectral topics would have with what `extended_topics` measures.
        """
        if not self.leftover.small:
            return False
        with one_order():
            inside, turned = noise_of_topics(self.frame, self.moments, self.found, self.first, self.alpha0, seed=0)
        gap = relative_distance(refined[:, self.words], self.on_all_words[:, self.words])
        return gap**2 - inside**2 - turned**2 - noise**2 > inside**2 + extended_noise**2


def spectral_topics(
    context: FitContext, words: np.ndarray, unigram: np.ndarray, frame: Frame, pair_clip: float
) -> SpectralTopics:
    k = len(frame.eigenvalues)
    with one_order():
        rows = centred_rows(frame, unigram[words])
    second, third = release_inside_frame(context, words, rows)
    with one_order():
        moments = CentralMoments.of(second.value, third.value, second.sigma, third.sigma)
        found = directions_of(moments, context.alpha0, k, context.random_state)
    clip = float(np.sqrt(pair_clip * second.sigma / context.noise(FRAME_SECOND)))  # of both norms that it multiplies
    return SpectralTopics(words, unigram, frame, moments, found, context.alpha0, clip)


def extended_noise(context: FitContext, spectral: SpectralTopics, share: float) -> float:
    """What noise will do to `extended_topics`, over their length."""
    noise = context.noise(CROSS_MOMENT, share) * spectral.clip / context.n_units
    length = np.linalg.norm(spectral.on_all_words)
    return float(noise * np.sqrt(context.n_words) * np.linalg.norm(spectral.found.whitened) / length)


def extended_topics(context: FitContext, spectral: SpectralTopics, share: float) -> tuple[np.ndarray, np.ndarray]:
    """The spectral topics on all words: `mean + C2 F δ_i`, `F` the whitened directions, `δ_i` topic i in them."""
    context.progress.stage("topics on all words")
    with one_order():
        rows = centred_rows(spectral.frame, spectral.first)[:, 1:] @ spectral.found.whitening.frame
    frame = np.ones((context.n_words, 1 + rows.shape[1]))
    frame[:, 1:] = rows[-1]
    frame[spectral.words, 1:] = rows[:-1]
    released = release_cross_moment(context, frame, spectral.clip, share)
    with one_order():
        weight = max(float(released.value[:, 0].sum()), released.sigma)
        mean, cross = released.value[:, 0] / weight, released.value[:, 1:] / weight
        cross = cross - np.outer(mean, cross.sum(axis=0))
        topics = simplex_rows(mean + (cross @ spectral.found.whitened).T)
    return floored(topics, spectral.unigram), context.alpha0 * spectral.found.shares

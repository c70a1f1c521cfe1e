"""Configuration 1 without any delta: Laplace noise on the first, second and third moment over all words.

    unigram, second moment, third moment → whitening → whitened tensor → topics

Each moment is a sum of probability arrays, so replacing one unit moves it by at most two in the L1 norm. Noise goes
on every different entry, divided by the number of places it has. Proof: docs/proofs/pure_epsilon.md. Laplace noise is
not rotation invariant: unlike Gaussian noise it must be drawn for every triple of words, which limits the vocabulary.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from private_topics.errors import InputError
from private_topics.fits.fit import Fit, PrivateModel
from private_topics.fits.proved import whitened_topics
from private_topics.inference.carried import warn_if_fewer
from private_topics.inference.denoising import unigram_posterior
from private_topics.privacy.lattice import step_for
from private_topics.privacy.mechanisms import Asked, Released
from private_topics.privacy.queries import Query
from private_topics.releases.release import FitContext, Release
from private_topics.spectral.frame import frame_of, leading
from private_topics.sums.packed_moments import PackedMoments, packed_inside, packed_triples, unpack_pairs
from private_topics.sums.quantised import finest_step

MOST_PURE_WORDS = 200


def _release(name: str, share: str) -> Release:
    return Release(name, name, None, "vector", "pure_epsilon", 2.0, share, PackedMoments, norm="l1")


RELEASES = _release("unigram", "unigram"), _release("second moment", "second"), _release("third moment", "tensor")


def model(context: FitContext) -> PrivateModel:
    n_words = context.n_words
    if n_words > MOST_PURE_WORDS:
        raise InputError(
            f"delta=0 needs noise on every triple of words: at most {MOST_PURE_WORDS} words. "
            f"Got {n_words:,}. Restrict the vocabulary, or allow a delta."
        )
    context.progress.stage("moments")
    first, second, third = release_moments(context)
    mass = max(float(first.value.sum()), first.sigma)
    unigram = unigram_posterior(first.value, first.sigma)
    matrix = unpack_pairs(second.value, n_words) / mass
    # Off the diagonal the noise has variance scale²/2, like isometric noise of that scale: one spectral norm.
    noise = second.sigma / np.sqrt(2.0) / mass
    frame = frame_of(matrix, unigram, context.alpha0, rank=min(context.n_topics, n_words), noise=noise)
    k = min(context.n_topics, frame.supported)
    warn_if_fewer(k, context.n_topics)
    if k <= 1:
        return PrivateModel(unigram[None, :], np.array([context.alpha0]), frame.supported)
    context.progress.stage("topics")
    inner = leading(frame, k)
    inside = packed_inside(third.value, inner.matrix) / mass
    topics, alpha = whitened_topics(inner, inside, unigram, context.alpha0, context.random_state)
    return PrivateModel(topics, alpha, frame.supported)


def release_moments(context: FitContext) -> tuple[Released, ...]:
    """`Σ phi1`, `Σ phi2` and `Σ phi3`, the last two packed."""
    n_words = context.n_words
    grid = finest_step(float(context.n_units))
    sizes = n_words, n_words * (n_words + 1) // 2, packed_triples(n_words)
    asked = [_asked(context, *one, grid) for one in zip(RELEASES, sizes, strict=True)]
    steps = tuple(one.step for one in asked)
    return context.release(asked, PackedMoments(n_words, grid, (steps[0], steps[1], steps[2])))


def _asked(context: FitContext, release: Release, entries: int, grid: float) -> Asked:
    """On the lattice of the noise; the exact sum, on the finer lattice of the contributions, is rounded half up."""
    assert release.sensitivity is not None
    share, n_units = context.share(release), context.n_units
    draft = Query(release.name, release.kind, release.sensitivity, 1.0, release.proof, norm=release.norm)
    step = max(grid, step_for(context.run.laplace_scale(draft, share), n_units, float(n_units)))
    sensitivity = (release.sensitivity + step * entries) * (1.0 + 2.0**-50)
    return Asked(replace(draft, sensitivity=sensitivity, step=step), share)


PURE = Fit(
    "configuration 1 (pure epsilon)",
    RELEASES,
    model,
    {"unigram": 0.1, "second": 0.4, "tensor": 0.5},
    pure=True,
    any_engine=False,
)

"""The paper's four configurations with a proof: whiten and un-whiten by one released second moment.

    unigram → norms → second moment → whitening → norms → third moment → topics

Configuration 1 releases the third moment inside the orthonormal basis of the released second moment, clipped by its
norm over all words: the law of noise on every triple of words, whitened. Configuration 2 releases it inside the
whitening itself, clipped by the bounds of the sequential release. Configurations 3 and 4 do so with half of the
budget, and release eigenpairs, or topics, that are certified around it; the certificate sees released values only, so
it costs nothing and may fail: then the tensor is released a second time instead. None whitens again or refines.
Proofs: docs/proofs/configuration_1.md to configuration_4.md. Differs from the paper: the second moment is released
once and serves both directions, so the eigenvectors are un-whitened in the frame they were found in, and no noise
depends on a gap of the corpus. Why 3 and 4 cannot beat 2: docs/certified.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from private_topics.errors import warn_user
from private_topics.fits.fit import Fit, PrivateModel
from private_topics.fits.sequential import frame_of_moment
from private_topics.inference.carried import SPECTRAL_WORDS, check_size, most_frequent, on_all_words, warn_if_fewer
from private_topics.inference.denoising import unigram_posterior
from private_topics.releases.eigenpairs import (
    EIGENPAIRS,
    TOPICS,
    Whitened,
    mean_of,
    released_eigenpairs,
    released_topics,
)
from private_topics.releases.inside_frame import FRAME_THIRD, FRAME_THIRD_AGAIN, ask_moment, release_third
from private_topics.releases.moments import (
    SECOND_MOMENT,
    THIRD_MOMENT,
    UNIGRAM,
    release_second_moment,
    release_third_moment,
    release_unigram,
)
from private_topics.releases.norms import (
    FRAME_THIRD_FACTORS,
    FRAME_THIRD_NORMS,
    SECOND_FACTORS,
    SECOND_NORMS,
    THIRD_FACTORS,
    THIRD_NORMS,
    scale_of,
)
from private_topics.releases.release import FitContext, Release
from private_topics.spectral.certificate import Certificate, centre_of, certify
from private_topics.spectral.frame import Frame, leading
from private_topics.spectral.power_method import decompose
from private_topics.spectral.topics import lda_third_moment, simplex_rows, topic_weights
from private_topics.threads import one_order

Topics = tuple[np.ndarray, np.ndarray]
"""Topics on some words, and their Dirichlet weights."""
NOT_CERTIFIED = (
    "At this budget no certificate bounds how far one document moves the eigenpairs, so the noise is on the whitened "
    "tensor, as in configuration 2. More documents, fewer topics or a larger epsilon may help: see docs/certified.md."
)


def fitted(context: FitContext, topics: Callable[..., Topics]) -> PrivateModel:
    """What the four share; they differ in `topics`, which takes words, their shares and a frame."""
    check_size(context.n_words, context.n_topics)
    context.progress.stage("unigram")
    noisy_unigram = release_unigram(context)
    unigram = unigram_posterior(noisy_unigram.value, noisy_unigram.sigma)
    words = most_frequent(unigram, SPECTRAL_WORDS)
    context.progress.stage("second moment")
    moment = release_second_moment(context, words)
    whole = frame_of_moment(context, moment, unigram[words], context.n_topics)
    k = min(context.n_topics, whole.supported)
    warn_if_fewer(k, context.n_topics)
    if k <= 1:
        return PrivateModel(unigram[None, :], np.array([context.alpha0]), whole.supported)
    context.progress.stage("third moment")
    inside, alpha = topics(context, words, unigram[words], leading(whole, k))
    return PrivateModel(on_all_words(inside, words, unigram), alpha, whole.supported)


def first_topics(context: FitContext, words: np.ndarray, first: np.ndarray, frame: Frame) -> Topics:
    """Noise on the third moment over all words of the spectral stage (e3), and on the second (e4 and e8)."""
    basis, stretch = contraction(frame.whitening.basis)
    third, factors = release_third_moment(context, words, basis)
    scale = np.sqrt(stretch / frame.whitening.values)
    whitened = np.einsum("abc,a,b,c->abc", third.value / scale_of(factors), scale, scale, scale)
    return whitened_topics(frame, whitened, first, context.alpha0, context.random_state)


def second_topics(context: FitContext, words: np.ndarray, first: np.ndarray, frame: Frame) -> Topics:
    """Noise on the whitened third moment (e6), and on the second moment (e8, from which W follows too)."""
    third, factors, _ = release_third(context, words, frame.matrix)
    return whitened_topics(frame, third.value / scale_of(factors), first, context.alpha0, context.random_state)


def certified_topics(
    solutions: Callable[..., np.ndarray], context: FitContext, words: np.ndarray, first: np.ndarray, frame: Frame
) -> Topics:
    """Noise on eigenpairs (e7) or topics (e9), on the tensor they are certified around, and on the second moment."""
    third, factors, clipped = release_third(context, words, frame.matrix)
    whitened = Whitened(clipped, scale_of(factors), third)
    with one_order():
        certificate = certificate_of(context, whitened, first, frame)
    if certificate is None:
        warn_user(NOT_CERTIFIED)
        value = tensor_again(context, whitened, frame) / whitened.scale
        return whitened_topics(frame, value, first, context.alpha0, context.random_state)
    context.progress.stage("eigenpairs")
    found = solutions(context, whitened, certificate, frame)
    with one_order():
        return topics_of(found, frame, context.alpha0)


def certificate_of(context: FitContext, whitened: Whitened, first: np.ndarray, frame: Frame) -> Certificate | None:
    """From released values alone."""
    tensor = whitened_tensor(frame, whitened.centre.value / whitened.scale, first, context.alpha0)
    centre = centre_of(tensor, context.random_state)
    return None if centre is None else certify(centre, whitened.radius)


def tensor_again(context: FitContext, whitened: Whitened, frame: Frame) -> np.ndarray:
    """The tensor released with the rest of its budget, averaged with the first."""
    centre, clipped = whitened.centre, whitened.clipped
    asked = ask_moment(context, FRAME_THIRD_AGAIN, clipped.third_clip, frame.matrix, context.share(FRAME_THIRD))
    (again,) = context.release([asked], clipped, lambda totals: clipped.third_alone(totals)[:1])
    return mean_of(centre.value, centre.sigma**2, again.value, again.sigma**2)


def contraction(basis: np.ndarray) -> tuple[np.ndarray, float]:
    """`(U/√r, r)` with `r` just above one, so that the spectral norm of the first is certainly at most one.

    `||U||² <= max row sum of |U'U|`; the factor covers the rounding of the product (docs/proofs/configuration_1.md).
    """
    stretch = float(np.abs(basis.T @ basis).sum(axis=1).max()) * (1.0 + 2.0**-30)
    return basis / np.sqrt(stretch), stretch


def whitened_topics(
    frame: Frame, third: np.ndarray, first: np.ndarray, alpha0: float, random_state: np.random.RandomState
) -> Topics:
    """Topics and weights from `E3(W, W, W)`."""
    with one_order():
        pairs = decompose(whitened_tensor(frame, third, first, alpha0), random_state=random_state)
        return simplex_rows(frame.whitening.unwhiten(pairs.vectors).T), topic_weights(pairs.values, alpha0)


def whitened_tensor(frame: Frame, third: np.ndarray, first: np.ndarray, alpha0: float) -> np.ndarray:
    """`M3(W, W, W)` from `E3(W, W, W)`; `W'M2W` is diagonal, and one where no eigenvalue was floored."""
    inside = frame.matrix.T @ first
    second = np.diag(frame.eigenvalues / frame.whitening.values) + alpha0 / (alpha0 + 1.0) * np.outer(inside, inside)
    return lda_third_moment(third, second, inside, alpha0)


def topics_of(solutions: np.ndarray, frame: Frame, alpha0: float) -> Topics:
    """Topics and weights from columns `u = v/λ`, the largest `λ` first."""
    sizes = np.maximum(np.linalg.norm(solutions, axis=0), np.finfo(np.float64).tiny)
    order = np.argsort(sizes, kind="stable")
    vectors = (solutions / sizes)[:, order]
    return simplex_rows(frame.whitening.unwhiten(vectors).T), topic_weights(1.0 / sizes[order], alpha0)


def _configuration(
    number: int, releases: tuple[Release, ...], topics: Callable[..., Topics], second: float, tensor: float
) -> Fit:
    """All begin alike; how often the third moment is released, and what is made of it, differs."""
    fractions = {"unigram": 0.05, "histograms": 0.03, "second": second, "frame": 0.0, "tensor": tensor, "refine": 0.0}
    before = UNIGRAM, SECOND_NORMS, SECOND_MOMENT, SECOND_FACTORS
    return Fit(
        f"configuration {number} (proved)",
        (*before, *releases),
        lambda context: fitted(context, topics),
        fractions,
        any_engine=number != 1,  # whose blocks are summed in floating point
    )


INSIDE = (FRAME_THIRD_NORMS, FRAME_THIRD, FRAME_THIRD_FACTORS)
PROVED = {
    1: _configuration(1, (THIRD_NORMS, THIRD_MOMENT, THIRD_FACTORS), first_topics, 0.42, 0.5),
    2: _configuration(2, INSIDE, second_topics, 0.62, 0.3),
    3: _configuration(
        3, (*INSIDE, EIGENPAIRS, FRAME_THIRD_AGAIN), partial(certified_topics, released_eigenpairs), 0.62, 0.3
    ),
    4: _configuration(4, (*INSIDE, TOPICS, FRAME_THIRD_AGAIN), partial(certified_topics, released_topics), 0.62, 0.3),
}

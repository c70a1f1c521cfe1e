"""The sequential release with public knowledge of words: what they mean need not be learnt from the corpus.

    unigram → second moment in a public basis → moments inside its frame → topics → their features → topics

The basis and the features come from public word vectors under the released unigram. `k × (r + 1)` features of topics
have far less noise than `k × d` counts, which is what makes small corpora possible.
"""

from __future__ import annotations

import numpy as np

from private_topics.fits.fit import Fit, PrivateModel, Spectrum
from private_topics.inference.carried import check_size, warn_if_fewer
from private_topics.inference.features import Features
from private_topics.inference.informed_unigram import informed_unigram
from private_topics.privacy.mechanisms import Released
from private_topics.releases.features import FEATURES, release_features
from private_topics.releases.inside_frame import FRAME_SECOND, FRAME_THIRD, release_inside_frame
from private_topics.releases.moments import UNIGRAM, UNIGRAM_AGAIN, release_unigram, sharpened_unigram
from private_topics.releases.norms import FRAME_SECOND_NORMS, FRAME_THIRD_NORMS, PUBLIC_NORMS
from private_topics.releases.public_basis import PUBLIC_SECOND, BasisMoment, release_public_second, with_constant
from private_topics.releases.release import FitContext
from private_topics.spectral.frame import CentralMoments, Frame, directions_of, leading
from private_topics.spectral.public_basis import PublicBasis, centred_vectors, lifted, public_basis
from private_topics.spectral.topics import floored, simplex_rows
from private_topics.spectral.whitening import Whitening, top_eigenpairs
from private_topics.threads import one_order

RELEASES = (
    UNIGRAM,
    PUBLIC_NORMS,
    PUBLIC_SECOND,
    FRAME_SECOND_NORMS,
    FRAME_THIRD_NORMS,
    FRAME_SECOND,
    FRAME_THIRD,
    UNIGRAM_AGAIN,
    FEATURES,
)
FRACTIONS = {
    "unigram": 0.25,
    "histograms": 0.015,
    "second": 0.2,
    "frame": 0.04,
    "tensor": 0.06,
    "features": 0.435,
    "refine": 0.0,
}
BASIS_RANK, FEATURE_RANK = 50, 30
STEPS, LEAN = 3, 0.3


def model(context: FitContext) -> PrivateModel:
    check_size(context.n_words, context.n_topics)
    knowledge = context.knowledge
    assert knowledge is not None
    context.progress.stage("unigram")
    noisy_unigram = release_unigram(context)
    unigram = known_unigram(context, noisy_unigram.value, noisy_unigram.sigma)
    context.progress.stage("second moment")
    with one_order():
        basis = public_basis(knowledge.vectors, unigram, BASIS_RANK)
    frame = frame_in(release_public_second(context, basis), context.n_topics)
    k = min(context.n_topics, frame.supported + 1)
    warn_if_fewer(k, context.n_topics)
    if k <= 1:
        return unigram_model(context, noisy_unigram, frame)
    context.progress.stage("moments inside the frame")
    start = spectral_start(context, basis, leading(frame, k - 1))
    topics, alpha = feature_topics(context, start, unigram, knowledge.vectors)
    return PrivateModel(topics, alpha, frame.supported + 1, Spectrum.of(frame))


def known_unigram(context: FitContext, noisy: np.ndarray, sigma: float) -> np.ndarray:
    knowledge = context.knowledge
    assert knowledge is not None
    with one_order():
        even = np.full(context.n_words, 1.0 / context.n_words)
        features = centred_vectors(knowledge.vectors, even, FEATURE_RANK)
        return informed_unigram(noisy, sigma, knowledge.log_frequencies, features)


def frame_in(moment: BasisMoment, n_topics: int) -> Frame:
    with one_order():
        edge = moment.noise * float(np.sqrt(2.0 * len(moment.value)))
        rank = min(n_topics + 10, len(moment.value))
        values, vectors = top_eigenpairs(moment.value, rank)
        return Frame(Whitening(vectors, np.maximum(values, edge)), values, edge)


def spectral_start(context: FitContext, basis: PublicBasis, frame: Frame) -> np.ndarray:
    with one_order():
        rows = with_constant(basis.rows @ frame.matrix)
    second, third = release_inside_frame(context, np.arange(context.n_words), rows)
    with one_order():
        moments = CentralMoments.of(second.value, third.value, second.sigma, third.sigma)
        found = directions_of(moments, context.alpha0, 1 + len(frame.eigenvalues), context.random_state)
        coordinates = frame.whitening.unwhiten(moments.mean[:, None] + found.deviations)
        return floored(simplex_rows(basis.topics(coordinates)), basis.centre)


def feature_topics(
    context: FitContext, start: np.ndarray, unigram: np.ndarray, vectors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    with one_order():
        centre = lifted(unigram)
        features = Features.of(centred_vectors(vectors, centre, FEATURE_RANK), centre)
    topics = (1.0 - LEAN) * start + LEAN * unigram
    share = context.share(FEATURES)
    total, weights, squares = 0.0, 0.0, 0.0
    for step in range(1, STEPS + 1):
        context.progress.stage(f"features {step} of {STEPS}")
        released = release_features(context, topics, features.rows, step, share / STEPS)
        total = total + step * released.value
        weights, squares = weights + step, squares + step**2
        with one_order():
            topics, mass = features.topics(total / weights, released.sigma * squares**0.5 / weights, unigram)
    return topics, context.alpha0 * mass / mass.sum()


def unigram_model(context: FitContext, first: Released, frame: Frame) -> PrivateModel:
    value, sigma = sharpened_unigram(context, first, context.unspent())
    topics = known_unigram(context, value, sigma)[None, :]
    return PrivateModel(topics, np.array([context.alpha0]), frame.supported, Spectrum.of(frame))


INFORMED = Fit("informed", RELEASES, model, FRACTIONS)

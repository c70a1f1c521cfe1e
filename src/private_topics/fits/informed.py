"""The sequential release with public knowledge of words: what they mean need not be learnt from the corpus.

    unigram → norms → second moment in a public basis → frame → moments inside it → topics → features → counts

The basis and the features come from public word vectors under the released unigram. `k × (r + 1)` features of topics
have far less noise than `k × d` expected counts: small corpora get features alone, larger ones counts after them, the
largest the sequential fit, which needs no vectors. Where the released moment says that the vectors know little of the
corpus, the rest of the budget goes to the sequential fit too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from private_topics.errors import InputError
from private_topics.fits import sequential
from private_topics.fits.fit import Fit, PrivateModel, Spectrum
from private_topics.inference.carried import Averaged, check_size, shares_of, warn_if_fewer
from private_topics.inference.denoising import informed_topics
from private_topics.inference.features import Features
from private_topics.releases.features import FEATURES, release_features
from private_topics.releases.inside_frame import FRAME_SECOND, FRAME_THIRD, release_inside_frame
from private_topics.releases.moments import UNIGRAM, UNIGRAM_AGAIN, release_unigram, sharpened_unigram
from private_topics.releases.norms import FRAME_SECOND_NORMS, FRAME_THIRD_NORMS, PUBLIC_NORMS, SECOND_NORMS
from private_topics.releases.public_basis import (
    PUBLIC_SECOND,
    PublicMoment,
    release_again,
    release_public_second,
    with_constant,
)
from private_topics.releases.release import FitContext
from private_topics.releases.statistic import REFINEMENT, even_weights, release_statistic
from private_topics.spectral.frame import CentralMoments, Frame, directions_of, leading
from private_topics.spectral.public_basis import PublicBasis, centred_vectors, lifted, public_basis
from private_topics.spectral.topics import floored, simplex_rows
from private_topics.spectral.whitening import Whitening, top_eigenpairs
from private_topics.sums.quantised import MOST_ROWS
from private_topics.threads import one_order

PUBLIC = (
    UNIGRAM,
    PUBLIC_NORMS,
    PUBLIC_SECOND,
    FRAME_SECOND_NORMS,
    FRAME_THIRD_NORMS,
    FRAME_SECOND,
    FRAME_THIRD,
    UNIGRAM_AGAIN,
    FEATURES,
    REFINEMENT,
)
"""The releases of a fit that trusts the public vectors."""
RELEASES = (*PUBLIC[:3], *(r for r in sequential.RELEASES if r not in PUBLIC[:9]), *PUBLIC[3:9])
FEW = {
    "unigram": 0.25,
    "histograms": 0.015,
    "second": 0.2,
    "frame": 0.04,
    "tensor": 0.06,
    "features": 0.435,
    "refine": 0.0,
}
MANY = FEW | {
    "unigram": 0.08,
    "second": 0.1,
    "frame": 0.03,
    "tensor": 0.03,
    "features": 0.1,
    "refine": 0.645,
}
FEATURES_ALONE, COUNTS_TOO = 15.0, 7.0  # topics × words over budget × units
WORDS_ENOUGH = 1500.0  # budget × units, for each topic: from here on the sequential fit finds topics by itself
LOOK, SECOND_LOOK = 0.25, 0.12  # of the fractions of unigram and second moment: to see what the vectors are worth
DOUBT = 1.0  # times the noise of the look
SMALLEST_RANK, LARGEST_RANK, BUDGET_PER_DIRECTION = 20, 50, 150.0
FEATURE_RANK, FEATURE_STEPS, FEATURE_LEAN = 30, 4, 0.5
COUNT_LEAN = 0.6


def fractions_for(budget: float, n_topics: int, n_words: int) -> Mapping[str, float]:
    """How the budget is split, by public numbers: `budget` is mu times the number of units."""
    if words_enough(budget, n_topics):
        return sequential.FRACTIONS | {"features": 0.0}
    noise = n_topics * n_words / budget
    many = float(np.clip(np.log(FEATURES_ALONE / noise) / np.log(FEATURES_ALONE / COUNTS_TOO), 0.0, 1.0))
    return {name: (1.0 - many) * FEW[name] + many * MANY[name] for name in FEW}


def words_enough(budget: float, n_topics: int) -> bool:
    """Whether the sequential fit finds the topics by itself."""
    return budget >= WORDS_ENOUGH * n_topics


def left_alone(names: Collection[str]) -> bool:
    """Whether a fit that made these releases looked at the vectors and went on without them."""
    return PUBLIC_NORMS.name in names and SECOND_NORMS.name in names


def model(context: FitContext) -> PrivateModel:
    """The whole fit; the functions below are its arrows, in order."""
    check_size(context.n_words, context.n_topics)
    if context.n_words > MOST_ROWS:
        raise InputError(f"A private fit with public knowledge takes at most {MOST_ROWS} words.")
    context.progress.stage(sequential.STAGES[0])
    if words_enough(context.run.mu_total * context.n_units, context.n_topics) and not context.split["features"]:
        return sequential.model(replace(context, releases=sequential.RELEASES))
    public = replace(context, releases=PUBLIC)
    look = LOOK * public.share(UNIGRAM), SECOND_LOOK * public.share(PUBLIC_SECOND)
    noisy_unigram = release_unigram(public, share=look[0])
    unigram = sequential.unigram_of(context, noisy_unigram.value, noisy_unigram.sigma)
    context.progress.stage(sequential.STAGES[1])
    with one_order():
        basis = public_basis(vectors_of(context), unigram, basis_rank(context.run.mu_total * context.n_units))
    left = 1.0 - context.split.get("vocabulary", 0.0) - look[0]
    if basis.rank == 0:
        return sequential.model_of(without_knowledge(context, left), noisy_unigram, unigram)
    moment, left = release_public_second(public, basis, look[1]), left - public.share(PUBLIC_NORMS)
    if not moment.known(DOUBT):
        return sequential.model_of(without_knowledge(context, left - look[1]), noisy_unigram, unigram)
    moment = release_again(public, moment, public.share(PUBLIC_SECOND) - look[1])
    left -= public.share(PUBLIC_SECOND)
    if not moment.known(0.0):
        return sequential.model_of(without_knowledge(context, left), noisy_unigram, unigram)
    frame = frame_of_moment(moment, context.n_topics)
    k = min(context.n_topics, frame.supported + 1)
    warn_if_fewer(k, context.n_topics)
    if k <= 1:
        return sequential.unigram_model(public, noisy_unigram, frame, left)
    unigram = sequential.unigram_of(
        context, *sharpened_unigram(public, noisy_unigram, public.share(UNIGRAM) - look[0])
    )
    context.progress.stage(sequential.STAGES[2])
    topics = spectral_start(public, basis, leading(frame, k - 1))
    alpha = np.full(k, context.alpha0 / k)
    if context.refine_steps:
        if context.split["features"]:
            topics, alpha = topics_of_features(public, topics, unigram)
        if context.split["refine"]:
            topics, alpha = topics_of_counts(public, topics, unigram)
    return PrivateModel(topics, alpha, frame.supported + 1, Spectrum.of(frame))


def vectors_of(context: FitContext) -> np.ndarray:
    assert context.knowledge is not None
    return context.knowledge.vectors


def basis_rank(budget: float) -> int:
    """The noise edge grows with the root of the rank, so few directions where noise is large."""
    return int(np.clip(budget / BUDGET_PER_DIRECTION, SMALLEST_RANK, LARGEST_RANK))


def frame_of_moment(moment: PublicMoment, n_topics: int) -> Frame:
    """Top directions of the noisy second moment in the public basis, floored at the known noise edge."""
    edge = moment.noise * float(np.sqrt(2.0 * moment.basis.rank))
    with one_order():
        values, vectors = top_eigenpairs(moment.central, min(n_topics + sequential.SHOWN, moment.basis.rank))
    return Frame(Whitening(vectors, np.maximum(values, edge)), values, edge)


def without_knowledge(context: FitContext, left: float) -> FitContext:
    """The sequential fit with what is left of the budget; it has a unigram."""
    usual = sequential.SEQUENTIAL.split(context.refine_steps).as_dict() | {"unigram": 0.0}
    split = {name: left * part / sum(usual.values()) for name, part in usual.items()}
    return replace(context, releases=sequential.RELEASES, split=split)


def spectral_start(context: FitContext, basis: PublicBasis, frame: Frame) -> np.ndarray:
    """Topics from the moments inside the frame: deviations from the unigram, on all words."""
    with one_order():
        rows = with_constant(basis.rows @ frame.matrix)
    second, third = release_inside_frame(context, np.arange(context.n_words), rows)
    with one_order():
        moments = CentralMoments.of(second.value, third.value, second.sigma, third.sigma)
        found = directions_of(moments, context.alpha0, 1 + len(frame.eigenvalues), context.random_state)
        coordinates = frame.whitening.unwhiten(moments.mean[:, None] + found.deviations)
        return floored(simplex_rows(basis.topics(coordinates)), basis.centre)


def topics_of_features(context: FitContext, start: np.ndarray, unigram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Steps of variational EM on released features, each estimate a weighted average of all so far; and the prior."""
    with one_order():
        centre = lifted(unigram)
        features = Features.of(centred_vectors(vectors_of(context), centre, FEATURE_RANK), centre)
    topics = (1.0 - FEATURE_LEAN) * start + FEATURE_LEAN * unigram
    share = context.share(FEATURES) / FEATURE_STEPS
    averaged = Averaged()
    for step in range(1, FEATURE_STEPS + 1):
        context.progress.stage(f"features {step} of {FEATURE_STEPS}")
        released = release_features(context, topics, features.rows, step, share)
        averaged.add(step, released.value)
        with one_order():
            topics, mass = features.topics(averaged.value, released.sigma * averaged.noise, unigram)
    return topics, context.alpha0 * mass / mass.sum()


def topics_of_counts(context: FitContext, start: np.ndarray, unigram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same on released expected counts, which are expected to be those of the features."""
    topics = (1.0 - COUNT_LEAN) * start + COUNT_LEAN * unigram
    weights, steps = even_weights(unigram), context.refine_steps
    share = context.share(REFINEMENT) / steps
    averaged = Averaged()
    for step in range(1, steps + 1):
        context.progress.stage(f"refinement {step} of {steps}")
        released = release_statistic(context, topics, REFINEMENT.numbered(step), share, weights=weights)
        averaged.add(step, released.value.T / weights)
        noise = released.sigma * averaged.noise / weights
        topics = informed_topics(averaged.value, start, unigram, noise)
    return topics, context.alpha0 * shares_of(averaged.value)


INFORMED = Fit("informed", RELEASES, model, FEW, fractions_for=fractions_for)

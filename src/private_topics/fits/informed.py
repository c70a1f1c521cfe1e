"""The sequential release with public knowledge of words: what they mean need not be learnt from the corpus.

    unigram → norms → second moment in a public basis → clusters of words → features → counts

Words with similar public vectors are the first topics; how the corpus varies along the vectors says which differences
between words matter. The topics of public documents take their place where the same moment looks as they predict.
Refined are `k × (r + 1)` features of topics, which have far less noise than `k × d` expected counts: small corpora
get features alone, larger ones counts after them, the largest the sequential fit, which needs no vectors. Where the
released moment says that the vectors know little of the corpus, the rest of the budget goes to the sequential fit.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.engines.local import LocalCorpus
from private_topics.errors import InputError
from private_topics.fits import sequential
from private_topics.fits.fit import AROUND, Fit, PrivateModel, Spectrum
from private_topics.fits.plain import fit_unnoised
from private_topics.inference.carried import Averaged, check_size, occurring_words, shares_of
from private_topics.inference.denoising import informed_topics
from private_topics.inference.features import Expected, Features
from private_topics.inference.public_topics import with_frequencies, word_clusters
from private_topics.knowledge.shipped import comes_with_the_package
from private_topics.progress import SILENT
from private_topics.releases.features import FEATURES, release_features
from private_topics.releases.moments import UNIGRAM, UNIGRAM_AGAIN, release_unigram, sharpened_unigram
from private_topics.releases.norms import PUBLIC_NORMS, SECOND_NORMS
from private_topics.releases.public_basis import (
    PUBLIC_SECOND,
    PublicMoment,
    release_again,
    release_public_second,
)
from private_topics.releases.release import FitContext
from private_topics.releases.statistic import REFINEMENT, even_weights, release_statistic
from private_topics.spectral.frame import Frame
from private_topics.spectral.public_basis import centred_vectors, lifted, public_basis
from private_topics.spectral.whitening import Whitening, top_eigenpairs
from private_topics.sums.quantised import MOST_ROWS
from private_topics.threads import one_order

PUBLIC = (UNIGRAM, PUBLIC_NORMS, PUBLIC_SECOND, UNIGRAM_AGAIN, FEATURES, REFINEMENT)
"""The releases of a fit that trusts the public vectors."""
RELEASES = (*PUBLIC[:3], *(r for r in sequential.RELEASES if r not in PUBLIC[:5]), *PUBLIC[3:5])
FEW = {
    "unigram": 0.44,
    "histograms": 0.005,
    "second": 0.1,
    "frame": 0.0,
    "tensor": 0.0,
    "features": 0.455,
    "refine": 0.0,
}
MANY = FEW | {"unigram": 0.08, "second": 0.05, "features": 0.15, "refine": 0.715}
FEATURES_ALONE, COUNTS_TOO = 15.0, 7.0  # topics × words over budget × units
WORDS_ENOUGH = 1500.0  # budget × units, for each topic: from here on the sequential fit finds topics by itself
COUNTS_ALONE, TOPICS_ALONE = 2.1, 100.0  # topics × words over that, and that for each topic: few words need less
LOOK, SECOND_LOOK = 0.14, 0.2  # of the fractions of unigram and second moment: to see what the vectors are worth
DOUBT, TRUST = (1.0, 0.0), (2.0, 2.0)  # times the noise of both looks: what vectors may fall short by
TRUSTED_FROM = 40.0  # budget × units, for each topic: with less, topics of vectors that noise hides are noise too
SMALLEST_RANK, LARGEST_RANK, BUDGET_PER_DIRECTION = 20, 50, 150.0
FEWEST_FEATURES, MOST_FEATURES, FEATURES_BY_BUDGET = 16, 50, 2.7
FEATURE_STEPS = 4
CLUSTER_VARIANCE, CLUSTER_LEAN, TOPIC_VARIANCE, TOPIC_LEAN = 0.02, 0.85, 0.005, 0.1
COUNT_LEAN = 0.85
DOCUMENTS_PER_TOPIC, LONG = 20, 3  # public documents of so many different words


def fractions_for(budget: float, n_topics: int, n_words: int) -> Mapping[str, float]:
    """How the budget is split, by public numbers: `budget` is mu times the number of units."""
    if words_enough(budget, n_topics, n_words):
        return sequential.FRACTIONS | {"features": 0.0}
    noise = n_topics * n_words / budget
    many = float(np.clip(np.log(FEATURES_ALONE / noise) / np.log(FEATURES_ALONE / COUNTS_TOO), 0.0, 1.0))
    return {name: (1.0 - many) * FEW[name] + many * MANY[name] for name in FEW}


def words_enough(budget: float, n_topics: int, n_words: int) -> bool:
    """Whether the sequential fit finds the topics by itself."""
    few_words = n_topics * n_words <= COUNTS_ALONE * budget
    return budget >= (TOPICS_ALONE if few_words else WORDS_ENOUGH) * n_topics


def left_alone(names: Collection[str]) -> bool:
    """Whether a fit that made these releases looked at the vectors and went on without them."""
    return PUBLIC_NORMS.name in names and SECOND_NORMS.name in names


def model(context: FitContext) -> PrivateModel:
    """The whole fit; the functions below are its arrows, in order."""
    check_size(context.n_words, context.n_topics)
    if context.n_words > MOST_ROWS:
        raise InputError(f"A private fit with public knowledge takes at most {MOST_ROWS} words.")
    context.progress.stage(sequential.STAGES[0])
    budget = context.mu * context.n_units
    if words_enough(budget, context.n_topics, context.n_words) and not context.split["features"]:
        return sequential.model(replace(context, releases=sequential.RELEASES))
    public = replace(context, releases=PUBLIC, split=_without_tensor(context.split))
    usual = min(public.share(UNIGRAM), sequential.FRACTIONS["unigram"])
    look = max(LOOK * public.share(UNIGRAM), usual), SECOND_LOOK * public.share(PUBLIC_SECOND)
    noisy_unigram = release_unigram(public, share=look[0])
    unigram = sequential.unigram_of(context, noisy_unigram.value, noisy_unigram.sigma)
    left = 1.0 - math.fsum(context.split.get(name, 0.0) for name in AROUND) - look[0]
    if not context.own_split and words_enough(budget, context.n_topics, occurring_words(unigram)):
        alone = without_knowledge(context, left)
        if sequential.refined_and_carried(alone, noisy_unigram, unigram)[1] == context.n_topics:
            return sequential.model_of(alone, noisy_unigram, unigram)
    context.progress.stage(sequential.STAGES[1])
    with one_order():
        basis = public_basis(vectors_of(context), unigram, basis_rank(context))
    if basis.rank == 0:
        return sequential.model_of(without_knowledge(context, left), noisy_unigram, unigram)
    moment, left = release_public_second(public, basis, look[1]), left - public.share(PUBLIC_NORMS)
    trusted = budget >= TRUSTED_FROM * context.n_topics and comes_with_the_package(context.knowledge)
    doubt = TRUST if trusted else DOUBT
    if not moment.known(doubt[0]):
        return sequential.model_of(without_knowledge(context, left - look[1]), noisy_unigram, unigram)
    moment = release_again(public, moment, public.share(PUBLIC_SECOND) - look[1])
    left -= public.share(PUBLIC_SECOND)
    if not moment.known(doubt[1]):
        return sequential.model_of(without_knowledge(context, left), noisy_unigram, unigram)
    frame = frame_of_moment(moment, context.n_topics)
    if context.n_topics == 1:
        return sequential.unigram_model(public, noisy_unigram, frame, left)
    again = public.share(UNIGRAM) - look[0]
    if again > 0.0:
        unigram = sequential.unigram_of(context, *sharpened_unigram(public, noisy_unigram, again))
    with one_order():
        expected = expected_topics(context, moment, unigram)
    topics, alpha = expected.topics, context.alpha0 * expected.shares
    if public.split["features"]:
        topics, alpha = topics_of_features(public, expected, unigram)
    if public.split["refine"] and context.refine_steps:
        topics, alpha = topics_of_counts(public, topics, unigram)
    return PrivateModel(topics, alpha, frame.supported + 1, Spectrum.of(frame))  # directions around the mean


def _without_tensor(split: Mapping[str, float]) -> Mapping[str, float]:
    """There are no moments inside the frame here: their fractions go to the first refinement that there is."""
    into = "features" if split["features"] else "refine"
    return {**split, "frame": 0.0, "tensor": 0.0, into: split[into] + split["frame"] + split["tensor"]}


def vectors_of(context: FitContext) -> np.ndarray:
    assert context.knowledge is not None
    return context.knowledge.vectors


def basis_rank(context: FitContext) -> int:
    """The noise edge grows with the root of the rank, so few directions where noise is large."""
    budget = context.mu * context.n_units
    return int(np.clip(budget / BUDGET_PER_DIRECTION, SMALLEST_RANK, LARGEST_RANK))


def feature_rank(context: FitContext) -> int:
    """Each feature has the noise of the others, so few where noise is large."""
    budget = context.mu * context.n_units / context.n_topics
    return int(np.clip(FEATURES_BY_BUDGET * np.sqrt(budget), FEWEST_FEATURES, MOST_FEATURES))


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
    split["evidence"] = context.split.get("evidence", 0.0)
    return replace(context, releases=sequential.RELEASES, split=split)


def expected_topics(context: FitContext, moment: PublicMoment, unigram: np.ndarray) -> Expected:
    """The topics that public knowledge lets expect: those of public documents, or clusters of words."""
    public = topics_of_documents(context)
    if public is not None:
        topics, shares = public
        topics = with_frequencies(topics, shares, unigram)
        if moment.agrees(topics, shares):
            return Expected(topics, shares, TOPIC_VARIANCE, TOPIC_LEAN)
    topics, shares = word_clusters(moment.coordinates(), unigram, context.n_topics)
    return Expected(topics, shares, CLUSTER_VARIANCE, CLUSTER_LEAN)


def topics_of_documents(context: FitContext) -> tuple[np.ndarray, np.ndarray] | None:
    """Topics of the public documents and their shares, without privacy; None where there are too few documents."""
    documents = None if context.knowledge is None else context.knowledge.documents
    if (
        documents is None
        or np.count_nonzero(np.diff(documents.indptr) >= LONG) < DOCUMENTS_PER_TOPIC * context.n_topics
    ):
        return None
    corpus = LocalCorpus(MatrixBlocks(documents))
    found = fit_unnoised(corpus, context.n_topics, 1.0, 1, np.random.RandomState(0), SILENT)
    return found.topics, found.alpha / found.alpha.sum()


def topics_of_features(context: FitContext, expected: Expected, unigram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Steps of variational EM on released features, each estimate a weighted average of all so far; and the prior."""
    with one_order():
        centre = lifted(unigram)
        components = centred_vectors(vectors_of(context), centre, feature_rank(context))
        features = Features.of(components, centre, expected)
    topics = (1.0 - expected.lean) * expected.topics + expected.lean * unigram
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


INFORMED = Fit(
    "informed", RELEASES, model, FEW, fractions_for=fractions_for, any_neighbours=True, any_sites=True, tested=True
)

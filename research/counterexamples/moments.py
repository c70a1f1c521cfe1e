"""The moments: how far one document moves them, and whether they are what the paper says they estimate."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement, permutations, product

import numpy as np

from counterexamples.corpora import (
    Corpus,
    Finding,
    combined,
    features,
    lda_moments,
    multilinear,
    placements,
    raw_moments,
    single_words,
)
from private_topics.paper import bounds
from private_topics.spectral.power_method import decompose
from private_topics.spectral.whitening import whitening_of

ALPHA = np.array([2.5, 1.5, 1.0])
TOPICS = np.array([[0.6, 0.1, 0.1, 0.1, 0.1], [0.1, 0.5, 0.2, 0.1, 0.1], [0.0, 0.1, 0.1, 0.2, 0.6]])


def changes(corpus: Corpus, neighbour: Corpus, alpha0: float) -> tuple[np.ndarray, np.ndarray]:
    """`N` times the change of the second and of the third moment."""
    (m2, m3), (other2, other3) = lda_moments(corpus, alpha0), lda_moments(neighbour, alpha0)
    return corpus.n_documents * (m2 - other2), corpus.n_documents * (m3 - other3)


def all_words_different(n_documents: int) -> tuple[Corpus, Corpus]:
    """Documents of one word each, no two the same; one of them becomes a document of yet another word."""
    corpus = single_words([1] * n_documents + [0])
    return corpus, corpus.replaced(0, n_documents)


def all_others_alike(n_documents: int) -> tuple[Corpus, Corpus]:
    """All documents of the same word but one; that one changes its word."""
    corpus = single_words([n_documents - 1, 1, 0])
    return corpus, corpus.replaced(1, 2)


def largest_second_change(alpha0: float, order: float | str) -> float:
    """The largest norm of `N` times the change of the second moment over *all* neighbours (order 1, 2 or "spectral").

    The change is `(φ2 - φ2') - a ((φ1 - φ1')⊗m + m⊗(φ1 - φ1'))` with `m` the mean of the other documents. A document
    is a mixture of pairs of words, `m` a mixture of words, and the change is affine in each: its norm is largest for
    pairs of words and a single word, which five words in all suffice to spell out. An empty document is zero.
    """
    a, eye = alpha0 / (alpha0 + 1.0), np.eye(5)
    documents = [(np.zeros(5), np.zeros((5, 5)))]
    for x, y in combinations_with_replacement(range(5), 2):
        documents.append(((eye[x] + eye[y]) / 2, (np.outer(eye[x], eye[y]) + np.outer(eye[y], eye[x])) / 2))
    largest = 0.0
    for (one, two), (other1, other2), mean in product(documents, documents, eye):
        outer = np.outer(one - other1, mean)
        change = two - other2 - a * (outer + outer.T)
        norm = np.linalg.norm(change, 2) if order == "spectral" else np.linalg.norm(change.ravel(), order)
        largest = max(largest, float(norm))
    return largest


def second_moment(order: int, alpha0: float, n: int = 40) -> Finding:
    """Its L1 or its L2 sensitivity; the theorem uses its bound on the first for the second."""
    corpus, neighbour = all_words_different(n) if order == 1 else all_others_alike(n)
    change, _ = changes(corpus, neighbour, alpha0)
    corrected = bounds.corrected_second_moment_l1 if order == 1 else bounds.corrected_second_moment_l2
    used = "" if order == 1 else ", whose L1 bound it uses for L2"
    return Finding(
        f"second-moment-l{order}",
        f"N times the L{order} sensitivity of M2, alpha0 = {alpha0:g} (theorem{used})",
        n * bounds.published_moment_sensitivity(n_documents=n),
        float(np.linalg.norm(change.ravel(), order)),
        n * corrected(n_documents=n, alpha0=alpha0),
    )


def largest_third_change(alpha0: float) -> float:
    """An upper bound of the L2 norm of `N` times the change of the third moment over *all* neighbours.

    The change is a mean over ordered pairs (p, q) of other documents, and affine in each of four documents: the two
    that are exchanged are mixtures of triples of words, p one of pairs, q one of words. So its norm is largest for
    nine words, equal or not: one set partition of nine for every way to be equal.
    """
    weights, eye = bounds.MomentWeights.of(alpha0), np.eye(9)
    places = np.array(list(partitions(9)))
    largest = 0.0
    for some in np.array_split(places, 20):
        words = [eye[some[:, place]] for place in range(9)]
        (one, two, three), (other1, other2, other3) = triple_features(words[:3]), triple_features(words[3:6])
        p, pairs = (words[6] + words[7]) / 2, symmetric_pairs(words[6], words[7])
        outer = np.einsum("nij,nl->nijl", two - other2, p) + np.einsum("nij,nl->nijl", pairs, one - other1)
        cube = np.einsum("nij,nl->nijl", symmetric_pairs(p, words[8]), one - other1)
        change = three - other3 - weights.mixed * placements(outer) + weights.cube * placements(cube)
        largest = max(largest, float(np.sqrt((change**2).sum(axis=(1, 2, 3))).max()))
    return largest


def partitions(size: int) -> Iterator[tuple[int, ...]]:
    """All ways to give `size` places names 0, 1, 2, …, a new name always the next one."""
    rows: list[tuple[int, ...]] = [(0,)]
    for _ in range(size - 1):
        rows = [(*row, name) for row in rows for name in range(max(row) + 2)]
    yield from rows


def symmetric_pairs(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    outer = np.einsum("ni,nj->nij", x, y)
    return (outer + outer.swapaxes(1, 2)) / 2.0


def triple_features(words: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`phi1`, `phi2`, `phi3` of documents of three words."""
    x, y, z = words
    pairs = (symmetric_pairs(x, y) + symmetric_pairs(x, z) + symmetric_pairs(y, z)) / 3.0
    triples = sum(np.einsum("ni,nj,nl->nijl", *order) for order in permutations(words)) / 6.0
    return (x + y + z) / 3.0, pairs, np.asarray(triples)


def third_moment_l1(alpha0: float = 1.0, n: int = 40, *, appendix: bool = True) -> Finding:
    _, change = changes(*all_words_different(n), alpha0)
    published = (
        bounds.published_third_moment_sensitivity(n_documents=n, alpha0=alpha0)
        if appendix
        else bounds.published_moment_sensitivity(n_documents=n)
    )
    return Finding(
        f"third-moment-l1-{'appendix' if appendix else 'theorem'}",
        f"N times the L1 sensitivity of M3, alpha0 = {alpha0:g} ({'App. I' if appendix else 'theorem'})",
        n * published,
        float(np.abs(change).sum()),
        n * bounds.corrected_third_moment_l1(n_documents=n, alpha0=alpha0),
    )


def third_moment_prefactor(alpha0: float = 1000.0, n: int = 40) -> Finding:
    _, change = changes(*all_words_different(n), alpha0)
    prefactor = bounds.MomentWeights.of(alpha0).prefactor
    return Finding(
        "third-moment-prefactor",
        f"the same for M3 with the prefactor of its definition, alpha0 = {alpha0:g} (App. I)",
        n * bounds.published_third_moment_sensitivity(n_documents=n, alpha0=alpha0),
        float(prefactor * np.abs(change).sum()),
        n * bounds.corrected_third_moment_l1(n_documents=n, alpha0=alpha0, with_prefactor=True),
    )


def population_third_moment(mixed_weight: float, cube_weight: float) -> float:
    """Relative distance of `E3 - w (E2⊗m, thrice) + v m⊗m⊗m` from `Σ 2 s_i/(alpha0+2) μ_i⊗μ_i⊗μ_i`."""
    alpha0 = ALPHA.sum()
    first, second, third = raw_moments(ALPHA, TOPICS)
    mixed = placements(np.multiply.outer(second, first))
    moment = third - mixed_weight * mixed
    moment += cube_weight * np.multiply.outer(np.multiply.outer(first, first), first)
    weights = 2.0 * ALPHA / (alpha0 * (alpha0 + 1.0) * (alpha0 + 2.0))
    truth = np.einsum("a,ai,aj,al->ijl", weights, TOPICS, TOPICS, TOPICS)
    return relative(moment - truth, truth)


def relative(error: np.ndarray, truth: np.ndarray) -> float:
    """Relative size of an error, what is left of rounding taken for zero."""
    return round(float(np.linalg.norm(error) / np.linalg.norm(truth)), 12)


def moment_lemma() -> Finding:
    alpha0 = ALPHA.sum()
    cube = 2.0 * alpha0**2 / ((alpha0 + 1.0) * (alpha0 + 2.0))
    return Finding(
        "moment-lemma",
        f"relative error of the identity for M3 with the printed weight 1/(alpha0+2), alpha0 = {alpha0:g}",
        0.0,
        population_third_moment(1.0 / (alpha0 + 2.0), cube),
        population_third_moment(alpha0 / (alpha0 + 2.0), cube),
    )


def second_moment_error(weight: float) -> float:
    """Relative distance of `E2 - weight m⊗m` from `Σ α_i/(alpha0(alpha0+1)) μ_i⊗μ_i`."""
    alpha0 = ALPHA.sum()
    first, second, _ = raw_moments(ALPHA, TOPICS)
    truth = np.einsum("a,ai,aj->ij", ALPHA / (alpha0 * (alpha0 + 1.0)), TOPICS, TOPICS)
    return relative(second - weight * np.outer(first, first) - truth, truth)


def expected_third_moment(alpha0: float, *, printed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Exact mean of the estimator over all corpora of three documents drawn from three, and what it estimates."""
    counts = np.array([[3, 1, 0], [1, 1, 2], [0, 0, 4]])
    chance = np.array([0.5, 0.3, 0.2])
    one, two, three = (np.tensordot(chance, array, axes=1) for array in features(counts))
    outer = np.multiply.outer
    _, truth = combined(two, outer(one, one), three, placements(outer(two, one)), outer(outer(one, one), one), alpha0)
    mean = np.zeros_like(truth)
    for drawn in product(range(3), repeat=3):
        corpus = Corpus(counts, np.bincount(drawn, minlength=3))
        moment = printed_third_moment(corpus, alpha0) if printed else lda_moments(corpus, alpha0)[1]
        mean += np.prod(chance[list(drawn)]) * moment
    return mean, truth


def printed_third_moment(corpus: Corpus, alpha0: float) -> np.ndarray:
    """Paper, App. D, Lemma on empirical estimators: `B1` and `b` as printed, without the prefactor."""
    n, times, weights = corpus.n_documents, corpus.times.astype(np.float64), bounds.MomentWeights.of(alpha0)
    first, second, third = (np.tensordot(times, array, axes=1) for array in features(corpus.counts))
    mixed = -weights.mixed / (n * (n - 1.0)) * placements(np.multiply.outer(second, first))
    return third / n + mixed + weights.cube * np.multiply.outer(np.multiply.outer(first, first), first)


def estimator_bias(alpha0: float = 1.0) -> Finding:
    def bias(printed: bool) -> float:
        mean, truth = expected_third_moment(alpha0, printed=printed)
        return relative(mean - truth, truth)

    return Finding(
        "estimator-bias",
        "relative bias of the printed estimator of M3 over all corpora of 3 documents, prefactor left out",
        0.0,
        bias(True),
        bias(False),
    )


def prefactor_bias(alpha0: float = 1.0) -> Finding:
    """The prefactor alone: `E[d M3] / M3` where the lemma says 1."""
    mean, truth = expected_third_moment(alpha0, printed=False)
    prefactor = bounds.MomentWeights.of(alpha0).prefactor
    return Finding(
        "prefactor-bias",
        f"mean of the estimator of M3 over M3, alpha0 = {alpha0:g}, with the prefactor of its definition",
        1.0,
        float(np.sum(prefactor * mean * truth) / np.sum(truth * truth)),
        float(np.sum(mean * truth) / np.sum(truth * truth)),
    )


def cube_identity() -> Finding:
    """App. D subtracts `3 Σ_m Σ_n v_n⊗v_n⊗v_m` from a cube of sums: one placement thrice, not three placements."""
    vectors, _, _ = features(np.array([[3, 1, 0], [1, 1, 2], [0, 0, 4], [2, 2, 1]]))
    total = vectors.sum(axis=0)
    cube = np.multiply.outer(np.multiply.outer(total, total), total)
    squares = np.einsum("ni,nj->ij", vectors, vectors)
    mixed = np.multiply.outer(squares, total)
    own = 2.0 * np.einsum("ni,nj,nl->ijl", vectors, vectors, vectors)
    distinct = np.zeros_like(cube)
    for a, b, c in product(range(4), repeat=3):
        if len({a, b, c}) == 3:
            distinct += np.multiply.outer(np.multiply.outer(vectors[a], vectors[b]), vectors[c])
    return Finding(
        "cube-identity",
        "relative error of the sum over distinct triples, one placement taken thrice (App. D)",
        0.0,
        relative(cube - 3.0 * mixed + own - distinct, distinct),
        relative(cube - placements(mixed) + own - distinct, distinct),
    )


def double_sum() -> Finding:
    """App. G sums the last term of phi3 over i and j: `d` times too much of it."""
    counts = np.array([2, 1, 1, 0])
    length, d = counts.sum(), len(counts)
    _, _, phi3 = features(counts[None, :])
    extra = 2.0 * (d - 1) * length / (length * (length - 1) * (length - 2))
    return Finding(
        "double-sum",
        "sum of the entries of phi3, a probability array, of a document of 4 words (App. G)",
        1.0,
        float(phi3.sum() + extra),
        float(phi3.sum()),
    )


def unwhitening_scale(alpha: np.ndarray = ALPHA) -> Finding:
    """`μ_i = ρ λ_i (W†)' v_i` with the `ρ` of App. I, from exact moments."""
    alpha0 = float(alpha.sum())
    weights = alpha / (alpha0 * (alpha0 + 1.0))
    m2 = np.einsum("a,ai,aj->ij", weights, TOPICS, TOPICS)
    m3 = np.einsum("a,ai,aj,al->ijl", 2.0 / (alpha0 + 2.0) * weights, TOPICS, TOPICS, TOPICS)
    whitening = whitening_of(m2, len(alpha))
    pairs = decompose(multilinear(m3, whitening.frame))
    columns = whitening.unwhiten(pairs.vectors) * pairs.values
    return Finding(
        "unwhitening-scale",
        f"sum of a recovered topic, alpha0 = {alpha0:g} (App. I, final output)",
        1.0,
        float(np.abs(bounds.unwhitening_factor(alpha0) * columns.sum(axis=0)).max()),
        float(np.abs((alpha0 + 2.0) / 2.0 * columns.sum(axis=0)).max()),
    )


def findings() -> list[Finding]:
    second = [second_moment(1, alpha0=1.0), second_moment(2, alpha0=1000.0)]
    third = [third_moment_l1(appendix=False), third_moment_l1(appendix=True), third_moment_prefactor()]
    proofs = [moment_lemma(), estimator_bias(), prefactor_bias()]
    return [*second, *third, *proofs, cube_identity(), double_sum(), unwhitening_scale()]

"""Singular values, gaps, eigenpairs and topics: what one document, or noise in two places, does to them."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from counterexamples.corpora import Corpus, Finding, lda_moments, multilinear, single_words, triples_of_words
from counterexamples.spectral import whitened
from private_topics.paper import bounds
from private_topics.paper.utility_bounds import Quantities, utility_bound
from private_topics.spectral.power_method import EigenPairs, decompose
from private_topics.spectral.whitening import Whitening, top_eigenpairs, whitening_of

# -- singular values and gaps ---------------------------------------------------------------------------------------


def singular_value(alpha0: float = 1000.0) -> Finding:
    """Three words, one of them rare: it carries σ_2, and takes one document more."""
    corpus = single_words([50_000, 5_000, 45_000])
    neighbour = corpus.replaced(2, 1)
    n = corpus.n_documents
    values = [top_eigenpairs(lda_moments(each, alpha0)[0], 2)[0][1] for each in (corpus, neighbour)]
    return Finding(
        "singular-value",
        f"N times the change of sigma_2, alpha0 = {alpha0:g}, against the scale 1/N of Procedure 1",
        1.0,
        float(n * abs(values[0] - values[1])),
        n * bounds.corrected_singular_value_sensitivity(n_documents=n),
    )


def tensor_gap(alpha0: float) -> Finding:
    """Documents of three words with the moments of LDA; the neighbours that move γ_s most."""
    corpus = triples_of_words(alpha0 * np.array([0.5, 0.3, 0.2]), 100_000)
    n = corpus.n_documents
    start = gap_of(corpus, alpha0)
    rows = [row for row in range(len(corpus.times)) if corpus.times[row] > 0]
    moved = max(abs(gap_of(corpus.replaced(old, new), alpha0) - start) for old in rows for new in rows if old != new)
    return Finding(
        f"tensor-gap-{alpha0:g}",
        f"N times the change of gamma_s, alpha0 = {alpha0:g} (lemma on sigma_k and gamma_s)",
        n * bounds.published_spectral_value_sensitivity(n_documents=n),
        n * moved,
        None,
    )


def gap_of(corpus: Corpus, alpha0: float) -> float:
    return bounds.gamma_s(whitened(corpus, alpha0, 3)[1])


# -- eigenpairs and topics ------------------------------------------------------------------------------------------


def eigenvectors_together(alpha0: float = 1.0) -> Finding:
    """All eigenvectors move at once; the paper gives each the noise that one of them alone would need."""
    corpus = triples_of_words(alpha0 * np.array([0.5, 0.3, 0.2]), 100_000)
    start = eigenpairs(corpus, alpha0)
    best = (0.0, 0.0)
    for new in range(len(corpus.times)):
        moved = eigenpairs(corpus.replaced(0, new), alpha0).vectors - start.vectors
        one = float(np.linalg.norm(moved, axis=0).max())
        if one > 0 and np.linalg.norm(moved) / one > best[0]:
            best = (float(np.linalg.norm(moved)) / one, one)
    return Finding(
        "eigenvectors-together",
        "change of all three eigenvectors of T, in units of the largest change of one (configuration 3)",
        1.0,
        best[0],
        float(np.sqrt(3.0)),
    )


def eigenpairs(corpus: Corpus, alpha0: float) -> EigenPairs:
    return decompose(whitened(corpus, alpha0, 3)[1])


TIED_TOPICS = np.array([[1 / 2] * 2 + [0.0] * 7, [0.0] * 2 + [1 / 3] * 3 + [0.0] * 4, [0.0] * 5 + [1 / 4] * 4])
# Equal singular values of M2 but for 1e-11, far below the noise and far above rounding; different ones of T.
TIED_ALPHA = np.array([2.0, 3.0, 4.0]) / 9.0 * np.array([1.0 + 1e-11, 1.0, 1.0 - 1e-11])


def two_frames(configuration: int, n_documents: int = 10**9) -> Finding:
    """Topics when whitening and un-whitening use differently noised second moments, and when they use the same.

    Noise of standard deviation `1/N` (τ = 1) on the second moment alone: on both edges in configuration 1, on the way
    back alone in configurations 2 and 3.
    """
    rng = np.random.default_rng(0)
    alpha0 = float(TIED_ALPHA.sum())
    weights = TIED_ALPHA / (alpha0 * (alpha0 + 1.0))
    m2 = np.einsum("a,ai,aj->ij", weights, TIED_TOPICS, TIED_TOPICS)
    m3 = np.einsum("a,ai,aj,al->ijl", 2.0 / (alpha0 + 2.0) * weights, *[TIED_TOPICS] * 3)

    def noisy() -> np.ndarray:
        upper = np.triu(rng.standard_normal(m2.shape)) / n_documents
        return m2 + upper + np.triu(upper, 1).T

    back = whitening_of(noisy(), 3)
    forth = whitening_of(noisy() if configuration == 1 else m2, 3)
    sigma = float(weights[0] / 2)
    gap = bounds.gamma_s(multilinear(m3, forth.frame))
    problem = Quantities(n_documents, m2.shape[0], 3, sigma, sigma, gap)
    return Finding(
        f"two-frames-{configuration}",
        f"largest distance of a topic, configuration {configuration}, noise 1/N, N = {n_documents:.0e} (its theorem)",
        utility_bound(configuration, problem, dict.fromkeys(("e3", "e4", "e6", "e7", "e8"), 1.0)),
        topic_error(m3, forth, back, alpha0),
        topic_error(m3, back, back, alpha0),
    )


def topic_error(m3: np.ndarray, forth: Whitening, back: Whitening, alpha0: float) -> float:
    """Largest distance of a topic from the true one, matched as well as can be."""
    pairs = decompose(multilinear(m3, forth.frame))
    found = ((alpha0 + 2.0) / 2.0 * back.unwhiten(pairs.vectors) * pairs.values).T
    distances = [np.linalg.norm(found[list(order)] - TIED_TOPICS, axis=1).max() for order in permutations(range(3))]
    return float(min(distances))


def findings() -> list[Finding]:
    return [
        singular_value(),
        *[tensor_gap(alpha0) for alpha0 in (1.0, 10.0, 100.0)],
        eigenvectors_together(),
        *[two_frames(configuration) for configuration in (1, 2, 3)],
    ]

"""Figure 3: the k-th singular value of M2 against alpha0, and the smallest gap of the eigenvalues of T against k.

For LDA the eigenvalues of T are `2/(alpha0+2) · √(alpha0 (alpha0+1)/alpha_i)`. The paper draws `alpha` at random; so
does `model_gap`, which needs no corpus and holds for any number of topics.
"""

from __future__ import annotations

import numpy as np

from private_topics.corpus.made_up.synthetic import make_lda_corpus
from private_topics.paper.experiments.methods import Problem, noise_shortfall, published_fit
from private_topics.paper.experiments.paper_points import GAPS, SINGULAR_VALUES
from private_topics.paper.experiments.rows import Row

WORDS, DOCUMENTS, TOPICS = 300, 100_000, 3
QUICK_WORDS, QUICK_DOCUMENTS = 120, 3_000
GAP_ALPHA = 1000.0
MOST_MEASURED_TOPICS = 100
"""300 topics would take 5e12 operations for the third moment alone."""
MODEL_DRAWS = 1000


def singular_values(*, quick: bool, seed: int) -> list[Row]:
    """`σ_k(M2)` of a corpus for each alpha0 of the paper's figure, and of the moment scaled by alpha0(alpha0+1)."""
    documents, words = (QUICK_DOCUMENTS, QUICK_WORDS) if quick else (DOCUMENTS, WORDS)
    rows = []
    for alpha0, plotted in SINGULAR_VALUES.items():
        fit = published_fit(_corpus(documents, words, TOPICS, alpha0, seed), 4, 1.0, seed)
        value = float(fit.whitening.values[-1])
        rows.append(
            {
                "alpha0": float(alpha0),
                "documents": documents,
                "words": words,
                "topics": TOPICS,
                "singular_value": value,
                "scaled": value * noise_shortfall(alpha0),
                "largest_possible": 1.0 / (TOPICS * (alpha0 + 1.0)),
                "paper": plotted,
            }
        )
    return rows


def gaps(*, quick: bool, seed: int) -> list[Row]:
    """Smallest gap of neighbouring eigenvalues of T: of a corpus, and of the model with random weights."""
    documents, words = (QUICK_DOCUMENTS, QUICK_WORDS) if quick else (DOCUMENTS, WORDS)
    largest = 30 if quick else MOST_MEASURED_TOPICS
    rows = []
    for k, plotted in GAPS.items():
        measured = None
        if k <= largest:
            fit = published_fit(_corpus(documents, words, int(k), GAP_ALPHA, seed), 4, 1.0, seed)
            measured = smallest_gap(fit.pairs.values)
        rows.append(
            {
                "topics": int(k),
                "documents": documents,
                "words": words,
                "alpha0": GAP_ALPHA,
                "status": "measured" if measured is not None else "left out",
                "gap": measured,
                "model_gap": model_gap(int(k), GAP_ALPHA, seed),
                "paper": plotted,
            }
        )
    return rows


def smallest_gap(eigenvalues: np.ndarray) -> float:
    return float(np.diff(np.sort(eigenvalues)).min())


def model_gap(n_topics: int, alpha0: float, seed: int) -> float:
    """Median over weights drawn uniformly from the simplex."""
    generator = np.random.default_rng(seed)
    alpha = alpha0 * generator.dirichlet(np.ones(n_topics), MODEL_DRAWS)
    eigenvalues = 2.0 / (alpha0 + 2.0) * np.sqrt(alpha0 * (alpha0 + 1.0) / alpha)
    return float(np.median(np.diff(np.sort(eigenvalues, axis=1), axis=1).min(axis=1)))


def _corpus(documents: int, words: int, topics: int, alpha0: float, seed: int) -> Problem:
    counts, _, _ = make_lda_corpus(documents, words, topics, alpha0=alpha0, random_state=seed)
    return Problem(counts, topics, alpha0, 1e-7)

"""What needs no noise: the graph of figure 1, the spectra of figure 3, and the table of utility bounds (App. I).

For LDA the eigenvalues of T are `2/(alpha0+2) · √(alpha0 (alpha0+1)/alpha_i)`. The paper draws `alpha` at random; so
does `model_gap`, which needs no corpus and holds for any number of topics.
"""

from __future__ import annotations

import numpy as np

from private_topics.fits.choice import placements
from private_topics.fits.published import Published
from private_topics.paper.bounds import gap_of_eigenvalues
from private_topics.paper.experiments.paper_points import GAPS, SINGULAR_VALUES
from private_topics.paper.experiments.readings import noise_shortfall, published_fit
from private_topics.paper.experiments.rows import LEFT_OUT, MEASURED, Row
from private_topics.paper.experiments.synthetic_error import DELTA, QUICK, SETTINGS, TOPICS, WORDS, Setting
from private_topics.paper.utility_bounds import Quantities, utility_table
from private_topics.spectral.power_method import EigenPairs

FULL_SIZE, QUICK_SIZE = (100_000, WORDS), (3_000, 120)  # documents, words
GAP_ALPHA = 1000.0
MOST_QUICK_TOPICS = 30
MODEL_DRAWS = 1000
LARGEST_DISTANCE = 2.0**0.5
"""No two probability vectors are further apart."""
BOUND_EPSILONS = (1.0, 3.0)
LARGEST_RESIDUAL = 1e-6
"""Of what may be called eigenpairs."""


def graph_rows() -> list[Row]:
    """Whether the noisy edges of each configuration cut every path from the corpus to the output."""
    return [
        {
            "configuration": placement.name,
            "edges": " ".join(sorted(placement.noisy)),
            "cut": "yes" if placement.graph.is_cut(placement.noisy) else "no",
            "minimal": "yes" if placement.graph.is_minimal_cut(placement.noisy) else "no",
        }
        for placement in sorted(placements().values(), key=lambda placement: placement.name)
    ]


def singular_values(*, quick: bool, seed: int) -> list[Row]:
    """`σ_k(M2)` of a corpus for each alpha0 of the paper's figure, and of the moment scaled by alpha0(alpha0+1)."""
    documents, words = QUICK_SIZE if quick else FULL_SIZE
    rows = []
    for alpha0, plotted in SINGULAR_VALUES.items():
        value = float(_fit(Setting(alpha0, documents, words), seed).whitening.values[-1])
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
    documents, words = QUICK_SIZE if quick else FULL_SIZE
    rows = []
    for k, plotted in GAPS.items():
        measured = residual = None
        if not quick or k <= MOST_QUICK_TOPICS:
            fit = _fit(Setting(GAP_ALPHA, documents, words, int(k)), seed)
            measured = float(np.diff(np.sort(fit.pairs.values)).min())
            residual = residual_of(fit.tensor, fit.pairs)
        rows.append(
            {
                "topics": int(k),
                "documents": documents,
                "words": words,
                "alpha0": GAP_ALPHA,
                "status": LEFT_OUT if measured is None else MEASURED,
                "gap": measured,
                "residual": residual,
                "model_gap": model_gap(int(k), GAP_ALPHA, seed),
                "paper": plotted,
            }
        )
    return rows


def residual_of(tensor: np.ndarray, pairs: EigenPairs) -> float:
    """The largest `||T(I, v, v) - λ v||` over the largest λ: zero for eigenpairs, of order one for anything else."""
    image = np.einsum("abj,bj->aj", tensor @ pairs.vectors, pairs.vectors)
    return float(np.linalg.norm(image - pairs.values * pairs.vectors, axis=0).max() / pairs.values[0])


def model_gap(n_topics: int, alpha0: float, seed: int) -> float:
    """Median over weights drawn uniformly from the simplex."""
    generator = np.random.default_rng(seed)
    alpha = alpha0 * generator.dirichlet(np.ones(n_topics), MODEL_DRAWS)
    eigenvalues = 2.0 / (alpha0 + 2.0) * np.sqrt(alpha0 * (alpha0 + 1.0) / alpha)
    return float(np.median(np.diff(np.sort(eigenvalues, axis=1), axis=1).min(axis=1)))


def bound_rows(*, quick: bool, seed: int) -> list[Row]:
    """The four utility bounds, constants as printed, for the corpora of figure 2."""
    rows = []
    for name, setting in (QUICK if quick else SETTINGS).items():
        fit = _fit(setting, seed)
        quantities = Quantities(
            n_documents=setting.documents,
            n_words=setting.words,
            n_topics=setting.topics,
            sigma_1=float(fit.whitening.values[0]),
            sigma_k=float(fit.whitening.values[-1]),
            gamma_s=gap_of_eigenvalues(fit.pairs.values),
        )
        for epsilon in BOUND_EPSILONS:
            for configuration, bound in utility_table(quantities, epsilon, DELTA).items():
                rows.append(
                    {
                        "setting": name,
                        "configuration": str(configuration),
                        "epsilon": epsilon,
                        "documents": setting.documents,
                        "words": setting.words,
                        "alpha0": setting.alpha0,
                        "bound": bound,
                    }
                )
    return rows


def _fit(setting: Setting, seed: int) -> Published:
    return published_fit(setting.drawn(seed)[0], 4, 1.0, seed)

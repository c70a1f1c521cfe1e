"""What the paper states without an experiment: the graph of figure 1, and the table of utility bounds (App. I)."""

from __future__ import annotations

from pathlib import Path

from private_topics.corpus.made_up.synthetic import make_lda_corpus
from private_topics.fits.choice import placements
from private_topics.paper.bounds import gap_of_eigenvalues
from private_topics.paper.experiments.methods import Problem, published_fit
from private_topics.paper.experiments.rows import Row
from private_topics.paper.experiments.synthetic_error import DELTA, QUICK, SETTINGS
from private_topics.paper.graph import PAPER_GRAPH, Placement
from private_topics.paper.graph_picture import write_pictures
from private_topics.paper.utility_bounds import Problem as Quantities
from private_topics.paper.utility_bounds import utility_table

LARGEST_DISTANCE = 2.0**0.5
"""No two probability vectors are further apart."""
BOUND_EPSILONS = (1.0, 3.0)


def graph_rows() -> list[Row]:
    """Whether the noisy edges of each configuration cut every path from the corpus to the output."""
    return [
        {
            "configuration": placement.name,
            "edges": " ".join(sorted(placement.noisy)),
            "cut": "yes" if placement.graph.is_cut(placement.noisy) else "no",
            "minimal": "yes" if placement.graph.is_minimal_cut(placement.noisy) else "no",
        }
        for placement in _placements()
    ]


def _placements() -> list[Placement]:
    """The paper's four, then ours."""
    ours, *papers = placements().values()
    return [*papers, ours]


def draw_graphs(folder: Path) -> None:
    write_pictures(folder, _placements())


def minimal_cuts() -> int:
    """How many placements of the noise on the paper's graph there are that waste none."""
    return len(list(PAPER_GRAPH.minimal_cuts()))


def bound_rows(*, quick: bool, seed: int) -> list[Row]:
    """The four utility bounds, constants as printed, for the corpora of figure 2."""
    rows = []
    for name, setting in (QUICK if quick else SETTINGS).items():
        counts, _, _ = make_lda_corpus(
            setting.documents, setting.words, setting.topics, alpha0=setting.alpha0, random_state=seed
        )
        fit = published_fit(Problem(counts, setting.topics, setting.alpha0, DELTA), 4, 1.0, seed)
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

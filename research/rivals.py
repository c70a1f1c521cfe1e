"""A rival that people reach for: private clustering of document vectors, then noisy keywords of each cluster.

    python research/rivals.py [--draws 5] [--out research/results/rivals.md]

As in Urania (arXiv 2506.04681), without its language model. Every document is the vector `c/||c||` under a public
random projection, clipped to norm one. The mean of these vectors is released; less the mean and scaled to norm
one they are clustered by `ROUNDS` rounds of noisy spherical k-means, each of which releases the size and the sum
of each cluster. Then each document adds `c/||c||` to the word histogram of its cluster. Topics are the noisy
histograms, on the simplex.

Neighbours replace a document. The mean's sum moves by at most 2. In a round `(1, x)` leaves a cluster and `(1,
x')` arrives in another, each of norm at most √2, so it moves by at most 2. The histogram's contributions are non-
negative of norm one: √2. All is Gaussian and adds up in Gaussian DP, so the guarantee is (epsilon, delta),
exactly. The noise comes from numpy with a fixed seed: it is a simulation, and none of its results is private.
"""

from __future__ import annotations

import math
import statistics
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from private_topics.paper.experiments.methods import attempt
from private_topics.paper.experiments.readings import Task
from private_topics.paper.experiments.rows import markdown_table
from private_topics.paper.experiments.synthetic_error import AUTHORS, SETTINGS, paper_error, summed_l1
from private_topics.privacy.curves import mu_of_budget
from private_topics.spectral.topics import project_to_simplex
from stored import options_of, tell

DIMENSIONS, ROUNDS, KEYWORD_SHARE = 20, 5, 0.5
ROUND_SENSITIVITY, KEYWORD_SENSITIVITY = 2.0, math.sqrt(2.0)
METHODS = ("config 2 proved", "sequential")
EPSILONS = (1.0, 3.0)
SIZES = ("figure-2a", "figure-2b", "figure-2a-authors", "figure-2b-authors")


@dataclass(frozen=True)
class Noise:
    """Standard deviations of the mean and the sums of a round, and of the histogram, for a whole budget."""

    rounds: float
    keywords: float

    @classmethod
    def of(cls, epsilon: float, delta: float) -> Noise:
        mu = mu_of_budget(epsilon, delta)
        per_round = mu * math.sqrt((1.0 - KEYWORD_SHARE) / (1 + ROUNDS))
        return cls(ROUND_SENSITIVITY / per_round, KEYWORD_SENSITIVITY / (mu * math.sqrt(KEYWORD_SHARE)))

    def mu(self) -> float:
        """What all releases cost together."""
        rounds = (1 + ROUNDS) * (ROUND_SENSITIVITY / self.rounds) ** 2
        return math.sqrt(rounds + (KEYWORD_SENSITIVITY / self.keywords) ** 2)


def unit_rows(counts: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(counts, axis=1, keepdims=True)
    found: np.ndarray = counts / np.where(norms > 0.0, norms, 1.0)
    return found


def vectors_of(units: np.ndarray, dimensions: int = DIMENSIONS) -> np.ndarray:
    """A public random projection, clipped to norm one; the words themselves where there are few."""
    if units.shape[1] <= dimensions:
        return units
    projection = np.random.default_rng(0).standard_normal((units.shape[1], dimensions)) / math.sqrt(dimensions)
    found = units @ projection
    clipped: np.ndarray = found / np.maximum(1.0, np.linalg.norm(found, axis=1, keepdims=True))
    return clipped


def cluster_sums(vectors: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each document's cluster, and for each cluster its size and the sum of its vectors."""
    chosen = (((centres**2).sum(axis=1) / 2.0) - vectors @ centres.T).argmin(axis=1)
    sums = np.zeros((len(centres), 1 + vectors.shape[1]))
    np.add.at(sums, chosen, np.column_stack([np.ones(len(vectors)), vectors]))
    return chosen, sums


def keyword_sums(units: np.ndarray, chosen: np.ndarray, n_topics: int) -> np.ndarray:
    sums = np.zeros((n_topics, units.shape[1]))
    np.add.at(sums, chosen, units)
    return sums


def clustered_topics(counts: np.ndarray, n_topics: int, epsilon: float, delta: float, seed: int) -> np.ndarray:
    generator, noise = np.random.default_rng(seed), Noise.of(epsilon, delta)
    units = unit_rows(counts)
    vectors = vectors_of(units)
    total = vectors.sum(axis=0) + noise.rounds * generator.standard_normal(vectors.shape[1])
    vectors = unit_rows(vectors - total / len(vectors))
    centres = unit_rows(generator.standard_normal((n_topics, vectors.shape[1])))
    for _ in range(ROUNDS):
        _, sums = cluster_sums(vectors, centres)
        noisy = sums + noise.rounds * generator.standard_normal(sums.shape)
        centres = unit_rows(noisy[:, 1:])
    chosen, _ = cluster_sums(vectors, centres)
    words = keyword_sums(units, chosen, n_topics)
    words += noise.keywords * generator.standard_normal(words.shape)
    totals = words.sum(axis=1, keepdims=True)
    topics: np.ndarray = project_to_simplex(words / np.where(totals > 1.0, totals, 1.0))
    return topics


def measured(name: str, draws: int) -> list[tuple[str, ...]]:
    """Errors of one setting, a line for each method and epsilon: median and range of the draws."""
    setting = (SETTINGS | AUTHORS)[name]
    error = summed_l1 if name in AUTHORS else paper_error
    task, truth = setting.drawn(0)
    lines = []
    for epsilon in EPSILONS:
        for method in ("clusters", *METHODS):
            errors = [error(_topics(method, task, epsilon, draw), truth) for draw in range(draws)]
            told = f"{statistics.median(errors):.3g} [{min(errors):.3g}, {max(errors):.3g}]"
            lines.append((name, f"{epsilon:g}", method, told))
    nothing = error(attempt("unigram", task, 1.0, 0).topics, truth)
    return [*lines, (name, "", "unigram", f"{nothing:.3g}")]


def _topics(method: str, task: Task, epsilon: float, draw: int) -> np.ndarray:
    if method == "clusters":
        return clustered_topics(task.counts.toarray(), task.n_topics, epsilon, task.delta, draw)
    found = attempt(method, task, epsilon, draw).topics
    assert found is not None
    return found


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument(
        "--settings", nargs="*", default=["figure-2a", "figure-2b", "figure-2a-authors", "figure-2b-authors"]
    )
    parser.add_argument("--out", type=Path, default=None)
    options = parser.parse_args()
    lines = [line for name in options.settings for line in measured(name, options.draws)]
    title = "# Private clustering of document vectors against the fits of this library\n\n"
    title += (
        "Equal (epsilon, delta = 1e-7), replaced documents, one corpus each; median and range of the noise draws.\n\n"
    )
    tell(title + markdown_table(("setting", "epsilon", "method", "error"), lines), options.out)


if __name__ == "__main__":
    main()

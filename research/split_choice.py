"""How the budget is divided over the releases: by default, by the forecast, or by private selection, charged.

    python research/split_choice.py splits [--draws 3]       the default, the forecast's choice and a few others
    python research/split_choice.py price                    what private selection leaves to each of its runs
    python research/split_choice.py selection [--draws 3]    selection as the paper's appendix K has it, charged

Splits are compared at the full budget. A selection draws how many runs it makes and which split each has, spends
`SCORE_SHARE` of every run on a likelihood from released sufficient statistics, keeps the best run, and costs the
stated epsilon as a whole.
"""

from __future__ import annotations

import math
import statistics
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from private_topics import BudgetSplit, PrivacyWarning, PrivateSpectralLDA, make_lda_corpus
from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.engines.local import LocalCorpus
from private_topics.evaluation import topic_error_l2
from private_topics.fits.sequential import REFINEMENT
from private_topics.planning.plan import plan
from private_topics.planning.split import split_for
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.curves import gdp_epsilon
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.releases.release import FitContext
from private_topics.releases.statistic import release_statistic

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from corpora import real_counts
from selection import Repetitions, affordable_mu, price
from stored import about, options_of

DELTA = 1e-6
SCORE_SHARE = 0.05
CANDIDATES = 3
SMALLEST_PROBABILITY = 1e-6
USUAL = BudgetSplit()
SPLITS = {
    "default": USUAL,
    "second 0.05": USUAL.replace(second=0.05, refine=0.805),
    "second 0.1": USUAL.replace(second=0.1, refine=0.755),
    "second 0.4": USUAL.replace(second=0.4, refine=0.455),
    "tensor 0.15": USUAL.replace(tensor=0.15, refine=0.565),
    "tensor 0.03, frame 0.015": USUAL.replace(tensor=0.03, frame=0.015, refine=0.7),
    "unigram 0.1": USUAL.replace(unigram=0.1, refine=0.595),
}


class Case(NamedTuple):
    title: str
    counts: Any
    topics: int
    epsilon: float
    quality: Callable[[Any], float]  # smaller is better


def cases() -> list[Case]:
    X, truth, _ = make_lda_corpus(10_000, 1_000, 10, random_state=0)
    title = "synthetic, 10,000 documents, 1,000 words, 10 topics, epsilon 1: topic error"
    found = [Case(title, X, 10, 1.0, lambda model: topic_error_l2(model.components_, truth))]
    for words, topics, epsilon in ((1_000, 10, 0.3), (3_000, 25, 1.0)):
        train, test = real_counts("wikipedia", words)
        title = f"wikipedia, {words:,} words, {topics} topics, epsilon {epsilon:g}: perplexity"
        found.append(Case(title, train, topics, epsilon, lambda model, test=test: model.perplexity(test)))
    return found


def forecast_split(case: Case) -> BudgetSplit:
    return split_for(plan(*case.counts.shape, case.topics, epsilon=case.epsilon, delta=DELTA))


def fitted(case: Case, split: BudgetSplit, epsilon: float) -> PrivateSpectralLDA:
    return PrivateSpectralLDA(case.topics, epsilon=epsilon, delta=DELTA, budget_split=split, keep="untested").fit(
        case.counts
    )


def splits(draws: int, only: list[str] | None) -> None:
    every = cases()
    print(f"| split | {' | '.join(case.title for case in every)} |", "|---" * (len(every) + 1) + "|", sep="\n")
    for name in only or (*SPLITS, "split_for"):
        cells = []
        for case in every:
            split = SPLITS.get(name) or forecast_split(case)
            if name == "split_for" and split == USUAL:
                cells.append("the default")
                continue
            scores = sorted(case.quality(fitted(case, split, case.epsilon)) for _ in range(draws))
            noted = f", second {split.second:g}" if name == "split_for" else ""
            cells.append(f"{statistics.median(scores):.4g} ({scores[0]:.4g} to {scores[-1]:.4g}{noted})")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def prices() -> None:
    print("What each run may spend, delta = 1e-6, for a choice as good as the best of so many candidates.\n")
    print("| epsilon in all | candidates | runs on average | by selection | all of them composed |")
    print("|---|---|---|---|---|")
    for epsilon in (0.3, 1.0, 3.0):
        for candidates in (2, 3, 5, 9):
            found = price(epsilon, DELTA, candidates)
            cells = epsilon, candidates, f"{found.law.mean:.1f}", f"{found.by_selection:.3f}"
            print("| " + " | ".join(map(str, cells)) + f" | {found.by_composition:.3f} |")


def private_score(case: Case, topics: np.ndarray, epsilon: float) -> float:
    """Mean log-likelihood from released sufficient statistics (the paper's appendix K)."""
    run = PrivateRun(PrivacyBudget(epsilon, DELTA))
    corpus = LocalCorpus.of(MatrixBlocks(case.counts))
    score = replace(REFINEMENT, name="score")
    context = FitContext(run, corpus, (score,), USUAL, len(topics))
    statistic = release_statistic(context, topics, score, 1.0).value
    return float((statistic * np.log(np.maximum(topics.T, SMALLEST_PROBABILITY))).sum() / statistic.sum())


def selected(case: Case, law: Repetitions, generator: np.random.Generator) -> tuple[Any, int]:
    """The best of a random number of runs, by the private score."""
    chances = np.array([law.probability(count) for count in range(1, 2_000)])
    count = 1 + int(generator.choice(len(chances), p=chances / chances.sum()))
    mu = affordable_mu(case.epsilon, DELTA, law)
    fit_epsilon = gdp_epsilon(mu * math.sqrt(1.0 - SCORE_SHARE), DELTA)
    score_epsilon = gdp_epsilon(mu * math.sqrt(SCORE_SHARE), DELTA)
    best, best_score = None, -math.inf
    for _ in range(count):
        model = fitted(case, list(SPLITS.values())[generator.integers(len(SPLITS))], fit_epsilon)
        score = private_score(case, model.components_, score_epsilon)
        if best is None or score > best_score:
            best, best_score = model, score
    return best, count


def selection(draws: int) -> None:
    law = Repetitions.as_good_as(CANDIDATES, 1.0)
    print(f"Geometric number of runs, {law.mean:.1f} on average, among {len(SPLITS)} splits.\n")
    print("| corpus | default split | each run may spend | selected | runs |")
    print("|---|---|---|---|---|")
    for case in cases():
        usual = statistics.median(case.quality(fitted(case, USUAL, case.epsilon)) for _ in range(draws))
        chosen = [selected(case, law, np.random.default_rng(draw)) for draw in range(draws)]
        scores = sorted(case.quality(model) for model, _ in chosen)
        spend = gdp_epsilon(affordable_mu(case.epsilon, DELTA, law), DELTA)
        print(
            f"| {case.title} | {usual:.4g} | epsilon {spend:.3f} | {statistics.median(scores):.4g} "
            f"({scores[0]:.4g} to {scores[-1]:.4g}) | {', '.join(str(count) for _, count in chosen)} |",
            flush=True,
        )


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("what", choices=("splits", "price", "selection"))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=None, help="names of splits")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    print(f"{about()}\n")
    if arguments.what == "price":
        prices()
    elif arguments.what == "splits":
        splits(arguments.draws, arguments.only)
    else:
        selection(arguments.draws)


if __name__ == "__main__":
    main()

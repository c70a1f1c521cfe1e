"""What privacy costs in quality: synthetic topic error and held-out perplexity of real text over epsilon.

    python benchmarks/utility.py synthetic     matched relative L2 topic error, delta = 1e-7
    python benchmarks/utility.py real          perplexity at epsilon = 1 and 3, median of 5 noise draws, delta = 1e-6
    python benchmarks/utility.py curve         epsilon = 0.1 … 10 with its references, CSV and PNG under docs/utility/
    python benchmarks/utility.py unigram       epsilon = 0.1: the fit, and a unigram that spends the whole budget
    python benchmarks/utility.py cost          seconds of the private and the plain fit, alternating in one process

Every fit is the public estimator with its default settings; everything is charged. The vocabulary is taken as public.
"""

from __future__ import annotations

import statistics
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from corpora import real_counts
from private_topics import PrivacyWarning, PrivateSpectralLDA, SpectralLDA, make_lda_corpus
from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.engines.local import LocalCorpus
from private_topics.evaluation import document_completion_perplexity, topic_error_l2, unigram_perplexity
from private_topics.fits.fit import BudgetSplit
from private_topics.fits.sequential import SEQUENTIAL
from private_topics.inference.carried import Averaged
from private_topics.inference.denoising import denoised_topics, unigram_posterior
from private_topics.privacy.budget import PrivacyBudget
from private_topics.privacy.mechanisms import PrivateRun
from private_topics.releases.moments import release_unigram
from private_topics.releases.release import FitContext
from private_topics.releases.statistic import REFINEMENT, even_weights, release_statistic
from stored import about, options_of, read_csv, store_csv

SYNTHETIC = (  # documents, words, topics, alpha0, epsilon, limit
    (100_000, 500, 5, 0.1, 1.0, 0.015),
    (100_000, 500, 5, 0.1, 0.1, 0.09),
    (100_000, 500, 20, 1.0, 1.0, 0.06),
    (100_000, 2_000, 20, 1.0, 1.0, 0.19),
    (20_000, 500, 5, 1.0, 1.0, 0.075),
)
REAL = (  # corpus, words, topics, limit at epsilon 1, limit at epsilon 3
    ("arxiv", 1_000, 10, 535, 505),
    ("arxiv", 3_000, 25, 1230, 1070),
    ("wikipedia", 1_000, 10, 500, 450),
    ("wikipedia", 3_000, 25, 1280, 1010),
)
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
COLUMNS = (
    "corpus", "words", "topics", "epsilon", "private", "topics_used", "random_start_best_of_3_8_15_steps",
    "non_private", "unigram",
)  # fmt: skip


def synthetic(seeds: int) -> None:
    print(
        "| documents | words | topics | alpha0 | epsilon | error (each seed) | limit |\n|---|---|---|---|---|---|---|"
    )
    for documents, words, topics, alpha0, epsilon, limit in SYNTHETIC:
        errors = []
        for seed in range(seeds):
            X, truth, _ = make_lda_corpus(documents, words, topics, alpha0=alpha0, random_state=seed)
            model = PrivateSpectralLDA(topics, epsilon=epsilon, delta=1e-7, alpha0=alpha0).fit(X)
            errors.append(topic_error_l2(model.components_, truth))
        listed = ", ".join(f"{error:.4f}" for error in errors)
        print(f"| {documents:,} | {words:,} | {topics} | {alpha0:g} | {epsilon:g} | {listed} | {limit} |", flush=True)


def real(draws: int) -> None:
    print("| corpus | words | topics | epsilon | median perplexity | draws | topics used | limit |")
    print("|---|---|---|---|---|---|---|---|")
    for corpus, words, topics, *limits in REAL:
        train, test = real_counts(corpus, words)
        for epsilon, limit in zip((1.0, 3.0), limits, strict=True):
            models = [PrivateSpectralLDA(topics, epsilon=epsilon).fit(train) for _ in range(draws)]
            scores = [model.perplexity(test) for model in models]
            used = sorted({len(model.components_) for model in models})
            print(
                f"| {corpus} | {words:,} | {topics} | {epsilon:g} | {statistics.median(scores):.0f} "
                f"| {', '.join(f'{score:.0f}' for score in sorted(scores))} | {used} | {limit} |",
                flush=True,
            )


def random_start(train: Any, topics: int, epsilon: float, steps: int) -> np.ndarray:
    """Private EM of equal budget from random topics (unigram times gamma noise): the refinement of our own code."""
    run = PrivateRun(PrivacyBudget(epsilon, 1e-6))
    split = BudgetSplit(unigram=0.04, histograms=0.0, second=0.0, frame=0.0, tensor=0.0, refine=0.96)
    corpus = LocalCorpus.of(MatrixBlocks(train))
    state = np.random.RandomState(0)
    context = FitContext(run, corpus, SEQUENTIAL.releases, split, topics, refine_steps=steps)
    released = release_unigram(context)
    unigram = unigram_posterior(released.value, released.sigma)
    found = unigram * state.gamma(1.0, size=(topics, corpus.n_words))
    found /= found.sum(axis=1, keepdims=True)
    averaged, weights = Averaged(), even_weights(unigram)
    for step in range(1, steps + 1):
        statistic = release_statistic(
            context, found, REFINEMENT.numbered(step), split.refine / steps, weights=weights
        )
        averaged.add(step, statistic.value.T / weights)
        found = denoised_topics(averaged.value, unigram, statistic.sigma * averaged.noise / weights)
    return found


def curve(draws: int, out: Path) -> None:
    rows = []
    for corpus, words, topics, *_ in REAL:
        train, test = real_counts(corpus, words)
        plain = SpectralLDA(topics).fit(train).perplexity(test)
        unigram = unigram_perplexity(train, test)
        for epsilon in EPSILONS:
            models = [PrivateSpectralLDA(topics, epsilon=epsilon).fit(train) for _ in range(draws)]
            private = statistics.median(model.perplexity(test) for model in models)
            used = int(statistics.median(len(model.components_) for model in models))
            rival = min(
                statistics.median(
                    document_completion_perplexity(random_start(train, topics, epsilon, steps), test)
                    for _ in range(draws)
                )
                for steps in (3, 8, 15)
            )
            found = (corpus, words, topics, epsilon, private, used, rival, plain, unigram)
            rows.append(dict(zip(COLUMNS, found, strict=True)))
            print(*(f"{value:.1f}" if isinstance(value, float) else value for value in found), flush=True)
    store_csv(out / "curve.csv", rows)
    plot(out)


def plot(out: Path) -> None:
    """Draw `curve.csv`."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = read_csv(out / "curve.csv")
    figure, axes = plt.subplots(2, 2, figsize=(11, 8), constrained_layout=True)
    for axis, (corpus, words, topics, *_) in zip(axes.flat, REAL, strict=True):
        part = [row for row in rows if row["corpus"] == corpus and int(row["words"]) == words]
        epsilon = [float(row["epsilon"]) for row in part]
        axis.axhline(float(part[0]["unigram"]), color="#888888", ls=":", label="unigram, not private")
        rival = [float(row["random_start_best_of_3_8_15_steps"]) for row in part]
        axis.plot(epsilon, rival, "s--", color="#d95f02", label="private EM, random start, same budget")
        axis.plot(
            epsilon, [float(row["private"]) for row in part], "o-", color="#1b6ca8", lw=2, label="private-topics"
        )
        axis.axhline(float(part[0]["non_private"]), color="#2a9d4a", ls="-", lw=1, label="SpectralLDA, not private")
        for row in part:
            place = (float(row["epsilon"]), float(row["private"]))
            axis.annotate(f"k={row['topics_used']}", place, xytext=(4, 7), textcoords="offset points", fontsize=8)
        axis.set(xscale="log", title=f"{corpus}: {words:,} words, {topics} topics asked for")
        axis.set(xlabel="epsilon (delta = 1e-6)", ylabel="held-out perplexity")
        axis.set_xticks(EPSILONS, [f"{value:g}" for value in EPSILONS])
        axis.grid(alpha=0.25)
    axes.flat[0].legend(fontsize=9)
    figure.savefig(out / "curve.png", dpi=110)


def smallest_budget(draws: int, epsilon: float = 0.1) -> None:
    """How far the fit, and the best unigram the whole budget buys, are above the exact unigram."""
    print("| corpus | words | exact unigram | whole budget on the unigram | the fit | topics used |")
    print("|---|---|---|---|---|---|")
    for corpus, words, topics, *_ in REAL:
        train, test = real_counts(corpus, words)
        exact = unigram_perplexity(train, test)
        whole, fitted, used = [], [], []
        for _ in range(draws):
            run = PrivateRun(PrivacyBudget(epsilon, 1e-6))
            units = LocalCorpus.of(MatrixBlocks(train))
            context = FitContext(run, units, SEQUENTIAL.releases, BudgetSplit(), 1)
            released = release_unigram(context, share=1.0)
            topic = unigram_posterior(released.value, released.sigma)
            whole.append(document_completion_perplexity(topic[None], test) / exact - 1.0)
            model = PrivateSpectralLDA(topics, epsilon=epsilon).fit(train)
            fitted.append(model.perplexity(test) / exact - 1.0)
            used.append(len(model.components_))
        medians = statistics.median(whole), statistics.median(fitted)
        print(
            f"| {corpus} | {words:,} | {exact:.0f} | {medians[0]:+.1%} | {medians[1]:+.1%} | {sorted(set(used))} |",
            flush=True,
        )


def cost(rounds: int) -> None:
    print("| corpus | words | topics | plain s | private s | ratio |\n|---|---|---|---|---|---|")
    for corpus, words, topics, *_ in REAL:
        train, _ = real_counts(corpus, words)
        seconds: dict[str, list[float]] = {"plain": [], "private": []}
        for turn in range(rounds + 1):  # the first turn compiles
            for name, model in (("plain", SpectralLDA(topics)), ("private", PrivateSpectralLDA(topics))):
                begin = time.perf_counter()
                model.fit(train)
                if turn:
                    seconds[name].append(time.perf_counter() - begin)
        plain, private = (statistics.median(seconds[name]) for name in ("plain", "private"))
        print(
            f"| {corpus} | {words:,} | {topics} | {plain:.2f} | {private:.2f} | {private / plain:.2f} |", flush=True
        )


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("what", choices=("synthetic", "real", "curve", "plot", "unigram", "cost"))
    parser.add_argument("--repeats", type=int, default=None, help="seeds, draws or rounds")
    parser.add_argument("--out", type=Path, default=Path("docs/utility"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    if arguments.what != "plot":
        print(f"{about()}\n")
    if arguments.what == "synthetic":
        synthetic(arguments.repeats or 3)
    elif arguments.what == "real":
        real(arguments.repeats or 5)
    elif arguments.what == "curve":
        curve(arguments.repeats or 3, arguments.out)
    elif arguments.what == "plot":
        plot(arguments.out)
    elif arguments.what == "unigram":
        smallest_budget(arguments.repeats or 3)
    else:
        cost(arguments.repeats or 3)


if __name__ == "__main__":
    main()

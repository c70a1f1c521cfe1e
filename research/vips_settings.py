"""Why the private variational rival's defaults are what they are: one setting changed at a time, quality beside.

    python research/vips_settings.py synthetic [--draws 5]     matched relative L2 topic error, delta = 1e-7
    python research/vips_settings.py real [--draws 1]          held-out perplexity, delta = 1e-6

A draw has its own first topics, minibatches and noise. `vi` is `PrivateVariationalLDA`, `vi-u` is `VariationalLDA`,
and the last line is `PrivateSpectralLDA`, each with its default settings unless the line says otherwise. Only public
numbers enter the defaults; the corpora here stand for "corpora like this". Results: results/vips_settings.md.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from private_topics import PrivacyWarning, PrivateSpectralLDA, make_lda_corpus
from private_topics.estimators.variational import PrivateVariationalLDA, VariationalLDA
from private_topics.evaluation import topic_error_l2

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from corpora import real_counts
from stored import about, options_of

SYNTHETIC = (  # documents, words, topics, alpha0, epsilon
    (100_000, 500, 5, 0.1, 1.0),
    (100_000, 500, 20, 1.0, 1.0),
    (20_000, 500, 5, 1.0, 1.0),
)
REAL = (("arxiv", 1_000, 10, 1.0), ("wikipedia", 3_000, 25, 1.0))  # words, topics, epsilon
VARIANTS: dict[str, dict[str, Any]] = {
    "vi": {},
    "25 steps": {"steps": 25},
    "100 steps": {"steps": 100},
    "200 steps": {"steps": 200},
    "rate 0.02, 250 steps": {"sampling_rate": 0.02, "steps": 250},
    "rate 0.05, 100 steps": {"sampling_rate": 0.05, "steps": 100},
    "rate 0.05": {"sampling_rate": 0.05},
    "rate 0.3": {"sampling_rate": 0.3},
    "rate 1, 20 steps": {"sampling_rate": 1.0, "steps": 20},
    "decay 0.5": {"decay": 0.5},
    "decay 0.9": {"decay": 0.9},
    "offset 10": {"offset": 10.0},
    "word prior 0.1": {"word_prior": 0.1},
    "word prior 1": {"word_prior": 1.0},
    "word prior 10": {"word_prior": 10.0},
    "clip 10": {"clip": 10.0},
    "clip 30": {"clip": 30.0},
    "clip 100": {"clip": 100.0},
}

Fit = Callable[[type, int, dict[str, Any]], Any]
Case = tuple[str, Fit, Callable[[Any], float]]


def synthetic_cases(chosen: slice) -> list[Case]:
    cases = []
    for documents, words, topics, alpha0, epsilon in SYNTHETIC[chosen]:
        X, truth, _ = make_lda_corpus(documents, words, topics, alpha0=alpha0, random_state=0)
        title = f"{documents:,} documents, {words} words, {topics} topics, alpha0 {alpha0:g}, epsilon {epsilon:g}"
        shared = {"alpha0": alpha0}
        cases.append(
            (
                title,
                fitter(X, topics, shared, {"epsilon": epsilon, "delta": 1e-7}),
                lambda model, truth=truth: topic_error_l2(model.components_, truth),
            )
        )
    return cases


def real_cases(chosen: slice) -> list[Case]:
    cases = []
    for corpus, words, topics, epsilon in REAL[chosen]:
        train, test = real_counts(corpus, words)
        cases.append(
            (
                f"{corpus}, {words:,} words, {topics} topics, epsilon {epsilon:g}",
                fitter(train, topics, {}, {"epsilon": epsilon}),
                lambda model, test=test: model.perplexity(test),
            )
        )
    return cases


def fitter(X: Any, topics: int, shared: dict[str, Any], private: dict[str, Any]) -> Fit:
    def fit(kind: type, draw: int, settings: dict[str, Any]) -> Any:
        budget = {} if kind is VariationalLDA else private
        return kind(topics, random_state=draw, **shared, **budget, **settings).fit(X)

    return fit


def line(name: str, kind: type, settings: dict[str, Any], cases: list[Case], draws: int) -> str:
    cells = []
    for _, fit, score in cases:
        begin = time.perf_counter()
        scores = sorted(score(fit(kind, draw, settings)) for draw in range(draws))
        seconds = (time.perf_counter() - begin) / draws
        cells.append(f"{statistics.median(scores):.4g} ({scores[0]:.4g} to {scores[-1]:.4g}; {seconds:.0f} s)")
    return f"| {name} | {' | '.join(cells)} |"


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("what", choices=("synthetic", "real"))
    parser.add_argument("--draws", type=int, default=None)
    parser.add_argument("--only", nargs="*", default=None, help="names of variants")
    parser.add_argument("--case", type=int, default=None, help="only this corpus, counted from 0")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    chosen = slice(None) if arguments.case is None else slice(arguments.case, arguments.case + 1)
    cases = synthetic_cases(chosen) if arguments.what == "synthetic" else real_cases(chosen)
    draws = arguments.draws or (5 if arguments.what == "synthetic" else 1)
    print(f"{about()}\n")
    print("Median over draws (smallest to largest; seconds of one fit and its score).\n")
    print(f"| variant | {' | '.join(title for title, *_ in cases)} |", "|---" * (len(cases) + 1) + "|", sep="\n")
    rows: list[tuple[str, type, dict[str, Any]]] = [
        (name, PrivateVariationalLDA, settings) for name, settings in VARIANTS.items()
    ]
    rows += [("vi-u", VariationalLDA, {}), ("PrivateSpectralLDA", PrivateSpectralLDA, {})]
    for name, kind, settings in rows:
        if arguments.only is None or name in arguments.only:
            print(line(name, kind, settings, cases, draws), flush=True)


if __name__ == "__main__":
    main()

"""How good the forecast of `private-topics plan` is: the expected relative topic error beside the measured one.

    python research/forecast.py [--draws 1]

Corpora drawn from LDA, documents of about 100 words, delta = 1e-7, each configuration with its default split. At
epsilon = 1000 there is hardly any noise: what is left there is the error of clipping and of sampling. The forecast
knows the number of documents, words and topics, alpha0, epsilon and delta, and nothing of the corpus.
"""

from __future__ import annotations

import statistics
import sys
import warnings
from pathlib import Path

from private_topics import PrivacyWarning, PrivateSpectralLDA, make_lda_corpus
from private_topics.evaluation import topic_error_l2
from private_topics.planning.expected_errors import PlannedFit, expected_error

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from stored import about, options_of

CORPORA = (  # documents, words, topics, alpha0
    (100_000, 300, 3, 0.1),
    (100_000, 300, 10, 0.1),
    (100_000, 300, 3, 1.0),
    (100_000, 500, 20, 1.0),
    (100_000, 2_000, 20, 1.0),
    (20_000, 500, 5, 1.0),
)
EPSILONS = (0.3, 1.0, 1000.0)
DELTA = 1e-7


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--draws", type=int, default=1)
    draws = parser.parse_args().draws
    warnings.simplefilter("ignore", PrivacyWarning)
    print(f"{about()}\n")
    print("| documents | words | topics | alpha0 | epsilon | sequential | configuration 1 | configuration 2 |")
    print("|---|---|---|---|---|---|---|---|")
    ratios: dict[int | str, list[float]] = {"sequential": [], 1: [], 2: []}
    for documents, words, topics, alpha0 in CORPORA:
        X, truth, _ = make_lda_corpus(documents, words, topics, alpha0=alpha0, random_state=0)
        for epsilon in EPSILONS:
            fit = PlannedFit(documents, words, topics, epsilon, DELTA, alpha0)
            cells = []
            for configuration, found in ratios.items():
                private = {"epsilon": epsilon, "delta": DELTA, "alpha0": alpha0, "configuration": configuration}
                errors = [
                    topic_error_l2(PrivateSpectralLDA(topics, **private, keep="untested").fit(X).components_, truth)
                    for _ in range(draws)
                ]
                measured, forecast = statistics.median(errors), expected_error(fit, configuration)
                found.append(measured / forecast)
                cells.append(f"{forecast:.3f}, measured {measured:.3f}")
            size = f"{documents:,} | {words:,} | {topics} | {alpha0:g} | {epsilon:g}"
            print(f"| {size} | {' | '.join(cells)} |", flush=True)
    for configuration, found in ratios.items():
        ordered = sorted(found)
        print(
            f"\nMeasured over forecast, {configuration}: median {statistics.median(ordered):.2f}, "
            f"{ordered[0]:.2f} to {ordered[-1]:.2f}."
        )


if __name__ == "__main__":
    main()

"""What the neighbours of a guarantee are worth in quality: one corpus, one epsilon, three relations side by side.

    python benchmarks/neighbours.py --draws 5 --out benchmarks/results/neighbours.md

Perplexity of held-out Wikipedia by document completion; every fit is the public estimator with its default settings,
everything is charged, and the vocabulary is taken as public. The guarantees are not equal at equal epsilon: that for
replaced units is the strongest.
"""

from __future__ import annotations

import statistics
import warnings
from pathlib import Path

from corpora import real_counts
from private_topics import PrivacyWarning, PrivateSpectralLDA, SpectralLDA
from private_topics.privacy.neighbours import NEIGHBOURS
from stored import options_of, tell

WORDS, TOPICS, DELTA = 1_000, 10, 1e-6


def table(corpus: str, epsilon: float, draws: int) -> str:
    train, test = real_counts(corpus, WORDS)
    plain = SpectralLDA(TOPICS, random_state=0).fit(train).perplexity(test)
    lines = [
        "# Neighbours",
        "",
        f"{corpus}: {train.shape[0]:,} documents, {WORDS:,} words, {TOPICS} topics, epsilon {epsilon:g}, delta "
        f"{DELTA:g}; perplexity of {test.shape[0]:,} held-out documents. Without privacy: {plain:.0f}.",
        "",
        "| neighbours | perplexity of each draw | median | topics | number of documents, as the model knows it |",
        "|---|---|---|---|---|",
    ]
    for neighbours in NEIGHBOURS:
        models = [
            PrivateSpectralLDA(TOPICS, epsilon=epsilon, delta=DELTA, neighbours=neighbours).fit(train)
            for _ in range(draws)
        ]
        found = [model.perplexity(test) for model in models]
        listed = ", ".join(f"{one:.1f}" for one in found)
        topics = ", ".join(str(len(model.components_)) for model in models)
        known = ", ".join(f"{number:,}" for number in dict.fromkeys(model.privacy_.n_units for model in models))
        lines.append(f"| {neighbours} | {listed} | {statistics.median(found):.1f} | {topics} | {known} |")
    return "\n".join(lines)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--corpus", choices=("arxiv", "wikipedia"), default="wikipedia")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    tell(table(options.corpus, options.epsilon, options.draws), options.out)


if __name__ == "__main__":
    main()

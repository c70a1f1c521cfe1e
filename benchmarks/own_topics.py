"""Fits that test their own topics: what is kept of real and of shuffled corpora, and what the test costs.

    python benchmarks/own_topics.py [--draws 2] [--out benchmarks/results/own_topics.md]

Perplexity of the test split; 3,000 frequent words of the training split as columns (a convenience: a vocabulary read
off the texts is not private); delta 1e-6. Agreement: the covariance of both parts of a document, over all topics
(`planning/constants.py`). Shuffled: the same lengths and frequencies, and no topics.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from corpora import texts
from evidence_of import shuffled
from private_topics import PrivacyWarning, PrivateSpectralLDA, PublicKnowledge
from private_topics.privacy.curves import mu_of_budget
from private_topics.releases.evidence import noise_of
from stored import options_of, tell

CASES = (
    ("mtsamples_clinical", 2_126, 10),
    ("enron_email", 5_000, 10),
    ("enron_email", 15_000, 10),
    ("wikipedia_en", 5_000, 20),
    ("arxiv_abstracts", 10_000, 20),
    ("arxiv_abstracts", 50_000, 20),
    ("film_reviews", 50_000, 20),  # of no constant's choosing
)
EPSILONS = (1.0, 3.0, 10.0)
WORDS = 3_000


def fitted(counts: Any, topics: int, **settings: Any) -> PrivateSpectralLDA:
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        return PrivateSpectralLDA(topics, **settings).fit(counts)


def agreement(model: PrivateSpectralLDA, documents: int, epsilon: float) -> float:
    """The covariance of both parts of a document, over all topics."""
    if model.evidence_ is None:
        return math.nan
    return float(model.evidence_.deviations.sum()) * noise_of(mu_of_budget(epsilon, model.delta), documents)


def row(name: str, size: int, topics: int, known: str, epsilon: float, draws: int) -> str:
    train, test = texts(name, "train", size), texts(name, "test", 1_000)
    words = CountVectorizer(max_features=WORDS, stop_words="english", token_pattern="[a-z]{3,}").fit(train)
    counts, held = sp.csr_array(words.transform(train)), words.transform(test)
    knowledge = PublicKnowledge.english(list(words.get_feature_names_out())) if known == "english" else None
    found = []
    for draw in range(draws):
        settings: dict[str, Any] = {"epsilon": epsilon, "knowledge": knowledge, "noise_seed": draw}
        before = fitted(counts, topics, keep="untested", **settings)
        seen = fitted(counts, topics, keep="seen", **settings)
        all_of_them = fitted(counts, topics, keep="all", **settings)
        null = fitted(shuffled(counts, draw), topics, keep="seen", **settings)
        found.append(
            [
                len(before.components_),
                before.perplexity(held),
                len(seen.components_),
                0 if seen.evidence_ is None else seen.evidence_.seen.sum(),
                seen.perplexity(held),
                all_of_them.perplexity(held),
                agreement(all_of_them, counts.shape[0], epsilon),
                len(null.components_),
            ]
        )
    middle = np.median(np.array(found, float), axis=0)
    most = int(max(one[-1] for one in found))
    numbers = " | ".join(
        f"{value:.2f}" if place == 6 else f"{value:.0f}" if place in (1, 4, 5) else f"{value:g}"
        for place, value in enumerate(middle[:-1])
    )
    return f"| {name} | {size:,} | {known} | {epsilon:g} | {numbers} | {most} |"


def page(draws: int) -> str:
    lines = [
        "# Topics tested on words that the fit has not seen",
        "",
        f"Medians of {draws} draws of the noise; of shuffled corpora the most that any draw keeps.",
        "",
        "| corpus | documents | knowledge | epsilon | topics, no test | perplexity | kept | seen beyond doubt "
        "| perplexity | all kept: perplexity | agreement | shuffled: kept |",
        "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, size, topics in CASES:
        for known in ("english", "none"):
            lines += [row(name, size, topics, known, epsilon, draws) for epsilon in EPSILONS]
    return "\n".join(lines)


def main() -> None:
    parser = options_of(__doc__ or "")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--out", type=Path, metavar="FILE")
    arguments: Any = parser.parse_args()
    tell(page(arguments.draws), arguments.out)


if __name__ == "__main__":
    main()

"""Evidence where documents are of very different lengths: how often shuffled corpora show a topic that is not there.

    python research/evidence_lengths.py [--draws 5] [--out research/results/evidence_lengths.md]

20,000 documents of words drawn from one distribution, ten random topics given. Topics that average to the corpus's
word frequencies, as those of a fit nearly do, and topics that do not, as those of another corpus. Lengths are
log-normal around 60 words.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from private_topics import SpectralLDA, evidence_of, make_lda_corpus
from stored import options_of, tell

WORDS, TOPICS, DOCUMENTS, MEDIAN, LONGEST = 400, 10, 20_000, 60, 3_000
SPREADS, EPSILONS = (0.0, 0.4, 0.8, 1.5), (1.0, 10.0)


def corpus(frequencies: np.ndarray, spread: float, draw: np.random.Generator) -> sp.csr_array:
    lengths = np.clip(np.exp(draw.normal(np.log(MEDIAN), spread, DOCUMENTS)), 3, LONGEST).astype(int)
    parts = [draw.multinomial(some, frequencies) for some in np.array_split(lengths, 20)]
    return sp.csr_array(sp.vstack([sp.csr_array(part) for part in parts]))


def row(matched: bool, spread: float, epsilon: float, draws: int) -> str:
    shown, largest = 0, []
    for number in range(draws):
        draw = np.random.default_rng(number)
        frequencies = 1.0 / np.arange(5.0, 5.0 + WORDS)
        frequencies /= frequencies.sum()
        model: Any = SpectralLDA(TOPICS).fit(make_lda_corpus(200, WORDS, TOPICS, random_state=0)[0])
        topics = 0.7 * draw.dirichlet(np.full(WORDS, 0.05), TOPICS) + 0.3 * frequencies
        model.components_, model.doc_topic_prior_ = topics, np.full(TOPICS, 0.1)
        counts = corpus(topics.mean(axis=0) if matched else frequencies, spread, draw)
        with warnings.catch_warnings(action="ignore"):
            found = evidence_of(model, counts, epsilon=epsilon, public_model=True, noise_seed=number).evidence
        shown += bool(found.seen.any())
        largest.append(found.deviations.max())
    topics_are = "average to the corpus" if matched else "do not"
    return f"| {topics_are} | {spread:g} | {epsilon:g} | {shown} of {draws} | {np.median(largest):.1f} |"


def main() -> None:
    parser = options_of(__doc__ or "")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--out", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    lines = ["# Evidence and the lengths of documents", "", f"{DOCUMENTS:,} documents without topics.", ""]
    lines += ["| topics | spread of log-lengths | epsilon | corpora that show a topic | largest deviation, median |",
              "|---|---:|---:|---:|---:|"]  # fmt: skip
    for matched in (True, False):
        for spread in SPREADS:
            lines += [row(matched, spread, epsilon, arguments.draws) for epsilon in EPSILONS]
    tell("\n".join(lines), arguments.out)


if __name__ == "__main__":
    main()

"""How many of their nine topics the demonstration's letters show, by how many there are.

    python benchmarks/letters.py [--draws 12] [--processes 2] [--out benchmarks/results/letters.md]

As `private-topics demo` fits them, at epsilon = 1, the vocabulary charged too, every patient with one letter; each
draw has its own letters and its own noise. A topic is found where its L1 distance to the truth is below one.
"""

from __future__ import annotations

import os
import statistics
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("NUMBA_NUM_THREADS", "1")

from private_topics import PrivacyWarning, PrivateSpectralLDA, Tokeniser, fit_texts
from private_topics.cli.sources import vocabulary_of
from private_topics.corpus.made_up.letters import FOUND, make_letters, topic_names, true_topics
from private_topics.evaluation import match_topics, topic_error_l2
from private_topics.knowledge.sources import open_knowledge
from stored import options_of, tell

SIZES = (1_000, 2_000, 5_000, 10_000, 20_000)
FIRST_DRAW = 300  # settings were chosen on draws 100 to 111 and 200 to 211


def measured(case: tuple[int, int]) -> tuple[int, int, float]:
    """Words released, topics found, and the error of all of them."""
    letters, draw = case
    known = open_knowledge("english")
    model = PrivateSpectralLDA(len(topic_names()), epsilon=1.0, delta=1e-6, random_state=0, noise_seed=draw)
    texts = [(letter.text, letter.patient) for letter in make_letters(letters, seed=draw, one_each=True)]
    with warnings.catch_warnings(action="ignore", category=PrivacyWarning):
        fit_texts(model, texts, vocabulary_of(None, None, False, Tokeniser(), known), knowledge=known)
    truth = true_topics(list(map(str, model.feature_names_in_)), model.tokeniser_)
    found = int((match_topics(model.components_, truth, within=FOUND) >= 0).sum())
    return len(model.feature_names_in_), found, topic_error_l2(model.components_, truth)


def page(draws: int, processes: int) -> str:
    cases = [(letters, FIRST_DRAW + draw) for letters in SIZES for draw in range(draws)]
    with ProcessPoolExecutor(processes) as pool:
        results = list(pool.map(measured, cases))
    lines = ["# Topics of the demonstration's letters, of nine, at epsilon 1", ""]
    lines += ["| letters | words | topics found, median | in each draw | error, median |"]
    lines += ["|---:|---:|---:|---|---:|"]
    for number, letters in enumerate(SIZES):
        words, found, errors = zip(*results[number * draws : (number + 1) * draws], strict=True)
        lines.append(
            f"| {letters:,} | {statistics.median(words):.0f} | {statistics.median(found):g} "
            f"| {', '.join(map(str, sorted(found)))} | {statistics.median(errors):.3f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = options_of(__doc__ or "")
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path, metavar="FILE")
    arguments: Any = parser.parse_args()
    tell(page(arguments.draws, arguments.processes), arguments.out)


if __name__ == "__main__":
    main()

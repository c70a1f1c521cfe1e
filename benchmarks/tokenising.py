"""Tokens per second from text to counts, beside scikit-learn's CountVectorizer on the same texts in the same run.

    python benchmarks/tokenising.py [--rounds 3] [--jobs N] [--words 3000]

For every corpus in the data folder: texts in memory to counts over one vocabulary, by both, then ours from the file
(unzip, parse, count), with one thread and with all. The systems take turns; of each the round with the shortest wall
time is shown. Rates count every run of letters in the text as a token. Both count the same words, runs of three
letters or more in lower case, and the counts are compared. "cores" is processor time over wall time: on a machine
that others use too, the rates and ratios by processor time are the ones to look at. The last table adds up all
corpora. The output is Markdown.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from corpora import data_folder
from private_topics.corpus.counts.counting import count_texts, distinct_words
from private_topics.corpus.counts.matrix import stack_rows
from private_topics.corpus.texts.readers import open_texts
from private_topics.corpus.words.scanning import number_words
from private_topics.corpus.words.tokens import Tokeniser
from stored import about, options_of

TOKENISER = Tokeniser(min_length=3, languages=())
PATTERN = r"[^\W\d_]{3,}"


class Timing(NamedTuple):
    wall: float
    processor: float


def timed(function: Callable[[], Any]) -> tuple[Timing, Any]:
    wall, processor = time.perf_counter(), time.process_time()
    result = function()
    return Timing(time.perf_counter() - wall, time.process_time() - processor), result


def frequent_words(texts: list[str], n_words: int) -> list[str]:
    documents = Counter(word for words, _ in distinct_words(texts, TOKENISER) for word in words)
    return sorted(word for word, _ in documents.most_common(n_words))


def measure(path: Path, options: argparse.Namespace) -> tuple[int, dict[str, Timing]]:
    """The tokens of a corpus and the best round of each system."""
    texts = [text for text, _ in open_texts(path)]
    vocabulary = frequent_words(texts, options.words)
    n_tokens = sum(len(number_words(texts[at : at + 1000], TOKENISER).numbers) for at in range(0, len(texts), 1000))
    vectorizer = CountVectorizer(vocabulary=vocabulary, token_pattern=PATTERN)
    systems: dict[str, Callable[[], Any]] = {
        "CountVectorizer": lambda: vectorizer.transform(texts),
        "ours, 1 thread": lambda: count_texts(texts, vocabulary, TOKENISER, n_jobs=1),
        "ours": lambda: count_texts(texts, vocabulary, TOKENISER, n_jobs=options.jobs),
        "ours from the file, 1 thread": lambda: count_texts(open_texts(path), vocabulary, TOKENISER, n_jobs=1),
        "ours from the file": lambda: count_texts(open_texts(path), vocabulary, TOKENISER, n_jobs=options.jobs),
        "ours, distinct words": lambda: deque(distinct_words(texts, TOKENISER, n_jobs=options.jobs), maxlen=0),
    }
    print(
        f"\n### {path.name}\n\n{len(texts):,} documents, {n_tokens:,} tokens, {len(vocabulary):,} words of vocabulary"
    )
    timings: dict[str, list[Timing]] = {name: [] for name in systems}
    results = {}
    for _ in range(options.rounds):
        for name, function in systems.items():
            timing, results[name] = timed(function)
            timings[name].append(timing)
    best = {name: min(rounds) for name, rounds in timings.items()}
    show(best, n_tokens)
    ours, theirs = stack_rows(list(results["ours"])), results["CountVectorizer"]
    differing = int(abs(ours.astype(np.int64) - theirs).sum())
    print(f"\nCounted words {int(theirs.sum()):,}, of which the two systems count {differing:,} differently.")
    return n_tokens, best


def show(best: dict[str, Timing], n_tokens: int) -> None:
    print("\n| | wall, s | M tokens/s | cores | M tokens/s of one core | × CountVectorizer, wall | × processor |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    reference = best["CountVectorizer"]
    for name, found in best.items():
        ratios = f"{reference.wall / found.wall:.2f} | {reference.processor / found.processor:.2f}"
        rates = n_tokens / found.wall / 1e6, found.processor / found.wall, n_tokens / found.processor / 1e6
        print(f"| {name} | {found.wall:.2f} | {rates[0]:.2f} | {rates[1]:.2f} | {rates[2]:.2f} | {ratios} |")


def show_total(measured: list[tuple[int, dict[str, Timing]]]) -> None:
    """All corpora one after the other."""
    n_tokens = sum(found for found, _ in measured)
    total = {
        name: Timing(*map(sum, zip(*(best[name] for _, best in measured), strict=True))) for name in measured[0][1]
    }
    print(f"\n### All of them\n\n{n_tokens:,} tokens")
    show(total, n_tokens)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=None)
    parser.add_argument("--words", type=int, default=3000)
    options = parser.parse_args()
    paths = sorted(data_folder().glob("*.train.jsonl.gz"))
    if not paths:
        raise SystemExit(f"no *.train.jsonl.gz in {data_folder()}; name their folder in $PRIVATE_TOPICS_DATA")
    count_texts(["Wörter"], ["wörter"], TOKENISER)  # compile
    command = f"python benchmarks/tokenising.py --rounds {options.rounds} --words {options.words}"
    print(f"{about()}\n\n`{command}`; load {os.getloadavg()[0]:.2f} at the start")
    show_total([measure(path, options) for path in paths])
    print(f"\nLoad at the end {os.getloadavg()[0]:.2f}.")


if __name__ == "__main__":
    main()

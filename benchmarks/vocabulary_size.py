"""What a larger vocabulary costs: private error over the number of words, and the memory of a fit on a million words.

    python benchmarks/vocabulary_size.py error [--documents 1000000] [--engine gpu] --out FILE.csv
    python benchmarks/vocabulary_size.py plot FILE.csv FILE.png
    python benchmarks/vocabulary_size.py memory [--words 141043 1000000]

`error` fits 20 topics at epsilon = 1 on corpora over 1,000, 10,000 and 100,000 words, of two kinds: words as uneven
as in text (a Zipf distribution, tilted for each topic) and topics that are Dirichlet draws, where no word is rare.
`memory` measures the highest resident set of a fresh process that fits a corpus over that many words.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from private_topics import PrivacyWarning, PrivateSpectralLDA, make_lda_corpus
from private_topics.evaluation import document_completion_perplexity, topic_error_l1, topic_error_l2
from pubmed_size import _alias_tables, draw_block, true_topics
from stored import about, options_of, read_csv, store_csv

TOPICS, EPSILON, DELTA = 20, 1.0, 1e-7
SIZES = (1_000, 10_000, 100_000)
BLOCK, TEST_DOCUMENTS, DRAWS = 50_000, 5_000, 3
FIELDS = (
    "kind", "documents", "words", "draw", "topics", "supported", "error_l1", "error_l2", "perplexity",
    "perplexity_of_truth", "perplexity_of_unigram", "seconds",
)  # fmt: skip


def zipf_corpus(n_documents: int, n_words: int) -> tuple[list[sp.csr_array], sp.csr_array, np.ndarray]:
    topics = true_topics(n_words, TOPICS, 5)
    threshold, alias = _alias_tables(topics)
    threshold = threshold.astype(np.float32)
    heights = [min(BLOCK, n_documents - start) for start in range(0, n_documents, BLOCK)]
    blocks = [draw_block(height, threshold, alias, 3, number) for number, height in enumerate(heights)]
    return blocks, draw_block(TEST_DOCUMENTS, threshold, alias, 3, len(heights)), topics


def dirichlet_corpus(n_documents: int, n_words: int) -> tuple[list[sp.csr_array], sp.csr_array, np.ndarray]:
    X, topics, _ = make_lda_corpus(n_documents + TEST_DOCUMENTS, n_words, TOPICS, random_state=3)
    return [X[:n_documents]], X[n_documents:], topics


KINDS = {"Zipf": zipf_corpus, "Dirichlet": dirichlet_corpus}


def rows(n_documents: int, engine: str, kinds: list[str], sizes: list[int], draws: int) -> Iterator[dict[str, Any]]:
    for kind in kinds:
        for n_words in sizes:
            blocks, test, truth = KINDS[kind](n_documents, n_words)
            share = truth.mean(axis=0, keepdims=True)
            for draw in range(draws):
                started = time.perf_counter()
                model = PrivateSpectralLDA(TOPICS, epsilon=EPSILON, delta=DELTA, engine=engine).fit(blocks)
                seconds = time.perf_counter() - started
                found = model.components_
                yield {
                    "kind": kind,
                    "documents": n_documents,
                    "words": n_words,
                    "draw": draw,
                    "topics": len(found),
                    "supported": model.supported_components_,
                    "error_l1": round(topic_error_l1(found, truth), 4),
                    "error_l2": round(topic_error_l2(found, truth), 4),
                    "perplexity": round(document_completion_perplexity(found, test), 1),
                    "perplexity_of_truth": round(document_completion_perplexity(truth, test), 1),
                    "perplexity_of_unigram": round(document_completion_perplexity(share, test), 1),
                    "seconds": round(seconds, 2),
                }


def error(options: argparse.Namespace) -> None:
    print("| " + " | ".join(FIELDS) + " |\n" + "|---" * len(FIELDS) + "|", flush=True)
    found = []
    for row in rows(options.documents, options.engine, options.kinds, options.sizes, options.draws):
        found.append(row)
        print("| " + " | ".join(str(row[name]) for name in FIELDS) + " |", flush=True)
        store_csv(options.out, found)


def plot(options: argparse.Namespace) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    found = read_csv(options.csv)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4), constrained_layout=True)
    for kind, colour in zip(KINDS, ("#1f5fa8", "#c4552d"), strict=True):
        own = [row for row in found if row["kind"] == kind]
        if not own:
            continue
        sizes = sorted({int(row["words"]) for row in own})

        def mean(name: str, size: int, own: list[dict[str, str]] = own) -> float:
            return float(np.mean([float(row[name]) for row in own if int(row["words"]) == size]))

        left.plot(sizes, [mean("error_l1", size) for size in sizes], "o-", color=colour, label=kind)
        gain = [
            (mean("perplexity_of_unigram", size) - mean("perplexity", size))
            / (mean("perplexity_of_unigram", size) - mean("perplexity_of_truth", size))
            for size in sizes
        ]
        right.plot(sizes, gain, "o-", color=colour, label=kind)
        for size in sizes:
            left.annotate(f"{mean('topics', size):.0f}", (size, mean("error_l1", size)), (4, 6),
                          textcoords="offset points", fontsize=8, color=colour)  # fmt: skip
    left.set(xscale="log", xlabel="words", ylabel="L1 error of the topics", ylim=(0, None))
    left.set_title("error (numbers: topics carried)", fontsize=10)
    right.set(xscale="log", xlabel="words", ylabel="share of the truth's gain over the unigram")
    right.set_title("held-out perplexity: 1 is the truth, 0 the exact unigram", fontsize=10)
    right.axhline(0.0, color="#888888", linewidth=0.8)
    for axes in (left, right):
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"{int(found[0]['documents']):,} documents, {TOPICS} topics, epsilon = {EPSILON:g}", fontsize=11)
    figure.savefig(options.png, dpi=150)


def memory(options: argparse.Namespace) -> None:
    print(f"{about()}\n")
    print("| words | topics | documents | seconds | MB before the fit | MB at its peak |\n|---|---|---|---|---|---|")
    for n_words in options.words:
        command = [sys.executable, __file__, "child", str(n_words), str(options.documents)]
        print(subprocess.run(command, check=True, capture_output=True, text=True).stdout, end="", flush=True)


def child(options: argparse.Namespace) -> None:
    small, _, _ = make_lda_corpus(500, 300, 3, random_state=0)
    PrivateSpectralLDA(3, epsilon=50.0).fit(small)
    X, _, _ = make_lda_corpus(options.documents, 20_000, TOPICS, random_state=0)
    places = np.sort(np.random.default_rng(0).choice(options.words, 20_000, replace=False))
    X = sp.csr_array((X.data, places[X.indices], X.indptr), shape=(options.documents, options.words))
    before = _megabytes("VmRSS")
    started = time.perf_counter()
    model = PrivateSpectralLDA(TOPICS, epsilon=options.epsilon, delta=DELTA).fit(X)
    seconds = time.perf_counter() - started
    print(
        f"| {options.words:,} | {len(model.components_)} | {options.documents:,} | {seconds:.1f} | {before:,.0f} | "
        f"{_megabytes('VmHWM'):,.0f} |"
    )


def _megabytes(field: str) -> float:
    found = re.search(rf"{field}:\s*(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    assert found is not None
    return int(found[1]) / 1024


def main() -> None:
    warnings.simplefilter("ignore", PrivacyWarning)
    parser = options_of(__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("error")
    one.add_argument("--documents", type=int, default=1_000_000)
    one.add_argument("--engine", default="local")
    one.add_argument("--kinds", nargs="+", choices=tuple(KINDS), default=list(KINDS))
    one.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    one.add_argument("--draws", type=int, default=DRAWS)
    one.add_argument("--out", type=Path, required=True)
    two = commands.add_parser("plot")
    two.add_argument("csv", type=Path)
    two.add_argument("png", type=Path)
    three = commands.add_parser("memory")
    three.add_argument("--words", type=int, nargs="+", default=[141_043, 1_000_000])
    three.add_argument("--documents", type=int, default=50_000)
    four = commands.add_parser("child")  # what `memory` starts
    four.add_argument("words", type=int)
    four.add_argument("documents", type=int)
    four.add_argument("--epsilon", type=float, default=200.0)  # so that all topics are carried
    options = parser.parse_args()
    {"error": error, "plot": plot, "memory": memory, "child": child}[options.command](options)


if __name__ == "__main__":
    main()

"""Us against scikit-learn, gensim and tomotopy: the same counts, the same run, the same scores.

    python benchmarks/peers.py --corpus arxiv|wikipedia|synthetic|all [--quick] [--long] [--out DIR]

Systems are fitted one after the other, each in a fresh process (see `systems.py` for what is timed); further
`--rounds` go through all of them again, and the table shows medians, with the median over rounds of the time
relative to ours in the same round. Perplexity is document completion on the test documents with prior 1/k for
every system; NPMI (top 10 words, training documents) is the mean over topics; diversity is of the top 25
words.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from corpora import CORPORA, VECTORIZER, Corpus, MissingDataError, prepare
from private_topics.evaluation import (
    document_completion_perplexity,
    npmi_coherence,
    topic_diversity,
    topic_error_l2,
    unigram_perplexity,
)
from stored import options_of, store_json, tell
from systems import LONG, REFERENCE, SYSTEMS, proportional_mb

QUICK_TRAIN, QUICK_TEST = 2_000, 300
MEASURES = ("seconds", "peak_mb", "added_mb")
WATCH_EVERY_S = 0.05
SCORES = ("perplexity", "npmi", "diversity", "topic_error_l2")
NOTES = """\
Time: the fit call alone; importing, reading the counts and conversion to a system's own corpus format are not
timed (gensim's documents are made while it streams them, well under a second per pass). Ours: after one small
fit that lets numba compile; its memory includes that compilation. scikit-learn batch: after one small fit
that starts its workers.
Peak memory: highest sum over all processes of a system (gensim and scikit-learn batch start workers), a page
that n processes share counted 1/n in each (proportional set size, sampled every 50 ms). Every process has
imported scikit-learn's CountVectorizer, which made the counts, and holds the counts. "Added": the same less
what was there before the system was given the counts: imports and the counts themselves."""


def fit_once(system: str, corpus: Corpus, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Fit one system in a fresh process and score its topics."""
    output = folder / "components.npy"
    output.unlink(missing_ok=True)
    script = Path(__file__).with_name("systems.py")
    command = [sys.executable, str(script), system, str(corpus.train), str(output)]
    command += [str(options.n_topics), str(options.threads)] + ["--quick"] * options.quick
    with open(folder / "stdout", "w+") as said, open(folder / "stderr", "w+") as errors:
        process = subprocess.Popen(command, stdout=said, stderr=errors, env=child_environment(system, options))
        peak = watch_memory(process)
        said.seek(0)
        errors.seek(0)
        if process.returncode != 0:
            return {"failed": (errors.read().strip().splitlines() or [f"exit status {process.returncode}"])[-1]}
        measured = json.loads(said.read().splitlines()[-1])
    measured |= {"peak_mb": peak, "added_mb": peak - measured["before_mb"]}
    return measured | score(np.load(output), corpus)


def watch_memory(process: subprocess.Popen[Any]) -> float:
    """Wait for a process; the highest memory that it and its descendants held together, in MB."""
    import psutil

    peak = 0.0
    while process.poll() is None:
        try:
            parent = psutil.Process(process.pid)
            family = [parent, *parent.children(recursive=True)]
            peak = max(peak, sum(proportional_mb(str(member.pid)) for member in family))
        except psutil.Error:
            pass
        time.sleep(WATCH_EVERY_S)
    return peak


def child_environment(system: str, options: argparse.Namespace) -> dict[str, str]:
    """As many BLAS threads as cores allowed, but one where the system itself starts that many workers."""
    own_workers = system.startswith(("gensim", "tomotopy", "scikit-learn batch"))
    blas = "1" if own_workers else str(options.threads)
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return os.environ | dict.fromkeys(names, blas) | {"NUMBA_NUM_THREADS": str(options.threads)}


def score(topics: np.ndarray, corpus: Corpus) -> dict[str, float]:
    scores = {
        "perplexity": document_completion_perplexity(topics, sp.load_npz(corpus.test)),
        "npmi": float(npmi_coherence(topics, sp.load_npz(corpus.train), top_n=10).mean()),
        "diversity": topic_diversity(topics, top_n=25),
    }
    if corpus.truth is not None:
        scores["topic_error_l2"] = topic_error_l2(topics, np.load(corpus.truth))
    return scores


def compare(corpus: Corpus, systems: list[str], options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All systems on one corpus, in interleaved rounds."""
    X_train, X_test = sp.load_npz(corpus.train), sp.load_npz(corpus.test)
    runs: dict[str, list[dict[str, Any]]] = {system: [] for system in systems}
    for round_number in range(options.rounds):
        for system in systems:
            run = fit_once(system, corpus, options, folder)
            runs[system].append(run)
            told = run.get("failed") or f"{run['seconds']:.2f} s, perplexity {run['perplexity']:.1f}"
            print(f"[{corpus.name}, round {round_number + 1}] {system}: {told}", file=sys.stderr, flush=True)
    return {
        "corpus": corpus.name,
        "documents": [X_train.shape[0], X_test.shape[0]],
        "words": X_train.shape[1],
        "nonzeros": int(X_train.nnz),
        "tokens": int(X_train.sum()),
        "unigram_perplexity": unigram_perplexity(X_train, X_test),
        "rows": [summarise(system, runs) for system in systems],
        "runs": runs,
    }


def summarise(system: str, runs: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Medians over the rounds, and the median of this system's time over ours in the same round."""
    good = [run for run in runs[system] if "failed" not in run]
    row: dict[str, Any] = {"system": system, "rounds": len(good)}
    if len(good) < len(runs[system]):
        row["failed"] = next(run["failed"] for run in runs[system] if "failed" in run)
    for name in MEASURES + SCORES:
        values = [run[name] for run in good if name in run]
        if values:
            row[name] = statistics.median(values)
    ours = runs.get(REFERENCE, [])
    ratios = [
        run["seconds"] / reference["seconds"]
        for run, reference in zip(runs[system], ours, strict=False)
        if "seconds" in run and "seconds" in reference
    ]
    if ratios:
        row["time_ratio"] = statistics.median(ratios)
    return row


def markdown(result: dict[str, Any]) -> str:
    """One corpus as a Markdown table."""
    columns = [
        ("seconds", "fit s", "{:.2f}"),
        ("time_ratio", "× ours", "{:.1f}"),
        ("peak_mb", "peak MB", "{:.0f}"),
        ("added_mb", "added MB", "{:.0f}"),
        ("perplexity", "perplexity", "{:.1f}"),
        ("npmi", "NPMI", "{:.3f}"),
        ("diversity", "diversity", "{:.3f}"),
        ("topic_error_l2", "topic error", "{:.3f}"),
    ]
    columns = [column for column in columns if any(column[0] in row for row in result["rows"])]
    train, test = result["documents"]
    table = [["system"] + [title for _, title, _ in columns]]
    for row in result["rows"]:
        cells = [form.format(row[name]) if name in row else "–" for name, _, form in columns]
        table.append([row["system"] + (" (failed)" if "failed" in row else ""), *cells])
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    table.insert(1, ["-" * widths[0]] + ["-" * (width - 1) + ":" for width in widths[1:]])
    lines = []
    for first, *others in table:
        cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append(f"| {' | '.join([first.ljust(widths[0]), *cells])} |")
    heading = (
        f"### {result['corpus']}: {train:,} training and {test:,} test documents, {result['words']:,} words, "
        f"{result['nonzeros']:,} non-zeros; unigram perplexity {result['unigram_perplexity']:.1f}"
    )
    failures = [f"{row['system']} failed: {row['failed']}" for row in result["rows"] if "failed" in row]
    return "\n".join([heading, "", *lines, *([""] if failures else []), *failures, ""])


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = options_of(__doc__)
    parser.add_argument("--corpus", choices=[*CORPORA, "all"], default="all")
    parser.add_argument("--quick", action="store_true", help="few documents and iterations: does it run?")
    parser.add_argument("--long", action="store_true", help=f"also: {'; '.join(LONG)}")
    parser.add_argument("--only", metavar="TEXT", action="append", help="systems whose name contains TEXT")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--n-topics", type=int, default=25)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, metavar="DIR", help="write peers.json and peers.md there")
    options = parser.parse_args(arguments)
    if min(options.rounds, options.n_topics, options.threads) < 1:
        parser.error("--rounds, --n-topics and --threads must be at least 1")
    options.systems = [
        system
        for system in SYSTEMS
        if (options.long or system not in LONG or options.only)
        and (not options.only or any(text in system for text in options.only))
    ]
    if not options.systems:
        parser.error(f"--only matches none of: {'; '.join(SYSTEMS)}")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    names = list(CORPORA) if options.corpus == "all" else [options.corpus]
    limits = {"train": QUICK_TRAIN, "test": QUICK_TEST} if options.quick else {"train": None, "test": None}
    load = f"load {os.getloadavg()[0]:.2f} at the start"
    results, missing = [], []
    with tempfile.TemporaryDirectory(prefix="private-topics-bench-") as temporary:
        for name in names:
            try:
                corpus = prepare(name, Path(temporary), n_topics=options.n_topics, **limits)
            except MissingDataError as error:
                missing.append(name)
                print(f"[{name}] left out: {error} `--corpus synthetic` needs no files.", file=sys.stderr)
                continue
            results.append(compare(corpus, options.systems, options, Path(temporary)))
    settings = f"k = {options.n_topics}, {options.threads} threads or workers, rounds: {options.rounds}" + (
        ", QUICK: one pass and a tenth of the iterations, a smoke test and not a measurement" if options.quick else ""
    )
    report = "\n".join([f"{settings}; {load}", "", *map(markdown, results), NOTES])
    tell(report, options.out and options.out / "peers.md")
    if options.out:
        record = {"load": load, "settings": settings, "vectorizer": VECTORIZER, "corpora": results}
        store_json(options.out / "peers.json", record)
    failed = any("failed" in row for result in results for row in result["rows"])
    return 1 if failed or missing else 0


if __name__ == "__main__":
    sys.exit(main())

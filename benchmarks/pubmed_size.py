"""A fit at the size of UCI PubMed: does time grow linearly with the documents, and does memory stay put?

    python benchmarks/pubmed_size.py generate FOLDER [--documents N]
    python benchmarks/pubmed_size.py fit FOLDER [--parts 8 4 2 1] [--epsilon 1] [--out DIR]

`generate` draws 8.2 million documents over 141,043 words, about 480 million non-zeros, from LDA with 20 topics.
Topics are a Zipf base distribution, every word of every topic tilted by its own log-normal factor, so that rare
words stay rare; the words are in random order. Blocks of 65,536 documents become `.npz` files of about
30 MB, each from its own seed: FOLDER does not depend on the number of threads.

`fit` runs SpectralLDA with one refinement step, or with `--epsilon` PrivateSpectralLDA, on an eighth, a quarter, half
and all of the blocks, each in a fresh process, and prints seconds per stage, the highest resident set, the linear fit
of time in documents, and how near the topics are to the true ones.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit, prange

from private_topics.corpus.counts.blocks import write_npz_block
from private_topics.corpus.made_up.synthetic import _alias_tables
from stored import options_of, store_json, tell

DOCUMENTS, WORDS, TOPICS = 8_200_000, 141_043, 20
BLOCK_DOCUMENTS = 65_536
TEST_DOCUMENTS = 10_000
ALPHA0 = 1.0
MEAN_LENGTH, LENGTH_SPREAD, LONGEST = 89.5, 0.5, 2_000  # log-normal; PubMed has 730 million tokens
ZIPF_EXPONENT = 1.1  # with these lengths it gives PubMed's 58 or 59 distinct words per document
TILT = 1.5  # standard deviation of the logarithm of a word's factor in a topic
SEED = 20
DELTA = 1e-8
CORPUS, TRUTH, TEST = "_corpus.json", "_topics.npy", "_test.npz"  # the underscore hides them from the fit
TOP = 10


def true_topics(n_words: int, n_topics: int, seed: int) -> np.ndarray:
    """Topics × words: one Zipf distribution, tilted independently for each topic and word."""
    generator = np.random.default_rng(seed)
    base = np.arange(1.0, n_words + 1.0) ** -ZIPF_EXPONENT
    topics = base[generator.permutation(n_words)] * np.exp(TILT * generator.standard_normal((n_topics, n_words)))
    topics /= topics.sum(axis=1, keepdims=True)
    return topics


def draw_block(height: int, threshold: np.ndarray, alias: np.ndarray, seed: int, block: int) -> sp.csr_array:
    """Block number `block` of the corpus, the same for any number of threads."""
    generator = np.random.default_rng([seed, block])
    n_topics, n_words = threshold.shape
    shift = np.log(MEAN_LENGTH) - LENGTH_SPREAD**2 / 2.0
    lengths = generator.lognormal(shift, LENGTH_SPREAD, height)
    lengths = np.clip(np.rint(lengths), 1, LONGEST).astype(np.int64)
    shares = generator.standard_gamma(ALPHA0 / n_topics, (height, n_topics)) + 1e-300
    cumulative = np.cumsum(shares, axis=1)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    words, counts, sizes = _draw(starts, cumulative, threshold, alias, np.uint64(generator.integers(2**63)))
    indptr = np.concatenate(([0], np.cumsum(sizes)))
    return sp.csr_array((*_compact(starts, indptr, words, counts), indptr), shape=(height, n_words))


@njit(cache=True, inline="always")
def _uniform(state):  # type: ignore[no-untyped-def]
    """A uniform number of 53 bits from a counter (SplitMix64)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    return np.float64(state >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, parallel=True)
def _draw(starts, cumulative, threshold, alias, seed):  # type: ignore[no-untyped-def]
    """Draw, sort and count the words of each document; each result begins where the document's tokens begin."""
    step = np.uint64(0x9E3779B97F4A7C15)
    n_documents, n_topics = cumulative.shape
    n_words = threshold.shape[1]
    words = np.empty(starts[-1], np.int32)
    counts = np.empty(starts[-1], np.int32)
    sizes = np.empty(n_documents, np.int64)
    for n in prange(n_documents):
        sums = cumulative[n]
        tokens = words[starts[n] : starts[n + 1]]
        for t in range(len(tokens)):
            token = np.uint64(2 * (starts[n] + t))
            point = _uniform(seed + token * step) * sums[n_topics - 1]
            topic = 0
            while topic < n_topics - 1 and sums[topic] <= point:
                topic += 1
            position = _uniform(seed + (token + np.uint64(1)) * step) * n_words
            word = min(int(position), n_words - 1)
            tokens[t] = word if position - word < threshold[topic, word] else alias[topic, word]
        tokens.sort()
        number = counts[starts[n] : starts[n + 1]]
        last = 0
        number[0] = 1
        for t in range(1, len(tokens)):
            if tokens[t] == tokens[last]:
                number[last] += 1
            else:
                last += 1
                tokens[last] = tokens[t]
                number[last] = 1
        sizes[n] = last + 1
    return words, counts, sizes


@njit(cache=True, parallel=True)
def _compact(starts, indptr, words, counts):  # type: ignore[no-untyped-def]
    data = np.empty(indptr[-1], np.int32)
    indices = np.empty(indptr[-1], np.int32)
    for n in prange(len(indptr) - 1):
        size = indptr[n + 1] - indptr[n]
        data[indptr[n] : indptr[n + 1]] = counts[starts[n] : starts[n] + size]
        indices[indptr[n] : indptr[n + 1]] = words[starts[n] : starts[n] + size]
    return data, indices


def generate(folder: Path, n_documents: int, n_words: int, seed: int) -> dict[str, Any]:
    """Write the corpus, its truth and a test block; blocks left by another run are removed first."""
    started = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("block-*.npz"):
        old.unlink()
    topics = true_topics(n_words, TOPICS, seed)
    np.save(folder / TRUTH, topics)
    threshold, alias = _alias_tables(topics)
    threshold = threshold.astype(np.float32)
    heights = [min(BLOCK_DOCUMENTS, n_documents - start) for start in range(0, n_documents, BLOCK_DOCUMENTS)]
    nonzeros = tokens = 0
    for block, height in enumerate(heights):
        counts = draw_block(height, threshold, alias, seed, block)
        write_npz_block(folder / f"block-{block:04d}.npz", counts)
        nonzeros += counts.nnz
        tokens += int(counts.data.sum(dtype=np.int64))
        if block % 20 == 0:
            print(f"block {block + 1} of {len(heights)}, {time.perf_counter() - started:.0f} s", file=sys.stderr)
    write_npz_block(folder / TEST, draw_block(TEST_DOCUMENTS, threshold, alias, seed, len(heights)))
    corpus = {"documents": n_documents, "words": n_words, "topics": TOPICS, "nonzeros": nonzeros, "tokens": tokens}
    corpus |= {"heights": heights, "seed": seed, "seconds": round(time.perf_counter() - started, 1)}
    (folder / CORPUS).write_text(json.dumps(corpus) + "\n", encoding="utf-8")
    return corpus


def fit_here(folder: Path, output: Path, threads: int, refine_steps: int, epsilon: float) -> dict[str, Any]:
    """Fit in this process, after a small fit that lets numba compile or load its kernels; epsilon 0: no privacy."""
    started = time.perf_counter()
    from private_topics import PrivateSpectralLDA, SpectralLDA, make_lda_corpus

    small, _, _ = make_lda_corpus(500, 2_000, 3, random_state=0)
    settings: dict[str, Any] = {"alpha0": ALPHA0, "n_jobs": threads, "random_state": 0}
    if epsilon:
        PrivateSpectralLDA(n_components=3, epsilon=50.0, **settings).fit([small])
    else:
        settings["refine_steps"] = refine_steps
        SpectralLDA(n_components=3, **settings).fit([small])
    ready = time.perf_counter()
    processor = time.process_time()
    model: Any = SpectralLDA(TOPICS, verbose=True, **settings)
    if epsilon:
        model = PrivateSpectralLDA(TOPICS, epsilon=epsilon, delta=DELTA, verbose=True, **settings)
    model.fit(folder)
    seconds = time.perf_counter() - ready
    processor = time.process_time() - processor
    peak = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    assert peak is not None
    np.save(output, model.components_)
    return {
        "seconds": seconds,
        "cpu_seconds": processor,
        "peak_gb": int(peak[1]) / 2**20,
        "start_up": ready - started,
    }


def fit_in_child(folder: Path, files: list[Path], options: argparse.Namespace) -> dict[str, Any]:
    """Fit some blocks in a fresh process; add the stages, read from its progress lines, and the scores."""
    with tempfile.TemporaryDirectory(prefix="private-topics-size-") as temporary:
        part, output = Path(temporary) / "blocks", Path(temporary) / "topics.npy"
        part.mkdir()
        for file in files:
            (part / file.name).symlink_to(file.resolve())
        command = [sys.executable, __file__, "child", str(part), str(output), str(options.threads)]
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
        child = subprocess.Popen(
            [*command, str(options.refine_steps), str(options.epsilon)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | dict.fromkeys(names, str(options.threads)),
        )  # fmt: skip
        assert child.stderr is not None
        assert child.stdout is not None
        lines = []
        for line in child.stderr:
            print(line, end="", file=sys.stderr, flush=True)
            lines.append(line)
        printed = child.stdout.read()
        if child.wait() != 0:
            raise SystemExit(f"the fit ended with status {child.returncode}")
        result: dict[str, Any] = json.loads(printed.splitlines()[-1])
        return result | {"stages": stages(lines, result["seconds"])} | scores(np.load(output), folder)


def stages(lines: list[str], seconds: float) -> dict[str, float]:
    """Seconds of each stage, from lines that say when a stage began."""
    found = [match for line in lines if (match := re.match(r"\[\w+\]\s+([\d.]+) s  (.*)", line))]
    begins = [0.0, *(float(match[1]) for match in found)]
    names = ["choice of words", *(match[2] for match in found)]
    return {name: end - begin for name, begin, end in zip(names, begins, [*begins[1:], seconds], strict=True)}


def scores(topics: np.ndarray, folder: Path) -> dict[str, float]:
    """How near the topics are to the truth, and what both say about unseen documents."""
    from private_topics.evaluation import (
        document_completion_perplexity,
        match_topics,
        topic_error_l1,
        topic_error_l2,
    )

    truth, test = np.load(folder / TRUTH), sp.load_npz(folder / TEST)
    matched = topics[match_topics(topics, truth)]
    tops = [[set(np.argsort(-row)[:TOP]) for row in rows] for rows in (matched, truth)]
    shared = [len(found & wanted) / TOP for found, wanted in zip(*tops, strict=True)]
    return {
        "topic_error_l2": topic_error_l2(topics, truth),
        "topic_error_l1": topic_error_l1(topics, truth),
        "top_words_shared": float(np.mean(shared)),
        "perplexity": document_completion_perplexity(topics, test),
        "true_perplexity": document_completion_perplexity(truth, test),
        "mean_topic_perplexity": document_completion_perplexity(truth.mean(axis=0, keepdims=True), test),
    }


def line_fit(documents: list[int], seconds: list[float]) -> dict[str, float]:
    """Least squares `seconds = intercept + slope · documents`, and the exponent of the log-log fit."""
    x, y = np.asarray(documents, float), np.asarray(seconds)
    slope, intercept = np.polyfit(x, y, 1)
    rest = np.sum((y - intercept - slope * x) ** 2)
    explained = 1.0 - rest / np.sum((y - y.mean()) ** 2)
    exponent = np.polyfit(np.log(x), np.log(y), 1)[0]
    return {"slope": float(slope), "intercept": float(intercept), "r2": float(explained), "exponent": float(exponent)}


def markdown(corpus: dict[str, Any], runs: list[dict[str, Any]], fitted: dict[str, dict[str, float]]) -> str:
    names = list(runs[-1]["stages"])
    head = ["documents", "non-zeros", "fit s", *(f"{name} s" for name in names), "CPU s", "peak GB"]
    head += ["error L2", "error L1", f"top {TOP} shared", "perplexity", "load"]
    rows = [
        [
            f"{run['documents']:,}", f"{run['nonzeros']:,}", f"{run['seconds']:.1f}",
            *(f"{run['stages'].get(name, 0.0):.1f}" for name in names),
            f"{run['cpu_seconds']:.0f}", f"{run['peak_gb']:.2f}", f"{run['topic_error_l2']:.4f}",
            f"{run['topic_error_l1']:.4f}", f"{run['top_words_shared']:.0%}", f"{run['perplexity']:.1f}",
            f"{run['load'][0]:.1f} → {run['load'][1]:.1f}",
        ]
        for run in runs
    ]  # fmt: skip
    lines = [
        f"# {corpus['model']} at the size of UCI PubMed: {corpus['documents']:,} documents, "
        f"{corpus['words']:,} words, {corpus['nonzeros']:,} non-zeros, {corpus['tokens']:,} tokens, k = {TOPICS}",
        "",
        corpus["settings"],
        "",
        "| " + " | ".join(head) + " |",
        "|" + "---:|" * len(head),
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
        f"Perplexity of the true topics {runs[-1]['true_perplexity']:.1f}, of their mean alone "
        f"{runs[-1]['mean_topic_perplexity']:.1f} (document completion, {TEST_DOCUMENTS:,} unseen documents).",
        "Time: the whole fit call with its reading of the blocks, in a fresh process after a small fit that loads "
        "the compiled kernels. Load: the machine's one-minute average before and after; an idle machine ends near "
        f"{corpus['threads']}.",
    ]
    for name, line in fitted.items():
        lines += [
            "",
            f"Linear fit: {name.replace('_', ' ')} = {line['intercept']:.2f} + {1e6 * line['slope']:.2f} · million "
            f"documents, R² = {line['r2']:.5f}; log-log exponent {line['exponent']:.3f}.",
        ]
    return "\n".join(lines)


def fit(options: argparse.Namespace) -> None:
    corpus = json.loads((options.folder / CORPUS).read_text(encoding="utf-8"))
    files, heights = sorted(options.folder.glob("block-*.npz")), corpus.pop("heights")
    corpus["threads"] = options.threads
    corpus["model"] = "PrivateSpectralLDA" if options.epsilon else "SpectralLDA"
    corpus["settings"] = f"{options.threads} threads, {how(options)}"
    runs = []
    for part in options.parts:
        n_files = max(1, round(len(files) / part))
        taken = files[:n_files]
        with_nonzeros = sum(_nonzeros(file) for file in taken)
        print(f"{sum(heights[:n_files]):,} documents", file=sys.stderr, flush=True)
        before = os.getloadavg()[0]
        run = fit_in_child(options.folder, taken, options)
        run |= {"documents": sum(heights[:n_files]), "nonzeros": with_nonzeros, "load": [before, os.getloadavg()[0]]}
        runs.append(run)
        print(json.dumps(run), file=sys.stderr, flush=True)
    runs.sort(key=lambda run: run["documents"])
    documents = [run["documents"] for run in runs]
    fitted = {}
    if len(set(documents)) > 1:
        fitted = {name: line_fit(documents, [run[name] for run in runs]) for name in ("seconds", "cpu_seconds")}
    out = options.out and options.out / ("pubmed_size_private.md" if options.epsilon else "pubmed_size.md")
    tell(markdown(corpus, runs, fitted), out)
    if out:
        store_json(out.with_suffix(".json"), corpus | {"runs": runs, "line_fit": fitted})


def how(options: argparse.Namespace) -> str:
    return (
        f"epsilon = {options.epsilon:g}, delta = {DELTA:g}"
        if options.epsilon
        else (f"refine_steps = {options.refine_steps}")
    )


def _nonzeros(file: Path) -> int:
    with np.load(file) as arrays:
        return int(arrays["indptr"][-1])


def main(arguments: list[str] | None = None) -> None:
    parser = options_of(__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("generate", help="write the corpus")
    one.add_argument("folder", type=Path)
    one.add_argument("--documents", type=int, default=DOCUMENTS)
    one.add_argument("--words", type=int, default=WORDS)
    one.add_argument("--seed", type=int, default=SEED)
    two = commands.add_parser("fit", help="time the fit on parts of it")
    two.add_argument("folder", type=Path)
    two.add_argument("--parts", type=int, nargs="+", default=[8, 4, 2, 1], metavar="M", help="fit N/M documents")
    two.add_argument("--threads", type=int, default=2)
    two.add_argument("--refine-steps", type=int, default=1)
    two.add_argument("--epsilon", type=float, default=0.0, help="fit PrivateSpectralLDA with this epsilon")
    two.add_argument("--out", type=Path, metavar="DIR", help="write pubmed_size.md and pubmed_size.json there")
    three = commands.add_parser("child")  # what `fit` starts
    kinds = {"folder": Path, "output": Path, "threads": int, "refine_steps": int, "epsilon": float}
    for name, kind in kinds.items():
        three.add_argument(name, type=kind)
    options = parser.parse_args(arguments)
    if options.command == "generate":
        corpus = generate(options.folder, options.documents, options.words, options.seed)
        print(json.dumps({name: value for name, value in corpus.items() if name != "heights"}))
    elif options.command == "fit":
        fit(options)
    else:
        print(json.dumps(fit_here(*(getattr(options, name) for name in kinds))))


if __name__ == "__main__":
    main()

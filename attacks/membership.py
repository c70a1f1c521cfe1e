"""Membership inference against topic models: who was in the training set?

    python attacks/membership.py prepare bench-data/membership.npz
    python attacks/membership.py run bench-data/membership.npz --processes 16 --out DIR --budget-seconds 420
    python attacks/membership.py report DIR [--out attacks/results/membership]
    python attacks/membership.py plot attacks/results/membership

`prepare` counts the words of two corpora: 2,126 clinical notes, all of them targets, and 48,300 Wikipedia articles,
of which 4,000 are targets. `run` fits shadow models, each on a random half of a corpus, and keeps the scores that
each gives the targets, never a model or a text; every private fit draws fresh noise. `report` runs the attack
(`membership_attack.py`) with each model in turn as the attacked one. `plot` draws the curves again.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
import warnings
from collections import defaultdict
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from membership_attack import SEED, random_half
from membership_methods import METHODS, scores_of

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

from corpora import VECTORIZER, texts
from stored import options_of, store_csv

SOURCES = {"clinical": ("mtsamples_clinical", 4_000, None), "wikipedia": ("wikipedia_en", 3_000, 4_000)}
QUERIES = ("likelihood", "match")
SAVE_EVERY_S = 20.0
PERPLEXITIES = 8  # shadows of each method whose held-out perplexity is computed
REFUSALS = 4  # after so many refusals and no model, a method is not tried again


class Shadows(NamedTuple):
    """One corpus: `counts` with the targets first, `held_out`, which no model sees, and the words of the columns."""

    counts: sp.csr_array
    held_out: sp.csr_array
    n_targets: int
    words: list[str]


class Job(NamedTuple):
    corpus: str
    method: str
    shadow: int


class Result(NamedTuple):
    job: Job
    status: str
    topics: int
    perplexity: float
    seconds: float
    scores: dict[str, np.ndarray]


# -- prepare: text → counts ------------------------------------------------------------------------------------------


def prepare(path: Path) -> None:
    from sklearn.feature_extraction.text import CountVectorizer

    arrays: dict[str, Any] = {}
    for name, (stem, n_words, n_targets) in SOURCES.items():
        vectorizer = CountVectorizer(**VECTORIZER | {"max_features": n_words})
        counts = sp.csr_array(vectorizer.fit_transform(texts(stem, "train")))
        counts = counts[np.random.default_rng(SEED).permutation(counts.shape[0])]
        counts = counts[: counts.shape[0] // 2 * 2]
        held_out = sp.csr_array(vectorizer.transform(texts(stem, "test")))
        arrays[f"{name}.targets"] = n_targets or counts.shape[0]
        arrays[f"{name}.words"] = vectorizer.get_feature_names_out().astype(str)
        for part, matrix in (("counts", counts), ("held_out", held_out)):
            arrays[f"{name}.{part}.data"] = matrix.data.astype(np.uint16)
            arrays[f"{name}.{part}.indices"] = matrix.indices.astype(np.uint16)
            arrays[f"{name}.{part}.indptr"] = matrix.indptr.astype(np.int32)
            arrays[f"{name}.{part}.shape"] = np.asarray(matrix.shape)
        print(f"{name}: {counts.shape[0]:,} documents, {counts.shape[1]:,} words, {counts.nnz:,} non-zeros")
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


def load(path: Path) -> dict[str, Shadows]:
    with np.load(path) as arrays:
        return {
            name: Shadows(
                _matrix(arrays, f"{name}.counts"),
                _matrix(arrays, f"{name}.held_out"),
                int(arrays[f"{name}.targets"]),
                arrays[f"{name}.words"].tolist(),
            )
            for name in SOURCES
        }


def _matrix(arrays: Any, name: str) -> sp.csr_array:
    parts = arrays[f"{name}.data"], arrays[f"{name}.indices"], arrays[f"{name}.indptr"]
    data, indices, indptr = (part.astype(np.int32) for part in parts)
    return sp.csr_array((data, indices, indptr), shape=tuple(arrays[f"{name}.shape"]))


# -- run: shadow models → scores -------------------------------------------------------------------------------------


def run(
    path: Path, out: Path, *, processes: int, budget_seconds: float, only: list[str], shadows: int | None
) -> None:
    """Fit in proportion: whenever time runs out, every method has the same part of its shadow models."""
    deadline = time.time() + budget_seconds
    out.mkdir(parents=True, exist_ok=True)
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    os.environ |= dict.fromkeys(threads, "1")
    jobs = planned_jobs(only, shadows)
    context = multiprocessing.get_context("spawn")
    names = sorted({(job.corpus, job.method) for job in jobs})
    refusals = context.Array("i", len(names))
    results: list[Result] = []
    sizes = load_sizes(path)
    saved = time.time()
    with context.Pool(processes, _start_worker, (str(path), deadline, names, refusals)) as pool:
        for result in pool.imap_unordered(_work, jobs):
            if result is None:
                continue
            results.append(result)
            if time.time() - saved > SAVE_EVERY_S:
                save(results, sizes, out)
                saved = time.time()
                left = deadline - saved
                print(f"{len(results)} of {len(jobs)} fits, {left:.0f} s left", file=sys.stderr, flush=True)
    save(results, sizes, out)
    done = defaultdict(list)
    for result in results:
        done[result.job.corpus, result.job.method].append(result)
    for (corpus, method), rows in sorted(done.items()):
        told = ", ".join(
            f"{status} {sum(row.status == status for row in rows)}" for status in {r.status for r in rows}
        )
        print(f"{corpus} {method}: {told}; {np.mean([row.seconds for row in rows]):.1f} s each")


def planned_jobs(only: list[str], shadows: int | None) -> list[Job]:
    jobs = []
    for corpus, methods in METHODS.items():
        for name, method in methods.items():
            if only and not any(fnmatch(f"{corpus}.{name}", pattern) for pattern in only):
                continue
            number = min(method.shadows, shadows or method.shadows)
            jobs += [
                ((shadow + 0.5) / number, -method.seconds, Job(corpus, name, shadow)) for shadow in range(number)
            ]
    return [job for *_, job in sorted(jobs)]


_worker: dict[str, Any] = {}


def _start_worker(path: str, deadline: float, names: list[tuple[str, str]], refusals: Any) -> None:
    warnings.simplefilter("ignore")
    _worker.update(corpora=load(Path(path)), deadline=deadline, names=names, refusals=refusals)


def _work(job: Job) -> Result | None:
    """One shadow model; None where there is no time left for it, or where the method has always refused."""
    method, corpus = METHODS[job.corpus][job.method], _worker["corpora"][job.corpus]
    refusals, place = _worker["refusals"], _worker["names"].index((job.corpus, job.method))
    if time.time() + method.seconds > _worker["deadline"] or refusals[place] >= REFUSALS:
        return None
    result = shadow_result(job, corpus)
    with refusals.get_lock():
        refusals[place] += 1 if result.status == "refused" else -1_000_000 * (result.status == "measured")
    return result


def shadow_result(job: Job, corpus: Shadows) -> Result:
    from private_topics import PrivacyError, PublicKnowledge
    from private_topics.evaluation import document_completion_perplexity

    begin = time.perf_counter()
    rows, _ = random_half(SEED, job.shadow, corpus.counts.shape[0], corpus.n_targets)
    method = METHODS[job.corpus][job.method]
    model = method.estimator(job.shadow)
    if method.english:
        model.set_params(knowledge=PublicKnowledge.english(corpus.words))
    try:
        model.fit(corpus.counts[rows])
    except PrivacyError:
        return Result(job, "refused", 0, np.nan, time.perf_counter() - begin, {})
    except Exception as error:
        return Result(job, f"failed: {type(error).__name__}", 0, np.nan, time.perf_counter() - begin, {})
    scores = scores_of(model, corpus.counts[: corpus.n_targets])
    perplexity = np.nan
    if job.shadow < PERPLEXITIES:
        components = np.asarray(model.components_)
        topics = components / components.sum(axis=1, keepdims=True)
        perplexity = document_completion_perplexity(topics, corpus.held_out)
    seconds = time.perf_counter() - begin
    return Result(job, "measured", len(model.components_), perplexity, seconds, scores)


def load_sizes(path: Path) -> dict[str, np.ndarray]:
    """What `report` needs to know of the corpora."""
    sizes = {}
    for name, corpus in load(path).items():
        sizes[f"{name}.documents"] = np.asarray(corpus.counts.shape[0])
        sizes[f"{name}.targets"] = np.asarray(corpus.n_targets)
        sizes[f"{name}.words"] = np.asarray(corpus.counts.shape[1])
        lengths = np.asarray(corpus.counts[: corpus.n_targets].sum(axis=1)).ravel()
        sizes[f"{name}.lengths"] = np.maximum(lengths, 1)
    return sizes


def save(results: list[Result], sizes: dict[str, np.ndarray], out: Path) -> None:
    """One file of scores for each query and one table of fits; a file under way has another name."""
    measured = defaultdict(list)
    for result in results:
        if result.status == "measured":
            measured[f"{result.job.corpus}.{result.job.method}"].append(result)
    for query in QUERIES:
        arrays = dict(sizes)
        for name, rows in measured.items():
            arrays[f"{name}.shadows"] = np.asarray([row.job.shadow for row in rows], dtype=np.int32)
            arrays[f"{name}.scores"] = np.asarray([row.scores[query] for row in rows], dtype=np.float32)
        np.savez_compressed(out / "partial.npz", **arrays)
        (out / "partial.npz").replace(out / f"{query}.npz")
    fits = [
        {**row.job._asdict(), "status": row.status, "topics": row.topics}
        | {"perplexity": f"{row.perplexity:.2f}", "seconds": f"{row.seconds:.2f}"}
        for row in sorted(results, key=lambda row: row.job)
    ]
    store_csv(out / "fits.csv", fits)


def main(arguments: list[str] | None = None) -> int:
    parser = options_of(__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("prepare").add_argument("path", type=Path, nargs="?", default="bench-data/membership.npz")
    runner = commands.add_parser("run")
    runner.add_argument("path", type=Path)
    runner.add_argument("--out", type=Path, required=True)
    runner.add_argument("--processes", type=int, default=2)
    runner.add_argument("--budget-seconds", type=float, default=420.0, help="no fit begins that would end later")
    runner.add_argument("--only", action="append", default=[], metavar="PATTERN", help="such as clinical.vi-*")
    runner.add_argument("--shadows", type=int, help="at most so many shadow models of each method")
    reporter = commands.add_parser("report")
    reporter.add_argument("path", type=Path)
    reporter.add_argument("--out", type=Path, default=Path("attacks/results/membership"))
    commands.add_parser("plot").add_argument("path", type=Path)
    chosen = parser.parse_args(arguments)
    if chosen.command == "prepare":
        prepare(chosen.path)
    elif chosen.command == "run":
        run(
            chosen.path,
            chosen.out,
            processes=chosen.processes,
            budget_seconds=chosen.budget_seconds,
            only=chosen.only,
            shadows=chosen.shadows,
        )
    else:
        from membership_report import plot, report

        if chosen.command == "report":
            report(chosen.path, chosen.out)
        plot(chosen.out if chosen.command == "report" else chosen.path)
    return 0


if __name__ == "__main__":
    sys.exit(main())

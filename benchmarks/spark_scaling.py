"""What a private fit on Spark costs: bytes moved, memory of the driver, seconds, at 1, 2 and 4 executors.

    python benchmarks/spark_scaling.py [--documents N] [--words D] [--topics K] [--executors 1 2 4] [--out DIR]

Every cluster is a real one on this machine (`local-cluster`: executors with one core each, in their own processes),
every run a process of its own, after one fit of the smallest corpus that is not counted: the first fit of a session
pays about ten seconds for compiled code, Java's and ours. A corpus of Parquet blocks is read, clipped and added up by
the executors; the driver gets sums. Three sizes of one corpus are fitted; a small model is calibrated on the two
smaller ones and predicts the largest:

    processor s    A(e) + B · N        A(e): the smallest corpus with e executors; B: the middle one with one executor
    seconds        processor s / busy  busy: the cores that e executors keep busy on the smallest corpus
    shuffled bytes Σ over sums: tasks(e) · 8 · entries
    driver memory  that of the smallest corpus with one executor: it does not depend on N
    kept bytes     8 · non-zeros + 24 · N

An executor of one core keeps more than one busy: its Java process reads and sorts while its Python worker adds up.
Nothing is compressed here, so that bytes are what tiles and parts hold; Spark compresses both unless told otherwise.
A busy machine spoils the seconds: the table shows the load beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import warnings
from pathlib import Path
from typing import Any

from stored import options_of, tell

MEMORY = {1: 2048, 2: 2048, 4: 1536}
REFINE_STEPS = 2
BLOCKS = 16
CORES = len(os.sched_getaffinity(0))


# -- one run, in a process of its own --------------------------------------------------------------------------------


def write_blocks(folder: Path, n_documents: int, options: argparse.Namespace) -> int:
    """A synthetic corpus as Parquet blocks; the number of its non-zeros."""
    from private_topics import make_lda_corpus
    from private_topics.corpus.counts.blocks import write_parquet_block

    counts = make_lda_corpus(n_documents, options.words, options.topics, random_state=0)[0]
    folder.mkdir()
    for block in range(BLOCKS):
        write_parquet_block(folder / f"{block:02}.parquet", counts[block::BLOCKS])
    return int(counts.nnz)


def session(executors: int) -> Any:
    from pyspark.find_spark_home import _find_spark_home
    from pyspark.sql import SparkSession

    home = _find_spark_home()
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": home}
    memory = MEMORY.get(executors, 1536)
    settings = {
        "spark.executor.memory": f"{memory // 2}m",
        "spark.shuffle.compress": "false",
        "spark.rdd.compress": "false",
        "spark.ui.port": "0",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.files.maxPartitionBytes": "1m",
    }
    builder = SparkSession.builder.master(f"local-cluster[{executors},1,{memory}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def fit(spark: Any, corpus: str, options: argparse.Namespace) -> None:
    from private_topics import PrivateSpectralLDA
    from private_topics.engines.spark.corpus import SparkCounts

    model = PrivateSpectralLDA(
        options.topics, epsilon=10.0, delta=1e-6, refine_steps=REFINE_STEPS, engine="spark", noise_seed=0
    )
    model.fit(SparkCounts.of_counts(spark.read.parquet(corpus), options.words))


def one_run(options: argparse.Namespace) -> dict[str, Any]:
    """One fit: what the model predicts, measured."""
    from private_topics.engines.spark.corpus import SparkCorpus

    spark = session(options.one)
    spark.sparkContext.parallelize(range(100), 8).map(_warmed).collect()  # imports and compiled code in every worker
    fit(spark, options.warm, options)
    before_bytes = _from_rest(spark)
    entries, kept = [], []
    total = SparkCorpus.total

    def counted_total(self: SparkCorpus, unit_sum: Any) -> Any:
        if not entries:
            kept.append(_kept_bytes(spark))
        totals = total(self, unit_sum)
        tasks = min(self.parts.getNumPartitions(), 2 * spark.sparkContext.defaultParallelism)
        entries.append((tasks, 2 + sum(array.size for array in totals)))
        return totals

    SparkCorpus.total = counted_total  # type: ignore[method-assign]
    before, busy = _cpu_seconds(), os.getloadavg()[0]
    started = time.perf_counter()
    fit(spark, options.corpus, options)
    seconds = time.perf_counter() - started
    measured: dict[str, float] = {name: value - before_bytes[name] for name, value in _from_rest(spark).items()}
    measured |= {"seconds": seconds, "cpu_seconds": _cpu_seconds() - before, "load": busy, "kept_bytes": kept[0]}
    measured |= {"driver_bytes": _peak_bytes(os.getpid()) + _peak_bytes(_java_process(spark))}
    measured |= {"tile_bytes": sum(8 * tasks * size for tasks, size in entries), "sums": len(entries)}
    logs = Path(os.environ["SPARK_HOME"], "work", spark.sparkContext.applicationId)
    spark.stop()
    shutil.rmtree(logs, ignore_errors=True)
    return measured


def _warmed(number: int) -> int:
    import private_topics.engines.spark.tasks  # noqa: F401

    return number


def _from_rest(spark: Any) -> dict[str, int]:
    """Bytes of all stages, from Spark's own books."""
    address = f"{spark.sparkContext.uiWebUrl}/api/v1/applications/{spark.sparkContext.applicationId}/stages"
    with urllib.request.urlopen(address) as answer:
        stages = json.load(answer)
    names = {"shuffled_bytes": "shuffleWriteBytes", "result_bytes": "resultSize"}
    return {ours: sum(int(stage.get(theirs, 0)) for stage in stages) for ours, theirs in names.items()}


def _kept_bytes(spark: Any) -> int:
    """What the executors hold of the documents, in memory and on disk."""
    storage = spark.sparkContext._jsc.sc().getRDDStorageInfo()
    return sum(int(info.memSize() + info.diskSize()) for info in storage)


def _java_process(spark: Any) -> int:
    return int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())


def _peak_bytes(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def _cpu_seconds() -> float:
    """Processor seconds of this process and of all that descend from it and still live."""
    parents, ticks = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        process = int(stat.parent.name)
        parents[process], ticks[process] = int(fields[1]), sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while grown := {process for process, parent in parents.items() if parent in ours} - ours:
        ours |= grown
    return sum(ticks.get(process, 0) for process in ours) / os.sysconf("SC_CLK_TCK")


# -- all runs, the model, the table ----------------------------------------------------------------------------------


def run_in_process(executors: int, corpus: Path, warm: Path, options: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", str(executors), "--corpus", str(corpus), "--warm", str(warm)]
    command += ["--words", str(options.words), "--topics", str(options.topics)]
    best: dict[str, Any] = {}
    for _ in range(options.rounds):
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        run = json.loads(done.stdout.splitlines()[-1])
        if not best or run["seconds"] < best["seconds"]:
            best = run
    print(f"[{executors} executors, {corpus.name}] {best['seconds']:.1f} s", file=sys.stderr, flush=True)
    return best


def predicted(
    runs: dict[tuple[int, int], dict[str, Any]], executors: int, sizes: list[int], nnz: int
) -> dict[str, float]:
    """The model at the largest size, from the two smaller ones."""
    small, middle, large = sizes
    at_start = runs[executors, small]
    work = (runs[1, middle]["cpu_seconds"] - runs[1, small]["cpu_seconds"]) / (middle - small)
    processor = at_start["cpu_seconds"] + work * (large - small)
    return {
        "seconds": processor * at_start["seconds"] / at_start["cpu_seconds"],
        "cpu_seconds": processor,
        "shuffled_bytes": runs[executors, large]["tile_bytes"],
        "driver_bytes": runs[1, small]["driver_bytes"],
        "kept_bytes": 8 * nnz + 24 * large,
    }


def markdown(
    runs: dict[tuple[int, int], dict[str, Any]],
    nonzeros: dict[int, int],
    options: argparse.Namespace,
    sizes: list[int],
) -> str:
    large = sizes[-1]
    lines = [
        f"A private fit on Spark: {large:,} documents, {nonzeros[large]:,} non-zeros, {options.words:,} words, "
        f"{options.topics} topics; {CORES} cores, fastest of {options.rounds}.",
        "",
        "| executors | quantity | measured | predicted | off by |",
        "|---:|---|---:|---:|---:|",
    ]
    units = {
        "seconds": ("s", 1.0),
        "cpu_seconds": ("processor s", 1.0),
        "shuffled_bytes": ("MB shuffled", 1e6),
        "driver_bytes": ("MB of the driver", 1e6),
        "kept_bytes": ("MB kept on the executors", 1e6),
    }
    for executors in options.executors:
        forecast = predicted(runs, executors, sizes, nonzeros[large])
        for name, (unit, scale) in units.items():
            measured, guess = runs[executors, large][name] / scale, forecast[name] / scale
            off = 100.0 * (guess / measured - 1.0)
            lines.append(f"| {executors} | {unit} | {measured:,.1f} | {guess:,.1f} | {off:+.0f} % |")
    lines += ["", "| executors | documents | seconds | processor s | results, MB | sums | load before |"]
    lines += ["|---:|---:|---:|---:|---:|---:|---:|"]
    for (executors, size), run in sorted(runs.items()):
        lines.append(
            f"| {executors} | {size:,} | {run['seconds']:.1f} | {run['cpu_seconds']:.1f} | "
            f"{run['result_bytes'] / 1e6:.1f} | {run['sums']} | {run['load']:.1f} |"
        )
    return "\n".join([*lines, ""])


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--documents", type=int, default=640_000)
    parser.add_argument("--words", type=int, default=4_000)
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--executors", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--corpus", help=argparse.SUPPRESS)
    parser.add_argument("--warm", help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.one:
        print(json.dumps(one_run(options)))
        return
    sizes = [options.documents // 16, options.documents // 4, options.documents]
    with tempfile.TemporaryDirectory(prefix="spark-scaling-") as folder:
        corpora = {size: Path(folder, f"{size} documents") for size in sizes}
        nonzeros = {size: write_blocks(corpora[size], size, options) for size in sizes}
        wanted = sorted({*options.executors, 1})
        runs = {
            (e, size): run_in_process(e, corpora[size], corpora[sizes[0]], options) for e in wanted for size in sizes
        }
    tell(markdown(runs, nonzeros, options, sizes), options.out and options.out / "spark_scaling.md")


if __name__ == "__main__":
    main()

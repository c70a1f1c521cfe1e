"""Run by test_spark_faults.py in a process of its own: one sum with a straggler, on a cluster that speculates."""

from __future__ import annotations

import json
import os
import sys
from contextlib import closing
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))  # the support of all tests, which pytest finds by itself

from engine_support import N_WORDS, Straggles, counts, every_unit_sum, frame_of
from standalone_cluster import JAVA_OPTIONS, standalone_cluster

from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.engines.local import LocalCorpus
from private_topics.engines.spark.corpus import SparkCorpus, SparkCounts

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.default.parallelism": "2",
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.efficiency.enabled": "false",
    "spark.network.timeout": "1800s",  # a machine that is busy has lost nobody
    "spark.executorEnv.PYTHONPATH": str(Path(__file__).parent),
}


def main(folder: str) -> None:
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    unit_sum = every_unit_sum()["ClippedFrameMoments"]
    notes = Path(folder, "notes")
    notes.mkdir()
    with standalone_cluster(Path(folder)) as master:
        builder = SparkSession.builder.master(master)
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        with closing(SparkCorpus.of(SparkCounts.of_counts(frame_of(session, 4), N_WORDS))) as corpus:
            totals = corpus.total(Straggles(unit_sum, str(notes)))
        session.stop()
    expected = LocalCorpus.of(MatrixBlocks(counts())).total(unit_sum)
    same = all(np.array_equal(one, other) for one, other in zip(totals, expected, strict=True))
    print(json.dumps({"same": same, "notes": sorted(path.name for path in notes.iterdir())}))


if __name__ == "__main__":
    main(sys.argv[1])

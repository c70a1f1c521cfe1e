"""What goes wrong on a cluster: processes die, tasks run twice or never succeed. Sums stay exact, secrets kept."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from engine_support import (
    N_WORDS,
    Fails,
    KillsItsExecutor,
    KillsItsWorker,
    Large,
    assert_kind_alone,
    counts,
    every_unit_sum,
    fitted,
    frame_of,
    parent_of,
    users,
)

from hang_support import HANG
from private_topics import DurableLedger
from private_topics.corpus.counts.blocks import MatrixBlocks
from private_topics.engines.local import LocalCorpus
from private_topics.engines.spark import corpus as engine
from private_topics.engines.spark.corpus import SparkCorpus, SparkCounts
from private_topics.errors import EngineError, InputError
from private_topics.progress import Progress
from private_topics.sums.evidence import Learnt

pytestmark = [pytest.mark.spark, pytest.mark.fault, pytest.mark.xdist_group("spark")]
UNIT_SUM = "ClippedFrameMoments"


def opened(spark, partitions=4, unit=None):
    return SparkCorpus.of(SparkCounts.of_counts(frame_of(spark, partitions), N_WORDS, unit=unit))


def expected(unit_sum, groups=None):
    return LocalCorpus.of(MatrixBlocks(counts()), groups).total(unit_sum)


def assert_same(totals, others):
    assert all(np.array_equal(one, other) for one, other in zip(totals, others, strict=True))


@pytest.mark.parametrize("kind", [KillsItsWorker, KillsItsExecutor])
def test_a_process_killed_in_the_middle_of_a_sum_changes_nothing(spark, tmp_path, kind):
    unit_sum = every_unit_sum()[UNIT_SUM]
    with closing(opened(spark, unit="user")) as corpus:
        totals = corpus.total(kind(unit_sum, str(tmp_path)))
    assert len(list(tmp_path.iterdir())) == 1, "nothing was killed"
    assert_same(totals, expected(unit_sum, users()))


def test_an_executor_killed_in_the_middle_of_a_fit_changes_nothing(spark):
    """Between two releases: its parts are gone and are made again from the DataFrame."""
    killed = []

    class Killing(Progress):
        def stage(self, name):
            if name == "moments inside the frame":
                processes = (
                    spark.sparkContext.parallelize(range(4), 4).map(lambda _: parent_of(os.getppid())).collect()
                )
                killed.append(processes[0])
                os.kill(processes[0], signal.SIGKILL)

    model = fitted(SparkCounts.of_counts(frame_of(spark, 4), N_WORDS), engine="spark", verbose=Killing())
    assert len(killed) == 1
    assert np.array_equal(model.components_, fitted(counts()).components_)


def test_a_task_that_runs_twice_counts_once(spark_is_there, tmp_path):
    """The straggler's speculative copy ends first; both attempts have added the same parts."""
    script = Path(__file__).with_name("run_speculation.py")
    run = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, timeout=HANG)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.splitlines()[-1])
    assert any(note.endswith("attempt 1") for note in found["notes"]), "Spark made no second attempt"
    assert found["same"]


def test_a_task_that_always_fails_is_a_clear_error_without_secrets(spark, tmp_path, capfd, executor_logs):
    with closing(opened(spark)) as corpus:
        with pytest.raises(EngineError, match="a task failed in every attempt") as raised:
            corpus.total(Fails(every_unit_sum()[UNIT_SUM], str(tmp_path)))
        assert_same(corpus.total(every_unit_sum()[UNIT_SUM]), expected(every_unit_sum()[UNIT_SUM]))  # still usable
    assert {path.name for path in tmp_path.iterdir()} == {"attempt 0", "attempt 1", "attempt 2"}
    assert_kind_alone(raised.value, capfd, executor_logs)


@pytest.mark.parametrize(("failing", "states"), [("NormedCounts", []), ("TopicStatistic", ["reserved"])])
def test_the_ledger_after_a_task_that_always_fails(spark, tmp_path, monkeypatch, failing, states):
    """Before the first draw nothing was released and nothing is charged; after it the charge stays."""
    ledger = DurableLedger.register(tmp_path / "budget.db", "notes", 200.0, 1e-3)
    total = SparkCorpus.total

    def failing_total(self, unit_sum):
        asked = unit_sum.of if isinstance(unit_sum, Learnt) else unit_sum
        return total(self, Fails(unit_sum, str(tmp_path)) if type(asked).__name__ == failing else unit_sum)

    monkeypatch.setattr(SparkCorpus, "total", failing_total)
    with pytest.raises(EngineError):
        fitted(SparkCounts.of_counts(frame_of(spark, 2), N_WORDS), engine="spark", ledger=ledger)
    assert [entry.state for entry in DurableLedger(tmp_path / "budget.db", "notes").entries()] == states
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0, "the documents were not let go of"


# -- sizes ----------------------------------------------------------------------------------------------------------


def test_no_result_is_larger_than_a_tile(spark):
    """The session refuses results above 5 MiB (conftest.py); this sum has 20 MiB, in tiles of 4."""
    unit_sum = Large((1, 5 * engine.TILE_ENTRIES - 3, 7))
    with closing(opened(spark)) as corpus:
        totals = corpus.total(unit_sum)
        sent = spark.sparkContext.broadcast(unit_sum)
        alone = corpus._added(sent, 6, 2).glom().map(len).collect()
        assert alone == [1] * 6
        with pytest.raises(Exception, match="maxResultSize"):
            corpus._added(sent, 6, 2).collect()
    assert_same(totals, [number * np.full(array.shape, counts().shape[0]) for number, array in enumerate(totals, 1)])


def test_partial_sums_are_added_in_a_tree(spark, monkeypatch):
    monkeypatch.setattr(engine, "FAN_IN", 2)
    monkeypatch.setattr(engine, "TASKS_PER_CORE", 10)
    unit_sum = every_unit_sum()[UNIT_SUM]
    with closing(opened(spark, 11)) as corpus:
        plan = corpus._added(spark.sparkContext.broadcast(unit_sum), 1, 2).toDebugString().decode()
        assert plan.count("ShuffledRDD") == 4  # 11 → 6 → 3 → 2 → 1
        assert_same(corpus.total(unit_sum), expected(unit_sum))


def test_a_corpus_that_changed_is_refused(spark):
    with closing(opened(spark)) as corpus:
        other = replace(corpus, found=replace(corpus.found, documents=corpus.found.documents + 1))
        with pytest.raises(InputError, match="changed between two passes"):
            other.total(every_unit_sum()["NormedCounts"])


def test_what_the_executors_hold_is_let_go(spark, tmp_path):
    corpus = opened(spark)
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 1
    corpus.close()
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0
    assert list(Path(tmp_path).iterdir()) == []

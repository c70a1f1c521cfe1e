"""A real Spark cluster for the tests: a master, workers and executors as processes of their own.

No Java, no cluster: the tests are skipped, or fail where $REQUIRE_SPARK is set, as continuous integration sets it.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from standalone_cluster import JAVA_OPTIONS

MASTER = "local-cluster[2,1,2048]"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",  # as loud as a cluster usually is: what it says must quote no document
    "spark.executor.memory": "1g",
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.sql.shuffle.partitions": "4",
    "spark.task.maxFailures": "3",
    "spark.driver.maxResultSize": "5m",  # a tile is 4 MiB: two in one result would fail
    "spark.network.timeout": "1800s",  # a machine that is busy has lost nobody
    "spark.executorEnv.PYTHONPATH": str(Path(__file__).parent),
}


def _missing() -> str | None:
    java = Path(os.environ.get("JAVA_HOME", ""), "bin", "java")
    if shutil.which("java") is None and not java.is_file():
        return "needs Java 17 or later: install a Java runtime, or set JAVA_HOME"
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "needs PySpark: pip install 'private-topics[spark]'"
    return None


@pytest.fixture(scope="session")
def spark_is_there():
    """Java and PySpark; without them the test is skipped, or fails where they are required."""
    missing = _missing()
    if missing is not None:
        if os.environ.get("REQUIRE_SPARK"):
            pytest.fail(missing)
        pytest.skip(missing)


@pytest.fixture(scope="session")
def spark(spark_is_there, tmp_path_factory):
    """A session on two executors with one core each."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["SPARK_LOCAL_DIRS"] = str(tmp_path_factory.mktemp("spark"))
    builder = SparkSession.builder.master(MASTER).appName("tests")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    logs = _log_folder(session)
    yield session
    session.stop()
    shutil.rmtree(logs, ignore_errors=True)


def _log_folder(session):
    """Where the workers of a local cluster put what the executors write."""
    from pyspark.find_spark_home import _find_spark_home

    return Path(_find_spark_home(), "work", session.sparkContext.applicationId)


@pytest.fixture
def executor_logs(spark):
    """`executor_logs()`: everything the executors have written so far."""
    files = _log_folder(spark)
    return lambda: "".join(file.read_text(encoding="utf-8", errors="replace") for file in files.rglob("std*"))

"""The Spark session: made with what the chain needs, or taken from the host job and checked."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.errors import PlanRefused

OLDEST = (4, 0)

SPARK_SAYS = (PySparkException, Py4JError, ConnectionError)
"""What Spark's Python side raises; anything else that ends a batch is an error of ours, or a bug, as it stands."""

SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.python.worker.reuse": "true",
    "spark.sql.streaming.minBatchesToRetain": "100",
    "spark.speculation": "false",
}
"""What the chain relies on, in every session."""

LAPTOP = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "4",
}
"""Besides, where Spark runs inside this process's machine."""


def start_session(name: str, *, jars: Sequence[Path], java_home: Path, master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """A session of our own. `local[N,4]`: a task gets four attempts, plain `local[N]` would give it one."""
    os.environ["JAVA_HOME"] = str(java_home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    where = master or f"local[{os.cpu_count() or 2},4]"
    settings = {**SETTINGS, **(LAPTOP if where.startswith("local") else {}), **(conf or {})}
    settings["spark.jars"] = ",".join(str(jar) for jar in jars)
    builder = SparkSession.builder.appName(f"penstock {name}").master(where)
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    _hush(session)
    return check_session(session)


def end_session(session: SparkSession) -> None:
    """Stop Spark; where its JVM has died there is nothing left to stop."""
    with warnings.catch_warnings(), contextlib.suppress(*SPARK_SAYS):
        warnings.simplefilter("ignore", RuntimeWarning)  # "unable to cleanly shutdown": PySpark's word for the same
        session.stop()


def is_gone(session: SparkSession) -> bool:
    """True where the JVM has died or Spark was stopped in it: nothing can be tried again in this session."""
    try:
        return bool(session.sparkContext._jsc.sc().isStopped())
    except (*SPARK_SAYS, AttributeError):  # PySpark forgets the JVM's context when it is stopped
        return True


def _hush(session: SparkSession) -> None:
    """When the JVM dies, PySpark's accumulator server prints a traceback from a thread of its own; that Spark has gone is said once, by us."""
    if (server := getattr(session.sparkContext, "_accumulatorServer", None)) is not None:
        server.handle_error = lambda request, client_address: None


def check_session(session: SparkSession) -> SparkSession:
    """Refuse a session that the chain cannot run in: Spark Connect, or Spark before 4.0."""
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise PlanRefused(
            "this is a Spark Connect session: Penstock runs inside the driver, which Connect keeps out of reach",
            code="spark_connect",
            next_step="run with a classic session: `SparkSession.builder.master(...)`, without `remote(...)` and SPARK_REMOTE",
        )
    found = tuple(int(part) for part in session.version.split(".")[:2])
    if found < OLDEST:
        raise PlanRefused(
            f"this is Spark {session.version}: Penstock needs Spark 4.0 or newer",
            code="spark_too_old",
            next_step="install a newer PySpark: pip install 'pyspark>=4.1.3,<4.2'",
        )
    return session
